"""Many flats, or darks, made one frame: their mean, or their median, pixel by pixel."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from footprint.io.frames import cast_into

CHOICES = ("mean", "median")
# Values whose median is taken at a time: what sorting them holds does not grow with the frames' size.
_SORTED = 1 << 13
# Bytes a value that sorting holds: a copy in float64, what of it is partitioned, and where it is NaN.
_SORTING = 24

Read = Callable[[int, np.ndarray], None]
"""Fills an array ``(1, n_rows, n_x)`` with a frame of a number."""


def reduced(read: Read, frames: np.ndarray, shape: tuple[int, int], dtype: np.dtype, method: str = "mean") -> np.ndarray:
    """Make one frame of many.

    Parameters
    ----------
    read
        Reads a frame.
    frames
        Numbers of the frames.
    shape, dtype
        Rows and columns that are read, and the dtype they are stored in.
    method
        One of `CHOICES`.

    Returns
    -------
    numpy.ndarray
        float32 ``(n_rows, n_x)``. Means are summed in float64, frame by frame.
    """
    many = _median if method == "median" and len(frames) > 2 else _mean
    found = np.empty(shape, np.float32)
    many(read, frames, np.dtype(dtype), found)
    return found


def reduction_bytes(n_pixels: int, n_frames: int, itemsize: int, method: str) -> int:
    """Bytes that `reduced` holds beside its result: an upper bound."""
    if method == "median" and n_frames > 2:
        return n_pixels * n_frames * itemsize + _SORTING * max(_SORTED, n_frames)
    return n_pixels * (8 + max(itemsize, 4))


def _mean(read: Read, frames: np.ndarray, dtype: np.dtype, found: np.ndarray) -> None:
    total, frame = np.zeros(found.shape), np.empty((1, *found.shape), dtype)
    for number in frames:
        read(int(number), frame)
        total += frame[0]
    total /= len(frames)
    cast_into(found, total)


def _median(read: Read, frames: np.ndarray, dtype: np.dtype, found: np.ndarray) -> None:
    stack = np.empty((len(frames), *found.shape), dtype)
    for i, number in enumerate(frames):
        read(int(number), stack[i : i + 1])
    columns = max(1, _SORTED // len(frames))
    for row in range(found.shape[0]):
        for x in range(0, found.shape[1], columns):
            part = np.ascontiguousarray(stack[:, row, x : x + columns].T, np.float64)
            cast_into(found[row, x : x + columns], np.median(part, axis=1, overwrite_input=True))
