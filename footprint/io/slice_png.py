"""A picture of one slice in grey, read by rows and averaged to a screen's size."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from footprint.io.output import output
from footprint.io.thin import thin_rows, thinning

# Shares of the pixels that are drawn black and white at most, so that a few bright ones do not darken all others.
_LOW, _HIGH = 0.5, 99.8


def write_slice_png(image: Any, path: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Write a PNG of ``image`` (an open image), row 0 on top; half a percent is black and a fifth of one white.

    Parameters
    ----------
    image
        Has ``shape`` and ``read(rows, out)``.
    path, overwrite
        The file, and whether an existing one is replaced.
    """
    from PIL import Image

    step = thinning(image.shape)
    thin = np.empty((-(-image.shape[0] // step), -(-image.shape[1] // step)), np.float32)
    for i, row in enumerate(thin_rows(image)):
        thin[i] = row
    known = np.isfinite(thin)
    low, high = np.percentile(thin[known], [_LOW, _HIGH]) if known.any() else (0.0, 1.0)
    thin[~known] = low
    grey = (255 * np.clip((thin - low) / max(high - low, np.finfo(np.float32).tiny), 0, 1)).astype(np.uint8)
    scale = max(1, min(4, 800 // max(grey.shape)))
    picture = Image.fromarray(grey).resize((grey.shape[1] * scale, grey.shape[0] * scale), Image.Resampling.NEAREST)
    with output(path, overwrite) as temporary:
        picture.save(temporary, format="PNG")
