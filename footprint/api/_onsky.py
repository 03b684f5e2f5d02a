"""Where places in an image lie on the sky, and what errors and sizes along its axes come to there."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
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
        told = None
        for at in range(0, len(x), _PLACED):
            known = np.isfinite(x[at : at + _PLACED]) & np.isfinite(y[at : at + _PLACED])
            if not known.any():
                continue
            told, rows = told or _told_by(wcs), at + np.flatnonzero(known)
            onto = _place(told, x[rows], y[rows], by, rows, found)
            for out, steps in ((found.dec_err, onto[0]), (found.ra_err, onto[1])):
                out[rows] = np.hypot(steps[0] * x_err[rows], steps[1] * y_err[rows])
            for one in more:
                one.place(rows, onto)
    return found


def _place(
    told: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    x: np.ndarray,
    y: np.ndarray,
    by: float,
    rows: np.ndarray,
    found: OnSky,
) -> np.ndarray:
    """Positions of some rows, in which every place is known; what pixels there are towards north and east, as `Placed` has it."""
    here = np.empty((3, len(x), 2))
    here[:, :, 0], here[:, :, 1] = x, y
    here[1, :, 0] += by
    here[2, :, 1] += by
    ra, dec = (values.reshape(3, -1) for values in told(here.reshape(-1, 2)))
    found.ra[rows], found.dec[rows] = ra[0], dec[0]
    ra, dec = np.radians(ra), np.radians(dec)
    # Of the places and their neighbours along x and y: what unit vectors, and the directions at the places, are made of.
    (cos_ra, sin_ra), (cos_dec, up) = (np.cos(ra), np.sin(ra)), (np.cos(dec), np.sin(dec))
    across, along = cos_dec * cos_ra, cos_dec * sin_ra
    ways = (-up[0] * cos_ra[0], -up[0] * sin_ra[0], cos_dec[0]), (-sin_ra[0], cos_ra[0])
    onto = np.empty((2, 2, len(x)))
    for k in (1, 2):
        step = across[k] - across[0], along[k] - along[0], up[k] - up[0]
        for way, out in zip(ways, onto[:, k - 1]):
            side = step[0] * way[0]
            for one, other in zip(step[1:], way[1:]):
                side += one * other
            np.divide(np.degrees(side), by, out=out)
    return onto


def _step(wcs: Any) -> float:
    """Pixels to the neighbours."""
    try:
        area = pixel_area(wcs)
    except Exception:  # of WCS that are none of astropy's
        area = None
    return _PIXELS[0] if area is None else min(max(_STEP / math.radians(math.sqrt(area)), _PIXELS[0]), _PIXELS[1])


def icrs(wcs: Any, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Right ascension and declination of pixels, in degrees: astropy's, to the last bit."""
    return _told_by(wcs)(np.stack([x, y], axis=-1))


def _told_by(wcs: Any) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """What makes ICRS positions of rows of x and y."""
    if not _plain(wcs):

        def asked(xy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            world = wcs.pixel_to_world(xy[:, 0], xy[:, 1]).icrs
            return world.ra.deg, world.dec.deg

        return asked

    # Coordinate objects that only hand numbers on would take most of the time.
    def plainly(xy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        axes = wcs.all_pix2world(xy, 0)
        ra, dec = axes[:, wcs.wcs.lng].copy(), axes[:, wcs.wcs.lat].copy()
        out = np.flatnonzero((ra < 0) | (ra >= 360))
        if out.size:
            turned = ra[out] - np.floor_divide(ra[out], 360.0) * 360
            # A rounding error under 0 has come out as 360.
            ra[out] = np.where(turned >= 360, turned - 360, turned)
        return ra, dec

    return plainly


def _plain(wcs: Any) -> bool:
    """Whether what a WCS says is ICRS right ascension and declination as it is."""
    from astropy.coordinates import ICRS
    from astropy.wcs import WCS
    from astropy.wcs.utils import wcs_to_celestial_frame

    return type(wcs) is WCS and wcs.naxis == 2 and type(wcs_to_celestial_frame(wcs)) is ICRS
