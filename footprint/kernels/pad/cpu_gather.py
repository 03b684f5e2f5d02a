"""The pass of padding that gathers, on the CPU: rows in stretches of neighbours, short ones by where each column comes from."""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common.borders import NONE, source_index
from footprint.kernels.common.jit import plain
from footprint.kernels.pad.contract import AT, LISTED

_source_index = plain(cache=True, nogil=True)(source_index)
_NONE, _LISTED, _NEAREST, _CONSTANT = AT[NONE], AT[LISTED], AT["nearest"], AT["constant"]
THIN = 64
"""Most samples of a row whose columns are looked up."""
PIECE = 1 << 15
"""Samples of a line that a thread takes at a time, so that one long line uses every core."""


@plain(cache=True, nogil=True)
def _at(i, how, positions):
    """Where in the image output ``i`` of an axis comes from, negative for nowhere; ``how`` is (border, first, base, length)."""
    if how[0] == _LISTED:
        return positions[i] - how[2]
    if how[0] == _NONE:
        return i + how[1] - how[2]
    found = _source_index(i + how[1], how[3], how[0])
    return found - how[2] if found >= 0 else found


@plain(cache=True, nogil=True)
def run_of(how, positions, width):
    """Start and stop of the longest stretch of outputs known to come from neighbours: it can be copied, not gathered."""
    if how[0] == _NONE:
        return 0, width
    if how[0] != _LISTED:
        start = min(max(-how[1], 0), width)
        return start, max(min(how[3] - how[1], width), start)
    best, length, start = 0, 0, 0
    for k in range(width):
        if positions[k] < 0 or (k > start and positions[k] != positions[k - 1] + 1):
            start = k + (positions[k] < 0)
        if k + 1 - start > length:
            best, length = start, k + 1 - start
    return best, best + length


@plain(cache=True, nogil=True)
def copy(target, source):
    """A loop: assigning slices takes Numba seconds to compile."""
    for x in range(source.size):
        target[x] = source[x]


@plain(cache=True, nogil=True)
def _edge(target, source, x0, first, last, how, positions, fill):
    """Outputs ``first`` to ``last`` of those from ``x0`` on, in stretches that come from neighbours, or all from one place."""
    k = first
    while k < last:
        x, many = _at(x0 + k, how, positions), 1
        step = _at(x0 + k + 1, how, positions) - x if k + 1 < last else 0
        if how[0] == _NEAREST or how[0] == _CONSTANT:
            step, many = 0, last - k
        elif how[0] != _LISTED and (step == 1 or step == -1):
            many = min(last - k, how[3] - how[2] - x if step == 1 else x + how[2] + 1)
        # A loop each that a processor can go through by vectors; an index that may be negative would keep it from that.
        part = target[k : k + many]
        if x < 0 or step == 0:
            value = source[x] if x >= 0 else fill
            for j in range(many):
                part[j] = value
        elif step == 1:
            copy(part, source[x : x + many])
        else:
            for j in range(many):
                part[j] = source[np.uintp(x - j)]
        k += many


@plain(cache=True, nogil=True)
def _listed(target, source, places, first, count, fill):
    """Outputs that come from places found before."""
    for k in range(count):
        place = places[first + k]
        target[k] = source[place] if place >= 0 else fill


@plain(cache=True, nogil=True)
def gather(image, out, how_z, how_y, how_x, planes, rows, columns, run, fill, from_unit, to_unit):
    """Pieces of rows: the longest stretch is copied, the others are gathered; those of short edges are looked up once."""
    height, width = out.shape[1:]
    pieces = (width + PIECE - 1) // PIECE
    after = width - run[1]
    short = pieces == 1 and run[0] + after <= THIN
    places = np.empty(THIN, np.int64)
    if short:
        for k in range(run[0] + after):
            places[k] = _at(k if k < run[0] else run[1] + k - run[0], how_x, columns)
    line, piece = from_unit // pieces, from_unit % pieces
    z, y = line // height, line % height
    from_z = _at(z, how_z, planes) if from_unit < to_unit else -1
    begin = _at(run[0], how_x, columns) if run[1] > run[0] else 0
    for _ in range(from_unit, to_unit):
        x0 = piece * PIECE
        target = out[z, y, x0 : min(x0 + PIECE, width)]
        from_y = _at(y, how_y, rows)
        if from_z < 0 or from_y < 0:
            for x in range(target.size):
                target[x] = fill
        else:
            source = image[from_z, from_y]
            start = min(max(run[0] - x0, 0), target.size)
            stop = max(min(run[1] - x0, target.size), start)
            if short:
                _listed(target, source, places, 0, start, fill)
                _listed(target[stop:], source, places, run[0], after, fill)
            else:
                _edge(target, source, x0, 0, start, how_x, columns, fill)
                _edge(target, source, x0, stop, target.size, how_x, columns, fill)
            if stop > start:
                x = begin + x0 + start - run[0]
                copy(target[start:stop], source[x : x + stop - start])
        piece += 1
        if piece == pieces:
            piece, y = 0, y + 1
        if y == height:
            y, z = 0, z + 1
            from_z = _at(z, how_z, planes) if z < out.shape[0] else -1


@plain(cache=True, parallel=True, nogil=True)
def share_gather(image, out, how_z, how_y, how_x, planes, rows, columns, run, fill, units, threads):
    """The same in threads."""
    for t in prange(threads):
        gather(image, out, how_z, how_y, how_x, planes, rows, columns, run, fill, units * t // threads, units * (t + 1) // threads)


@plain(cache=True, nogil=True)
def thin(image, out, how_z, how_y, how_x, planes, rows, columns, fill, first, last):
    """The same of short rows: what a stretch begins with takes longer there than its copy."""
    height, width = out.shape[1:]
    places = np.empty(THIN, np.int64)
    for x in range(width):
        places[x] = _at(x, how_x, columns)
    z, y = first // max(height, 1), first % max(height, 1)
    from_z = _at(z, how_z, planes) if first < last else -1
    for _ in range(first, last):
        from_y = _at(y, how_y, rows)
        for x in range(width):
            place = places[x]
            out[z, y, x] = image[from_z, from_y, place] if place >= 0 and from_y >= 0 and from_z >= 0 else fill
        y += 1
        if y == height:
            y, z = 0, z + 1
            from_z = _at(z, how_z, planes) if z < out.shape[0] else -1


@plain(cache=True, parallel=True, nogil=True)
def share_thin(image, out, how_z, how_y, how_x, planes, rows, columns, fill, units, threads):
    """The same in threads."""
    for t in prange(threads):
        thin(image, out, how_z, how_y, how_x, planes, rows, columns, fill, units * t // threads, units * (t + 1) // threads)
