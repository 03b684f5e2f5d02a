"""Reads of rows of frames taken apart by chunks: what of each is wanted, and where it goes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from footprint.kernels.bitshuffle.contract import Box


class Piece(NamedTuple):
    """What a read wants of one chunk: which, frames and rows of it, where they go, and whether nothing else of it is left."""

    at: tuple[int, ...]
    number: int
    frames: tuple[Any, ...]
    rows: slice
    into: tuple[slice, slice, slice]
    whole: bool


def pieces_of(shape: tuple[int, ...], chunk: tuple[int, ...], start: int, stop: int, rows: slice) -> Iterator[Piece]:
    """What a read of rows of frames, counted over all axes but the last two, wants of every chunk."""
    grid = tuple(-(-n // c) for n, c in zip(shape, chunk))
    (high, wide), (n_y, n_x) = chunk[-2:], shape[-2:]
    lead, cut = (1, *shape)[:-2], (1, *chunk)[:-2]
    at = start
    while at < stop:
        place = _place(at, lead)
        along = place[-1] % cut[-1]
        end = min(stop, at + min(cut[-1] - along, lead[-1] - place[-1]))
        frames = (*(k % c for k, c in zip(place[:-1], cut)), slice(along, along + end - at))
        deep = along == 0 and place[-1] + end - at >= min(place[-1] + cut[-1], lead[-1]) and math.prod(cut[:-1]) == 1
        for y in range(rows.start // high, -(-rows.stop // high)):
            y0, y1 = max(rows.start, y * high), min(rows.stop, (y + 1) * high)
            for x in range(-(-n_x // wide)):
                index = (*(k // c for k, c in zip(place, cut)), y, x)[1:]
                into = (
                    slice(at - start, end - start),
                    slice(y0 - rows.start, y1 - rows.start),
                    slice(x * wide, min(n_x, (x + 1) * wide)),
                )
                all_rows = y0 == y * high and y1 == min(n_y, (y + 1) * high)
                yield Piece(index, _number(index, grid), frames, slice(y0 - y * high, y1 - y * high), into, deep and all_rows)
        at = end


def _number(place: tuple[int, ...], shape: tuple[int, ...]) -> int:
    """A place counted along all axes: NumPy's own takes as long as a small chunk."""
    found = 0
    for k, n in zip(place, shape):
        found = found * n + k
    return found


def _place(number: int, shape: tuple[int, ...]) -> list[int]:
    found = []
    for n in reversed(shape):
        number, k = divmod(number, n)
        found.append(k)
    return found[::-1]


def marked(first: Piece, second: Piece, rest: Iterator[Piece]) -> Iterator[tuple[Piece, bool]]:
    """Pieces, and whether they are the last."""
    held = first
    for piece in chain((second,), rest):
        yield held, False
        held = piece
    yield held, True


class Target(NamedTuple):
    """An array ``(n, n_rows, n_x)`` as bytes, and elements from row to row and from frame to frame."""

    flat: np.ndarray
    row: int
    frame: int

    @classmethod
    def of(cls, out: np.ndarray, dtype: np.dtype) -> Target | None:
        """None where numbers would have to be cast, or rows are not contiguous."""
        size = dtype.itemsize
        if out.dtype != dtype.newbyteorder("=") or not out.size or out.strides[2] != size:
            return None
        (n, n_rows, n_x), (frame, row, _) = out.shape, out.strides
        # Steps of an axis of one are anything.
        row = row if n_rows > 1 else n_x * size
        frame = frame if n > 1 else n_rows * row
        if row < n_x * size or frame < n_rows * row or row % size or frame % size:
            return None
        last = (n - 1) * frame + (n_rows - 1) * row + n_x * size
        return cls(np.lib.stride_tricks.as_strided(out.view(np.uint8), (last,), (1,)), row // size, frame // size)


def box(chunk: tuple[int, ...], frames: tuple[Any, ...], rows: slice, into: tuple[slice, slice, slice], to: Target) -> Box:
    """Frames and rows of a chunk, and where they go, as runs that are as long as they can be."""
    high, wide = chunk[-2:]
    count, n_rows, length = frames[-1].stop - frames[-1].start, rows.stop - rows.start, into[2].stop - into[2].start
    first = _number((*frames[:-1], frames[-1].start), (1, *chunk)[:-2])
    if length == wide and (n_rows == 1 or to.row == wide):
        n_rows, length = 1, n_rows * length
        if count == 1 or (length == high * wide and to.frame == length):
            count, length = 1, count * length
    dst = into[0].start * to.frame + into[1].start * to.row + into[2].start
    return Box(length, n_rows, count, (first * high + rows.start) * wide, wide, high * wide, dst, to.row, to.frame)


def runs(box: Box, first: int, last: int) -> Iterator[tuple[int, int, int]]:
    """What of a box lies in elements ``first`` to ``last`` of the chunk: ``(start, stop, where it goes)``."""
    for f in range(max(0, (first - box.src) // box.src_frame) if box.frames > 1 else 0, box.frames):
        here = box.src + f * box.src_frame
        if here >= last:
            return
        for r in range(max(0, (first - here) // box.src_row) if box.rows > 1 else 0, box.rows):
            src = here + r * box.src_row
            start, stop = max(src, first), min(src + box.length, last)
            if src >= last:
                break
            if start < stop:
                yield start, stop, box.dst + f * box.dst_frame + r * box.dst_row + start - src
