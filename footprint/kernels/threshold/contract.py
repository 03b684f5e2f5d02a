"""What `threshold` is launched with.

``launch("threshold", image, mask, level=, background=)``: ``mask`` uint8 is 1 where the pixel is finite and
``image - background > level`` in float64, 0 elsewhere.

``launch("threshold.over", image, mask, stats, sigma=)``: the same with the background and ``sigma`` times the noise of a clip.

``launch("threshold.invert", image, out, stats)``: ``out``, of the image's shape and dtype, is 2 background - image in float64, with
the background of a clip; ``launch("threshold.invert_over", image, out, level)``: with a map of the same shape and dtype.
"""
