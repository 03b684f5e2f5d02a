"""Ellipses of sources: what is left of them without the beam, how large they are on the sky, and errors of both."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from footprint.api._table import Columns

# Of a Gaussian, its full width at half maximum in standard deviations.
WIDTH = 2 * math.sqrt(2 * math.log(2))
# What rounding leaves of a shape that is the beam's, as a share of its mean square, is nothing.
_LEAST = 1e-9
PIXELS, ON_SKY = ("a", "b", "theta"), ("major", "minor", "pa")


class Ellipse(NamedTuple):
    """Standard deviations along the axes, and the angle of the major one from the first axis towards the second, in radians."""

    major: np.ndarray
    minor: np.ndarray
    angle: np.ndarray


def ellipses(
    shape: Any, errors: Any = None, less: tuple[float, ...] = (), onto: np.ndarray | None = None
) -> tuple[Ellipse, Ellipse | None]:
    """Ellipses whose covariances are J (C - B) J^T, with errors to first order.

    Parameters
    ----------
    shape
        Standard deviations a and b and the angle theta in degrees, which tell C.
    errors
        Of these three, taken to be independent, as they are in white noise (Condon 1997).
    less
        The covariance B that is taken off, as xx, yx and yy: axes along which nothing is left are NaN.
    onto
        J, (2, 2, n): what a pixel along x and y is along the axes that the result is told in.
    """
    a, b, theta = shape
    turn = np.radians(theta)
    along, across = np.stack([np.cos(turn), np.sin(turn)]), np.stack([-np.sin(turn), np.cos(turn)])
    if onto is not None:
        along, across = (onto[:, 0] * axis[0] + onto[:, 1] * axis[1] for axis in (along, across))
    squares = a * a, b * b
    first, both, second = (
        squares[0] * along[i] * along[j] + squares[1] * across[i] * across[j] for i, j in ((0, 0), (0, 1), (1, 1))
    )
    least = _LEAST * (first + second) / 2
    if less:
        taken = np.array([[less[0], less[1]], [less[1], less[2]]])
        taken = taken if onto is None else np.einsum("ikn,kl,jln->ijn", onto, taken, onto)
        first, both, second = first - taken[0, 0], both - taken[0, 1], second - taken[1, 1]
    mean, half = (first + second) / 2, (first - second) / 2
    spread = np.hypot(half, both)
    angle = np.arctan2(both, half) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        if less:
            major, minor = (np.sqrt(np.where(left > least, left, np.nan)) for left in (mean + spread, mean - spread))
            angle = np.where(np.isnan(major), np.nan, angle)
        else:
            # By the area: what is a line stays one, whatever is lost to rounding.
            major = np.sqrt(mean + spread)
            area = a * b * np.abs(along[0] * across[1] - along[1] * across[0])
            minor = np.where(major > 0, area / major, major)
        found = Ellipse(major, minor, angle)
        return found, None if errors is None else _errors(found, spread, (a, b), along, across, errors)


def _errors(found: Ellipse, spread: np.ndarray, shape: Any, along: Any, across: Any, errors: Any) -> Ellipse:
    """By what a, b and theta change of the covariance: d lambda = v^T dC v, and d angle = v1^T dC v2 over the difference."""
    (a, b), (a_err, b_err, theta_err) = shape, errors
    c, s = np.cos(found.angle), np.sin(found.angle)
    on_major, on_minor = ([c * axis[0] + s * axis[1], c * axis[1] - s * axis[0]] for axis in (along, across))
    changes = 2 * a * a_err, 2 * b * b_err, (a * a - b * b) * np.radians(theta_err)

    def changed(i: int, j: int) -> np.ndarray:
        terms = (
            on_major[i] * on_major[j],
            on_minor[i] * on_minor[j],
            on_major[i] * on_minor[j] + on_minor[i] * on_major[j],
        )
        return np.sqrt(sum((change * term) ** 2 for change, term in zip(changes, terms)))

    major, minor = changed(0, 0) / (2 * found.major), changed(1, 1) / (2 * found.minor)
    # The angle of what is round may be any.
    angle = np.fmin(changed(0, 1) / (2 * spread), math.pi / 2)
    return Ellipse(major, minor, np.where(np.isnan(found.angle), np.nan, angle))


def without_beam(data: Mapping[str, np.ndarray], rows: slice, less: tuple[float, ...], found: Mapping[str, np.ndarray]) -> None:
    """Write what a covariance in pixels leaves of fitted shapes to the columns of ``found``."""
    shape, errors = ([data[f"fit_{name}{end}"][rows] for name in PIXELS] for end in ("", "_err"))
    for end, ellipse in zip(("", "_err"), ellipses(shape, errors, less)):
        assert ellipse is not None
        for name, values in zip(PIXELS, (ellipse.major, ellipse.minor, np.degrees(ellipse.angle))):
            found[f"deconv_{name}{end}"][rows] = values


class OnSky:
    """Columns of sizes on the sky, made of those in pixels.

    Parameters
    ----------
    columns
        The catalogue's.
    source, prefix
        What stands before ``a``, ``b`` and ``theta``, and before the new names.
    less
        As in `ellipses`.
    """

    def __init__(self, columns: Columns, source: str = "", prefix: str = "", less: tuple[float, ...] = ()) -> None:
        self._data, self._source, self._less = columns.data, source, less
        self._ends = ("", "_err") if f"{source}a_err" in columns.data else ("",)
        self._prefix = prefix
        self.found = {f"{prefix}{name}{end}": np.full(len(columns), np.nan) for name in ON_SKY for end in self._ends}
        self.units = {name: "deg" if f"{prefix}pa" in name else "arcsec" for name in self.found}

    def place(self, rows: Any, onto: np.ndarray) -> None:
        """Of these rows, by what a pixel along x and y is towards north and east, in degrees: (2, 2, n)."""
        shape, *errors = ([self._data[f"{self._source}{name}{end}"][rows] for name in PIXELS] for end in self._ends)
        ellipse, wrong = ellipses(shape, errors[0] if errors else None, self._less, onto)
        angle = np.degrees(ellipse.angle)
        angle = np.where(angle < 0, angle + 180, angle)
        # Rounding makes 180 of the least that is under 0.
        angle = np.where(angle >= 180, 0.0, angle)
        size = WIDTH * 3600
        told = [(ellipse.major * size, ellipse.minor * size, angle)]
        if wrong is not None:
            told.append((wrong.major * size, wrong.minor * size, np.degrees(wrong.angle)))
        for end, values in zip(self._ends, told):
            for name, value in zip(ON_SKY, values):
                self.found[f"{self._prefix}{name}{end}"][rows] = value


class InPixels:
    """Sizes in pixels of those on the sky.

    Parameters
    ----------
    major, minor, pa
        Full widths in arcseconds, and degrees from north through east.
    """

    def __init__(self, major: np.ndarray, minor: np.ndarray, pa: np.ndarray) -> None:
        self._shape = major, minor, pa
        self.found = np.full((len(major), 3), np.nan)

    def place(self, rows: Any, onto: np.ndarray) -> None:
        """Of these rows: the way back from north and east, which `OnSky` goes from x and y."""
        (a, b), (c, d) = onto
        back = np.array([[d, -b], [-c, a]]) / (a * d - b * c)
        major, minor, pa = (one[rows] for one in self._shape)
        size = WIDTH * 3600
        ellipse, _ = ellipses((major / size, minor / size, pa), onto=back)
        self.found[rows] = np.stack([ellipse.major, ellipse.minor, np.degrees(ellipse.angle)], 1)
