"""Rows as spectra, blurred across rows on the CPU: by stretches of frequencies that lie together in a cache, with their weights."""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import prange, types
from numba.core import cgutils
from numba.extending import intrinsic

from footprint.kernels.common.borders import source_index
from footprint.kernels.common.copied import put
from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import BYTES, REGISTERS, Emit
from footprint.kernels.paganin.contract import CODES, ROWS, STRETCH

# Vectors of each of `ROWS` rows whose sums a thread has in registers.
_VECTORS = 2
_WIDE = _VECTORS * BYTES // 4
# Whether the weights of the rows side by side stay in registers, too: each is then read once and not `ROWS` times.
_HELD = REGISTERS >= 32
_INT = ir.IntType(64)
_index = njit(cache=True)(source_index)


@njit(cache=True, parallel=True, nogil=True)
def _pad(lines, padded, mode, level):
    n, width = lines.shape[1], padded.shape[1]
    before = (width - n) // 2
    for r in prange(lines.shape[0]):
        for i in range(width):
            j = _index(i if i < width - before else i - width, n, mode)
            padded[r, i] = lines[r, j] - level if j >= 0 else np.float32(0)


@intrinsic
def _slide(typing_context, tile, places, far, taps, sums, to):  # type: ignore[no-untyped-def]
    """Some columns of the sums of `ROWS` rows, of ``2 far + ROWS`` rows ``places`` of ``tile``; ``far`` is not 0.

    Columns are those of ``tile``, ``taps`` and ``sums[to]``; ``taps`` go from ``far`` before a row to ``far`` behind it.
    """

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        e = Emit(context, builder, signature, args)
        lanes, double = e.kind.count, e.mul(args[2], 2)

        def kept(count):  # type: ignore[no-untyped-def]
            return [[cgutils.alloca_once_value(builder, e.zero()) for _ in range(_VECTORS)] for _ in range(count)]

        def some(array, row):  # type: ignore[no-untyped-def]
            return [e.load(array, e.add(e.mul(row, STRETCH), v * lanes)) for v in range(_VECTORS)]

        def loaded(vectors):  # type: ignore[no-untyped-def]
            return [[builder.load(place) for place in row] for row in vectors]

        def store(values, vectors):  # type: ignore[no-untyped-def]
            for row, places in zip(values, vectors):
                for value, place in zip(row, places):
                    builder.store(value, place)

        def add(k, rows, last):  # type: ignore[no-untyped-def]
            """Add row k, weighed by tap k - r, to the sum of every row r; ``last`` and what is returned are the taps held."""
            line = some(0, e.number(1, k))
            # Behind the last tap no row needs another.
            taps = [some(3, k) if rows[0] == 0 else [], *last]
            for r in rows:
                tap = taps[r] if r < len(taps) else some(3, e.add(k, -r))
                for v, place in enumerate(found[r]):
                    builder.store(e.multiply_add(line[v], tap[v], builder.load(place)), place)
            return taps[: ROWS - 1] if _HELD else []

        found, held = kept(ROWS), kept(ROWS - 1 if _HELD else 0)
        # Rows that count in all results lie from where the last one's begin to where the first one's end.
        taps = []
        for k in range(ROWS - 1):
            taps = add(ir.Constant(_INT, k), range(k + 1), taps)
        store(taps, held)
        # Of these there is an even number.
        with cgutils.for_range(builder, builder.lshr(e.add(double, 2 - ROWS), ir.Constant(_INT, 1))) as loop:
            taps = loaded(held)
            for k in range(2):
                taps = add(e.add(e.mul(loop.index, 2), ROWS - 1 + k), range(ROWS), taps)
            store(taps, held)
        taps = loaded(held)
        for k in range(ROWS - 1):
            taps = add(e.add(double, k + 1), range(k + 1, ROWS), taps)
        for r, row in enumerate(loaded(found)):
            for v, value in enumerate(row):
                e.store(value, 4, e.add(args[5], r * STRETCH + v * lanes))
        return context.get_dummy_value()

    n = types.int64
    return types.void(tile, places, n, taps, sums, n), code


@intrinsic
def _expect(typing_context, rows, at):  # type: ignore[no-untyped-def]
    """Have `STRETCH` numbers from one on brought near: pieces of rows that lie far apart are not foreseen by the processor."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        e = Emit(context, builder, signature, args)
        # They need not begin where a line of the cache does.
        for x in range(0, STRETCH + 1, 64 // 4):
            e.expect(0, e.add(args[1], x))
        return context.get_dummy_value()

    return types.void(rows, types.int64), code


@njit(cache=True, nogil=True, fastmath={"contract"})
def _strip(tile, taps, far, places, sums):
    """Sums of `ROWS` rows, each in order; ``places`` and ``taps`` go from ``far`` before the first to ``far`` behind the last."""
    if far > 0:
        for x in range(0, STRETCH, _WIDE):
            _slide(tile[x:], places, far, taps[x:], sums, x)
        return
    for r in range(ROWS):
        one, at = sums[r * STRETCH :], places[r] * STRETCH
        for x in range(STRETCH):
            one[x] = taps[x] * tile[at + x]


@njit(cache=True, parallel=True, nogil=True)
def _blur(spectrum, taps, reach, out, m, k, first, start, total, mode, work, rows_at):
    width, n = spectrum.shape[1], spectrum.shape[0] // m
    stretches, threads = (width + STRETCH - 1) // STRETCH, work.shape[0]
    units = stretches * n
    for t in prange(threads):
        tile, weights = work[t, : (m + 1) * STRETCH], work[t, (m + 1) * STRETCH :]
        tile[m * STRETCH :] = 0
        sums, reached, before = np.empty(ROWS * STRETCH, np.float32), taps.shape[0] - 1, -1
        for j in range(rows_at.shape[1]):
            row = _index(first + j - reached, total, mode)
            # A row of zeros stands for what is not there: beyond the detector, and what only rows behind the block's would need.
            rows_at[t, j] = row - start if row >= 0 and start <= row < start + m else m
        for unit in range(units * t // threads, units * (t + 1) // threads):
            f0, a = unit // n * STRETCH, unit % n
            across, far = min(STRETCH, width - f0), np.int64(reach[f0 // 2])
            if f0 != before:
                _together(taps[: far + 1], f0, across, weights[far * STRETCH :])
                for away in range(1, far + 1):
                    one, other = (far - away) * STRETCH, (far + away) * STRETCH
                    put(weights[one : one + STRETCH], weights[other : other + STRETCH])
                before = f0
            _together(spectrum[a * m : (a + 1) * m], f0, across, tile)
            f1, a1 = (unit + 1) // n * STRETCH, (unit + 1) % n
            for z0 in range(0, k, ROWS):
                for r in range(m * z0 // k, m * min(z0 + ROWS, k) // k):
                    _expect(spectrum, (a1 * m + r) * width + f1)
                for r in range(z0 + ROWS, min(z0 + 2 * ROWS, k)):
                    _expect(out, (a * k + r) * width + f0)
                _strip(tile, weights, far, rows_at[t, z0 + reached - far :], sums)
                for r in range(min(ROWS, k - z0)):
                    put(out[a * k + z0 + r, f0 : f0 + across], sums[r * STRETCH : r * STRETCH + across])


@njit(cache=True, nogil=True)
def _together(rows, f0, across, to):
    """Some numbers of every row, one after the other, 0 beyond its end."""
    for r in range(rows.shape[0]):
        for x in range(across):
            to[r * STRETCH + x] = rows[r, f0 + x]
        for x in range(across, STRETCH):
            to[r * STRETCH + x] = 0


@njit(cache=True, parallel=True, nogil=True)
def _crop(padded, y, level):
    for r in prange(y.shape[0]):
        for i in range(y.shape[1]):
            y[r, i] = padded[r, i] + level


def pad(lines: np.ndarray, padded: np.ndarray, *, mode: str, level: float) -> None:
    """Continue rows on both sides; see `footprint.kernels.paganin.contract` for all of these."""
    _pad(lines.reshape(-1, lines.shape[2]), padded, CODES[mode], np.float32(level))


def blur(
    spectrum: np.ndarray,
    taps: np.ndarray,
    reach: np.ndarray,
    lines: np.ndarray,
    y: np.ndarray,
    out: np.ndarray,
    work: np.ndarray,
    rows_at: np.ndarray,
    *,
    first: int,
    start: int,
    total: int,
    mode: str,
) -> None:
    """Weigh rows."""
    shown = (spectrum.view(np.float32), taps, reach, out.view(np.float32))
    _blur(*shown, lines.shape[1], y.shape[1], first, start, total, CODES[mode], work, rows_at)


def crop(padded: np.ndarray, y: np.ndarray, *, level: float) -> None:
    """Take the rows out."""
    _crop(padded, y.reshape(-1, y.shape[2]), np.float32(level))
