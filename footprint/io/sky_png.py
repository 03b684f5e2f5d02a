"""A picture of an image with the islands found in it outlined by ellipses; read by rows, averaged to a screen's size."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from footprint.io.output import output
from footprint.io.thin import thin_rows, thinning

_MARGIN = 3.0
# The place of what is not finite; all others are greys.
_UNKNOWN = 0
_PALETTE = np.repeat(np.arange(256, dtype=np.uint8)[:, None], 3, axis=1)
_PALETTE[_UNKNOWN] = 20, 30, 90


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

    shades, step = _shades(image, table.meta["background"], table.meta["noise"])
    # A small image is enlarged, or rings would hide it.
    scale = max(1, min(4, 800 // max(shades.shape)))
    size = shades.shape[1] * scale, shades.shape[0] * scale
    picture = Image.fromarray(_PALETTE[shades[::-1]]).resize(size, Image.Resampling.NEAREST)
    draw = ImageDraw.Draw(picture)
    zoom = scale / step
    for row in table:
        left, right = row["x_min"] * zoom - _MARGIN, (row["x_max"] + 1) * zoom + _MARGIN
        low, high = row["y_min"] * zoom - _MARGIN, (row["y_max"] + 1) * zoom + _MARGIN
        draw.ellipse((left, picture.height - high, right, picture.height - low), outline=(255, 90, 30))
    with output(path, overwrite) as temporary:
        picture.save(temporary, format="PNG")


def sky_picture(image: Any, background: float, noise: float, side: int) -> tuple[Any, int]:
    """The same without rings, an image of Pillow's of at most ``side`` pixels; and the pixels a side that one of its stands for."""
    from PIL import Image

    shades, step = _shades(image, background, noise, side)
    picture = Image.fromarray(shades[::-1])
    picture.putpalette(_PALETTE.tobytes())
    return picture, step


def _shades(image: Any, background: float, noise: float, *side: int) -> tuple[np.ndarray, int]:
    """Places in the palette of blocks of pixels, stretched; and the pixels along a side of a block."""
    height, width = image.shape
    step = thinning(image.shape, *side)
    shades = np.empty((-(-height // step), -(-width // step)), np.uint8)
    unit = noise if noise > 0 else 1.0
    bottom, top = np.arcsinh(-2.0), np.arcsinh(30.0)
    for i, row in enumerate(thin_rows(image, *side)):
        with np.errstate(invalid="ignore"):
            value = (np.arcsinh((row - background) / unit) - bottom) / (top - bottom)
        known = np.isfinite(value)
        shades[i] = (255 * np.clip(np.where(known, value, 0), 0, 1)).astype(np.uint8)
        np.maximum(shades[i], 1, out=shades[i])
        shades[i, ~known] = _UNKNOWN
    return shades, step
