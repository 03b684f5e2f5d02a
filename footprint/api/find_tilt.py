"""How much a scan's rotation axis leans in the detector's plane."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from footprint.api._arrays import Memory
from footprint.api.axis_by_row import AxisByRow, by_row
from footprint.api.untilt import MOST, untilt_of
from footprint.errors import ArgumentError, warn

# Searches at most, and degrees that are nothing: half a pixel over ten thousand.
_TURNS, _NOTHING = 6, 3e-3
# Of a tilt, the share that rows show at least and at most, either way: a row and its opposite are not of the same height where the
# axis leans, and the edges of an object that is flat as a lens show more than the tilt, with the opposite sign.
_SHOWN, _LEAST = (0.3, 3.0), 1e-3
# Degrees of error from which on the caller is warned, and the score.
_UNSURE, _DOUBTFUL = 0.1, 0.5


class Tilt(NamedTuple):
    """How much an axis leans, in degrees as `untilt` takes them, and how sure that is.

    Attributes
    ----------
    degrees, error
        The tilt, and its standard error.
    center
        The axis at the detector's middle, in pixels.
    score
        How well opposite projections agree once they are turned, 0 to 1.
    spread
        Standard deviation of the heights' axes from the upright line, in pixels.
    searches
        How often the axis was searched over all heights.
    """

    degrees: float
    error: float
    center: float
    score: float
    spread: float
    searches: int


def find_tilt(
    scan: Any,
    *,
    method: str = "registration",
    search: tuple[float, float] | None = None,
    i0: str | float = "auto",
    log: bool = True,
    memory: Memory = None,
) -> Tilt:
    """Find the tilt of a scan's rotation axis: the angle by which projections must be turned to have it upright.

    The slope of `axis_by_row` underestimates a tilt, because about a leaning axis the opposite of a row is a different row. So
    projections are turned by the tilt found and searched again, until none is left (by the secant rule, usually in three searches).
    Uses some rows of a few projections, on the CPU.

    Parameters
    ----------
    scan : open scan
        See `open_scan`.
    method, search, i0, log
        As in `rotation_axis`.
    memory : str, int or float, optional
        The most memory it may take.

    Returns
    -------
    Tilt
        ``degrees`` for `untilt` and ``steps(tilt=...)``: positive where the axis is at larger x in rows of larger z.

    Raises
    ------
    ArgumentError, BudgetError
        As `axis_by_row`, or more than 10 degrees.

    Warns
    -----
    UserWarning
        An error above 0.1 degrees, or more than a third of the heights off the line.

    Examples
    --------
    >>> import tempfile, pathlib, footprint as fp
    >>> from footprint.io.phantom import write_scan
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     truth = write_scan(pathlib.Path(folder) / "scan.nx", n_angles=90, n_z=12, n_x=64)
    ...     with fp.open_scan(truth.path) as scan:
    ...         tilt = fp.find_tilt(scan)
    >>> abs(tilt.degrees) < 3 * tilt.error + 0.2
    True
    """
    how = {"method": method, "i0": i0, "log": log, "memory": memory}
    degrees, tried = 0.0, list[tuple[float, float]]()
    while True:
        turned = untilt_of(degrees, int(scan.shape[1]), int(scan.shape[2])) if degrees else None
        axis = _heights(scan, search, how | {"turned": turned})
        rest = axis.degrees
        tried.append((degrees, rest))
        if len(tried) == _TURNS or abs(rest) <= (max(_NOTHING, axis.error / 4) if tried[1:] else _NOTHING):
            break
        shown = _shown(tried[-2:])
        degrees += rest / math.copysign(min(max(abs(shown), _SHOWN[0]), _SHOWN[1]), shown)
        if abs(degrees) > MOST:
            wanted = f"a tilt within {MOST:g} degrees, rows show {axis.degrees:.3g}"
            raise ArgumentError("tilt", "'auto'", wanted, "is one projection moved against the other? Give the tilt in degrees")
    if abs(rest) > max(_NOTHING, 3 * axis.error):
        wanted = f"a search that ends; after {len(tried)} turns the rows still show {rest:.3g} degrees"
        raise ArgumentError("tilt", "'auto'", wanted, "give the tilt in degrees")
    error = axis.error if abs(rest) <= _NOTHING else max(axis.error, abs(rest))
    error /= min(max(abs(_shown(tried)), _LEAST), _SHOWN[1])
    tilt = Tilt(degrees, error, float(axis.centers.mean()), axis.score, axis.spread, len(tried))
    _judge(tilt, axis)
    return tilt


def _heights(scan: Any, search: tuple[float, float] | None, how: dict[str, Any]) -> AxisByRow:
    """The axis by rows; what hinders that search is told of the tilt, which is what was asked for."""
    try:
        return by_row(scan, 1, search, how)
    except ArgumentError as error:
        if error.name != "center" or error.got == repr(how["method"]):
            raise
        raise ArgumentError("tilt", error.got, error.wanted, "give the tilt in degrees") from None


def _shown(tried: list[tuple[float, float]]) -> float:
    """The share of a turn by which what rows show becomes less; all of it where nothing was turned."""
    turns, rests = np.array(tried).T
    turns = turns - turns.mean()
    return float(-(turns @ rests) / (turns @ turns)) if turns.any() else 1.0


def _judge(tilt: Tilt, axis: AxisByRow) -> None:
    """Warn where the tilt is not to be trusted."""
    off = int(len(axis.used) - axis.used.sum())
    if 3 * off > len(axis.used):
        wrong = f"at {off} of {len(axis.used)} heights the axis was not found, or lies elsewhere"
    elif not tilt.error <= _UNSURE:
        wrong = f"its standard error is {tilt.error:.2g} degrees"
    else:
        return
    fix = "give the tilt in degrees, or leave projections as they are"
    warn(f"the tilt of {tilt.degrees:.3f} degrees is doubtful: {wrong}; {fix}")
