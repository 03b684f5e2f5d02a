"""Munch's filter on the CPU: products with slow waves in registers, and a line's wavelet transform in the cache."""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import prange, types
from numba.core import cgutils
from numba.extending import intrinsic

from footprint.kernels.common.borders import source_index
from footprint.kernels.common.copied import put
from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import Emit
from footprint.kernels.fourier_wavelet.contract import BESIDE, GROUP, ROWS, VECTORS, WIDE

_mirrored = njit(cache=True)(source_index)


@intrinsic
def _products(typing_context, tile, at, weights, first, pitch, count, sums, to):  # type: ignore[no-untyped-def]
    """Add to `ROWS` rows of ``sums`` what ``count`` rows of ``tile`` come to, weighted: a row of weights is ``pitch`` long."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        e = Emit(context, builder, signature, args)
        lanes = e.kind.count
        nothing = ir.Constant(e.kind, [0.0] * lanes)
        found = [[cgutils.alloca_once_value(builder, nothing) for _ in range(VECTORS)] for _ in range(ROWS)]
        with cgutils.for_range(builder, args[5]) as loop:
            here, of = e.add(args[1], e.mul(loop.index, WIDE)), e.add(args[3], e.mul(loop.index, args[4]))
            line = [e.load(0, e.add(here, v * lanes)) for v in range(VECTORS)]
            for r, row in enumerate(found):
                weight = e.splat(2, e.add(of, r))
                for x, place in zip(line, row):
                    builder.store(e.multiply_add(x, weight, builder.load(place)), place)
        for r, row in enumerate(found):
            for v, place in enumerate(row):
                there = e.add(args[7], r * WIDE + v * lanes)
                e.store(builder.fadd(e.load(6, there), builder.load(place)), 6, there)
        return context.get_dummy_value()

    n = types.int64
    return types.void(tile, n, weights, n, n, n, sums, n), code


@njit(cache=True, nogil=True)
def _plain(tile, at, weights, first, pitch, count, sums, rows):
    """The same of fewer rows than `ROWS`."""
    for i in range(count):
        for r in range(rows):
            weight = weights[first + i * pitch + r]
            for x in range(WIDE):
                sums[r * WIDE + x] += weight * tile[at + i * WIDE + x]


@njit(cache=True, nogil=True)
def _gathered(lines, x0, across, tile):
    """Columns from ``x0`` on, a block of `WIDE` after the other."""
    count = lines.shape[0]
    for i in range(count):
        for block in range(0, across, WIDE):
            to = block * count + i * WIDE
            here = min(WIDE, across - block)
            for x in range(here):
                tile[to + x] = lines[i, x0 + block + x]
            for x in range(here, WIDE):
                tile[to + x] = 0


@njit(cache=True, parallel=True, nogil=True)
def _combine(lines, weights, found, off, work):
    n, count, w = lines.shape
    made, columns = found.shape[1], BESIDE * WIDE
    tiles, threads, rows = (w + columns - 1) // columns, work.shape[0], min(ROWS, found.shape[1])
    units = n * tiles
    for t in prange(threads):
        tile, sums = work[t, : count * columns], work[t, count * columns :]
        for unit in range(units * t // threads, units * (t + 1) // threads):
            s, x0 = unit // tiles, unit % tiles * columns
            across = min(columns, w - x0)
            _gathered(lines[s], x0, across, tile)
            for wanted in range(0, made, rows):
                # The last ones are summed together with some before them, which are there already.
                first = min(wanted, made - rows)
                for block in range(0, across, WIDE):
                    sums[:] = 0
                    for start in range(0, count, GROUP):
                        at, of, many = block * count + start * WIDE, start * made + first, min(GROUP, count - start)
                        if rows == ROWS:
                            _products(tile, at, weights, of, made, many, sums, 0)
                        else:
                            _plain(tile, at, weights, of, made, many, sums, rows)
                    here = min(WIDE, across - block)
                    for r in range(wanted - first, rows):
                        to = found[s, first + r, x0 + block : x0 + block + here]
                        if off:
                            for x in range(here):
                                to[x] -= sums[r * WIDE + x]
                        else:
                            for x in range(here):
                                to[x] = sums[r * WIDE + x]


@njit(cache=True, nogil=True, fastmath={"contract"})
def _halved(line, n, taps, to, even, odd):
    """Filter ``n`` values of a line, every second one; returns how many there are."""
    half, h = taps.size // 2, (n + taps.size - 1) // 2
    for k in range(n // 2):
        even[k + half - 1], odd[k + half - 1] = line[2 * k], line[2 * k + 1]
    for ends in ((1 - half, 0), (n // 2, h)):
        for k in range(ends[0], ends[1]):
            even[k + half - 1], odd[k + half - 1] = line[_mirrored(2 * k, n, 2)], line[_mirrored(2 * k + 1, n, 2)]
    to[:h] = 0
    for i in range(half):
        one, other, first = taps[2 * i], taps[2 * i + 1], half - 1 - i
        # Slices, as a place that may lie before the first keeps the loop from being made of vectors.
        after, before = odd[first : first + h], even[first : first + h]
        for k in range(h):
            to[k] += one * after[k] + other * before[k]
    return h


@njit(cache=True, nogil=True, fastmath={"contract"})
def _doubled(low, n, taps, to, even, odd):
    """Put ``n`` values of a line together again."""
    half, m = taps.size // 2, (n + 1) // 2
    even[:m] = 0
    odd[:m] = 0
    for i in range(half):
        one, other, values = taps[2 * i + 1], taps[2 * i], low[i : i + m]
        for q in range(m):
            even[q] += one * values[q]
            odd[q] += other * values[q]
    for q in range(n // 2):
        to[2 * q] = even[q]
        to[2 * q + 1] = odd[q]
    if n % 2:
        to[n - 1] = even[m - 1]


@njit(cache=True, parallel=True, nogil=True)
def _details(rows, levels, taps, work):
    n, m, w = rows.shape
    threads = work.shape[0]
    units = n * m
    for t in prange(threads):
        here, there, even, odd = work[t, 0], work[t, 1], work[t, 2], work[t, 3]
        lengths = np.empty(64, np.int64)
        for unit in range(units * t // threads, units * (t + 1) // threads):
            row, level = rows[unit // m, unit % m], levels[unit % m]
            put(here[:w], row)
            lengths[0] = w
            for k in range(level):
                lengths[k + 1] = _halved(here, lengths[k], taps[1 if k == level - 1 else 0], there, even, odd)
                here, there = there, here
            for k in range(level - 1, -1, -1):
                _doubled(here, lengths[k], taps[1 if k == level - 1 else 0], there, even, odd)
                here, there = there, here
            put(row, here)


def combine(lines: np.ndarray, weights: np.ndarray, found: np.ndarray, work: np.ndarray, *, off: bool) -> None:
    """Add up weighted lines; see `footprint.kernels.fourier_wavelet.contract` for both of these."""
    _combine(lines, weights.reshape(-1), found, off, work)


def details(rows: np.ndarray, levels: np.ndarray, taps: np.ndarray, work: np.ndarray) -> None:
    """Leave one level's details of each row."""
    _details(rows, levels, taps, work)
