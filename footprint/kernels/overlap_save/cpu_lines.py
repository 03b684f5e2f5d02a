"""Columns and rows of a tile through their transforms: as many lines at once as a vector has lanes.

A column's transform lies in ``strip``, then in the tile's ``spectrum``: there ``lanes`` frequencies of all columns lie
together, so that rows are transformed as columns were. Frequencies keep the order two factors leave them in, as the mask's do.
"""

from __future__ import annotations

from numba import njit

from footprint.kernels.common.vectors import apart
from footprint.kernels.overlap_save.contract import GAP
from footprint.kernels.overlap_save.cpu_dft import (
    backward8,
    backward16,
    backward32,
    backward_turned8,
    backward_turned16,
    backward_turned32,
    forward8,
    forward16,
    forward32,
    forward_turned8,
    forward_turned16,
    forward_turned32,
    middle8,
    middle16,
    middle32,
    transpose,
)


@njit(cache=True, nogil=True, error_model="numpy")
def _forward_turned(radix, count, src, at, hop, step, gap, dst, to, jump, pace, hole, w, roots):
    """``count`` transforms, ``hop`` apart, whose results are ``jump`` apart."""
    apart()
    for n in range(count):
        a, b, t = at + n * hop, to + n * jump, roots + 2 * n * radix
        if radix == 8:
            forward_turned8(src, a, step, gap, dst, b, pace, hole, w, t)
        elif radix == 16:
            forward_turned16(src, a, step, gap, dst, b, pace, hole, w, t)
        else:
            forward_turned32(src, a, step, gap, dst, b, pace, hole, w, t)


@njit(cache=True, nogil=True, error_model="numpy")
def _backward_turned(radix, count, src, at, hop, step, gap, dst, to, jump, pace, hole, w, roots):
    apart()
    for n in range(count):
        a, b, t = at + n * hop, to + n * jump, roots + 2 * n * radix
        if radix == 8:
            backward_turned8(src, a, step, gap, dst, b, pace, hole, w, t)
        elif radix == 16:
            backward_turned16(src, a, step, gap, dst, b, pace, hole, w, t)
        else:
            backward_turned32(src, a, step, gap, dst, b, pace, hole, w, t)


@njit(cache=True, nogil=True, error_model="numpy")
def _forward(radix, count, src, at, dst, to, step, gap):
    """Transforms of vectors that lie together."""
    apart()
    for n in range(count):
        a, b = at + n * radix * step, to + n * radix * step
        if radix == 8:
            forward8(src, a, step, gap, dst, b, step, gap, src, 0)
        elif radix == 16:
            forward16(src, a, step, gap, dst, b, step, gap, src, 0)
        else:
            forward32(src, a, step, gap, dst, b, step, gap, src, 0)


@njit(cache=True, nogil=True, error_model="numpy")
def _backward(radix, count, src, at, step, gap):
    apart()
    for n in range(count):
        a = at + n * radix * step
        if radix == 8:
            backward8(src, a, step, gap, src, a, step, gap, src, 0)
        elif radix == 16:
            backward16(src, a, step, gap, src, a, step, gap, src, 0)
        else:
            backward32(src, a, step, gap, src, a, step, gap, src, 0)


@njit(cache=True, nogil=True, error_model="numpy")
def _middle(radix, count, x, at, mask, there, step):
    apart()
    for n in range(count):
        a, b = at + n * radix * step, there + n * radix * step
        if radix == 8:
            middle8(x, a, mask, b)
        elif radix == 16:
            middle16(x, a, mask, b)
        else:
            middle32(x, a, mask, b)


@njit(cache=True, nogil=True, error_model="numpy")
def _turn(work, at, step, to, pace, count, hop, jump):
    apart()
    for t in range(count):
        transpose(work, at + t * hop, step, to + t * jump, pace)


@njit(cache=True, nogil=True, error_model="numpy")
def columns_forward(work, base, s, strip, spectrum, shared, roots, tile, n1, n2, lanes):
    """Columns ``s * lanes`` and on of two tiles, the parts of complex numbers."""
    pitch, pair = tile + GAP, 2 * lanes
    plane, at = tile * pitch, base + s * lanes
    _forward_turned(n1, n2, work, at, pitch, n2 * pitch, plane, work, strip, pair, n2 * pair, lanes, shared, roots)
    _forward(n2, n1, work, strip, work, strip, pair, lanes)
    for part in range(2):
        to = spectrum + s * lanes * pair + part * lanes
        _turn(work, strip + part * lanes, pair, to, pair, tile // lanes, lanes * pair, tile * pair)


@njit(cache=True, nogil=True, error_model="numpy")
def rows_through(work, spectrum, t, shared, roots, tile, n1, n2, lanes):
    """Rows of ``lanes`` frequencies: transformed, multiplied by the mask's, and back."""
    pair = 2 * lanes
    at = spectrum + t * tile * pair
    _forward_turned(n1, n2, work, at, pair, n2 * pair, lanes, work, at, pair, n2 * pair, lanes, shared, roots)
    _middle(n2, n1, work, at, shared, t * tile * pair, pair)
    _backward_turned(n1, n2, work, at, pair, n2 * pair, lanes, work, at, pair, n2 * pair, lanes, shared, roots)


@njit(cache=True, nogil=True, error_model="numpy")
def rows_forward(work, spectrum, t, shared, roots, tile, n1, n2, lanes):
    """The mask's rows, which are kept."""
    pair = 2 * lanes
    at = spectrum + t * tile * pair
    _forward_turned(n1, n2, work, at, pair, n2 * pair, lanes, work, at, pair, n2 * pair, lanes, shared, roots)
    _forward(n2, n1, work, at, shared, t * tile * pair, pair, lanes)


@njit(cache=True, nogil=True, error_model="numpy")
def columns_back(work, base, s, strip, spectrum, shared, roots, tile, n1, n2, lanes):
    """What `columns_forward` did, undone."""
    pitch, pair = tile + GAP, 2 * lanes
    plane, to = tile * pitch, base + s * lanes
    for part in range(2):
        at = spectrum + s * lanes * pair + part * lanes
        _turn(work, at, pair, strip + part * lanes, pair, tile // lanes, tile * pair, lanes * pair)
    _backward(n2, n1, work, strip, pair, lanes)
    _backward_turned(n1, n2, work, strip, pair, n2 * pair, lanes, work, to, pitch, n2 * pitch, plane, shared, roots)
