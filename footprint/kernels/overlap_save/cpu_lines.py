"""Columns and rows of a tile through their transforms: as many lines at once as a vector has lanes.

A column's transform lies in ``strip``, then in the tile's ``spectrum``: there ``lanes`` frequencies of all columns lie
together, so that rows are transformed as columns were. Frequencies keep the order two factors leave them in, as the mask's do.
"""

from __future__ import annotations

from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import apart
from footprint.kernels.overlap_save import cpu_dft as dft
from footprint.kernels.overlap_save.contract import GAP


@njit(cache=True, nogil=True, error_model="numpy")
def forward_turned(radix, count, src, at, hop, step, gap, dst, to, jump, pace, hole, w, roots):
    """``count`` transforms, ``hop`` apart, whose results are ``jump`` apart."""
    apart()
    for n in range(count):
        dft.forward_turned(src, at + n * hop, step, gap, dst, to + n * jump, pace, hole, w, roots + 2 * n * radix, radix)


@njit(cache=True, nogil=True, error_model="numpy")
def backward_turned(radix, count, src, at, hop, step, gap, dst, to, jump, pace, hole, w, roots):
    """The same backward."""
    apart()
    for n in range(count):
        dft.backward_turned(src, at + n * hop, step, gap, dst, to + n * jump, pace, hole, w, roots + 2 * n * radix, radix)


@njit(cache=True, nogil=True, error_model="numpy")
def forward(radix, count, src, at, dst, to, step, gap):
    """Transforms of vectors that lie together."""
    apart()
    for n in range(0, count * radix * step, radix * step):
        dft.forward(src, at + n, step, gap, dst, to + n, step, gap, src, 0, radix)


@njit(cache=True, nogil=True, error_model="numpy")
def backward(radix, count, src, at, step, gap):
    """The same backward, in place."""
    apart()
    for n in range(0, count * radix * step, radix * step):
        dft.backward(src, at + n, step, gap, src, at + n, step, gap, src, 0, radix)


@njit(cache=True, nogil=True, error_model="numpy")
def middle(radix, count, x, at, mask, there, step):
    """The end of transforms forward, the products with the mask's, and the beginning of those back."""
    apart()
    for n in range(0, count * radix * step, radix * step):
        dft.middle(x, at + n, mask, there + n, radix)


@njit(cache=True, nogil=True, error_model="numpy")
def _turn(work, at, step, to, pace, count, hop, jump):
    apart()
    for t in range(count):
        dft.transpose(work, at + t * hop, step, to + t * jump, pace)


@njit(cache=True, nogil=True, error_model="numpy")
def columns_forward(work, base, s, strip, spectrum, shared, roots, tile, n1, n2, lanes):
    """Columns ``s * lanes`` and on of two tiles, the parts of complex numbers."""
    pitch, pair = tile + GAP, 2 * lanes
    plane, at = tile * pitch, base + s * lanes
    forward_turned(n1, n2, work, at, pitch, n2 * pitch, plane, work, strip, pair, n2 * pair, lanes, shared, roots)
    forward(n2, n1, work, strip, work, strip, pair, lanes)
    for part in range(2):
        to = spectrum + s * lanes * pair + part * lanes
        _turn(work, strip + part * lanes, pair, to, pair, tile // lanes, lanes * pair, tile * pair)


@njit(cache=True, nogil=True, error_model="numpy")
def rows_through(work, spectrum, t, shared, roots, tile, n1, n2, lanes):
    """Rows of ``lanes`` frequencies: transformed, multiplied by the mask's, and back."""
    pair = 2 * lanes
    at = spectrum + t * tile * pair
    forward_turned(n1, n2, work, at, pair, n2 * pair, lanes, work, at, pair, n2 * pair, lanes, shared, roots)
    middle(n2, n1, work, at, shared, t * tile * pair, pair)
    backward_turned(n1, n2, work, at, pair, n2 * pair, lanes, work, at, pair, n2 * pair, lanes, shared, roots)


@njit(cache=True, nogil=True, error_model="numpy")
def rows_forward(work, spectrum, t, target, to, shared, roots, tile, n1, n2, lanes):
    """Rows of ``lanes`` frequencies, whose transforms go to ``target`` from ``to`` on."""
    pair = 2 * lanes
    at = spectrum + t * tile * pair
    forward_turned(n1, n2, work, at, pair, n2 * pair, lanes, work, at, pair, n2 * pair, lanes, shared, roots)
    forward(n2, n1, work, at, target, to + t * tile * pair, pair, lanes)


@njit(cache=True, nogil=True, error_model="numpy")
def rows_back(work, spectrum, t, shared, roots, tile, n1, n2, lanes):
    """What `rows_forward` did in place, undone."""
    pair = 2 * lanes
    at = spectrum + t * tile * pair
    backward(n2, n1, work, at, pair, lanes)
    backward_turned(n1, n2, work, at, pair, n2 * pair, lanes, work, at, pair, n2 * pair, lanes, shared, roots)


@njit(cache=True, nogil=True, error_model="numpy")
def columns_back(work, base, s, strip, spectrum, shared, roots, tile, n1, n2, lanes):
    """What `columns_forward` did, undone."""
    pitch, pair = tile + GAP, 2 * lanes
    plane, to = tile * pitch, base + s * lanes
    for part in range(2):
        at = spectrum + s * lanes * pair + part * lanes
        _turn(work, at, pair, strip + part * lanes, pair, tile // lanes, tile * pair, lanes * pair)
    backward(n2, n1, work, strip, pair, lanes)
    backward_turned(n1, n2, work, strip, pair, n2 * pair, lanes, work, to, pitch, n2 * pitch, plane, shared, roots)
