"""A picture of an image with the islands found in it outlined by ellipses; read by rows, averaged to a screen's size."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from footprint.io.output import output
from footprint.io.thin import thin_rows, thinning

_MARGIN = 3.0


def write_sky_png(image: Any, table: Any, path: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Write a PNG of ``image`` (an open image), row 0 at the bottom, as FITS viewers do, with a ring round each row of ``table``.

    Grey runs from two sigmas of the noise under the background to thirty over it, by its arc sinh, so that noise and bright
    sources both show; what is not finite is blue.

    Parameters
    ----------
    image
        Has ``shape`` and ``read(rows, out)``.
    table
        Catalogue of `find_sources`.
    path, overwrite
        The file, and whether an existing one is replaced.
    """
    from PIL import Image, ImageDraw

    step = thinning(image.shape)
    grey = _grey(image, step, table.meta["background"], table.meta["noise"])
    # A small image is enlarged, or rings would hide it.
    scale = max(1, min(4, 800 // max(grey.shape[:2])))
    picture = Image.fromarray(grey[::-1]).resize((grey.shape[1] * scale, grey.shape[0] * scale), Image.Resampling.NEAREST)
    draw = ImageDraw.Draw(picture)
    zoom = scale / step
    for row in table:
        left, right = row["x_min"] * zoom - _MARGIN, (row["x_max"] + 1) * zoom + _MARGIN
        low, high = row["y_min"] * zoom - _MARGIN, (row["y_max"] + 1) * zoom + _MARGIN
        draw.ellipse((left, picture.height - high, right, picture.height - low), outline=(255, 90, 30))
    with output(path, overwrite) as temporary:
        picture.save(temporary, format="PNG")


def _grey(image: Any, step: int, background: float, noise: float) -> np.ndarray:
    """RGB bytes of blocks of ``step`` x ``step`` pixels, stretched."""
    height, width = image.shape
    rgb = np.empty((-(-height // step), -(-width // step), 3), np.uint8)
    unit = noise if noise > 0 else 1.0
    bottom, top = np.arcsinh(-2.0), np.arcsinh(30.0)
    for i, row in enumerate(thin_rows(image)):
        with np.errstate(invalid="ignore"):
            value = (np.arcsinh((row - background) / unit) - bottom) / (top - bottom)
        known = np.isfinite(value)
        rgb[i] = (255 * np.clip(np.where(known, value, 0), 0, 1)).astype(np.uint8)[:, None]
        rgb[i, ~known] = (20, 30, 90)
    return rgb
