"""Pictures of slices in grey, read by rows and averaged to a screen's size."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from footprint.io.output import output
from footprint.io.thin import thin_rows, thinning

# Pixels of a sheet's longer side, and the strip of a label.
_SHEET, _LABEL = 1600, 14

# Shares of the pixels that are drawn black and white at most, so that a few bright ones do not darken all others.
_LOW, _HIGH = 0.5, 99.8

# What is no number is of a colour that no grey is; greys of a picture with such a colour, and rows drawn at a time.
NAN_COLOUR = (72, 42, 92)
_GREYS, _BAND = 255, 64


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

    grey = _grey(_thinned(image))
    scale = max(1, min(4, 800 // max(grey.shape)))
    picture = Image.fromarray(grey).resize((grey.shape[1] * scale, grey.shape[0] * scale), Image.Resampling.NEAREST)
    with output(path, overwrite) as temporary:
        picture.save(temporary, format="PNG")


def write_sheet_png(images: Iterable[Any], labels: Sequence[str], path: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Write a PNG of several images of one size side by side, in rows, each with its label above, all in the same greys.

    Parameters
    ----------
    images
        Open images, one after another: each is closed before the next is taken.
    labels
        As many words.
    path, overwrite
        The file, and whether an existing one is replaced.
    """
    from PIL import Image, ImageDraw

    columns = math.ceil(math.sqrt(len(labels)))
    thin = []
    for image in images:
        with image:
            thin.append(_thinned(image, max(1, _SHEET // columns)))
    greys = _grey(np.stack(thin))
    height, width = greys.shape[1:]
    scale = max(1, min(4, _SHEET // columns // max(height, width, 1)))
    wide, tall = width * scale + 2, height * scale + _LABEL + 2
    sheet = Image.new("L", (columns * wide, -(-len(labels) // columns) * tall))
    draw = ImageDraw.Draw(sheet)
    for i, (grey, label) in enumerate(zip(greys, labels)):
        x, y = i % columns * wide, i // columns * tall
        sheet.paste(Image.fromarray(grey).resize((width * scale, height * scale), Image.Resampling.NEAREST), (x, y + _LABEL))
        draw.text((x + 2, y + 1), label, fill=255)
    with output(path, overwrite) as temporary:
        sheet.save(temporary, format="PNG")


def slice_picture(image: Any, side: int) -> Any:
    """An image of Pillow's of at most ``side`` pixels, in the same greys."""
    from PIL import Image

    return Image.fromarray(_grey(_thinned(image, side)))


def _thinned(image: Any, side: int | None = None) -> np.ndarray:
    """The image averaged to a size, the screen's unless said otherwise."""
    how = () if side is None else (side,)
    step = thinning(image.shape, *how)
    thin = np.empty((-(-image.shape[0] // step), -(-image.shape[1] // step)), np.float32)
    for i, row in enumerate(thin_rows(image, *how)):
        thin[i] = row
    return thin


def ends(values: np.ndarray) -> tuple[float, float]:
    """The numbers that are drawn black and white where nobody says otherwise."""
    known = values[np.isfinite(values)]
    if not known.size:
        return 0.0, 1.0
    low, high = np.percentile(known, [_LOW, _HIGH])
    return float(low), float(high)


def plane_png(values: np.ndarray, low: float, high: float) -> bytes:
    """A PNG file of ``values`` from black at ``low`` to white at ``high``; where they are NaN it shows `NAN_COLOUR`.

    Parameters
    ----------
    values
        ``(n_y, n_x)``.
    low, high
        Finite and not equal; black is the larger where ``low`` is.
    """
    from PIL import Image

    palette = np.repeat(np.rint(np.linspace(0, 255, _GREYS)).astype(np.uint8), 3)
    indices = np.empty(values.shape, np.uint8)
    for first in range(0, len(values), _BAND):
        part = values[first : first + _BAND].astype(np.float64)
        # Halved, as the difference of two numbers may be none.
        with np.errstate(invalid="ignore", over="ignore"):
            shade = np.clip((part / 2 - low / 2) / (high / 2 - low / 2), 0, 1)
        unknown = np.isnan(part)
        shade[unknown] = 0
        indices[first : first + _BAND] = np.where(unknown, 0, 1 + np.rint(shade * (_GREYS - 1)))
    picture = Image.fromarray(indices)
    picture.putpalette(bytes(NAN_COLOUR) + palette.tobytes())
    buffer = io.BytesIO()
    picture.save(buffer, format="PNG", compress_level=1)
    return buffer.getvalue()


def _grey(values: np.ndarray) -> np.ndarray:
    """Bytes from black to white."""
    low, high = ends(values)
    values[~np.isfinite(values)] = low
    return (255 * np.clip((values - low) / max(high - low, float(np.finfo(np.float32).tiny)), 0, 1)).astype(np.uint8)
