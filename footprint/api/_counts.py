"""Dead and saturated pixels of a scan, counted while it is read: what is replaced is told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
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
# Of the threads, one in so many counts beside a job, whose own copies want the others.
_BESIDE = 4
# In place of the angles of a block, where it is one of flats.
_FLATS = (-1, -1)


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
    black, left_out
        Projections without light, which are not among those read, and which they are, in words.
    """

    dead: int
    pixels: int
    saturated: int
    values: int
    level: float | None
    black: int = 0
    left_out: str = ""

    def __str__(self) -> str:
        return f"{self.left_out}; {self._replaced()}" if self.left_out else self._replaced()

    def _replaced(self) -> str:
        dead = f"{self.dead:,} of {self.pixels:,} detector pixels are dead (no light in the flats)"
        full = f"{self.saturated:,} of {self.values:,} values are saturated ({self.level or 0:g} and more)"
        found = [dead] * bool(self.pixels) + [full] * (self.level is not None)
        words = " and ".join(found) if found else "neither dead nor saturated pixels were looked for"
        return f"{words}; they are replaced from their neighbours along the row" if self.dead or self.saturated else words


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
    _unnoted: list[str] | None = None

    def projections(self, region: Region, block: np.ndarray) -> None:
        """Count what of a block of projections is saturated."""
        if self.level is None or not block.size:
            return
        kind = region[0].start or 0, region[0].stop or 0
        for first, last in self._new(kind, region[1]):
            part = block[:, first:last]
            self._add(kind, region[1], (first, last), _at_least(part, self.level), part.size)

    @contextmanager
    def beside(self, array: np.ndarray) -> Iterator[None]:
        """Count all of an array of projections while something else is done, in a thread that ends with it; it is not noted."""
        if self.level is None:
            yield
            return
        over, errors = Event(), list[BaseException]()

        def count() -> None:
            try:
                threads = max(1, settings.threads() // _BESIDE)
                step = threads * _frames(array)
                for at in range(0, len(array), step):
                    if over.is_set():
                        return
                    block = array[at : at + step]
                    found = _at_least(block, self.level or 0.0, threads)
                    with self._lock:
                        self._count((0, 0), found, block.size)
            except BaseException as error:
                errors.append(error)

        thread = Thread(target=count, name="footprint-count", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            # The system starts no more.
            count()
        try:
            yield
        except BaseException:
            over.set()
            raise
        finally:
            if thread.ident is not None:
                thread.join()
        if errors:
            raise errors.pop()

    def flats(self, region: Region, block: np.ndarray, dark: Callable[[], Any]) -> None:
        """Count the detector pixels that are dead; ``dark`` reads the dark of the same rows, or 0."""
        here = self._new(_FLATS, region[1])
        if not here:
            return
        shades = np.broadcast_to(dark(), block.shape[1:])
        for first, last in here:
            dead, width = 0, block.shape[2]
            for row in range(first, last):
                lit = np.ones(width, bool)
                for group in block:
                    lit &= group[row] - shades[row] > DEAD * np.abs(shades[row])
                dead += int(width - np.count_nonzero(lit))
            self._add(_FLATS, region[1], (first, last), dead, width * (last - first))

    def counts(self) -> PixelCounts:
        """What was counted."""
        dead, pixels, saturated, values = self._counts
        return PixelCounts(dead, pixels, saturated, values, self.level)

    def go_on(self, notes: Iterable[str]) -> None:
        """Take what earlier runs noted as counted, and note from now on what is."""
        self._unnoted = []
        for note in notes:
            start, stop, first, last, found, of = map(int, note.split())
            seen = self._seen.setdefault((start, stop), bytearray(self.n_z))
            if not any(seen[first:last]):
                seen[first:last] = b"\1" * (last - first)
                self._count((start, stop), found, of)

    def noted(self) -> list[str]:
        """What was counted since it was asked last, a line for every run of rows."""
        with self._lock:
            found, self._unnoted = self._unnoted or [], []
        return found

    def _add(self, kind: tuple[int, int], rows: slice, run: tuple[int, int], found: int, of: int) -> None:
        """Add what was found in a run of a block's rows."""
        first = rows.start or 0
        with self._lock:
            self._count(kind, found, of)
            if self._unnoted is not None:
                self._unnoted.append(" ".join(map(str, (*kind, first + run[0], first + run[1], found, of))))

    def _count(self, kind: tuple[int, int], found: int, of: int) -> None:
        at = 0 if kind == _FLATS else 2
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


def _at_least(block: np.ndarray, level: float, threads: int = MOST) -> int:
    """How many values are not below a level. Most frames have none, which a look at the largest tells; several threads look.

    Python, which one thread runs at a time, is to look at many frames at once.
    """
    frames = _frames(block)
    parts = [block[at : at + frames] for at in range(0, len(block), frames)]
    found = [0] * len(parts)

    def look(number: int, at: int) -> None:
        if not parts[at].max() < level:
            found[at] = sum(_count(frame, level) for frame in parts[at])

    shared(iter(range(len(parts))), look, min(settings.threads(), len(parts), threads))
    return sum(found)


def _frames(block: np.ndarray) -> int:
    """How many frames a thread takes at a time."""
    return max(1, _SHARE // max(block[0].nbytes, 1))


def _count(frame: np.ndarray, level: float) -> int:
    if frame.max() < level:
        return 0
    rows = max(1, _PIECE // frame.shape[-1])
    return sum(int(np.count_nonzero(frame[row : row + rows] >= level)) for row in range(0, len(frame), rows))
