"""The row filter on the CPU by transforms of our own; see `footprint.kernels.ramp_filter.lines`."""

from __future__ import annotations

import numpy as np
from numba.core import types
from numba.extending import intrinsic

from footprint.kernels.common.few import few
from footprint.kernels.common.jit import njit
from footprint.kernels.common.pool import pool
from footprint.kernels.common.vectors import BYTES, apart
from footprint.kernels.overlap_save import cpu_dft as dft
from footprint.kernels.ramp_filter.lines import MOST

_WORK = 40
"""Multiply-adds that take as long as a sample of a padded row."""
MODES = {"constant": 0, "edge": 1, "reflect": 2, "symmetric": 3, "wrap": 4}

_first, _first_back = (dft.turned(sign, dft.ALL) for sign in (-1, 1))
_last, _last_back = (dft.plain(sign, False, dft.ALL) for sign in (-1, 1))


def _mixed(e: dft._Numbers) -> None:
    """Two frequencies, f and M - f, of the transform of the filtered row from those of the row."""
    at, there, k = e.args[1], e.args[2], e.args[4]
    z, partner = e.get(0, at, e.kind.count), e.get(0, there, e.kind.count)
    w = [e.splat(3, e.add(k, i)) for i in range(8)]
    conjugate = lambda x: (x[0], e.b.fneg(x[1]))
    results = (
        e.plus(e.times(z, (w[0], w[1])), e.times(conjugate(partner), (w[2], w[3]))),
        e.plus(e.times(partner, (w[4], w[5])), e.times(conjugate(z), (w[6], w[7]))),
    )
    for result, to in zip(results, (at, there)):
        e.put(result, 0, to, e.kind.count)


@intrinsic
def _mix(typing_context, x, at, there, gains, k):  # type: ignore[no-untyped-def]
    """See `_mixed`."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        _mixed(dft._Numbers(context, builder, signature, args))
        return context.get_dummy_value()

    n = types.int64
    return types.void(x, n, n, gains, n), code


@njit(cache=True)
def source(i, n, mode):
    """Return the sample that stands at position i of the endless row, -1 for zero."""
    if 0 <= i < n:
        return i
    if mode == 0:
        return -1
    if mode == 1 or n == 1:
        return 0 if i < 0 else n - 1
    if mode == 4:
        return i % n
    period = 2 * (n - 1) if mode == 2 else 2 * n
    j = i % period
    return j if j < n else (period - j if mode == 2 else period - 1 - j)


@njit(cache=True, nogil=True, error_model="numpy")
def _turned(x, at, step, y, to, pace, count, hop, jump):
    """Squares of rows that become columns."""
    apart()
    for t in range(count):
        dft.transpose(x, at + t * hop, step, y, to + t * jump, pace)


@njit(cache=True, nogil=True, error_model="numpy")
def _forward_turned(radix, count, work, at, step, roots, t, pair):
    """So many transforms next to each other, of vectors ``step`` apart, and what lies between them and the next."""
    apart()
    for n in range(count):
        _first(work, at + n * pair, step, roots, t + 2 * n * radix, radix)


@njit(cache=True, nogil=True, error_model="numpy")
def _backward_turned(radix, count, work, at, step, roots, t, pair):
    """The same backward."""
    apart()
    for n in range(count):
        _first_back(work, at + n * pair, step, roots, t + 2 * n * radix, radix)


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
def _load(rows, at, count, n, work, base, lanes, padded, mode):
    """So many rows of ``n`` samples side by side, continued to the right, and from the left at the end."""
    whole = n // lanes if count == lanes else 0
    _turned(rows, at, n, work, base, lanes, whole, lanes, lanes * lanes)
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
def _store(work, base, rows, at, count, n, lanes):
    """The first ``n`` samples to where they belong."""
    whole = n // lanes if count == lanes else 0
    _turned(work, base, lanes, rows, at, n, whole, lanes * lanes, lanes)
    for j in range(whole * lanes, n):
        for k in range(count):
            rows[at + k * n + j] = work[base + j * lanes + k]


@njit(cache=True, nogil=True, error_model="numpy")
def _pairs(work, base, order, gains, first, last, skip, lanes):
    """The filter itself."""
    apart()
    for n in range(first, last):
        at, there = base + 2 * lanes * order[skip + 2 * n], base + 2 * lanes * order[skip + 2 * n + 1]
        _mix(work, at, there, gains, 8 * n)


@njit(cache=True, nogil=True, error_model="numpy")
def _units(rows, filtered, roots, order, gains, work, base, first, last, shape, lanes, padded, mode, radices):
    """Groups of rows, each there and back. All in one: what a function calls, Numba makes again for whoever calls that."""
    n, length = shape
    radix, pair, end = radices[0], 2 * lanes, len(radices) - 1
    step = padded // 2 // radix
    while radices[end] == 1:
        end -= 1
    for unit in range(first, last):
        at, count = unit * lanes * length, min(lanes, n - unit * lanes)
        _load(rows, at, count, length, work, base, lanes, padded, mode)
        gap = step * pair
        _forward_turned(radix, step, work, base, gap, roots, 0, pair)
        for block in range(radix // 2 + 1):
            # Of the numbers of two blocks, which stay in the cache next to a core, come the frequencies f and M - f.
            partner = (radix - block) % radix
            both = (block, partner)
            for k in range(1 if block == partner else 2):
                here, inner, t = base + both[k] * gap, step, padded
                for s in range(1, end):
                    hop = inner // radices[s]
                    for a in range(here, here + gap, inner * pair):
                        _forward_turned(radices[s], hop, work, a, hop * pair, roots, t, pair)
                    t += 2 * inner
                    inner = hop
                _forward(radices[end], step // radices[end], work, here, pair, lanes)
            _pairs(work, base, order, gains, order[block], order[block + 1], radix + 1, lanes)
            for k in range(1 if block == partner else 2):
                here, inner, t = base + both[k] * gap, radices[end], roots.size
                _backward(radices[end], step // radices[end], work, here, pair, lanes)
                for s in range(end - 1, 0, -1):
                    hop, inner = inner, inner * radices[s]
                    t -= 2 * inner
                    for a in range(here, here + gap, inner * pair):
                        _backward_turned(radices[s], hop, work, a, hop * pair, roots, t, pair)
        _backward_turned(radix, step, work, base, gap, roots, 0, pair)
        _store(work, base, filtered, at, count, length, lanes)


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
    numbers = rows.shape, lanes, padded, MODES[mode], radices + (1,) * (MOST - len(radices))
    if threads == 1 or few(units * lanes * padded * _WORK):
        _units(*flat, 0, 0, units, *numbers)
        return
    edges = [units * t // threads for t in range(threads + 1)]

    def share(t: int) -> None:
        _units(*flat, t * size, edges[t], edges[t + 1], *numbers)

    others = [pool(threads).submit(share, t) for t in range(1, threads)]
    try:
        share(0)
    finally:
        for other in others:
            other.result()
