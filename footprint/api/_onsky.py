"""Where places in an image lie on the sky, and what errors and sizes along its axes come to there."""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple, Protocol

import numpy as np

from footprint.api._header import pixel_area

# Places asked for at a time: the library's own arrays stay small, however many there are.
_PLACED = 1024
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

    def place(self, rows: np.ndarray, onto: np.ndarray) -> None:
        """Of these rows, by what a pixel along x and y is towards north and east, in degrees: (2, 2, n)."""


def on_sky(wcs: Any, x: np.ndarray, y: np.ndarray, x_err: np.ndarray, y_err: np.ndarray, *more: Placed) -> OnSky:
    """Positions of pixels, NaN where there is none, and what independent errors along x and y make of them.

    East and north differ from place to place, and axes may be turned, swapped, of different scales or of another frame, so the
    directions are those of the place itself.
    """
    found, by = OnSky(*(np.full(len(x), np.nan) for _ in OnSky._fields)), _step(wcs)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for at in range(0, len(x), _PLACED):
            rows = at + np.flatnonzero(np.isfinite(x[at : at + _PLACED]) & np.isfinite(y[at : at + _PLACED]))
            if not len(rows):
                continue
            here = x[rows], y[rows]
            over, down = np.repeat([[0, by, 0], [0, 0, by]], len(rows), axis=1)
            ra, dec = icrs(wcs, np.tile(here[0], 3) + over, np.tile(here[1], 3) + down)
            n = len(rows)
            found.ra[rows], found.dec[rows] = ra[:n], dec[:n]
            east, north = _directions(ra[:n], dec[:n])
            place, *along = _unit(ra, dec).reshape(3, 3, n).swapaxes(0, 1)
            onto = np.array([[np.degrees(((to - place) * way).sum(axis=0)) / by for to in along] for way in (north, east)])
            for out, steps in ((found.dec_err, onto[0]), (found.ra_err, onto[1])):
                out[rows] = np.hypot(steps[0] * x_err[rows], steps[1] * y_err[rows])
            for one in more:
                one.place(rows, onto)
    return found


def _step(wcs: Any) -> float:
    """Pixels to the neighbours."""
    try:
        area = pixel_area(wcs)
    except Exception:  # of WCS that are none of astropy's
        area = None
    return _PIXELS[0] if area is None else min(max(_STEP / math.radians(math.sqrt(area)), _PIXELS[0]), _PIXELS[1])


def icrs(wcs: Any, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Right ascension and declination of pixels, in degrees: astropy's, to the last bit."""
    if not _plain(wcs):
        world = wcs.pixel_to_world(x, y).icrs
        return world.ra.deg, world.dec.deg
    # Coordinate objects that only hand numbers on would take most of the time.
    axes = wcs.all_pix2world(x, y, 0)
    ra, dec = axes[wcs.wcs.lng], axes[wcs.wcs.lat]
    ra = ra - np.floor_divide(ra, 360.0, out=np.zeros_like(ra), where=(ra < 0) | (ra >= 360)) * 360
    # A rounding error under 0 has come out as 360.
    return np.where(ra >= 360, ra - 360, ra), dec


def _plain(wcs: Any) -> bool:
    """Whether what a WCS says is ICRS right ascension and declination as it is."""
    from astropy.coordinates import ICRS
    from astropy.wcs import WCS
    from astropy.wcs.utils import wcs_to_celestial_frame

    return type(wcs) is WCS and wcs.naxis == 2 and type(wcs_to_celestial_frame(wcs)) is ICRS


def _unit(ra: np.ndarray, dec: np.ndarray) -> np.ndarray:
    """Unit vectors, one a column."""
    ra, dec = np.radians(ra), np.radians(dec)
    return np.stack([np.cos(dec) * np.cos(ra), np.cos(dec) * np.sin(ra), np.sin(dec)])


def _directions(ra: np.ndarray, dec: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """East and north at positions, as unit vectors."""
    ra, dec = np.radians(ra), np.radians(dec)
    east = np.stack([-np.sin(ra), np.cos(ra), np.zeros_like(ra)])
    return east, np.stack([-np.sin(dec) * np.cos(ra), -np.sin(dec) * np.sin(ra), np.cos(dec)])
