"""Bytes that HDF5's shuffle filter took apart, put together where their elements are wanted.

A shuffled chunk is the first bytes of all its elements, then their second bytes, and so on. It comes in pieces of any length, in
order, so that no more of it is held than one of them.
"""

from __future__ import annotations

import sys

import numpy as np

from footprint.kernels.bitshuffle.contract import Box
from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import alone, apart

_LITTLE = sys.byteorder == "little"


@njit(nogil=True, cache=True)
def _twos(plane, shift, begins, words):
    """A byte of every word; the first that comes clears the other."""
    alone()
    if begins:
        for i in range(len(plane)):
            words[i] = np.uint16(plane[i]) << shift
    else:
        for i in range(len(plane)):
            words[i] |= np.uint16(plane[i]) << shift


@njit(nogil=True, cache=True)
def _fours(plane, shift, begins, words):
    """The same of words twice as long."""
    alone()
    if begins:
        for i in range(len(plane)):
            words[i] = np.uint32(plane[i]) << shift
    else:
        for i in range(len(plane)):
            words[i] |= np.uint32(plane[i]) << shift


@njit(nogil=True, cache=True)
def _others(plane, byte, width, out):
    """Elements of any width, a byte at a time."""
    apart()
    for i in range(len(plane)):
        out[i * width + byte] = plane[i]


@njit(nogil=True, cache=True)
def _placed(plane, first, width, byte, begins, box, out):
    """Put what the box wants of a byte of elements from ``first`` on where it goes."""
    last = first + len(plane)
    for f in range(box.frames):
        for r in range(box.rows):
            src = box.src + f * box.src_frame + r * box.src_row
            start, stop = max(src, first), min(src + box.length, last)
            if start >= stop:
                continue
            at = box.dst + f * box.dst_frame + r * box.dst_row + start - src
            part, into = plane[start - first : stop - first], out[at * width : (at + stop - start) * width]
            shift = 8 * (byte if _LITTLE else width - 1 - byte)
            if width == 2:
                _twos(part, np.uint16(shift), begins, into.view(np.uint16))
            elif width == 4:
                _fours(part, np.uint32(shift), begins, into.view(np.uint32))
            else:
                _others(part, byte, width, into)


@njit(nogil=True, cache=True)
def _fits(at, total, width, box, out, count):
    """Whether our own arguments are those of arrays that are large enough."""
    runs = box.rows >= 1 and box.frames >= 1 and box.length >= 1 and width >= 1
    steps = min(box.src, box.src_row, box.src_frame, box.dst, box.dst_row, box.dst_frame) >= 0
    if not (runs and steps and at >= 0 and at + count <= total * width):
        return False
    dst = box.dst + (box.frames - 1) * box.dst_frame + (box.rows - 1) * box.dst_row
    return (dst + box.length) * width <= out.size


@njit(nogil=True, cache=True)
def unshuffle(piece, at, total, width, swap, box: Box, out):
    """Put what the box wants of a piece of a shuffled chunk into ``out``, all of them bytes.

    Pieces come in order: the first bytes of elements clear the others.

    Parameters
    ----------
    piece
        Bytes from ``at`` on.
    total, width
        Elements of the chunk, and bytes of one.
    swap
        Turn the bytes of elements round.

    Returns
    -------
    bool
        False, with nothing written, where the arguments do not fit each other.
    """
    if not _fits(at, total, width, box, out, len(piece)):
        return False
    done = 0
    while done < len(piece):
        plane, first = (at + done) // total, (at + done) % total
        count = min(total - first, len(piece) - done)
        _placed(piece[done : done + count], first, width, width - 1 - plane if swap else plane, plane == 0, box, out)
        done += count
    return True
