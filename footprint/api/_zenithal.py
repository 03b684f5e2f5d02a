"""What a pixel is on the sky of an orthographic or gnomonic image: the projection's own derivative, not differences of places."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

_KINDS = {"SIN": True, "TAN": False}
# In radians: what formula and library differ by where both mean the same is rounding, and what is another projection is far more.
_AGREE = 1e-10
# Places of a block that are compared with the library's.
_SAMPLES = 8


class Zenithal(NamedTuple):
    """Orthographic (SIN) and gnomonic (TAN) images by Calabretta & Greisen (2002, A&A 395, 1077).

    Attributes
    ----------
    orthographic
        Or gnomonic.
    corner
        The reference pixel, from 0.
    scale
        Degrees towards ICRS east and north at the reference point that a pixel along x and y is: (2, 2).
    ra, dec
        Of the reference point in ICRS, in radians.
    """

    orthographic: bool
    corner: np.ndarray
    scale: np.ndarray
    ra: float
    dec: float

    @classmethod
    def of(cls, wcs: Any, turns: Sequence[np.ndarray] = ()) -> Zenithal | None:
        """Of an astropy WCS that has this projection and nothing else; None of any other.

        ``turns``: the matrices that make ICRS of its frame, one after the other.
        """
        kinds = {str(word)[5:] for word in wcs.wcs.ctype}
        if len(kinds) != 1 or not kinds <= _KINDS.keys() or wcs.has_distortion or len(wcs.wcs.get_pv()):
            return None
        order = [wcs.wcs.lng, wcs.wcs.lat]
        ra, dec = (float(angle) for angle in np.radians(np.asarray(wcs.wcs.crval, np.float64)[order]))
        turn = math.radians(wcs.wcs.lonpole)
        cos, sin = math.cos(turn), math.sin(turn)
        scale = np.array([[-cos, -sin], [sin, -cos]]) @ np.asarray(wcs.pixel_scale_matrix, np.float64)[order]
        for matrix in turns:
            ra, dec, tilt = _turned(matrix, ra, dec)
            scale = tilt @ scale
        return cls(_KINDS[kinds.pop()], np.asarray(wcs.wcs.crpix, np.float64) - 1, scale, ra, dec)

    def onto(self, x: np.ndarray, y: np.ndarray, ra: np.ndarray, dec: np.ndarray) -> np.ndarray | None:
        """What pixels at these places are towards north and east, in degrees: (2, 2, n). None unless it finds the places itself.

        A place is the unit vector (east, north, ahead) about the reference point. ``inward``, ``east`` and ``up`` are the same
        towards that point's meridian, a quarter turn to its east, and the pole.
        """
        dx, dy = x - self.corner[0], y - self.corner[1]
        east, north = (math.radians(row[0]) * dx + math.radians(row[1]) * dy for row in self.scale)
        square = east * east + north * north
        if self.orthographic:
            ahead = np.sqrt(1 - square)
        else:
            ahead = 1 / np.sqrt(1 + square)
            east *= ahead
            north *= ahead
        cos, sin = math.cos(self.dec), math.sin(self.dec)
        inward, up = cos * ahead - sin * north, sin * ahead + cos * north
        below = inward * inward + east * east
        out = np.sqrt(below)
        if not self._agrees(inward, east, up, ra, dec):
            return None
        # Of the directions at the places, north and east, what is towards east, north and ahead at the reference point.
        tilt = up * inward
        northward = [-up * east, sin * tilt + cos * below, sin * below - cos * tilt]
        eastward = [inward, sin * east, -cos * east]
        onto = np.empty((2, 2, len(x)))
        for way, row in zip((northward, eastward), onto):
            if self.orthographic:
                # What the vector gains ahead keeps it a unit vector.
                way[2] /= ahead
                first, second = way[0] - east * way[2], way[1] - north * way[2]
            else:
                # What a vector gains along itself is not seen from the place.
                first, second = way[0] * ahead, way[1] * ahead
            for k, into in enumerate(row):
                np.multiply(first, self.scale[0, k], out=into)
                into += second * self.scale[1, k]
                into /= out
        return onto

    def _agrees(self, inward: np.ndarray, east: np.ndarray, up: np.ndarray, ra: np.ndarray, dec: np.ndarray) -> bool:
        """Whether some of these vectors are the places; False where one has no directions, as at a pole."""
        few = slice(None, None, max(len(ra) // _SAMPLES, 1))
        turn, tilt = np.radians(ra[few]) - self.ra, np.radians(dec[few])
        wanted = np.cos(tilt) * np.cos(turn), np.cos(tilt) * np.sin(turn), np.sin(tilt)
        off = max(float(np.abs(one[few] - other).max()) for one, other in zip((inward, east, up), wanted))
        # A NaN among them is none of these.
        return off < _AGREE and float((inward * inward + east * east).min()) > _AGREE**2


def _basis(ra: float, dec: float) -> np.ndarray:
    """Unit vectors towards east, towards north and ahead at a place, as rows."""
    (cos_ra, sin_ra), (cos, sin) = (math.cos(ra), math.sin(ra)), (math.cos(dec), math.sin(dec))
    return np.array([[-sin_ra, cos_ra, 0.0], [-sin * cos_ra, -sin * sin_ra, cos], [cos * cos_ra, cos * sin_ra, sin]])


def _turned(turn: np.ndarray, ra: float, dec: float) -> tuple[float, float, np.ndarray]:
    """A place in another frame, and the matrix that makes east and north there of those in its own."""
    before = _basis(ra, dec) @ np.asarray(turn).T
    x, y, z = before[2]
    ra, dec = math.atan2(y, x), math.atan2(z, math.hypot(x, y))
    return ra, dec, (_basis(ra, dec) @ before.T)[:2, :2]
