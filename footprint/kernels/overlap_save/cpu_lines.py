"""Columns and rows of a tile through their transforms: as many lines at once as a vector has lanes.

A tile lies in strips that are as wide as a vector. In a strip row follows row, the real parts and then the imaginary ones, which
are another tile's. Columns are transformed where they lie, and every square of them is transposed: rows of frequencies are then
transformed as columns were. Frequencies keep the order two factors leave them in, as the mask's do.

A line is some vectors ``hop`` apart, and groups of as many as a vector has lanes ``skip`` apart: what is done to it is done where
it lies.
"""

from __future__ import annotations

from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import BYTES, apart
from footprint.kernels.overlap_save import cpu_dft as dft


@njit(cache=True, nogil=True, error_model="numpy")
def strip_of(x, tile):
    """Elements from a strip of a tile to the next: further than its rows, so that squares of a row lie on sets of their own."""
    lanes = BYTES // x.itemsize
    return 2 * lanes * (tile + max(lanes // 4, 1))


@njit(cache=True, nogil=True, error_model="numpy")
def turned_forward(x, at, hop, skip, w, roots, n1, n2):
    """The first factor of a line, and what lies between both."""
    apart()
    lanes = BYTES // x.itemsize
    step = n2 // lanes * skip
    for n in range(n2):
        dft.forward_turned(x, at + n // lanes * skip + n % lanes * hop, step, w, roots + 2 * n * n1, n1, 0, 0)


@njit(cache=True, nogil=True, error_model="numpy")
def turned_backward(x, at, hop, skip, w, roots, n1, n2):
    """The same backward."""
    apart()
    lanes = BYTES // x.itemsize
    step = n2 // lanes * skip
    for n in range(n2):
        dft.backward_turned(x, at + n // lanes * skip + n % lanes * hop, step, w, roots + 2 * n * n1, n1, 0, 0)


@njit(cache=True, nogil=True, error_model="numpy")
def plain_forward(x, at, hop, skip, n1, n2):
    """The second factor of a line."""
    apart()
    for k in range(n1):
        dft.forward(x, at + k * (n2 // (BYTES // x.itemsize)) * skip, hop, skip, n2)


@njit(cache=True, nogil=True, error_model="numpy")
def plain_backward(x, at, hop, skip, n1, n2):
    """The same backward."""
    apart()
    for k in range(n1):
        dft.backward(x, at + k * (n2 // (BYTES // x.itemsize)) * skip, hop, skip, n2)


@njit(cache=True, nogil=True, error_model="numpy")
def _across_forward(x, at, hop, skip, n1, n2):
    apart()
    for k in range(n1):
        dft.forward_across(x, at + k * (n2 // (BYTES // x.itemsize)) * skip, hop, skip, n2)


@njit(cache=True, nogil=True, error_model="numpy")
def _across_backward(x, at, hop, skip, n1, n2):
    apart()
    for k in range(n1):
        dft.backward_across(x, at + k * (n2 // (BYTES // x.itemsize)) * skip, hop, skip, n2)


@njit(cache=True, nogil=True, error_model="numpy")
def through(x, at, hop, skip, w, roots, there, n1, n2):
    """A line there, times the mask's that begins at ``w[there]``, and back."""
    apart()
    lanes = BYTES // x.itemsize
    turned_forward(x, at, hop, skip, w, roots, n1, n2)
    for k in range(n1):
        dft.middle(x, at + k * (n2 // lanes) * skip, hop, skip, w, there + 2 * lanes * k * n2, n2)
    turned_backward(x, at, hop, skip, w, roots, n1, n2)


@njit(cache=True, nogil=True, error_model="numpy")
def through_beside(x, at, hop, skip, w, roots, there, n1, n2, beside):
    """`through` of a line that is multiplied by the one that begins at ``w[beside]`` before, and by its conjugate after it."""
    apart()
    lanes = BYTES // x.itemsize
    step, pace = n2 // lanes * skip, 2 * lanes * n2
    for n in range(n2):
        start, own = at + n // lanes * skip + n % lanes * hop, beside + 2 * lanes * n
        dft.forward_beside(x, start, step, w, roots + 2 * n * n1, n1, own, pace)
    for k in range(n1):
        dft.middle(x, at + k * (n2 // lanes) * skip, hop, skip, w, there + 2 * lanes * k * n2, n2)
    for n in range(n2):
        start, own = at + n // lanes * skip + n % lanes * hop, beside + 2 * lanes * n
        dft.backward_beside(x, start, step, w, roots + 2 * n * n1, n1, own, pace)


@njit(cache=True, nogil=True, error_model="numpy")
def columns_forward(x, base, strips, shared, roots, tile, n1, n2):
    """Columns of the first ``strips``."""
    lanes = BYTES // x.itemsize
    for s in range(strips):
        at = base + s * strip_of(x, tile)
        turned_forward(x, at, 2 * lanes, 2 * lanes * lanes, shared, roots, n1, n2)
        _across_forward(x, at, 2 * lanes, 2 * lanes * lanes, n1, n2)


@njit(cache=True, nogil=True, error_model="numpy")
def columns_back(x, base, strips, shared, roots, tile, n1, n2):
    """What `columns_forward` did, undone."""
    lanes = BYTES // x.itemsize
    for s in range(strips):
        at = base + s * strip_of(x, tile)
        _across_backward(x, at, 2 * lanes, 2 * lanes * lanes, n1, n2)
        turned_backward(x, at, 2 * lanes, 2 * lanes * lanes, shared, roots, n1, n2)


@njit(cache=True, nogil=True, error_model="numpy")
def _twisted_forward(x, at, hop, skip, n1, n2, w, t):
    apart()
    for k in range(n1):
        dft.forward_twisted(x, at + k * (n2 // (BYTES // x.itemsize)) * skip, hop, skip, n2, w, t)


@njit(cache=True, nogil=True, error_model="numpy")
def _twisted_backward(x, at, hop, skip, n1, n2, w, t):
    apart()
    for k in range(n1):
        dft.backward_twisted(x, at + k * (n2 // (BYTES // x.itemsize)) * skip, hop, skip, n2, w, t)


@njit(cache=True, nogil=True, error_model="numpy")
def halves_forward(x, base, strips, shared, roots, turns, tile, n1, n2):
    """`columns_forward` of a tile whose right half is the imaginary part of its left: column k times the number at ``turns``."""
    lanes = BYTES // x.itemsize
    for s in range(strips):
        at = base + s * strip_of(x, tile)
        turned_forward(x, at, 2 * lanes, 2 * lanes * lanes, shared, roots, n1, n2)
        _twisted_forward(x, at, 2 * lanes, 2 * lanes * lanes, n1, n2, shared, turns + 2 * lanes * s)


@njit(cache=True, nogil=True, error_model="numpy")
def halves_back(x, base, strips, shared, roots, turns, tile, n1, n2):
    """What `halves_forward` did, undone."""
    lanes = BYTES // x.itemsize
    for s in range(strips):
        at = base + s * strip_of(x, tile)
        _twisted_backward(x, at, 2 * lanes, 2 * lanes * lanes, n1, n2, shared, turns + 2 * lanes * s)
        turned_backward(x, at, 2 * lanes, 2 * lanes * lanes, shared, roots, n1, n2)


@njit(cache=True, nogil=True, error_model="numpy")
def rows_forward(x, base, shared, roots, tile, n1, n2):
    """Rows of frequencies of columns."""
    lanes = BYTES // x.itemsize
    for t in range(tile // lanes):
        at = base + t * 2 * lanes * lanes
        turned_forward(x, at, 2 * lanes, strip_of(x, tile), shared, roots, n1, n2)
        plain_forward(x, at, 2 * lanes, strip_of(x, tile), n1, n2)


@njit(cache=True, nogil=True, error_model="numpy")
def rows_back(x, base, shared, roots, tile, n1, n2):
    """What `rows_forward` did, undone."""
    lanes = BYTES // x.itemsize
    for t in range(tile // lanes):
        at = base + t * 2 * lanes * lanes
        plain_backward(x, at, 2 * lanes, strip_of(x, tile), n1, n2)
        turned_backward(x, at, 2 * lanes, strip_of(x, tile), shared, roots, n1, n2)


@njit(cache=True, nogil=True, error_model="numpy")
def kept(x, at, hop, skip, tile, shared, to, factor):
    """A line of a mask's transform: its conjugate, times the factor that transforms there and back leave."""
    apart()
    lanes = BYTES // x.itemsize
    shared[to] = factor
    for i in range(tile // lanes - 1, -1, -1):
        dft.conjugates(x, at + i * skip, hop, shared, to + 2 * lanes * lanes * i, to)
