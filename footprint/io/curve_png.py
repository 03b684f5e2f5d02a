"""A picture of a search along a line: the measure over all positions, and once more about the result."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from footprint.io.output import output

_WIDE, _TALL, _EDGE = 760, 300, 46
# Positions on both sides of the result in the lower panel.
_NEAR = 12.0


def write_curve_png(
    positions: np.ndarray,
    values: np.ndarray,
    found: float,
    title: str,
    across: str,
    up: str,
    path: str | os.PathLike[str],
    overwrite: bool = False,
) -> None:
    """Write a PNG of ``values`` at ``positions``: above all of them, below those near ``found``, which is a red line in both.

    Parameters
    ----------
    positions, values
        As many numbers; values that are not finite are gaps.
    found
        Where the search ended.
    title
        A line above.
    across, up
        What is drawn along either axis.
    path, overwrite
        The file, and whether an existing one is replaced.
    """
    picture = curve_picture(positions, values, found, title, across, up)
    with output(path, overwrite) as temporary:
        picture.save(temporary, format="PNG")


def curve_picture(positions: np.ndarray, values: np.ndarray, found: float, title: str, across: str, up: str) -> Any:
    """The same as an image of Pillow's."""
    from PIL import Image, ImageDraw

    picture = Image.new("RGB", (_WIDE, 2 * _TALL), "white")
    draw = ImageDraw.Draw(picture)
    draw.text((_EDGE, 4), title, fill="black")
    near = np.abs(positions - found) <= _NEAR
    _panel(draw, 0, positions, values, found, across, up)
    _panel(draw, _TALL, *((positions[near], values[near]) if near.sum() > 1 else (positions, values)), found, across, up)
    return picture


def _panel(draw: Any, top: int, positions: np.ndarray, values: np.ndarray, found: float, across: str, up: str) -> None:
    """One frame with its curve, numbers at its ends and words between them."""
    left, right, high, low = _EDGE, _WIDE - 14, top + 22, top + _TALL - 22
    known = np.isfinite(values)
    x0, x1 = (float(positions[0]), float(positions[-1])) if len(positions) else (0.0, 1.0)
    y0, y1 = (float(values[known].min()), float(values[known].max())) if known.any() else (0.0, 1.0)
    x = left + (positions - x0) / max(x1 - x0, 1e-9) * (right - left)
    y = low - (np.where(known, values, y0) - y0) / max(y1 - y0, 1e-9) * (low - high)
    draw.line([(left, high), (left, low), (right, low), (right, high), (left, high)], fill="gray")
    if x0 <= found <= x1:
        here = left + (found - x0) / max(x1 - x0, 1e-9) * (right - left)
        draw.line([(here, high), (here, low)], fill=(220, 40, 30), width=2)
        # Half way up: at the top or the bottom it would stand on the curve, whose end is here.
        draw.text((min(here + 4, right - 60), (high + low) // 2), f"{found:.2f}", fill=(220, 40, 30))
    for k in np.flatnonzero(known[:-1] & known[1:]):
        draw.line([(x[k], y[k]), (x[k + 1], y[k + 1])], fill=(20, 60, 160), width=1)
    for value, place in ((y1, high - 4), (y0, low - 8)):
        draw.text((4, place), f"{value:.3g}", fill="black")
    for value, place in ((x0, left), (x1, right - 36)):
        draw.text((place, low + 4), f"{value:.6g}", fill="black")
    draw.text(((left + right) // 2, low + 4), across, fill="black", anchor="ma")
    draw.text((4, (high + low) // 2), up, fill="black")
