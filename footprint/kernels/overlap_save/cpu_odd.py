"""Values that are not finite: a transform would spread them over its tile, so they are left out of it and added directly."""

from __future__ import annotations

import math

from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import apart


@njit(cache=True, nogil=True, error_model="numpy")
def spoil(work, at, pitch, held, window, weights, mask, out, to, columns, rows, count, last):
    """Add what is not finite in a window to the outputs it reaches: infinities tap by tap, NaN wherever the mask lies on it.

    Of the window's rows and columns ``held`` are there; all is finite in the others.
    """
    apart()
    start, stride, taps, wide = mask
    for x in range(count):
        work[last + x] = -1
    for r in range(window[0]):
        line, end = at + r * pitch, -1
        for c in range(held[1] if r < held[0] else 0):
            value = work[line + c]
            if math.isnan(value):
                # From the last output that was reached on, up to this one's own.
                for x in range(max(c - wide + 1, end), min(c + 1, count)):
                    work[last + x] = r
                end = c + 1
            elif math.isinf(value):
                for i in range(max(0, r - rows + 1), min(taps, r + 1)):
                    for j in range(max(0, c - count + 1), min(wide, c + 1)):
                        out[to + (r - i) * columns + c - j] += weights[start + i * stride + j] * value
        y = r - taps + 1
        if y >= 0:
            for x in range(count):
                if work[last + x] >= y:
                    out[to + y * columns + x] = math.nan
