"""Shapes and interpolated peaks, from a table of moments."""

from __future__ import annotations

import numpy as np

from footprint.kernels.find_sources.contract import AFTER, BEFORE, CORNERS, LEFT, PEAK, RIGHT, XX, XY, YY

NAMES = ("a", "b", "theta", "x_interp", "y_interp", "peak_interp")

# Rows worked on at a time: temporaries are small then, however many there are.
_ROWS = 4096
# Square pixels that variances of coordinates to 16384 are rounded by, and more.
_ROUNDING = 1e-6


def shapes(moments: np.ndarray) -> dict[str, np.ndarray]:
    """Columns of `NAMES`, a row a label.

    ``a`` and ``b`` are standard deviations of the light along its axes, ``theta`` degrees from x towards y; a peak is interpolated
    by a quadratic surface through it and its neighbours, of their logarithms where all are positive, as that is exact for a
    Gaussian; here its place is told from the peak's pixel.
    """
    out = {name: np.empty(len(moments)) for name in NAMES}
    for first in range(0, len(moments), _ROWS):
        part = slice(first, first + _ROWS)
        m = moments[part]
        with np.errstate(all="ignore"):
            # What rounding leaves under 0 is a line of pixels.
            xx, yy = (np.where(m[:, k] > -_ROUNDING, np.maximum(m[:, k], 0), np.nan) for k in (XX, YY))
            mean, half = (xx + yy) / 2, (xx - yy) / 2
            spread = np.hypot(half, m[:, XY])
            narrow = mean - spread
            out["a"][part] = np.sqrt(mean + spread)
            out["b"][part] = np.sqrt(np.where(narrow > -_ROUNDING, np.maximum(narrow, 0), np.nan))
            out["theta"][part] = np.degrees(np.arctan2(m[:, XY], half)) / 2
            out["x_interp"][part], out["y_interp"][part], out["peak_interp"][part] = _vertex(m)
    return out


def _vertex(m: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How far from the peak's pixel its quadratic surface has its vertex, and how high; (0, 0, peak) where there is none near."""
    peak, cross, corners = m[:, PEAK], m[:, [LEFT, RIGHT, BEFORE, AFTER]], m[:, CORNERS : CORNERS + 4]
    logs = (peak > 0) & (cross > 0).all(1)
    mixed = np.where(logs, (corners > 0).all(1), True)
    corners = np.where(logs[:, None], np.log(np.where(corners > 0, corners, 1)), corners)
    middle = np.where(logs, np.log(np.where(logs, peak, 1)), peak)
    left, right, before, after = np.where(logs[:, None], np.log(np.where(logs[:, None], cross, 1)), cross).T
    gx, gy, bend_x, bend_y = (right - left) / 2, (after - before) / 2, left + right - 2 * middle, before + after - 2 * middle
    twist = (corners[:, 3] - corners[:, 2] - corners[:, 1] + corners[:, 0]) / 4
    twist = np.where(mixed & (twist**2 < bend_x * bend_y), twist, 0)
    # Beyond an end, or beside a higher pixel that is no part of the label, nothing is interpolated along that axis.
    flat_x, flat_y = (~((bend < 0) & (np.abs(g) <= -bend)) for bend, g in ((bend_x, gx), (bend_y, gy)))
    twist, gx, gy = np.where(flat_x | flat_y, 0, twist), np.where(flat_x, 0, gx), np.where(flat_y, 0, gy)
    bend_x, bend_y = np.where(flat_x, -1, bend_x), np.where(flat_y, -1, bend_y)
    area = bend_x * bend_y - twist**2
    dx, dy = (twist * gy - bend_y * gx) / area, (twist * gx - bend_x * gy) / area
    far = ~((np.abs(dx) <= 1) & (np.abs(dy) <= 1))
    dx, dy = np.where(far, -gx / bend_x, dx), np.where(far, -gy / bend_y, dy)
    rise = (gx * dx + gy * dy) / 2
    return dx, dy, np.where(logs, peak * np.exp(rise), peak + rise)
