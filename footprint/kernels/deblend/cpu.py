"""Basins of the pixels over a level, a block of rows at a time: the label image itself has the pointers by which they climb."""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common.bits import empty
from footprint.kernels.common.jit import njit
from footprint.kernels.deblend.climb import climb, follow, number
from footprint.kernels.deblend.contract import BRIGHT, MET, SEEN, TREE
from footprint.kernels.deblend.on_mesh import at_peaks_on_mesh, over_level, told_on_mesh
from footprint.kernels.deblend.passes import walk
from footprint.kernels.deblend.tree import settle
from footprint.kernels.find_sources.contract import LEVEL, SPREAD, X_PEAK, Y_PEAK
from footprint.kernels.find_sources.contract import PIXELS as COUNTED
from footprint.kernels.find_sources.cpu import _level as level

# Pixels that are painted together.
_TOGETHER = 128


@njit(cache=True, parallel=True, nogil=True)
def _paint(nodes, labels, basins, offset, same):
    width = nodes.shape[1]
    for r in prange(nodes.shape[0]):
        row, out = nodes[r], labels[r]
        # What is 0 already is not written: it need not go back to memory.
        for start in range(0, width, _TOGETHER):
            stop = min(start + _TOGETHER, width)
            if same and empty(row[start:stop]):
                continue
            for x in range(np.uint64(start), np.uint64(stop)):
                k = row[x]
                out[x] = basins[TREE, offset - k - 1] if k else 0


def _bounds(block, stats, sigma):
    """The values between which a pixel is set."""
    return level(stats, block.dtype, sigma), np.finfo(block.dtype).max


def _basins(block, stats, nodes, last, roots, some, offset, peaks, basins, keep, first, height, sigma, connectivity, strip, seed):
    """Number the basins of a block; return how many there are, and how many have summits over the seed."""
    least, largest = _bounds(block, stats, sigma)
    bright = climb(
        block,
        last,
        nodes,
        roots,
        some,
        first,
        height,
        int(connectivity == 8),
        strip,
        least,
        largest,
        level(stats, block.dtype, seed),
    )
    return int(number(block, nodes, roots, some, first, offset, peaks, basins, keep)), int(bright)


def gather(
    block, stats, nodes, peaks, basins, passes, seam, best, last, marks, roots, some, line, bands, near,
    keys, order, spare, *, first, height, sigma, connectivity, strip, seed,
) -> None:  # fmt: skip
    """See `footprint.kernels.deblend.contract`."""
    if first == 0:
        marks[:] = 0
    offset, whole = int(marks[MET]), block.shape[0] == height
    known, options = (block, stats, nodes, last, roots, some, offset, peaks, basins), (first, height, sigma, connectivity)
    found, bright = _basins(*known, True, *options, height if whole else strip, seed)
    if whole and found > peaks.size:
        # With room for that many the image may have to be cut.
        found, _ = _basins(*known, False, *options, strip, seed)
    marks[MET] += found
    marks[BRIGHT] += bright
    if marks[MET] > peaks.size:
        last[0, :] = block[-1]
        return
    follow(nodes, some)
    least, largest = _bounds(block, stats, sigma)
    walk(
        block, nodes, some, offset, first, height, int(connectivity == 8), height if whole else strip, least, largest,
        basins, passes, seam, best, last, marks, roots, line, bands, near, keys, order, spare,
    )  # fmt: skip


def paint(
    block, stats, count, nodes, labels, peaks, basins, passes, seam, best, last, marks, roots, some, *,
    first, height, sigma, connectivity, strip, climb, capacity,
) -> None:  # fmt: skip
    """See `footprint.kernels.deblend.contract`."""
    if first == 0:
        marks[SEEN] = 0
    if marks[MET] > peaks.size or count[0] > capacity:
        labels[...] = 0
        return
    offset = int(marks[SEEN])
    if climb:
        options = (first, height, sigma, connectivity, strip, sigma)
        marks[SEEN] += _basins(block, stats, nodes, last, roots, some, offset, peaks, basins, False, *options)[0]
        follow(nodes, some)
        last[0, :] = block[-1]
    _paint(nodes, labels, basins, offset, nodes.ctypes.data == labels.ctypes.data)


@njit(cache=True, parallel=True, nogil=True)
def _told(block, level, spread, ranks, values):
    for y in prange(block.shape[0]):
        over_level(block[y], 0, block.shape[1], level[y], spread[y], values[y], ranks[y])


def told(block, level, spread, ranks, values) -> None:
    """See `footprint.kernels.deblend.contract`."""
    _told(block, level, spread, ranks, values)


@njit(cache=True, parallel=True, nogil=True)
def _at_peaks(level, spread, boxes, moments, first):
    for k in prange(boxes.shape[0]):
        y = boxes[k, Y_PEAK] - first
        if boxes[k, COUNTED] > 0 and 0 <= y < level.shape[0]:
            moments[k, LEVEL], moments[k, SPREAD] = level[y, boxes[k, X_PEAK]], spread[y, boxes[k, X_PEAK]]


def at_peaks(level, spread, boxes, moments, *, first) -> None:
    """See `footprint.kernels.deblend.contract`."""
    _at_peaks(level, spread, boxes, moments, first)


__all__ = ["at_peaks", "at_peaks_on_mesh", "gather", "paint", "settle", "told", "told_on_mesh"]
