"""Rows to spectra and back by transforms of our own, and what becomes of the rows at either end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types
from numba.extending import intrinsic

from footprint.kernels.common.borders import NUMPY_CODES
from footprint.kernels.common.copied import put
from footprint.kernels.common.few import few
from footprint.kernels.common.jit import njit
from footprint.kernels.common.pool import each
from footprint.kernels.common.vectors import BYTES, apart
from footprint.kernels.overlap_save import cpu_dft as dft
from footprint.kernels.ramp_filter.cpu_lines import backward_turned, block_backward, block_forward, forward_turned, load, turned
from footprint.kernels.ramp_filter.lines import MOST

LANES = BYTES // 4
_WORK = 20
"""Multiply-adds that take as long as a sample of a padded row."""
ROWS, GRID, BLOCKS = 0, 1, 2
"""What is transformed back: half-spectra to rows; rows of a grid to blocks, in place; blocks of half-spectra to pixels."""


def _pair(forward: bool) -> Any:
    """An intrinsic: of a row's transform, two complex numbers a sample of it, the row's own frequencies f and M - f; or back."""

    def emit(e: dft._Numbers) -> None:
        at, there, k = e.args[1], e.args[2], e.args[4]
        conjugate = lambda x: (x[0], e.b.fneg(x[1]))
        one, other = e.get(0, at, e.kind.count), conjugate(e.get(0, there, e.kind.count))
        turn = e.splat(3, k), e.splat(3, e.add(k, 1))
        even, odd = e.plus(one, other), e.times(e.minus(one, other), turn, conjugate=not forward)
        found = e.plus(even, odd), conjugate(e.minus(even, odd))
        if forward:
            found = e.sized(found[0], 0.5), e.sized(found[1], 0.5)
        e.put(found[0], 0, at, e.kind.count)
        e.put(found[1], 0, there, e.kind.count)

    @intrinsic
    def run(typing_context, x, at, there, turns, k):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            emit(dft._Numbers(context, builder, signature, args))
            return context.get_dummy_value()

        n = types.int64
        return types.void(x, n, n, turns, n), code

    return run


_apart, _together = _pair(True), _pair(False)


@intrinsic
def _scatter(typing_context, x, at, step, y, base, slots, t, pace):  # type: ignore[no-untyped-def]
    """Rows from (x, at) with ``step`` become columns: vector k goes to slot ``slots[t + k pace]`` of (y, base)."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        e = dft._Numbers(context, builder, signature, args)
        rows = [e.load(0, e.add(args[1], e.mul(args[2], r))) for r in range(e.kind.count)]
        for k, column in enumerate(dft._transposed(e, rows)):
            slot = e.number(5, e.add(args[6], e.mul(args[7], k)))
            e.store(column, 3, e.add(args[4], e.mul(slot, e.kind.count)))
        return context.get_dummy_value()

    n = types.int64
    return types.void(x, n, n, y, n, slots, n, n), code


@intrinsic
def _gather(typing_context, x, base, slots, t, y, to, pace):  # type: ignore[no-untyped-def]
    """Vectors in slots ``slots[t]`` and on of (x, base) become columns of rows at (y, to) with ``pace``."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        e = dft._Numbers(context, builder, signature, args)
        found = []
        for k in range(e.kind.count):
            slot = e.number(2, e.add(args[3], k))
            found.append(e.load(0, e.add(args[1], e.mul(slot, e.kind.count))))
        for r, row in enumerate(dft._transposed(e, found)):
            e.store(row, 4, e.add(args[5], e.mul(args[6], r)))
        return context.get_dummy_value()

    n = types.int64
    return types.void(x, n, slots, n, y, n, n), code


@njit(cache=True, nogil=True, error_model="numpy")
def _spread(x, at, step, count, length, work, base, slots, lanes):
    """``length`` numbers of so many rows, each to its slot."""
    apart()
    first = 0
    if count == lanes:
        first = length // lanes * lanes
        for t in range(0, first, lanes):
            _scatter(x, at + t, step, work, base, slots, t, 1)
    for t in range(first, length):
        to = base + lanes * slots[t]
        for r in range(lanes):
            work[to + r] = x[at + r * step + t] if r < count else 0


@njit(cache=True, nogil=True, error_model="numpy")
def _collect(work, base, slots, x, at, step, count, length, lanes):
    """The same the other way."""
    apart()
    first = 0
    if count == lanes:
        first = length // lanes * lanes
        for t in range(0, first, lanes):
            _gather(work, base, slots, t, x, at + t, step)
    for t in range(first, length):
        here = base + lanes * slots[t]
        for r in range(count):
            x[at + r * step + t] = work[here + r]


@njit(cache=True, nogil=True, error_model="numpy")
def _pairs_apart(work, base, order, turns, first, last, skip, pair):
    apart()
    for n in range(first, last):
        _apart(work, base + pair * order[skip + 2 * n], base + pair * order[skip + 2 * n + 1], turns, 2 * n)


@njit(cache=True, nogil=True, error_model="numpy")
def _pairs_together(work, base, order, turns, first, last, skip, pair):
    apart()
    for n in range(first, last):
        _together(work, base + pair * order[skip + 2 * n], base + pair * order[skip + 2 * n + 1], turns, 2 * n)


@njit(cache=True, nogil=True, error_model="numpy")
def _forward(rows, spectrum, roots, slots, order, turns, work, base, first, last, shape, padded, mode, level, radices, lanes):
    """Groups of rows to their half-spectra."""
    n, length = shape
    half, radix, pair = padded // 2, radices[0], 2 * lanes
    step = half // radix
    for unit in range(first, last):
        at, count = unit * lanes * length, min(lanes, n - unit * lanes)
        load(rows, at, count, length, work, base, lanes, padded, mode)
        if level != 0:
            for k in range(base, base + (length if mode == 0 else padded) * lanes):
                work[k] -= level
        forward_turned(radix, step, work, base, step * pair, roots, 0, pair)
        for block in range(radix // 2 + 1):
            both = (block, (radix - block) % radix)
            for k in range(1 if both[0] == both[1] else 2):
                block_forward(radices, work, base + both[k] * step * pair, step, roots, pair, lanes)
            if block == 0:
                # Frequency 0 has the highest in it, too.
                put(work[base + half * pair : base + (half + 1) * pair], work[base : base + pair])
            _pairs_apart(work, base, order, turns, order[block], order[block + 1], radix + 1, pair)
        width = 2 * (half + 1)
        _collect(work, base, slots, spectrum, unit * lanes * width, width, count, width, lanes)


@njit(cache=True, nogil=True, error_model="numpy")
def _half_in(kind, x, unit, count, n, half, work, base, slots, pitch, lanes):
    """Half-spectra of the rows of a unit; what is imaginary of the lowest and the highest frequency counts for nothing."""
    if kind == ROWS:
        width = 2 * (half + 1)
        _spread(x, unit * lanes * width, width, count, width, work, base, slots, lanes)
    else:
        for u in range(0, half + 1, lanes):
            for part in range(2):
                at = u * pitch + (2 * unit * lanes + part) * lanes
                if count == lanes:
                    _scatter(x, at, 2 * lanes, work, base, slots, 2 * u + part, 2)
                    continue
                for k in range(min(lanes, half + 1 - u)):
                    to = base + lanes * slots[2 * (u + k) + part]
                    for r in range(lanes):
                        work[to + r] = x[at + 2 * r * lanes + k] if r < count else 0
    for end in (base, base + half * 2 * lanes):
        for k in range(lanes):
            if kind == BLOCKS:
                work[end + k] *= 2
            work[end + lanes + k] = 0


@njit(cache=True, nogil=True, error_model="numpy")
def _samples_out(work, base, first, count, y, to, length, n, lanes):
    """So many samples from ``first`` on, to rows of ``n``."""
    whole = length // lanes if count == lanes else 0
    turned(work, base + first * lanes, lanes, y, to, n, whole, lanes * lanes, lanes)
    for j in range(whole * lanes, length):
        for k in range(count):
            y[to + k * n + j] = work[base + (first + j) * lanes + k]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _finished(y, to, length, gains, level):
    """A row of the result."""
    for x in range(length):
        y[to + x] = y[to + x] * gains[x] + level if gains.size > 0 else y[to + x] + level


@njit(cache=True, nogil=True, error_model="numpy")
def _backward(kind, x, y, roots, slots, order, turns, columns, gains, work, base, first, last, shape, pitch, level, radices, lanes):
    """Groups of spectra back to rows; see `ROWS`, `GRID`, `BLOCKS`. ``shape``: rows of the result, samples, numbers transformed."""
    n, length, numbers = shape
    radix, pair = radices[0], 2 * lanes
    step = numbers // radix
    for unit in range(first, last):
        count = min(lanes, n - unit * lanes)
        if kind == GRID:
            _spread(x, unit * lanes * pitch, pitch, lanes, pitch, work, base, slots, lanes)
        else:
            _half_in(kind, x, unit, count, n, numbers, work, base, slots, pitch, lanes)
        for block in range(radix if kind == GRID else radix // 2 + 1):
            both = (block, block if kind == GRID else (radix - block) % radix)
            if kind != GRID:
                _pairs_together(work, base, order, turns, order[block], order[block + 1], radix + 1, pair)
            for k in range(1 if both[0] == both[1] else 2):
                block_backward(radices, work, base + both[k] * step * pair, step, roots, pair, lanes)
        backward_turned(radix, step, work, base, step * pair, roots, 0, pair)
        if kind == GRID:
            for k in range(columns.size):
                to, here, gain = unit * lanes * pitch + k * pair, base + columns[k] * pair, gains[k]
                for r in range(pair):
                    y[to + r] = work[here + r] * gain
            continue
        to, left = unit * lanes * length, length // 2 if kind == BLOCKS else 0
        # The origin is in the middle of a row of pixels.
        _samples_out(work, base, 2 * numbers - left, count, y, to, left, length, lanes)
        _samples_out(work, base, 0, count, y, to + left, length - left, length, lanes)
        if gains.size > 0 or level != 0:
            for r in range(count):
                _finished(y, to + r * length, length, gains, level)


def shared(function: Callable[[int, int, int], None], work: np.ndarray, units: int, operations: int) -> None:
    """Call ``function(base, first, last)`` for shares of the units, each with its row of ``work``."""
    threads, size = (1, 0) if few(operations) else work.shape
    each(lambda t: function(t * size, units * t // threads, units * (t + 1) // threads), threads)


def filled(radices: tuple[int, ...]) -> tuple[int, ...]:
    """As many of them as every call has, so that one compilation serves all."""
    return radices + (1,) * (MOST - len(radices))


def forward(
    rows: np.ndarray,
    roots: np.ndarray,
    slots: np.ndarray,
    order: np.ndarray,
    turns: np.ndarray,
    spectrum: np.ndarray,
    work: np.ndarray,
    *,
    padded: int,
    mode: str,
    level: float,
    radices: tuple[int, ...],
) -> None:
    """See `footprint.kernels.transforms.contract`."""
    share = forward_of(rows, roots, slots, order, turns, spectrum, work, padded=padded, mode=mode, level=level, radices=radices)
    shared(share, work, -(-len(rows) // LANES), len(rows) * padded * _WORK)


def forward_of(
    rows: np.ndarray,
    roots: np.ndarray,
    slots: np.ndarray,
    order: np.ndarray,
    turns: np.ndarray,
    spectrum: np.ndarray,
    work: np.ndarray,
    *,
    padded: int,
    mode: str,
    level: float,
    radices: tuple[int, ...],
) -> Callable[[int, int, int], None]:
    """What takes groups of rows, from a first to a last, forward."""
    flat = rows.reshape(-1), spectrum.view(np.float32).reshape(-1)
    tables = roots, slots, order, turns, work.reshape(-1)
    numbers = rows.shape, padded, NUMPY_CODES[mode], np.float32(level), filled(radices), LANES
    return lambda base, first, last: _forward(*flat, *tables, base, first, last, *numbers)


def backward(
    spectrum: np.ndarray,
    roots: np.ndarray,
    slots: np.ndarray,
    order: np.ndarray,
    turns: np.ndarray,
    out: np.ndarray,
    work: np.ndarray,
    *,
    level: float,
    radices: tuple[int, ...],
) -> None:
    """See the contract."""
    nothing = np.empty(0, np.int32), np.empty(0, np.float32)
    shape = *out.shape, spectrum.shape[1] - 1
    back(ROWS, spectrum, out, (roots, slots, order, turns), nothing, work, shape, 0, level, radices)


def back(
    kind: int,
    x: np.ndarray,
    y: np.ndarray,
    tables: tuple[np.ndarray, ...],
    ends: tuple[np.ndarray, ...],
    work: np.ndarray,
    shape: tuple[int, int, int],
    pitch: int,
    level: float,
    radices: tuple[int, ...],
) -> None:
    """See `_backward`."""
    flat = x.view(np.float32).reshape(-1), y.view(np.float32).reshape(-1)
    numbers = shape, pitch, np.float32(level), filled(radices), LANES

    def share(base: int, first: int, last: int) -> None:
        _backward(kind, *flat, *tables, *ends, work.reshape(-1), base, first, last, *numbers)

    shared(share, work, -(-shape[0] // LANES), 2 * shape[0] * shape[2] * _WORK)
