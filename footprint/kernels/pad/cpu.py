"""Padding on the CPU: one gathering pass, and in-place fills of one axis for the modes that compute."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numba import get_num_threads, prange

from footprint.kernels.common.few import STREAM, TOUCH, few
from footprint.kernels.common.jit import plain
from footprint.kernels.pad.contract import AT, LISTED
from footprint.kernels.pad.cpu_gather import PIECE, THIN, copy, gather, run_of, share_gather, share_thin, thin

_BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64, 16: np.complex128}
_NO_LIST = np.zeros(0, np.int64)


# Small images feel what these two take: they are asked again with every call, and answer the same.


@functools.lru_cache(256)
def _as_bits(text: str, fill: float, dtype: np.dtype) -> Any:
    """A number's bits in a dtype; its text tells 0.0 from -0.0, which are equal."""
    return np.full((), fill, dtype).view(_BITS[dtype.itemsize])[()]


@functools.lru_cache(256)
def _axes(*how: tuple[str, Any]) -> tuple[tuple[int, int, int, int], ...]:
    """What `_at` is told of each axis."""
    told = dict(how)
    return tuple((AT[told[f"border_{a}"]], told[f"{a}0"], told[f"{a}_base"], told[f"{a}_n"]) for a in "zyx")


def pad(image: np.ndarray, out: np.ndarray, *lists: np.ndarray, fill: float = 0.0, **how: Any) -> None:
    """Gather; a pixel is moved as bits, so all dtypes of one size share one kernel. See ``footprint.kernels.pad.contract``."""
    bits: Any = _BITS[out.dtype.itemsize]
    value: Any = _as_bits(repr(fill), fill, out.dtype)
    z, y, x = _axes(*how.items())
    planes = rows = columns = _NO_LIST
    if lists:
        given = iter(lists)
        planes, rows, columns = (next(given) if one[0] == AT[LISTED] else _NO_LIST for one in (z, y, x))
    numbers: Any = image.view(bits), out.view(bits), z, y, x, planes, rows, columns
    if out.shape[2] <= THIN:
        alone, together, units = thin, share_thin, out.shape[0] * out.shape[1]
        numbers += (value,)
    else:
        alone, together = gather, share_gather
        numbers += (run_of(x, columns, out.shape[2]), value)
        units = out.shape[0] * out.shape[1] * -(-out.shape[2] // PIECE)
    if few(out.size * STREAM):
        alone(*numbers, 0, units)
    else:
        together(*numbers, units, get_num_threads())


@plain(cache=True, nogil=True, error_model="numpy")
def _ramp(out, lo, hi, left, right, flat, integer, first, last):
    """From ``left`` (outermost) to the edge, and from the edge to ``right``; flat: those values throughout."""
    _, n, inner = out.shape
    border = lo + n - hi
    for unit in range(first, last):
        o, k = unit // border, unit % border
        k = k if k < lo else hi + k - lo
        end = left if k < lo else right
        if flat:
            out[o, k, :] = end
            continue
        width, far = (lo, k) if k < lo else (n - hi, n - 1 - k)
        for i in range(inner):
            edge = float(out[o, lo, i]) if k < lo else float(out[o, hi - 1, i])
            value = far * ((edge - end) / width) + end
            out[o, k, i] = np.floor(value) if integer else value


@plain(cache=True, parallel=True, nogil=True, error_model="numpy")
def _share_ramp(out, lo, hi, left, right, flat, integer, units):
    for unit in prange(units):
        _ramp(out, lo, hi, left, right, flat, integer, unit, unit + 1)


def _fill_sides(out, *numbers):
    units = out.shape[0] * (out.shape[1] - numbers[1] + numbers[0])
    if few(out.size * STREAM):
        _ramp(out, *numbers, 0, units)
    else:
        _share_ramp(out, *numbers, units)


def ramp(out: np.ndarray, *, lo: int, hi: int, left: float, right: float) -> None:
    """Fill one axis with straight lines, as numpy.pad's "linear_ramp"; computed in float64."""
    _fill_sides(out, lo, hi, float(left), float(right), False, out.dtype.kind in "iu")


def _numbers(array: np.ndarray) -> np.ndarray:
    """Bools as the bytes they are."""
    return array.view(np.uint8) if array.dtype.kind == "b" else array


def constant(out: np.ndarray, *, lo: int, hi: int, left: float, right: float) -> None:
    """Fill the two sides of one axis with two values."""
    kind = out.dtype.type
    sides = np.array([kind(left), kind(right)]).view(_numbers(out).dtype)
    _fill_sides(_numbers(out), lo, hi, *sides, True, False)


@plain(cache=True, nogil=True, error_model="numpy")
def _odd(out, lo, hi, repeat, first, last):
    _, n, inner = out.shape
    length = hi - lo
    period = length if repeat else length - 1
    two = out.dtype.type(2)
    border = lo + n - hi
    for unit in range(first, last):
        o, k = unit // border, unit % border
        k = k if k < lo else hi + k - lo
        # Counted from the near end inwards, so that one reflection never meets the far end's value, which may be huge or infinite.
        near, far, inwards, beyond = (lo, hi - 1, 1, lo - k - 1) if k < lo else (hi - 1, lo, -1, k - hi)
        turn, at = beyond // (2 * period), beyond % (2 * period)
        turned = at < period
        source = near + inwards * (at + (0 if repeat else 1) if turned else 2 * period - 1 - at)
        rises = turn if turned else turn + 1
        rise = out.dtype.type(2 * rises)
        for i in range(inner):
            edge = out[o, near, i]
            value = two * edge - out[o, source, i] if turned else out[o, source, i]
            # Only where it is added: 0 times an infinite rise would be NaN.
            out[o, k, i] = value if rises == 0 else value + rise * (edge - out[o, far, i])


@plain(cache=True, parallel=True, nogil=True, error_model="numpy")
def _share_odd(out, lo, hi, repeat, units):
    for unit in prange(units):
        _odd(out, lo, hi, repeat, unit, unit + 1)


def odd(out: np.ndarray, *, lo: int, hi: int, repeat: bool) -> None:
    """Fill one axis with its point reflections about its ends, as often as it takes; the axis is longer than one."""
    units = out.shape[0] * (out.shape[1] - hi + lo)
    if few(out.size * STREAM):
        _odd(out, lo, hi, repeat, 0, units)
    else:
        _share_odd(out, lo, hi, repeat, units)


@plain(cache=True, nogil=True, error_model="numpy")
def _side(side, n, lo, hi, left, right):
    """What a side is taken from and what it fills, and whether it must be taken: not where the other side's is the same."""
    start, stop = (lo, lo + left) if side == 0 else (hi - right, hi)
    first, last = (0, lo) if side == 0 else (hi, n)
    same = side == 1 and lo > 0 and stop - start == left == hi - lo
    return start, stop, first, last, first < last and not same


@plain(cache=True, nogil=True, error_model="numpy")
def _fold(found, row, sign):
    """Add a row to the sums found (sign 0), or take it into the maxima (1) or minima (-1): by NumPy's functions NaN stays."""
    if sign == 0:
        for x in range(found.size):
            found[x] += row[x]
    elif sign > 0:
        np.maximum(found, row, found)
    else:
        np.minimum(found, row, found)


@plain(cache=True, nogil=True, error_model="numpy")
def _with(best, value, sign):
    """The same of two values."""
    if sign == 0:
        return best + value
    beyond = value > best if sign > 0 else value < best
    return value if beyond or value != value else best


@plain(cache=True, nogil=True, error_model="numpy")
def _along(room, line, sign):
    """A line's sum or extreme: of elements as many apart as the room has places, and then of those and of what is left."""
    size = room.size
    whole = line.size // size
    copy(room, line[:size] if whole > 0 else line)
    for k in range(1, whole):
        _fold(room, line[k * size : (k + 1) * size], sign)
    found = room[0]
    for x in range(1, min(line.size, size)):
        found = _with(found, room[x], sign)
    for x in range(max(whole, 1) * size, line.size):
        found = _with(found, line[x], sign)
    room[0] = found


@plain(cache=True, nogil=True, error_model="numpy")
def _statistic(room, image, start, stop, i, sign, integer):
    """The mean (sign 0), maxima or minima of some neighbouring lines, or of one alone."""
    found = room[: min(room.size, image.shape[1] - i)]
    if image.shape[1] == 1:
        _along(room, image[start:stop, 0], sign)
    else:
        copy(found, image[start, i : i + found.size])
        for k in range(start + 1, stop):
            _fold(found, image[k, i : i + found.size], sign)
    if sign == 0:
        for x in range(found.size):
            value = found[x] / (stop - start)
            found[x] = np.rint(value) if integer else value


@plain(cache=True, nogil=True, error_model="numpy")
def _lines(out, work, lo, hi, sign, left, right, integer, thread, threads):
    """Fill from the means (sign 0), maxima (1) or minima (-1) of some neighbouring lines at a time: one thread's share."""
    outer, n, inner = out.shape
    width = work.shape[1]
    blocks = (inner + width - 1) // width
    for unit in range(outer * blocks * thread // threads, outer * blocks * (thread + 1) // threads):
        o, i = unit // blocks, unit % blocks * width
        found = work[thread, : min(width, inner - i)]
        for side in range(2):
            start, stop, first, last, needed = _side(side, n, lo, hi, left, right)
            if needed:
                _statistic(work[thread], out[o], start, stop, i, sign, integer)
            if inner == 1:
                sides = out[o, first:last, 0]
                for k in range(sides.size):
                    sides[k] = found[0]
            else:
                for k in range(first, last):
                    copy(out[o, k, i : i + found.size], found)


@plain(cache=True, parallel=True, nogil=True, error_model="numpy")
def _share_lines(out, work, lo, hi, sign, left, right, integer):
    threads = work.shape[0]
    for t in prange(threads):
        _lines(out, work, lo, hi, sign, left, right, integer, t, threads)


@plain(cache=True, nogil=True, error_model="numpy")
def _select(line, n, k):
    """Bring the ``k``-th smallest to its place, no greater ones before it (Hoare); the line holds no NaN."""
    low, high = 0, n - 1
    while low < high:
        a, b, c = line[low], line[(low + high) // 2], line[high]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while line[i] < pivot:
                i += 1
            while line[j] > pivot:
                j -= 1
            if i <= j:
                line[i], line[j] = line[j], line[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return float(line[k])


@plain(cache=True, nogil=True, error_model="numpy")
def _median(column, line, upper_only):
    n = column.size
    for k in range(n):
        line[k] = column[k]
        if line[k] != line[k]:
            return np.nan
    upper = _select(line, n, n // 2)
    if n % 2 or upper_only:
        return upper
    lower = line[0]
    for k in range(1, n // 2):
        lower = max(lower, line[k])
    return 0.5 * (float(lower) + upper)


@plain(cache=True, nogil=True, error_model="numpy")
def _medians(out, work, lo, hi, left, right, integer, upper, thread, threads):
    """Fill from the medians of single lines: one thread's share."""
    outer, n, inner = out.shape
    units = outer * inner
    for unit in range(units * thread // threads, units * (thread + 1) // threads):
        o, i = unit // inner, unit % inner
        median = 0.0
        for side in range(2):
            start, stop, first, last, needed = _side(side, n, lo, hi, left, right)
            if needed:
                median = _median(out[o, start:stop, i], work[thread], upper)
                median = np.rint(median) if integer else median
            for k in range(first, last):
                out[o, k, i] = median


@plain(cache=True, parallel=True, nogil=True, error_model="numpy")
def _share_medians(out, work, lo, hi, left, right, integer, upper):
    threads = work.shape[0]
    for t in prange(threads):
        _medians(out, work, lo, hi, left, right, integer, upper, t, threads)


def statistic(out: np.ndarray, work: np.ndarray, *, lo: int, hi: int, statistic: str, left: int, right: int) -> None:
    """Fill the two sides of one axis with a statistic of its ``left`` first and its ``right`` last elements."""
    out, work = _numbers(out), _numbers(work)
    integer, small = out.dtype.kind in "iu", few(out.size * TOUCH)
    if statistic in ("median", "upper"):
        upper = statistic == "upper"
        if small:
            _medians(out, work, lo, hi, left, right, integer, upper, 0, 1)
        else:
            _share_medians(out, work, lo, hi, left, right, integer, upper)
        return
    sign = {"mean": 0, "maximum": 1, "minimum": -1}[statistic]
    if small:
        _lines(out, work, lo, hi, sign, left, right, integer, 0, 1)
    else:
        _share_lines(out, work, lo, hi, sign, left, right, integer)
