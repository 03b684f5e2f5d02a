"""Connected components with the union-find forest in the label image itself, so no memory grows with the number of runs.

A pixel holds 1 + the raster index of a pixel before it in its component, or of itself at a root. Bands of rows are joined side
by side in parallel, then across their edges; roots are numbered in raster order, which is SciPy's, and every pixel reads its
root's number.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common.few import TOUCH, few
from footprint.kernels.common.jit import njit

# Pixels that are looked at together before any of them alone.
STRETCH = 64


@njit(cache=True, nogil=True)
def _find(flat, i):
    """Root of pixel ``i``; the way there is halved."""
    while flat[i] != i + 1:
        up = flat[i] - 1
        flat[i] = flat[up]
        i = flat[i] - 1
    return i


@njit(cache=True, nogil=True)
def _unite(flat, i, j):
    a, b = _find(flat, i), _find(flat, j)
    if a < b:
        flat[b] = a + 1
    elif b < a:
        flat[a] = b + 1


@njit(cache=True, nogil=True)
def empty(part):
    """Whether nothing is set in a short stretch; vector instructions tell at once."""
    found = np.int32(0)
    for i in range(part.size):
        found |= np.int32(1) if part[i] else np.int32(0)
    return found == 0


@njit(cache=True, nogil=True)
def _join_row(flat, mask, y, width, reach):
    """Unite the runs of row ``y`` with those they touch in the row above; once a pair of runs."""
    row, above, base = mask[y], mask[y - 1], y * width
    for c in range(0, width, STRETCH):
        if empty(row[c : c + STRETCH]):
            continue
        for x in range(c, min(c + STRETCH, width)):
            if not row[x]:
                continue
            starts = x == 0 or not row[x - 1]
            if above[x]:
                if starts or not above[x - 1]:
                    _unite(flat, base + x, base + x - width)
            elif reach:
                if starts and x > 0 and above[x - 1]:
                    _unite(flat, base + x, base + x - width - 1)
                if x + 1 < width and above[x + 1] and not row[x + 1]:
                    _unite(flat, base + x, base + x - width + 1)


@njit(cache=True, nogil=True)
def _band(flat, mask, width, first, last, reach):
    """Label the rows from ``first`` up to ``last`` by themselves."""
    for y in range(first, last):
        row, out = mask[y], flat[y * width : (y + 1) * width]
        start = 0
        for c in range(0, width, STRETCH):
            part, names = row[c : c + STRETCH], out[c : c + STRETCH]
            if empty(part):
                for x in range(names.size):
                    names[x] = 0
                continue
            for x in range(c, min(c + STRETCH, width)):
                if not row[x]:
                    out[x] = 0
                else:
                    if x == 0 or not row[x - 1]:
                        start = y * width + x + 1
                    out[x] = start
        if y > first:
            _join_row(flat, mask, y, width, reach)


@njit(cache=True, nogil=True)
def _alone(flat, mask, width, reach):
    """All of it on one thread: pixels before this one have their numbers already, and its parent is one of them."""
    _band(flat, mask, width, 0, mask.shape[0], reach)
    count = 0
    for i in range(flat.size):
        parent = flat[i]
        if parent == i + 1:
            count += 1
            flat[i] = count
        elif parent:
            flat[i] = flat[parent - 1]
    return count


@njit(cache=True, parallel=True, nogil=True)
def _bands(flat, mask, width, rows, reach):
    """Label each band of rows by itself."""
    height = mask.shape[0]
    for band in prange(-(-height // rows)):
        _band(flat, mask, width, band * rows, min(height, (band + 1) * rows), reach)


@njit(cache=True, nogil=True)
def _edges(flat, mask, width, rows, reach):
    for y in range(rows, mask.shape[0], rows):
        _join_row(flat, mask, y, width, reach)


@njit(cache=True, parallel=True, nogil=True)
def _number(flat, mask, height, width, firsts):
    """Number the roots in raster order, as negative labels; then let every pixel take its root's."""
    for y in prange(height):
        row, n = flat[y * width : (y + 1) * width], 0
        for x in range(width):
            n += row[x] == y * width + x + 1
        firsts[y + 1] = n
    firsts[0] = 0
    for y in range(height):
        firsts[y + 1] += firsts[y]
    for y in prange(height):
        row, n = flat[y * width : (y + 1) * width], firsts[y]
        if firsts[y + 1] > n:
            for x in range(width):
                if row[x] == y * width + x + 1:
                    n += 1
                    row[x] = -n
    # A parent may turn into a label while others still read it: either tells the root's number.
    for y in prange(height):
        row, marks = flat[y * width : (y + 1) * width], mask[y]
        for c in range(0, width, STRETCH):
            if empty(marks[c : c + STRETCH]):
                continue
            for x in range(c, min(c + STRETCH, width)):
                k = row[x]
                while k > 0:
                    k = flat[k - 1]
                row[x] = k
    for y in prange(height):
        row = flat[y * width : (y + 1) * width]
        for x in range(width):
            row[x] = -row[x]
    return firsts[height]


def _local(mask, labels, firsts, connectivity) -> int:
    """Label a mask by itself; return the number of components."""
    height, width = mask.shape
    if mask.size == 0:
        return 0
    flat, reach = labels.reshape(-1), int(connectivity == 8)
    if few(mask.size * TOUCH):
        return _alone(flat, mask, width, reach)
    rows = max(1, -(-height // 64))
    _bands(flat, mask, width, rows, reach)
    _edges(flat, mask, width, rows, reach)
    return _number(flat, mask, height, width, firsts)


def label(mask, labels, count, firsts, *, connectivity) -> None:
    """See `footprint.kernels.label.contract`."""
    count[0] = _local(mask, labels, firsts, connectivity)


@njit(cache=True, nogil=True)
def _open(table, first, stop):
    """Components that belong to themselves."""
    for k in range(first, min(stop, table.size)):
        table[k] = k + 1


@njit(cache=True, nogil=True)
def _leave(row, offset, seam):
    """Keep a part's last row."""
    for x in range(row.size):
        seam[x] = offset + row[x] if row[x] else 0


@njit(cache=True, nogil=True)
def _join_seam(row, seam, offset, reach, table):
    """Unite the components of a part's first row with those of the row before it; those over the table are left out."""
    width = row.size
    for x in range(width):
        if not row[x]:
            continue
        here = offset + row[x]
        for near in range(max(x - reach, 0), min(x + reach, width - 1) + 1):
            if seam[near] and here <= table.size:
                _unite(table, seam[near] - 1, here - 1)


def gather(mask, labels, table, seam, met, firsts, *, first, connectivity) -> None:
    """See `footprint.kernels.label.contract`."""
    if first == 0:
        met[:] = 0
    found, offset = _local(mask, labels, firsts, connectivity), int(met[0])
    _open(table, offset, offset + found)
    if first:
        _join_seam(labels[0], seam, offset, int(connectivity == 8), table)
    _leave(labels[-1], offset, seam)
    met[0] += found


@njit(cache=True, nogil=True)
def _settle(table, n):
    """Number the roots in order; a component reads what the one it belongs to, which comes before it, has got."""
    islands = 0
    for k in range(n):
        if table[k] == k + 1:
            islands += 1
            table[k] = islands
        else:
            table[k] = table[table[k] - 1]
    return islands


def settle(table, met, count) -> None:
    """See `footprint.kernels.label.contract`."""
    count[0] = _settle(table, met[0]) if met[0] <= table.size else -met[0]


@njit(cache=True, parallel=True, nogil=True)
def _paint(labels, table, offset):
    for y in prange(labels.shape[0]):
        for x in range(labels.shape[1]):
            k = labels[y, x]
            labels[y, x] = table[offset + k - 1] if k else 0


def paint(mask, labels, table, met, firsts, *, first, connectivity) -> None:
    """See `footprint.kernels.label.contract`."""
    if first == 0:
        met[1] = 0
    if met[0] > table.size:
        return
    found = _local(mask, labels, firsts, connectivity)
    _paint(labels, table, met[1])
    met[1] += found
