"""Lines of a plane with their borders, as what values are compared as."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common import borders
from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import BYTES
from footprint.kernels.rank_filter.cpu_vectors import carry

source_index = njit(cache=True, nogil=True)(borders.source_index)


@njit(cache=True, nogil=True)
def key(bits, less, most):
    """What the bits of a float are compared as, where it is written to an array of their dtype."""
    return (bits ^ most if bits < 0 else np.int64(bits)) - less


@njit(cache=True, nogil=True)
def line(lines, at, count, image, start, height, width, y, x, border_y, border_x, cval, less, most, real):
    """``count`` elements of row ``y`` of a plane from column ``x`` on, both of which may lie outside."""
    row = source_index(y, height, border_y)
    first = min(max(-x, 0), count) if row >= 0 else count
    last = max(first, min(width - x, count))
    begin = start + row * width + x
    if last - first >= BYTES // lines.itemsize:
        carry(image, begin + first, lines, at + first, last - first, 2 * width, real)
    else:
        for k in range(first, last):
            lines[at + k] = key(image[begin + k], less, most) if len(real) > 1 else image[begin + k]
    for i in range(first + count - last):
        k = i if i < first else i - first + last
        column = source_index(x + k, width, border_x) if row >= 0 else -1
        bits = cval
        if column >= 0:
            bits = image[begin - x + column]
        lines[at + k] = key(bits, less, most) if len(real) > 1 else bits
