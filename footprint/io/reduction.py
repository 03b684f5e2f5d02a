"""Many flats, or darks, made one frame: their mean, or their median, pixel by pixel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from footprint.dtypes import put_into
from footprint.errors import ArgumentError

CHOICES = ("mean", "median")
# Values whose median is taken at a time: what sorting them holds does not grow with the frames' size.
_SORTED = 1 << 13
# Bytes a value that sorting holds: a copy in float64, what of it is partitioned, and where it is NaN.
_SORTING = 24

Read = Callable[[int, np.ndarray], None]
"""Fills an array ``(1, n_rows, n_x)`` with a frame of a number."""


@dataclass(frozen=True)
class Reduction:
    """How many frames become one.

    Attributes
    ----------
    method
        One of `CHOICES`.
    level
        Values from here on are saturated: means leave them out, and a pixel that has no others, or whose median is one, is NaN.
    scale
        What the light of each frame, by its number, is multiplied by.
    """

    method: str = "mean"
    level: float | None = None
    scale: np.ndarray | None = None

    def held(self, n_pixels: int, n_frames: int, itemsize: int) -> int:
        """Bytes that `reduced` holds beside its result: an upper bound."""
        if self._sorts(n_frames):
            return n_pixels * n_frames * itemsize + _SORTING * max(_SORTED, n_frames)
        # Sums and a frame; counts, and where values count; and a frame whose light is multiplied.
        return n_pixels * (8 + max(itemsize, 4) + 5 * (self.level is not None) + 8 * (self.scale is not None))

    def _sorts(self, n_frames: int) -> bool:
        return self.method == "median" and n_frames > 2

    def reduced(
        self, read: Read, frames: np.ndarray, shape: tuple[int, int], dtype: np.dtype, dark: np.ndarray | None = None
    ) -> np.ndarray:
        """Make one frame of many.

        Parameters
        ----------
        read
            Reads a frame.
        frames
            Numbers of the frames.
        shape, dtype
            Rows and columns that are read, and the dtype they are stored in.
        dark
            What frames hold without light, where light is multiplied; None for nothing.

        Returns
        -------
        numpy.ndarray
            float32 ``(n_rows, n_x)``. Means are summed in float64, frame by frame.
        """
        found = np.empty(shape, np.float32)
        (self._median if self._sorts(len(frames)) else self._mean)(read, frames, np.dtype(dtype), found, dark)
        return found

    def _mean(self, read: Read, frames: np.ndarray, dtype: np.dtype, found: np.ndarray, dark: np.ndarray | None) -> None:
        total, frame = np.zeros(found.shape), np.empty((1, *found.shape), dtype)
        counted = found.shape if self.level is not None else (0,)
        count, good = np.zeros(counted, np.uint32), np.zeros(counted, np.bool_)
        light = None if self.scale is None else np.empty(found.shape)
        for number in frames:
            read(int(number), frame)
            values = frame[0]
            if self.scale is not None:
                values = np.subtract(values, 0 if dark is None else dark, out=light)
                values *= self.scale[number]
            if self.level is None:
                total += values
            else:
                # What is no number counts, and makes the mean none.
                np.logical_not(np.greater_equal(frame[0], self.level, out=good), out=good)
                np.add(total, values, out=total, where=good)
                count += good
        with np.errstate(invalid="ignore"):
            total /= len(frames) if self.level is None else count
        if self.scale is not None and dark is not None:
            total += dark
        put_into(found, total)

    def _median(self, read: Read, frames: np.ndarray, dtype: np.dtype, found: np.ndarray, dark: np.ndarray | None) -> None:
        stack = np.empty((len(frames), *found.shape), dtype)
        for i, number in enumerate(frames):
            read(int(number), stack[i : i + 1])
        columns = max(1, _SORTED // len(frames))
        for row in range(found.shape[0]):
            for x in range(0, found.shape[1], columns):
                part = np.ascontiguousarray(stack[:, row, x : x + columns].T, np.float64)
                if self.level is not None:
                    part[part >= self.level] = np.inf
                if self.scale is not None:
                    shade = 0 if dark is None else dark[row, x : x + columns, None]
                    part -= shade
                    part *= self.scale[frames]
                    part += shade
                middle = np.median(part, axis=1, overwrite_input=True)
                if self.level is not None:
                    middle[middle == np.inf] = np.nan
                put_into(found[row, x : x + columns], middle)


def saturation_of(given: str | float | None, dtype: np.dtype) -> float | None:
    """The raw value from which on pixels are saturated: as given, or for "auto" the largest of an integer of 16 bits and more.

    Of 8 bits it is not: stacks of 8 bits are mostly pictures of a scan, whose air is white.
    """
    if given is None or given == "none":
        return None
    if given == "auto":
        return int(np.iinfo(dtype).max) if dtype.kind in "iu" and dtype.itemsize > 1 else None
    try:
        level = float(given)
    except (TypeError, ValueError, OverflowError):
        level = np.nan
    if not np.isfinite(level) or isinstance(given, bool):
        raise ArgumentError("saturation", repr(given), "auto, none or a number of counts")
    # Whole numbers are compared in the frames' own dtype.
    return int(level) if level.is_integer() else level
