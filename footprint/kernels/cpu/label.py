"""Connected components with the union-find forest in the label image itself, so no memory grows with the number of runs.

A pixel holds 1 + the raster index of a pixel before it in its component, or of itself at a root. Bands of rows are joined side
by side in parallel, then across their edges; roots are numbered in raster order, which is SciPy's, and every pixel reads its
root's number.
"""

from __future__ import annotations

from numba import njit, prange


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
def _join_row(flat, mask, y, width, reach):
    """Unite the runs of row ``y`` with those they touch in the row above; once a pair of runs."""
    row, above, base = mask[y], mask[y - 1], y * width
    for x in range(width):
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


@njit(cache=True, parallel=True, nogil=True)
def _bands(flat, mask, width, rows, reach):
    """Label each band of rows by itself."""
    height = mask.shape[0]
    for band in prange(-(-height // rows)):
        for y in range(band * rows, min(height, (band + 1) * rows)):
            row, out = mask[y], flat[y * width : (y + 1) * width]
            start = 0
            for x in range(width):
                if not row[x]:
                    start = x + 1
                    out[x] = 0
                else:
                    out[x] = y * width + start + 1
            if y > band * rows:
                _join_row(flat, mask, y, width, reach)


@njit(cache=True, nogil=True)
def _edges(flat, mask, width, rows, reach):
    for y in range(rows, mask.shape[0], rows):
        _join_row(flat, mask, y, width, reach)


@njit(cache=True, parallel=True, nogil=True)
def _number(flat, height, width, firsts):
    """Number the roots in raster order, as negative labels; then let every pixel take its root's."""
    for y in prange(height):
        row = flat[y * width : (y + 1) * width]
        n = 0
        for x in range(width):
            n += row[x] == y * width + x + 1
        firsts[y + 1] = n
    firsts[0] = 0
    for y in range(height):
        firsts[y + 1] += firsts[y]
    for y in prange(height):
        row = flat[y * width : (y + 1) * width]
        n = firsts[y]
        for x in range(width):
            if row[x] == y * width + x + 1:
                n += 1
                row[x] = -n
    # A parent may turn into a label while others still read it: either tells the root's number.
    for y in prange(height):
        row = flat[y * width : (y + 1) * width]
        for x in range(width):
            k = row[x]
            while k > 0:
                k = flat[k - 1]
            row[x] = k
    for y in prange(height):
        row = flat[y * width : (y + 1) * width]
        for x in range(width):
            row[x] = -row[x]
    return firsts[height]


def label(mask, labels, count, firsts, *, connectivity) -> None:
    """See `footprint.kernels.label`."""
    height, width = mask.shape
    if mask.size == 0:
        count[0] = 0
        return
    flat, reach = labels.reshape(-1), int(connectivity == 8)
    rows = max(1, -(-height // 64))
    _bands(flat, mask, width, rows, reach)
    _edges(flat, mask, width, rows, reach)
    count[0] = _number(flat, height, width, firsts)
