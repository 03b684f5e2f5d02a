"""What `threshold` is launched with.

``launch("threshold", image, mask, level=, background=)``: ``mask`` uint8 is 1 where the pixel is finite and
``image - background > level`` in float64, 0 elsewhere; ``image`` is float32, float64 or of integers (see `read_as`).

``launch("threshold.over", image, mask, stats, sigma=)``: the same with the background and ``sigma`` times the noise of a clip.

``launch("threshold.invert", image, out, stats)``: ``out``, of the image's shape and dtype, is 2 background - image in float64, with
the background of a clip; ``launch("threshold.invert_over", image, out, level)``: with a map of the same shape and dtype.
"""

from __future__ import annotations

import numpy as np

from footprint.dtypes import kernel_dtype, native


def read_as(dtype: str) -> str:
    """The dtype that an image is compared in: integers as they are stored, others as kernels that compare values read them."""
    return native(dtype) if np.dtype(dtype).kind in "iu" else kernel_dtype(dtype)
