"""Connected components with the union-find forest in the label image itself, so no memory grows with the number of runs.

The first pixel of a run holds 1 + the raster index of the first of a run before it in its component, or of itself at a root; its
other pixels hold nothing until the end. Runs, and where those of two rows meet, are found by 64 pixels' bits at a time. Bands of
rows are joined side by side in parallel, then across their edges; roots are numbered in raster order, which is SciPy's, every run
takes its root's number, and its pixels take the run's.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common.bits import AT_ONCE, highest, lowest, starts, word
from footprint.kernels.common.few import TOUCH, few
from footprint.kernels.common.jit import njit

NARROW = 4
"""Pixels of rows that are taken one by one: a word has bits of 64, and a row at least one."""

_NONE, _ONE, _TWO, _HIGHEST, _ALL = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(AT_ONCE - 1), ~np.uint64(0)


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
def _run(begin, at, c, earlier):
    """Where the last run begins that does so not after bit ``at`` of the pixels from ``c`` on: among them, or ``earlier``."""
    begin &= (_TWO << at) - _ONE
    return c + np.int64(highest(begin)) if begin else earlier


@njit(cache=True, nogil=True)
def _join_row(flat, mask, y, width, reach, fresh, below):
    """Unite the runs of row ``y`` with those they touch in the row above, once a pair of runs, if the row is ``below`` another.

    Runs of a ``fresh`` row begin as components of their own, held by their first pixels.
    """
    base, above = y * width, (y - 1) * width
    here, up = word(mask, base, width), word(mask, above, width) if below else _NONE
    here_before = up_before = _NONE
    here_run = up_run = 0
    for c in range(0, width, AT_ONCE):
        rest = width - c - AT_ONCE
        here_next = word(mask, base + c + AT_ONCE, rest) if rest > 0 else _NONE
        up_next = word(mask, above + c + AT_ONCE, rest) if below and rest > 0 else _NONE
        here_begin, up_begin = starts(here, here_before), starts(up, up_before)
        new = here_begin if fresh else _NONE
        while new:
            at = base + c + np.int64(lowest(new))
            flat[at] = at + 1
            new &= new - _ONE
        # Where two runs lie one above the other, they do so in one stretch.
        meet = starts(here & up, here_before & up_before)
        while meet:
            at = lowest(meet)
            _unite(flat, base + _run(here_begin, at, c, here_run), above + _run(up_begin, at, c, up_run))
            meet &= meet - _ONE
        if reach:
            left = here_begin & ~up & ((up << _ONE) | up_before)
            while left:
                at = lowest(left)
                _unite(flat, base + c + np.int64(at), above + _run(up_begin, at, c, up_run))
                left &= left - _ONE
            right = here & ~((here >> _ONE) | (here_next << _HIGHEST)) & ~up & ((up >> _ONE) | (up_next << _HIGHEST))
            while right:
                at = lowest(right)
                _unite(flat, base + _run(here_begin, at, c, here_run), above + c + np.int64(at) + 1)
                right &= right - _ONE
        if here_begin:
            here_run = c + np.int64(highest(here_begin))
        if up_begin:
            up_run = c + np.int64(highest(up_begin))
        here_before, up_before, here, up = here >> _HIGHEST, up >> _HIGHEST, here_next, up_next


@njit(cache=True, nogil=True)
def _band(flat, mask, width, first, last, reach):
    """Join the rows from the first up to the last by themselves."""
    for y in range(first, last):
        _join_row(flat, mask, y, width, reach, True, y > first)


@njit(cache=True, parallel=True, nogil=True)
def _bands(flat, mask, width, height, rows, reach):
    """Join each band of rows by itself, in threads, then across their edges."""
    for band in prange(-(-height // rows)):
        _band(flat, mask, width, band * rows, min(height, (band + 1) * rows), reach)
    for y in range(rows, height, rows):
        _join_row(flat, mask, y, width, reach, False, True)


@njit(cache=True, nogil=True)
def _roots(flat, mask, base, width, n):
    """Number a row's roots on from ``n``, as negative labels; the last number. Where ``n`` is below 0 they are counted alone."""
    found, before = max(n, 0), _NONE
    for c in range(0, width, AT_ONCE):
        bits = word(mask, base + c, width - c)
        begin, before = starts(bits, before), bits >> _HIGHEST
        while begin:
            at = base + c + np.int64(lowest(begin))
            if flat[at] == at + 1:
                found += 1
                if n >= 0:
                    flat[at] = -found
            begin &= begin - _ONE
    return found


@njit(cache=True, nogil=True)
def _follow(flat, mask, base, width):
    """Have the first pixel of a row's runs their roots' labels."""
    before = _NONE
    for c in range(0, width, AT_ONCE):
        bits = word(mask, base + c, width - c)
        begin, before = starts(bits, before), bits >> _HIGHEST
        while begin:
            at = base + c + np.int64(lowest(begin))
            # A parent may turn into a label while others still read it: either tells the root's number.
            k = flat[at]
            while k > 0:
                k = flat[k - 1]
            flat[at] = k
            begin &= begin - _ONE


@njit(cache=True, nogil=True)
def _fill(flat, mask, base, width):
    """Have all pixels of a row's runs what minus their first one holds, and the others 0."""
    name, before = flat[base], 0
    for c in range(0, width, AT_ONCE):
        bits, stop = word(mask, base + c, width - c), base + min(c + AT_ONCE, width)
        names, part = flat[base + c : stop], mask[base + c : stop]
        if bits == _NONE:
            for x in range(names.size):
                names[x] = 0
            before = 0
        elif bits == _ALL and before:
            for x in range(names.size):
                names[x] = name
        else:
            # Without a branch, as where runs begin and end nobody can foretell.
            for x in range(names.size):
                now = int(part[x] != 0)
                name += (-names[x] - name) & -(now & ~before)
                names[x] = name & -now
                before = now


@njit(cache=True, nogil=True)
def _alone(flat, mask, width, height, reach):
    """All of it on one thread; how many components there are."""
    _band(flat, mask, width, 0, height, reach)
    count = 0
    for y in range(height):
        count = _roots(flat, mask, y * width, width, count)
    for y in range(height):
        _follow(flat, mask, y * width, width)
    for y in range(height):
        _fill(flat, mask, y * width, width)
    return count


@njit(cache=True, nogil=True)
def _settle(table, n):
    """Number the roots in order; what is no root reads what the one it belongs to, which comes before it, has got."""
    islands = 0
    for k in range(n):
        if table[k] == k + 1:
            islands += 1
            table[k] = islands
        elif table[k]:
            table[k] = table[table[k] - 1]
    return islands


@njit(cache=True, nogil=True)
def _narrow(flat, mask, width, height, reach):
    """The same of rows that are too short for words of 64 pixels: every pixel holds one that comes before it, or itself."""
    for y in range(height):
        for i in range(y * width, (y + 1) * width):
            flat[i] = i + 1 if mask[i] else 0
            if not mask[i]:
                continue
            first, last, up = i == y * width, i == (y + 1) * width - 1, i - width
            if y and mask[up]:
                _unite(flat, i, up)
            elif y and reach:
                if not first and mask[up - 1]:
                    _unite(flat, i, up - 1)
                if not last and mask[up + 1]:
                    _unite(flat, i, up + 1)
            # Those above two are united.
            if not first and mask[i - 1] and not (y and mask[up] and mask[up - 1]):
                _unite(flat, i, i - 1)
    return _settle(flat, width * height)


@njit(cache=True, parallel=True, nogil=True)
def _number(flat, mask, height, width, firsts):
    """Number the roots in raster order, as negative labels; then let every run take its root's, and all its pixels the run's."""
    for y in prange(height):
        firsts[y + 1] = _roots(flat, mask, y * width, width, -1)
    firsts[0] = 0
    for y in range(height):
        firsts[y + 1] += firsts[y]
    for y in prange(height):
        if firsts[y + 1] > firsts[y]:
            _roots(flat, mask, y * width, width, firsts[y])
    for y in prange(height):
        _follow(flat, mask, y * width, width)
    for y in prange(height):
        _fill(flat, mask, y * width, width)
    return firsts[height]


def _local(mask, labels, firsts, connectivity) -> int:
    """Label a mask by itself; return the number of components."""
    height, width = mask.shape
    if mask.size == 0:
        return 0
    if width == 1:
        # As a row, of which 64 pixels are taken at once.
        height, width = 1, height
    flat, bytes_of, reach = labels.reshape(-1), mask.reshape(-1), int(connectivity == 8)
    if width <= NARROW:
        return _narrow(flat, bytes_of, width, height, reach)
    if few(mask.size * TOUCH):
        return _alone(flat, bytes_of, width, height, reach)
    _bands(flat, bytes_of, width, height, max(1, -(-height // 64)), reach)
    return _number(flat, bytes_of, height, width, firsts)


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
