"""Padding on the CPU: one gathering pass, and in-place fills of one axis for the modes that compute."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

BLOCK = 256
_BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64, 16: np.complex128}


@njit(cache=True, nogil=True)
def _longest_run(index):
    """Start and length of the longest stretch of ``index`` that counts up by one: it can be copied, not gathered."""
    best, length, start = 0, 0, 0
    for k in range(index.size):
        if index[k] < 0 or (k > start and index[k] != index[k - 1] + 1):
            start = k if index[k] >= 0 else k + 1
        if k + 1 - start > length:
            best, length = start, k + 1 - start
    return best, length


@njit(cache=True, parallel=True, nogil=True)
def _gather(image, planes, rows, cols, out, fill):
    first, length = _longest_run(cols)
    last = first + length
    for unit in prange(out.shape[0] * out.shape[1]):
        z, y = unit // out.shape[1], unit % out.shape[1]
        target = out[z, y]
        if planes[z] < 0 or rows[y] < 0:
            target[:] = fill
            continue
        source = image[planes[z], rows[y]]
        if length > 0:
            target[first:last] = source[cols[first] : cols[first] + length]
        for x in range(first):
            target[x] = source[cols[x]] if cols[x] >= 0 else fill
        for x in range(last, target.size):
            target[x] = source[cols[x]] if cols[x] >= 0 else fill


def pad(image: np.ndarray, planes: np.ndarray, rows: np.ndarray, cols: np.ndarray, out: np.ndarray, *, fill: float = 0.0) -> None:
    """Gather; a pixel is moved as bits, so all dtypes of one size share one kernel. See ``footprint.kernels.pad``."""
    bits = _BITS[out.dtype.itemsize]
    value = np.full((), fill, out.dtype).view(bits)[()]
    _gather(image.view(bits), planes, rows, cols, out.view(bits), value)


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _ramp(out, lo, hi, left, right, flat, integer):
    """From ``left`` (outermost) to the edge, and from the edge to ``right``; flat: those values throughout."""
    outer, n, inner = out.shape
    for unit in prange(outer * n):
        o, k = unit // n, unit % n
        if lo <= k < hi:
            continue
        end = left if k < lo else right
        if flat:
            out[o, k, :] = end
            continue
        width, far = (lo, k) if k < lo else (n - hi, n - 1 - k)
        for i in range(inner):
            edge = float(out[o, lo, i]) if k < lo else float(out[o, hi - 1, i])
            value = far * ((edge - end) / width) + end
            out[o, k, i] = np.floor(value) if integer else value


def ramp(out: np.ndarray, *, lo: int, hi: int, left: float, right: float) -> None:
    """Fill one axis with straight lines, as numpy.pad's "linear_ramp"; computed in float64."""
    _ramp(out, lo, hi, float(left), float(right), False, out.dtype.kind in "iu")


def constant(out: np.ndarray, *, lo: int, hi: int, left: float, right: float) -> None:
    """Fill the two sides of one axis with two values."""
    kind = out.dtype.type
    _ramp(out, lo, hi, kind(left), kind(right), True, False)


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _odd(out, lo, hi, repeat):
    outer, n, inner = out.shape
    length = hi - lo
    period = length if repeat else length - 1
    two = out.dtype.type(2)
    for unit in prange(outer * n):
        o, k = unit // n, unit % n
        if lo <= k < hi:
            continue
        turn, at = (k - lo) // (2 * period), (k - lo) % (2 * period)
        back = 2 * period - (1 if repeat else 0) - at
        rise = out.dtype.type(2 * turn)
        for i in range(inner):
            first, final = out[o, lo, i], out[o, hi - 1, i]
            value = out[o, lo + at, i] if at < length else two * final - out[o, lo + back, i]
            # Only where it is added: 0 times an infinite rise would be NaN.
            out[o, k, i] = value if turn == 0 else value + rise * (final - first)


def odd(out: np.ndarray, *, lo: int, hi: int, repeat: bool) -> None:
    """Fill one axis with its point reflections about its ends, as often as it takes; the axis is longer than one."""
    _odd(out, lo, hi, repeat)


@njit(cache=True, nogil=True, error_model="numpy")
def _sort(line, n):
    """Heapsort in place: no memory, no worst case."""
    for end in range(2 * n - 1, 0, -1):
        building = end >= n
        root = end - n if building else 0
        size = n if building else end
        if not building:
            line[0], line[end] = line[end], line[0]
        while 2 * root + 1 < size:
            child = 2 * root + 1
            if child + 1 < size and line[child + 1] > line[child]:
                child += 1
            if line[child] <= line[root]:
                break
            line[root], line[child] = line[child], line[root]
            root = child


@njit(cache=True, nogil=True, error_model="numpy")
def _extreme(column, sign):
    best = column[0]
    for value in column:
        if value != value:
            return value
        if (value > best) if sign > 0 else (value < best):
            best = value
    return best


@njit(cache=True, nogil=True, error_model="numpy")
def _mean(column):
    total = 0.0
    for value in column:
        total += value
    return total / column.size


@njit(cache=True, nogil=True, error_model="numpy")
def _median(column, line):
    n = column.size
    for k in range(n):
        line[k] = column[k]
        if line[k] != line[k]:
            return np.nan
    _sort(line, n)
    middle = float(line[n // 2])
    return middle if n % 2 else 0.5 * (middle + line[n // 2 - 1])


@njit(cache=True, nogil=True, error_model="numpy")
def _average(column, line, what, integer):
    value = _median(column, line) if what == 3 else _mean(column)
    return np.rint(value) if integer else value


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _statistic(out, work, lo, hi, what, left, right, integer):
    outer, n, inner = out.shape
    units, threads = outer * inner, work.shape[0]
    for thread in prange(threads):
        for unit in range(units * thread // threads, units * (thread + 1) // threads):
            o, i = unit // inner, unit % inner
            for side in range(2):
                length = left if side == 0 else right
                first, last = (0, lo) if side == 0 else (hi, n)
                if first == last:
                    continue
                column = out[o, lo : lo + length, i] if side == 0 else out[o, hi - length : hi, i]
                if what < 2:
                    extreme = _extreme(column, 1 - 2 * what)
                    for k in range(first, last):
                        out[o, k, i] = extreme
                else:
                    average = _average(column, work[thread], what, integer)
                    for k in range(first, last):
                        out[o, k, i] = average


def statistic(out: np.ndarray, work: np.ndarray, *, lo: int, hi: int, statistic: str, left: int, right: int) -> None:
    """Fill the two sides of one axis with a statistic of its ``left`` first and its ``right`` last elements."""
    what = ("maximum", "minimum", "mean", "median").index(statistic)
    _statistic(out, work, lo, hi, what, left, right, out.dtype.kind in "iu")
