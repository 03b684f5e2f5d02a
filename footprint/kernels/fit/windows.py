"""Windows of pixels about sources, cut out of a part of an image: what all ways to fill them share."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import await_rows
from footprint.kernels.find_sources.contract import LABEL, PIXELS, X_PEAK, Y_PEAK

# Sources whose windows are brought near before they are copied.
AHEAD = 2


@njit(cache=True, nogil=True)
def opened(k, boxes, stamps, first):
    """Have nothing in a source's window before the first part; whether it is to have anything."""
    if first == 0:
        # Of no more rows than there are sources: there may be room for ten times as many.
        stamps[k, :] = np.nan
    return boxes[k, PIXELS] > 0 and boxes[k, LABEL] > 0


@njit(cache=True, nogil=True)
def window(k, boxes, radius, first, rows, width):
    """Where a source's window begins, and which rows and columns of it there are: y0, x0, low, high, begin, end."""
    y0, x0, side = boxes[k, Y_PEAK] - radius, boxes[k, X_PEAK] - radius, 2 * radius + 1
    return y0, x0, max(y0, first), min(y0 + side, first + rows), max(x0, 0), min(x0 + side, width)


@njit(cache=True, nogil=True)
def ask_ahead(part, k, n, boxes, radius, first):
    """Ask for the window of a source that comes soon: short rows from far-off memory, and no source is near the one before."""
    if k + AHEAD < n:
        rows, width = part.shape
        _, _, low, high, begin, end = window(k + AHEAD, boxes, radius, first, rows, width)
        if low < high and begin < end:
            await_rows(part, (low - first) * width + begin, width, high - low, end - begin)
