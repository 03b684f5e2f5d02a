"""Shapes and interpolated peaks, from a table of moments."""

from __future__ import annotations

import numpy as np

from footprint.kernels.find_sources.contract import AFTER, BEFORE, CORNERS, LEFT, PEAK, RIGHT, XX, XY, YY

NAMES = ("a", "b", "theta", "x_interp", "y_interp", "peak_interp")

# Square pixels that variances of coordinates to 16384 are rounded by, and more.
_ROUNDING = 1e-6


def shapes(m: np.ndarray) -> tuple[np.ndarray, ...]:
    """Columns of `NAMES`, of the columns of a table of moments: those of a few thousand rows, as there are many temporaries.

    ``a`` and ``b`` are standard deviations of the light along its axes, ``theta`` degrees from x towards y; a peak is interpolated
    by a quadratic surface through it and its neighbours, of their logarithms where all are positive, as that is exact for a
    Gaussian; here its place is told from the peak's pixel.
    """
    with np.errstate(all="ignore"):
        # What rounding leaves under 0 is a line of pixels.
        xx, yy = (np.where(m[k] > -_ROUNDING, np.maximum(m[k], 0), np.nan) for k in (XX, YY))
        mean, half = (xx + yy) / 2, (xx - yy) / 2
        spread = np.hypot(half, m[XY])
        narrow = mean - spread
        b = np.sqrt(np.where(narrow > -_ROUNDING, np.maximum(narrow, 0), np.nan))
        return np.sqrt(mean + spread), b, np.degrees(np.arctan2(m[XY], half)) / 2, *_vertex(m)


def _vertex(m: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How far from the peak's pixel its quadratic surface has its vertex, and how high; (0, 0, peak) where there is none near."""
    peak, cross, corners = m[PEAK], [m[k] for k in (LEFT, RIGHT, BEFORE, AFTER)], m[CORNERS : CORNERS + 4]
    logs = (peak > 0) & (cross[0] > 0) & (cross[1] > 0) & (cross[2] > 0) & (cross[3] > 0)
    positive = corners > 0
    mixed = ~logs | positive.all(0)
    middle, left, right, before, after = (_logarithms(one, logs) for one in (peak, *cross))
    first, second, third, fourth = (_logarithms(one, logs, above) for one, above in zip(corners, positive))
    gx, gy, bend_x, bend_y = (right - left) / 2, (after - before) / 2, left + right - 2 * middle, before + after - 2 * middle
    twist = (fourth - third - second + first) / 4
    twist = np.where(mixed & (twist**2 < bend_x * bend_y), twist, 0)
    # Beyond an end, or beside a higher pixel that is no part of the label, nothing is interpolated along that axis.
    flat_x, flat_y = (~((bend < 0) & (np.abs(g) <= -bend)) for bend, g in ((bend_x, gx), (bend_y, gy)))
    if flat_x.any() or flat_y.any():
        twist, gx, gy = np.where(flat_x | flat_y, 0, twist), np.where(flat_x, 0, gx), np.where(flat_y, 0, gy)
        bend_x, bend_y = np.where(flat_x, -1, bend_x), np.where(flat_y, -1, bend_y)
    area = bend_x * bend_y - twist**2
    dx, dy = (twist * gy - bend_y * gx) / area, (twist * gx - bend_x * gy) / area
    far = ~((np.abs(dx) <= 1) & (np.abs(dy) <= 1))
    if far.any():
        dx, dy = np.where(far, -gx / bend_x, dx), np.where(far, -gy / bend_y, dy)
    rise = (gx * dx + gy * dy) / 2
    high = peak * np.exp(rise)
    return dx, dy, high if logs.all() else np.where(logs, high, peak + rise)


def _logarithms(values: np.ndarray, logs: np.ndarray, positive: np.ndarray | None = None) -> np.ndarray:
    """Those of values where all are to have them, and of what is not positive 0; elsewhere the values themselves."""
    positive = logs if positive is None else positive
    found = np.log(values if positive.all() else np.where(positive, values, 1))
    return found if logs.all() else np.where(logs, found, values)
