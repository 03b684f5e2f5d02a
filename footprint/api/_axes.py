"""Which axes of an array are an image's where others have length 1, as radio images have them, and what a header says of those."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from footprint.errors import ShapeError

# FITS ends axes at 999.
_MOST = 999


def kept_axes(shape: Sequence[int], stays: int = 0) -> list[int]:
    """The axes without those of length 1, leading ones first, until two are left; the last ``stays`` are kept whatever they are."""
    kept = list(range(len(shape)))
    while len(kept) > 2:
        one = next((axis for axis in kept if shape[axis] == 1 and axis < len(shape) - stays), None)
        if one is None:
            break
        kept.remove(one)
    return kept


def header_shape(header: Any) -> tuple[int, ...]:
    """The lengths of the axes a FITS header tells of, the slowest first; () where it tells none."""
    try:
        count = int(header.get("NAXIS", 0) or 0)
        lengths = [int(header.get(f"NAXIS{axis}", 0)) for axis in range(min(count, _MOST), 0, -1)]
    except (TypeError, ValueError):
        return ()
    return tuple(lengths) if min(lengths, default=0) > 0 else ()


def sky_axes(header: Any) -> tuple[int, int]:
    """The numbers that FITS gives to the axes of rows and columns; 2 and 1 unless axes of length 1 come first."""
    shape = header_shape(header)
    kept = kept_axes(shape)
    return (len(shape) - kept[-2], len(shape) - kept[-1]) if len(kept) > 1 else (2, 1)


def whole_shape(shape: tuple[int, ...], header: Any) -> tuple[int, ...]:
    """An image's shape, or that of several, with the axes that its header's image has beside them; as it is where they differ."""
    before = () if header is None else header_shape(header)
    kept = kept_axes(before)
    lead = [before[axis] for axis in kept[:-2]]
    if len(before) < 3 or len(kept) < 2 or math.prod(lead) != math.prod(shape[:-2]):
        return shape
    whole = [1] * len(before)
    for axis, length in zip(kept, (*lead, *shape[-2:])):
        whole[axis] = length
    return tuple(whole)


def plane_header(header: Any, plane: Sequence[int]) -> Any:
    """The header of one plane of a cube: its axes have length 1, and say where it lies along them; an axis of no meaning goes.

    ``plane`` counts along the cube's axes that are longer than 1, but its last two.
    """
    shape = header_shape(header)
    kept = kept_axes(shape)
    if len(kept) != len(plane) + 2:
        return header
    made = header.copy()
    for axis, index in zip(kept, plane):
        number = len(shape) - axis
        made[f"NAXIS{number}"] = 1
        moved(made, number, -index)
        if number == made["NAXIS"] and not any(
            re.fullmatch(rf"C[A-Z]+{number}[A-Z]?|(CD|PC)\d+_{number}[A-Z]?", key) for key in made
        ):
            made["NAXIS"] = number - 1
            del made[f"NAXIS{number}"]
    return made


def moved(header: Any, axis: int, by: int) -> None:
    """Move a header's pixels along an axis, by whole pixels: where pixel 0 was is now pixel ``by``."""
    if not by:
        return
    for key in [key for key in header if re.fullmatch(rf"CRPIX{axis}[A-Z]?|LTV{axis}", key)]:
        if isinstance(header[key], int | float):
            header[key] += by
    # Without it the reference is pixel 0.
    for other in [key for key in header if re.fullmatch(rf"CTYPE{axis}[A-Z]?", key)]:
        header.setdefault(f"CRPIX{axis}{other[len(f'CTYPE{axis}') :]}", by)


def without_ones(array: Any, name: str, fix: str) -> Any:
    """An image's array without its axes of length 1, a view; ``fix`` is what to do where more than two are left."""
    shape = tuple(getattr(array, "shape", ()))
    if len(shape) < 3:
        return array
    kept = kept_axes(shape)
    if len(kept) > 2:
        raise ShapeError(name, f"shape {shape}", "one image (n_y, n_x), beside it axes of length 1 only", fix)
    return array.reshape(tuple(shape[axis] for axis in kept))


def one_of(name: str, shape: Sequence[int]) -> str:
    """How a plane of an array is picked; "" where it has none."""
    if len(shape) < 3:
        return ""
    called = name if name.isidentifier() else "image"
    return f"pick a plane, as {called}[{', '.join('0' * (len(shape) - 2))}]"
