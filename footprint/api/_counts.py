"""Dead and saturated pixels of a scan, counted while it is read: what is replaced is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Lock, Thread
from typing import Any

import numpy as np

from footprint import settings
from footprint.kernels.flat.contract import DEAD
from footprint.plan.crew import MOST, shared
from footprint.plan.faces import Region

# Values that are compared at a time: what that holds does not grow with the data. Bytes that a thread takes at a time.
_PIECE, _SHARE = 1 << 14, 2 << 20


@dataclass(frozen=True)
class PixelCounts:
    """What was read of a scan, and how much of it was not good.

    Attributes
    ----------
    dead, pixels
        Detector pixels whose flats are no brighter than their darks, or saturated, of those that were read; 0 of 0 where there are
        no flats.
    saturated, values
        Raw values of projections at or above ``level``, of those that were read.
    level
        None where none counts as saturated.
    """

    dead: int
    pixels: int
    saturated: int
    values: int
    level: float | None

    def __str__(self) -> str:
        dead = f"{self.dead:,} of {self.pixels:,} detector pixels are dead (no light in the flats)"
        full = f"{self.saturated:,} of {self.values:,} values are saturated ({self.level or 0:g} and more)"
        found = [dead] * bool(self.pixels) + [full] * (self.level is not None)
        words = " and ".join(found) if found else "neither dead nor saturated pixels were looked for"
        return f"{words}; their neighbours along the row replace them" if self.dead or self.saturated else words


@dataclass
class Tally:
    """Counts every detector row once, however often and by whichever thread it is read.

    Parameters
    ----------
    n_z
        Rows that are read at all; regions count from the first.
    level
        The raw value from which on pixels are saturated, None for none.
    """

    n_z: int
    level: float | None
    _counts: list[int] = field(default_factory=lambda: [0, 0, 0, 0])
    _seen: dict[tuple[int, int], bytearray] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def projections(self, region: Region, block: np.ndarray) -> None:
        """Count what of a block of projections is saturated."""
        if self.level is None or not block.size:
            return
        here = self._new((region[0].start or 0, region[0].stop or 0), region[1])
        for first, last in here:
            part = block[:, first:last]
            self._add(2, _at_least(part, self.level), part.size)

    @contextmanager
    def beside(self, array: np.ndarray) -> Iterator[None]:
        """Count all of an array of projections while something else is done, in a thread that ends with it."""
        if self.level is None:
            yield
            return
        over, errors = Event(), list[BaseException]()

        def count() -> None:
            try:
                for frame in array:
                    if over.is_set():
                        return
                    self._add(2, _at_least(frame[None], self.level or 0.0), frame.size)
            except BaseException as error:
                errors.append(error)

        thread = Thread(target=count, name="footprint-count", daemon=True)
        thread.start()
        try:
            yield
        except BaseException:
            over.set()
            raise
        finally:
            thread.join()
        if errors:
            raise errors[0]

    def flats(self, region: Region, block: np.ndarray, dark: Callable[[], Any]) -> None:
        """Count the detector pixels that are dead; ``dark`` reads the dark of the same rows, or 0."""
        here = self._new((-1, -1), region[1])
        if not here:
            return
        shades = np.broadcast_to(dark(), block.shape[1:])
        for first, last in here:
            for row in range(first, last):
                lit = np.ones(block.shape[2], bool)
                for group in block:
                    lit &= group[row] - shades[row] > DEAD * np.abs(shades[row])
                self._add(0, int(lit.size - np.count_nonzero(lit)), lit.size)

    def counts(self) -> PixelCounts:
        """What was counted."""
        dead, pixels, saturated, values = self._counts
        return PixelCounts(dead, pixels, saturated, values, self.level)

    def _add(self, at: int, found: int, of: int) -> None:
        with self._lock:
            self._counts[at] += found
            self._counts[at + 1] += of

    def _new(self, kind: tuple[int, int], rows: slice) -> list[tuple[int, int]]:
        """Runs of a block's rows that nobody has counted yet, counted from its first; they are then."""
        with self._lock:
            seen = self._seen.setdefault(kind, bytearray(self.n_z))
            index = np.flatnonzero(np.frombuffer(seen, np.uint8)[rows] == 0)
            seen[rows] = b"\1" * len(seen[rows])
        ends = np.flatnonzero(np.diff(index) != 1) + 1
        return [(int(run[0]), int(run[-1]) + 1) for run in np.split(index, ends) if len(run)]


def _at_least(block: np.ndarray, level: float) -> int:
    """How many values are not below a level. Most frames have none, which a look at the largest tells; several threads look.

    Python, which one thread runs at a time, is to look at many frames at once.
    """
    frames = max(1, _SHARE // max(block[0].nbytes, 1))
    parts = [block[at : at + frames] for at in range(0, len(block), frames)]
    found = [0] * len(parts)

    def look(number: int, at: int) -> None:
        if not parts[at].max() < level:
            found[at] = sum(_count(frame, level) for frame in parts[at])

    shared(iter(range(len(parts))), look, min(settings.threads(), len(parts), MOST))
    return sum(found)


def _count(frame: np.ndarray, level: float) -> int:
    if frame.max() < level:
        return 0
    rows = max(1, _PIECE // frame.shape[-1])
    return sum(int(np.count_nonzero(frame[row : row + rows] >= level)) for row in range(0, len(frame), rows))
