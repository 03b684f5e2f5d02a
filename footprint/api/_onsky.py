"""Where places in an image lie on the sky, and what errors and sizes along its axes come to there."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from footprint.api._zenithal import Zenithal

# Places asked for at a time: the library's own arrays stay small, however many there are.
_PLACED = 2048
# From a place to the neighbours that tell the directions there, in radians and in pixels: so near that a projection is straight,
# and far enough for the digits of a position where pixels are microarcseconds.
_STEP, _PIXELS = 2e-8, (1e-3, 8.0)


class OnSky(NamedTuple):
    """ICRS positions in degrees, and their errors towards east and north in great-circle degrees."""

    ra: np.ndarray
    dec: np.ndarray
    ra_err: np.ndarray
    dec_err: np.ndarray


class Placed(Protocol):
    """What else is asked about places."""

    def place(self, rows: Any, onto: np.ndarray) -> None:
        """Of these rows, a slice or numbers, by what a pixel along x and y is towards north and east, in degrees: (2, 2, n)."""


def on_sky(
    ask: Callable[[], Told],
    x: np.ndarray,
    y: np.ndarray,
    x_err: np.ndarray,
    y_err: np.ndarray,
    *more: Placed,
    tie: Callable[[Any], np.ndarray] | None = None,
) -> OnSky:
    """Positions of pixels, NaN where there is none, and what errors along x and y make of them.

    ``ask`` tells what makes places of pixels, if there is a pixel; ``tie`` how both errors are correlated in some rows.

    East and north differ from place to place, and axes may be turned, swapped, of different scales or of another frame, so the
    directions are those of the place itself.
    """
    found = OnSky(*(np.full(len(x), np.nan) for _ in OnSky._fields))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        told = None
        for at in range(0, len(x), _PLACED):
            known = np.isfinite(x[at : at + _PLACED]) & np.isfinite(y[at : at + _PLACED])
            if not known.any():
                continue
            told = told or ask()
            rows = slice(at, at + len(known)) if known.all() else at + np.flatnonzero(known)
            onto = _place(told, x[rows], y[rows], rows, found)
            tied = tie(rows) if tie is not None else None
            for out, steps in ((found.dec_err, onto[0]), (found.ra_err, onto[1])):
                by_x, by_y = steps[0] * x_err[rows], steps[1] * y_err[rows]
                # Of |tie| < 1 neither root is of less than 0.
                out[rows] = np.hypot(by_x, by_y) if tied is None else np.hypot(by_x + tied * by_y, np.sqrt(1 - tied**2) * by_y)
            for one in more:
                one.place(rows, onto)
    return found


def _place(told: Told, x: np.ndarray, y: np.ndarray, rows: Any, found: OnSky) -> np.ndarray:
    """Positions of some rows, in which every place is known; what pixels there are towards north and east, as `Placed` has it."""
    n, by = len(x), told.by
    # Places and their neighbours in one question, which takes longer than hundreds of answers.
    steps = ((0.0, 0.0), (by, 0.0), (0.0, by)) if told.zenithal is None else ((0.0, 0.0),)
    ra, dec = told.places(np.concatenate([np.stack([x + dx, y + dy], axis=-1) for dx, dy in steps]))
    found.ra[rows], found.dec[rows] = ra[:n], dec[:n]
    if told.zenithal is not None:
        onto = told.zenithal.onto(x, y, ra, dec)
        return _place(replace(told, zenithal=None), x, y, rows, found) if onto is None else onto
    here, ways = _vectors(ra[:n], dec[:n])
    onto = np.empty((2, 2, n))
    for k in range(2):
        side = slice((k + 1) * n, (k + 2) * n)
        there, _ = _vectors(ra[side], dec[side])
        step = [one - other for one, other in zip(there, here)]
        for way, out in zip(ways, onto[:, k]):
            along = step[0] * way[0]
            for one, other in zip(step[1:], way[1:]):
                along += one * other
            np.divide(np.degrees(along), by, out=out)
    return onto


def _vectors(ra: np.ndarray, dec: np.ndarray) -> tuple[list[np.ndarray], tuple[tuple[np.ndarray, ...], ...]]:
    """Unit vectors of places in degrees, and those towards north and, without its third number, east."""
    ra, dec = np.radians(ra), np.radians(dec)
    (cos_ra, sin_ra), (cos_dec, up) = (np.cos(ra), np.sin(ra)), (np.cos(dec), np.sin(dec))
    return [cos_dec * cos_ra, cos_dec * sin_ra, up], ((-up * cos_ra, -up * sin_ra, cos_dec), (-sin_ra, cos_ra))


@dataclass(frozen=True)
class Told:
    """What makes places of pixels.

    Attributes
    ----------
    places
        ICRS positions, in degrees, of rows of x and y: astropy's, to the last bit.
    by
        Pixels to the neighbours that tell the directions of a place, where no formula does.
    zenithal
        The formula.
    """

    places: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
    by: float
    zenithal: Zenithal | None = None

    @classmethod
    def of(cls, wcs: Any, area: float | None) -> Told:
        """By a WCS of astropy's, or one like them; ``area``: of a pixel in square degrees, where it is known."""
        turns = _turns(wcs)
        if turns is not None:
            return cls(_plainly(wcs, turns), _step(area), Zenithal.of(wcs, turns))

        def asked(xy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            world = wcs.pixel_to_world(xy[:, 0], xy[:, 1]).icrs
            return world.ra.deg, world.dec.deg

        return cls(asked, _step(area))


def _step(area: float | None) -> float:
    return _PIXELS[0] if area is None else min(max(_STEP / math.radians(math.sqrt(area)), _PIXELS[0]), _PIXELS[1])


def _plainly(wcs: Any, turns: list[np.ndarray]) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Numbers of a WCS as they are, turned from frame to frame: coordinate objects around them would take most of the time."""
    from astropy import units
    from erfa import ufunc

    # Astropy's own factors, which a conversion of NumPy's need not share.
    radian, degree = units.deg.to(units.rad), units.rad.to(units.deg)

    def plainly(xy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # It counts pixels from 1 in the array that it is given, and what is put back is not always what was there.
        axes = wcs.all_pix2world(xy.copy(), 0)
        ra, dec = axes[:, wcs.wcs.lng].copy(), axes[:, wcs.wcs.lat].copy()
        _wrap(ra, 360.0)
        if turns:
            ra, dec = ra * radian, dec * radian
            for turn in turns:
                ra, dec = ufunc.c2s(ufunc.rxp(turn, ufunc.s2c(ra, dec)))
                _wrap(ra, 2 * np.pi)
            ra, dec = ra * degree, dec * degree
        return ra, dec

    return plainly


def _wrap(angle: np.ndarray, whole: float) -> None:
    """Bring angles to at least 0 and less than a whole turn, in place."""
    out = np.flatnonzero((angle < 0) | (angle >= whole))
    if out.size:
        turned = angle[out] - np.floor_divide(angle[out], whole) * whole
        # A rounding error under 0 has come out as a whole turn.
        angle[out] = np.where(turned >= whole, turned - whole, turned)


def _turns(wcs: Any) -> list[np.ndarray] | None:
    """The matrices that make ICRS of what a WCS says, one after the other, none where it is ICRS; None where it takes more."""
    from astropy.coordinates import FK5, ICRS, Galactic, frame_transform_graph
    from astropy.wcs import WCS
    from astropy.wcs.utils import wcs_to_celestial_frame

    if type(wcs) is not WCS or wcs.naxis != 2:
        return None
    frame, turns = wcs_to_celestial_frame(wcs), []
    if type(frame) is ICRS:
        return []
    if type(frame) not in (FK5, Galactic):
        return None
    for step in frame_transform_graph.get_transform(type(frame), ICRS).transforms:
        # Where the way leads by another frame, it is that of its usual equinox.
        make, there = getattr(step, "matrix_func", None), step.tosys()
        if make is None:
            return None
        turns.append(make(frame, there))
        frame = there
    return turns
