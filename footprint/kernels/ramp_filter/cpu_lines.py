"""The row filter on the CPU by transforms of our own; see `footprint.kernels.ramp_filter.lines`."""

from __future__ import annotations

import numpy as np
from numba.core import types
from numba.extending import intrinsic

from footprint.kernels.common.borders import NUMPY_CODES, source_index
from footprint.kernels.common.few import few
from footprint.kernels.common.jit import njit
from footprint.kernels.common.pool import each
from footprint.kernels.common.vectors import BYTES, apart
from footprint.kernels.overlap_save import cpu_dft as dft
from footprint.kernels.ramp_filter.lines import MOST

_WORK = 40
"""Multiply-adds that take as long as a sample of a padded row."""

source = njit(cache=True)(source_index)
_first, _first_back = (dft.turned(sign, dft.ALL) for sign in (-1, 1))
_last, _last_back = (dft.plain(sign, False, dft.ALL) for sign in (-1, 1))


def _mixed(e: dft._Numbers) -> None:
    """Two frequencies, f and M - f, of the transform of the filtered row from those of the row.

    The row's own spectrum at f and M - f is taken apart first and then filtered: gains near 0 then meet what is rounded in the
    frequency they belong to alone, and not in the other, which a smooth row has little of.
    """
    at, there, k = e.args[1], e.args[2], e.args[4]
    z, partner = e.get(0, at, e.kind.count), e.get(0, there, e.kind.count)
    turn, own, other = ((e.splat(3, e.add(k, 2 * i)), e.splat(3, e.add(k, 2 * i + 1))) for i in range(3))
    conjugate = lambda x: (x[0], e.b.fneg(x[1]))
    partner = conjugate(partner)
    even, odd = e.plus(z, partner), e.times(e.minus(z, partner), turn)
    row, mirrored = e.times(e.plus(even, odd), own), e.times(e.minus(even, odd), other)
    even, odd = e.plus(row, mirrored), e.times(e.minus(row, mirrored), turn, conjugate=True)
    e.put(e.plus(even, odd), 0, at, e.kind.count)
    e.put(conjugate(e.minus(even, odd)), 0, there, e.kind.count)


@intrinsic
def _mix(typing_context, x, at, there, gains, k):  # type: ignore[no-untyped-def]
    """See `_mixed`."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        _mixed(dft._Numbers(context, builder, signature, args))
        return context.get_dummy_value()

    n = types.int64
    return types.void(x, n, n, gains, n), code


@njit(cache=True, nogil=True, error_model="numpy")
def turned(x, at, step, y, to, pace, count, hop, jump):
    """Squares of rows that become columns."""
    apart()
    for t in range(count):
        dft.transpose(x, at + t * hop, step, y, to + t * jump, pace)


@njit(cache=True, nogil=True, error_model="numpy")
def forward_turned(radix, count, work, at, step, roots, t, pair):
    """So many transforms next to each other, of vectors ``step`` apart, and what lies between them and the next."""
    apart()
    for n in range(count):
        _first(work, at + n * pair, step, roots, t + 2 * n * radix, radix, 0, 0)


@njit(cache=True, nogil=True, error_model="numpy")
def backward_turned(radix, count, work, at, step, roots, t, pair):
    """The same backward."""
    apart()
    for n in range(count):
        _first_back(work, at + n * pair, step, roots, t + 2 * n * radix, radix, 0, 0)


@njit(cache=True, nogil=True, error_model="numpy")
def _forward(radix, count, work, at, pair, lanes):
    """Transforms of vectors that lie together."""
    apart()
    for n in range(0, count * radix * pair, radix * pair):
        _last(work, at + n, pair, lanes * pair, radix)


@njit(cache=True, nogil=True, error_model="numpy")
def _backward(radix, count, work, at, pair, lanes):
    """The same backward."""
    apart()
    for n in range(0, count * radix * pair, radix * pair):
        _last_back(work, at + n, pair, lanes * pair, radix)


@njit(cache=True, nogil=True, error_model="numpy")
def block_forward(radices, work, here, step, roots, pair, lanes):
    """All but the first stage, of the numbers of one of its blocks: ``step`` of them from ``here`` on."""
    end, inner, t = last_of(radices), step, 2 * step * radices[0]
    for s in range(1, end):
        hop = inner // radices[s]
        for a in range(here, here + step * pair, inner * pair):
            forward_turned(radices[s], hop, work, a, hop * pair, roots, t, pair)
        t += 2 * inner
        inner = hop
    _forward(radices[end], step // radices[end], work, here, pair, lanes)


@njit(cache=True, nogil=True, error_model="numpy")
def block_backward(radices, work, here, step, roots, pair, lanes):
    """The same backward."""
    end, t = last_of(radices), roots.size
    inner = radices[end]
    _backward(inner, step // inner, work, here, pair, lanes)
    for s in range(end - 1, 0, -1):
        hop, inner = inner, inner * radices[s]
        t -= 2 * inner
        for a in range(here, here + step * pair, inner * pair):
            backward_turned(radices[s], hop, work, a, hop * pair, roots, t, pair)


@njit(cache=True, nogil=True, error_model="numpy")
def last_of(radices):
    """The number of the last stage: what follows is 1."""
    end = len(radices) - 1
    while radices[end] == 1:
        end -= 1
    return end


@njit(cache=True, nogil=True, error_model="numpy")
def load(rows, at, count, n, work, base, lanes, padded, mode):
    """So many rows of ``n`` samples side by side, continued to the right, and from the left at the end."""
    whole = n // lanes if count == lanes else 0
    turned(rows, at, n, work, base, lanes, whole, lanes, lanes * lanes)
    for j in range(whole * lanes, n):
        for k in range(lanes):
            work[base + j * lanes + k] = rows[at + k * n + j] if k < count else 0
    if mode == 0:
        for k in range(base + n * lanes, base + padded * lanes):
            work[k] = 0
        return
    before = (padded - n) // 2
    for j in range(n, padded):
        there = source(j if j < padded - before else j - padded, n, mode)
        to = base + j * lanes
        for k in range(lanes):
            work[to + k] = work[base + there * lanes + k] if there >= 0 else 0


@njit(cache=True, nogil=True, error_model="numpy")
def store(work, base, rows, at, count, n, lanes):
    """The first ``n`` samples to where they belong."""
    whole = n // lanes if count == lanes else 0
    turned(work, base, lanes, rows, at, n, whole, lanes * lanes, lanes)
    for j in range(whole * lanes, n):
        for k in range(count):
            rows[at + k * n + j] = work[base + j * lanes + k]


@njit(cache=True, nogil=True, error_model="numpy")
def _pairs(work, base, order, gains, first, last, skip, lanes):
    """The filter itself."""
    apart()
    for n in range(first, last):
        at, there = base + 2 * lanes * order[skip + 2 * n], base + 2 * lanes * order[skip + 2 * n + 1]
        _mix(work, at, there, gains, 6 * n)


@njit(cache=True, nogil=True, error_model="numpy")
def _units(rows, filtered, roots, order, gains, work, base, first, last, shape, lanes, padded, mode, radices):
    """Groups of rows, each there and back."""
    n, length = shape
    radix, pair = radices[0], 2 * lanes
    step = padded // 2 // radix
    gap = step * pair
    for unit in range(first, last):
        at, count = unit * lanes * length, min(lanes, n - unit * lanes)
        load(rows, at, count, length, work, base, lanes, padded, mode)
        forward_turned(radix, step, work, base, gap, roots, 0, pair)
        for block in range(radix // 2 + 1):
            # Of the numbers of two blocks, which stay in the cache next to a core, come the frequencies f and M - f.
            both = (block, (radix - block) % radix)
            different = 1 if both[0] == both[1] else 2
            for k in range(different):
                block_forward(radices, work, base + both[k] * gap, step, roots, pair, lanes)
            _pairs(work, base, order, gains, order[block], order[block + 1], radix + 1, lanes)
            for k in range(different):
                block_backward(radices, work, base + both[k] * gap, step, roots, pair, lanes)
        backward_turned(radix, step, work, base, gap, roots, 0, pair)
        store(work, base, filtered, at, count, length, lanes)


def lines(
    rows: np.ndarray,
    filtered: np.ndarray,
    roots: np.ndarray,
    order: np.ndarray,
    gains: np.ndarray,
    work: np.ndarray,
    *,
    padded: int,
    mode: str,
    radices: tuple[int, ...],
) -> None:
    """Filter ``(n, n_x)``, in place or to an array of their own; see ``footprint.kernels.ramp_filter.lines``."""
    lanes, (threads, size) = BYTES // 4, work.shape
    units = -(-len(rows) // lanes)
    flat = rows.reshape(-1), filtered.reshape(-1), roots, order, gains.reshape(-1), work.reshape(-1)
    numbers = rows.shape, lanes, padded, NUMPY_CODES[mode], radices + (1,) * (MOST - len(radices))
    if few(units * lanes * padded * _WORK):
        threads = 1

    def share(t: int) -> None:
        _units(*flat, t * size, units * t // threads, units * (t + 1) // threads, *numbers)

    each(share, threads)
