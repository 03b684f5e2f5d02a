"""Pixels that hold nothing: NaN, zeros round a mosaic, a mask, a weight of 0. Arrays, files and astropy's containers seen alike."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from footprint.api._arrays import Array, Memory, limits_and_budget, on_host
from footprint.api._axes import without_ones
from footprint.api._image import Image, see
from footprint.api._units import first_of, unmasked
from footprint.dtypes import kernel_dtype, native, put_into
from footprint.errors import ArgumentError, ShapeError, choose

BLANKS = ("auto", "nan", "zero", "none")
PADDED = "zeros mean no data here, as the image is padded with them; blank='nan' measures them"

# Pixels looked at together while rows are blanked; rows a search for zeros looks at, and how many of their pixels together.
_PIECE, _ROWS, _LOOK = 1 << 16, 16, 1 << 13
# Bytes beside a row of a file that are read without asking what the budget is.
_UNASKED = 1 << 20
# Zeros are blank where they are at least so much of an image, lie beside one another to this share, and the other pixels are so
# seldom equal to their neighbours: counts of a few photons are often equal, and their zeros are measured.
_SHARE, _BESIDE, _EQUAL = 0.01, 0.9, 0.1


@dataclass(frozen=True)
class Pixels:
    """What a user's image holds: pixels, and what comes with them."""

    data: Any
    header: Any = None
    unit: Any = None
    wcs: Any = None
    mask: Any = None


def unwrap(image: Any, name: str = "image") -> Pixels:
    """The pixels of a masked array, a Quantity, a CCDData or NDData, or a FITS HDU; anything else as it is. Nothing is copied.

    What has a header or a WCS of its own also has the axes of length 1 that these speak of: pixels are without them.
    """
    image, mask = unmasked(image)
    if mask is not None:
        return replace(unwrap(image, name), mask=mask)
    if isinstance(image, np.ndarray) and hasattr(image, "unit") and hasattr(image, "value"):
        return Pixels(image.value, unit=image.unit)
    kinds = [f"{kind.__module__}.{kind.__name__}" for kind in type(image).__mro__]
    if any(kind.startswith("astropy.io.fits.hdu.") and kind.endswith(".HDUList") for kind in kinds):
        raise ArgumentError(name, "an HDUList", "one of its HDUs", f"give {first_of(image)}, or footprint.open_image(path)")
    if any(kind.startswith("astropy.nddata.") and kind.endswith(".NDData") for kind in kinds):
        header = image.meta if len(image.meta) else None
        inner = unwrap(image.data, name)
        data, mask = (without_ones(one, name, "give that of one plane") for one in (inner.data, image.mask))
        return Pixels(data, header, image.unit or inner.unit, image.wcs, mask)
    if any(kind.startswith("astropy.io.fits.hdu.") for kind in kinds) and hasattr(image, "header"):
        fix = "open_image(path, plane=...) opens one plane, and hdu.data[...] together with header=hdu.header is one"
        data = image.data
        if data is None:
            raise ArgumentError(
                name, "an HDU that holds a header alone", "one with an image", "give another of the file's, as hdus[1]"
            )
        return Pixels(without_ones(data, name, fix), image.header)
    return Pixels(image)


def plain_of(image: Any, name: str, cube: bool = False) -> Any:
    """The pixels of a FITS HDU, all of a ``cube``; anything else as it is."""
    if getattr(image, "header", None) is None or hasattr(image, "read"):
        return image
    return image.data if cube and image.data is not None else unwrap(image, name).data


class Blanked:
    """Rows of an image with NaN where it is blank: an open image like any other.

    Parameters
    ----------
    image
        Its pixels.
    zero
        Whether zeros are blank.
    masks
        Images of the same shape, and whether they are weights: blank is what is not 0 in a mask, what is not above 0 in a weight.
    names
        What these are called.
    """

    def __init__(self, image: Image, zero: bool, masks: tuple[tuple[Image, bool], ...], names: tuple[str, ...] = ()) -> None:
        self.image, self.zero, self.masks, self.names = image, zero, masks, names
        self.shape, self.dtype = image.spec.shape, np.dtype(kernel_dtype(image.spec.dtype))
        self._rows = max(1, _PIECE // self.shape[1])

    def host_bytes(self, n_rows: int, dtype: Any = None) -> int:
        """Bytes beside a block: what the image's reader takes, and a piece's mask."""
        piece = min(n_rows, self._rows)
        held = _beside(self.image, n_rows, self.dtype) + piece * self.shape[1]
        for mask, _ in self.masks:
            held += piece * self.shape[1] * (mask.spec.itemsize + 2) + _beside(mask, piece, np.dtype(mask.spec.dtype))
        return held

    def lean(self) -> bool:
        """Hold nothing of compressed files from now on; False where that is so already."""
        files = [one.file for one in (self.image, *(mask for mask, _ in self.masks))]
        leaner = [file.lean() for file in files if hasattr(file, "lean")]
        return any(leaner)

    def read(self, rows: slice, out: np.ndarray) -> None:
        """Fill ``out`` with rows."""
        read_rows(self.image, rows, out)
        for first in range(rows.start, rows.stop, self._rows):
            last = min(first + self._rows, rows.stop)
            piece = out[first - rows.start : last - rows.start]
            if self.zero:
                np.copyto(piece, np.nan, where=piece == 0)
            for mask, weight in self.masks:
                values = np.empty(piece.shape, native(mask.spec.dtype))
                read_rows(mask, slice(first, last), values)
                # A weight of NaN is none.
                np.copyto(piece, np.nan, where=~(values > 0) if weight else values != 0)


def _beside(image: Image, n_rows: int, dtype: np.dtype) -> int:
    reading = getattr(image.file, "host_bytes", None)
    return reading(n_rows, dtype) if reading is not None else 0


def read_rows(image: Image, rows: slice, out: np.ndarray) -> None:
    """Fill ``out`` with rows of an image, wherever it lies."""
    if image.file is not None:
        image.file.read(rows, out)
    elif isinstance(image.face, Array):
        put_into(out, on_host(image.face.data[rows]))
    else:
        image.face.data.fill((rows, slice(None)), out)


def check_blank(blank: str) -> str:
    """One of `BLANKS`."""
    return choose("blank", blank, BLANKS)


def blanked(image: Image, blank: str, masks: dict[str, Any], device: str = "cpu", memory: Memory = None) -> tuple[Image, bool]:
    """The image with NaN where it is blank, and whether zeros were found to be.

    Parameters
    ----------
    image
        As it is.
    blank
        One of `BLANKS`.
    masks
        Masks and a weight map, by their names; None for those that are not given.
    device, memory
        The job's. A file of which one row takes more to read is not looked at: no plan has room for it.
    """
    seen, names = [], []
    for name, mask in masks.items():
        # `numpy.ma` has a word of its own where nothing is masked.
        if mask is None or mask is np.False_:
            continue
        if isinstance(mask, str | os.PathLike):
            fix = "open it: footprint.open_image(...) takes a file's name, also of an extension, as 'FILE.fits[DQ]'"
            raise ArgumentError(name, f"the name {os.fspath(mask)!r}", "an array, or an open image", fix)
        one = see(plain_of(mask, name), name)
        if one.spec.shape != image.spec.shape:
            raise ShapeError(name, f"shape {one.spec.shape}", f"the image's {image.spec.shape}")
        seen.append((one, name == "weight"))
        names.append(name)
    beside = _beside(image, 1, np.dtype(image.spec.dtype)) if blank == "auto" else 0
    budget = limits_and_budget(device, memory)[1] if beside > _UNASKED else None
    found = blank == "auto" and (budget is None or beside <= budget) and zeros_are_blank(image)
    if not (found or blank == "zero" or seen):
        return image, False
    return see(Blanked(image, found or blank == "zero", tuple(seen), tuple(names))), found


def without_pixels(image: Image) -> ShapeError:
    """The error where an image, as `blanked` gives it, has no finite pixel: it names who has left none."""
    wanted, blank = "at least one", image.file
    if not isinstance(blank, Blanked):
        return ShapeError("image", f"{image.spec} without a finite pixel", wanted)
    for name, (mask, weight) in zip(blank.names, blank.masks):
        if _leaves_none(mask, weight):
            got = f"{mask.spec}, {'above 0' if weight else '0'} nowhere, which leaves out every pixel"
            if weight:
                return ShapeError(name, got, "a number above 0 where a pixel counts")
            return ShapeError(name, got, "0 where a pixel counts", "give mask == 0 of one that says which do")
    others = " and ".join(blank.names)
    told = f"{' other than 0' * blank.zero}{f' that {others} would leave' if others else ''}"
    return ShapeError("image", f"{image.spec} without a finite pixel{told}", wanted)


def _leaves_none(mask: Image, weight: bool) -> bool:
    """Whether a mask, or a weight map, leaves out every pixel."""
    height, width = mask.spec.shape
    step = max(1, _PIECE // width)
    for first in range(0, height, step):
        rows = slice(first, min(first + step, height))
        values = np.empty((rows.stop - first, width), native(mask.spec.dtype))
        read_rows(mask, rows, values)
        if np.any(values > 0 if weight else values == 0):
            return False
    return True


def zeros_are_blank(image: Image) -> bool:
    """Whether a floating image is padded with zeros, as some of its rows tell: runs of zeros among values that hardly repeat."""
    width = image.spec.shape[1]
    if np.dtype(image.spec.dtype).kind != "f" or width < 2:
        return False
    if not any(np.count_nonzero(x == 0) for _, x in _some_rows(image)):
        return False
    zeros = beside = others = pairs = equal = 0
    for several, x in _some_rows(image):
        zero = x == 0
        n = int(np.count_nonzero(zero))
        if not (n or several):
            return False
        others += int(np.count_nonzero(np.isfinite(x))) - n
        if n:
            zeros += n
            near = zero[:, 1:] & zero[:, :-1]
            zero[:, 1:-1] &= near[:, 1:] | near[:, :-1]
            beside += sum(int(np.count_nonzero(some)) for some in (zero[:, 1:-1], near[:, 0], near[:, -1]))
        same, some = x[:, 1:] == x[:, :-1], x[:, 1:] != 0
        pairs += int(np.count_nonzero(some))
        equal += int(np.count_nonzero(same & some))
    return others > 0 and zeros >= _SHARE * (zeros + others) and beside >= _BESIDE * zeros and equal <= _EQUAL * pairs


def _some_rows(image: Image) -> Iterator[tuple[bool, np.ndarray]]:
    """Blocks of a few rows from top to bottom, and whether there are several.

    Short rows come together, and all of a device, as every look at a block costs as much.
    """
    height, width = image.spec.shape
    places = range(0, height, max(height // _ROWS, 1))
    if isinstance(image.face, Array) and image.face.device != "cpu":
        yield False, on_host(image.face.data[:: places.step])
        return
    several = max(1, _LOOK // width)
    block = np.empty((min(several, len(places)), width), native(image.spec.dtype))
    for first in range(0, len(places), several):
        some = places[first : first + several]
        for i, y in enumerate(some):
            read_rows(image, slice(y, y + 1), block[i : i + 1])
        yield several < len(places), block[: len(some)]


def planned_image(image: Any, blank: str, masks: dict[str, Any]) -> Any:
    """What is read of an opened image with this treatment of blanks, where zeros are not looked for."""
    seen = [(see(mask, name), name == "weight") for name, mask in masks.items()]
    if check_blank(blank) != "zero" and not seen:
        return image
    return Blanked(see(image), blank == "zero", tuple(seen))
