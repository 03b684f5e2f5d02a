"""What `threshold` is launched with.

``launch("threshold", image, mask, level=, background=)``: ``mask`` uint8 is 1 where the pixel is finite and
``image - background > level`` in float64, 0 elsewhere.
"""
