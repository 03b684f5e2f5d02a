"""``--exclude-angles``, ``--every``, ``--binning``, ``--flip``: what of a scan is taken. Positions stay those of the detector."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from footprint.cli.excluded import excluded
from footprint.errors import ArgumentError, FormatError, warn

if TYPE_CHECKING:
    from footprint.api.select import Selected

_EXCLUDE = (
    "Projections to leave out, counted from 0: numbers and ranges such as 3,10:20 (20 excluded); frames=FILE: frame numbers in a "
    "file, flats and darks counted; degrees=A:B or degrees=FILE: those at these angles."
)
_BINNING = "Average squares of N x N pixels; --center, --rows, shifts and --pixel-size still count detector pixels."


def chosen_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options of what is taken of a scan."""
    for option in (
        click.option("--flip", is_flag=True, help="Reverse the detector's columns; --center still counts as on the detector."),
        click.option("--binning", type=int, default=None, metavar="N", help=_BINNING),
        click.option("--every", default=None, metavar="N[:FIRST]", help="Take every N-th projection, from number FIRST (0) on."),
        click.option("--exclude-angles", default=None, metavar="LIST", help=_EXCLUDE),
    ):
        command = option(command)
    return command


def chosen(scan: Any, options: dict[str, Any]) -> Any:
    """What the options take of a scan, which they are taken out of; the scan itself where that is all."""
    from footprint.api.select import select

    names = ("exclude_angles", "every", "binning", "flip")
    text, every, binning, flip = (options.pop(name) for name in names)
    if text is None and every is None and binning is None and not flip:
        return scan
    try:
        exclude = None if text is None else excluded(text, scan)
        step, start = (1, 0) if every is None else _step(every)
        return select(scan, exclude=exclude, every=step, start=start, binning=1 if binning is None else binning, flip=flip)
    except ArgumentError as error:
        name = {"exclude": "--exclude-angles", "start": "--every"}.get(error.name, f"--{error.name}")
        raise ArgumentError(name, error.got, error.wanted, error.fix) from None


def _step(text: str) -> tuple[int, int]:
    """``N`` or ``N:FIRST``."""
    step, _, first = str(text).partition(":")
    try:
        return int(step), int(first or 0)
    except ValueError:
        raise ArgumentError("every", repr(text), "N or N:FIRST, whole numbers such as 2 or 2:1") from None


# -- positions of the detector as those of what is taken, and back -----------------------------------------------------
def selection(source: Any) -> Selected | None:
    """The scan itself where it is a selection of another; None where all is taken as it is."""
    from footprint.api.select import Selected

    return source if isinstance(source, Selected) else None


def binning_of(source: Any) -> int:
    """Detector pixels along a side of one that is taken."""
    some = selection(source)
    return some.binning if some is not None else 1


def sign_of(source: Any) -> int:
    """-1 where the detector's columns are taken in reverse order: angles and directions then have the other sign."""
    some = selection(source)
    return -1 if some is not None and some.flip else 1


def axis_in(source: Any, center: float) -> float:
    """The axis in pixels of what is taken."""
    some = selection(source)
    return float(some.own_axis(center)) if some is not None else center


def to_detector(source: Any, center: Any) -> Any:
    """The way back, of one axis or of an array of them."""
    some = selection(source)
    return some.detector_axis(center) if some is not None else center


def axis_out(source: Any, axis: Any) -> Any:
    """A search's result in pixels of the detector."""
    if selection(source) is None:
        return axis
    order = slice(None, None, sign_of(source))
    center, spread = float(to_detector(source, axis.center)), axis.spread * binning_of(source)
    return axis._replace(center=center, spread=spread, tried=to_detector(source, axis.tried)[order], values=axis.values[order])


def rows_in(source: Any, rows: slice) -> slice:
    """Rows of the detector as those of what is taken: all that hold some of them."""
    size = binning_of(source)
    stop = min(-(-rows.stop // size), source.n_z)
    if size == 1:
        return rows
    if rows.start // size >= stop:
        wanted = f"rows that --binning {size} leaves, up to {source.n_z * size}"
        raise ArgumentError("--rows", f"{rows.start}:{rows.stop}", wanted)
    return slice(rows.start // size, stop)


def shifts_in(source: Any, shifts: Any) -> Any:
    """Vertical shifts of all projections as those of what is taken."""
    some = selection(source)
    return some.of(shifts) / some.binning if some is not None else shifts


def axis_shifts_in(source: Any, path: str, center: Any) -> Any:
    """How far the axis of every projection is off ``center``, as that of what is taken: a flip turns the direction round."""
    from footprint.io.shifts import read_shifts

    shifts = read_shifts(path, detector_of(source)[0])
    _check_axes(source, path, shifts, center)
    return shifts_in(source, shifts) * sign_of(source)


def _check_axes(source: Any, path: str, shifts: Any, center: Any) -> None:
    """Raise where a shift puts the axis farther off the detector than it may be, wherever a search may find it."""
    from footprint.ops.backproject import limits_of_axis

    some = selection(source)
    n_x = source.n_x if some is None else some.whole[2]
    low, high, wanted = limits_of_axis(n_x)
    if isinstance(center, str):
        first, last = n_x - 0.5, -0.5
    else:
        given = [float(value) for value in center.values] if hasattr(center, "values") else [float(to_detector(source, center))]
        # An axis that lies too far off by itself is refused by its own name.
        first, last = max(min(given), low), min(max(given), high)
    for number, shift in enumerate(shifts):
        if not low - first <= shift <= high - last:
            raise FormatError(path, f"its shift number {number} is {shift:g} pixels, wanted the axis {wanted}")


def centimetres(text: str) -> float:
    """The size of a pixel: a number of centimetres, or one with its unit; whoever leaves the unit out mostly means micrometres."""
    found = re.fullmatch(r"\s*([-+.\deE]+?)\s*([^\W\d]*)\s*", text)
    try:
        size, unit = (float(found[1]), found[2]) if found else (float(text), "")
        if unit:
            from footprint.io.nxtomo import LENGTHS

            size *= 100 * LENGTHS[unit]
    except (ValueError, KeyError):
        raise ArgumentError("--pixel-size", repr(text), "centimetres, a length such as 6.5um, auto or none") from None
    if not 0 < size < math.inf:
        raise ArgumentError("--pixel-size", repr(text), "a length above 0")
    if not unit and 1 <= size < math.inf:
        warn(f"a pixel of {size:g} cm: --pixel-size counts centimetres; give the unit, as {size:g}um")
    return size


def size_in(source: Any, size: float | None) -> float | None:
    """A pixel of the detector as one of what is taken."""
    return size if size is None else size * binning_of(source)


def detector_of(source: Any) -> tuple[int, int]:
    """Projections and rows of the scan as it is stored."""
    some = selection(source)
    whole = some.whole if some is not None else source.shape
    return int(whole[0]), int(whole[1])


def centers_in(source: Any, tries: Any) -> list[float]:
    """Axes to try in pixels of what is taken."""
    return [axis_in(source, value) for value in tries.values]


def axis_apart(source: Any, center: Any) -> dict[str, Any]:
    """The axis in pixels of what is taken, for report and metadata, where it is not that of the detector."""
    return {"center_of_pixels_taken": center} if selection(source) is not None else {}
