"""Planes of a volume across any of its axes, made small enough for a screen, in a number of bytes that was given.

A slice is averaged over blocks. Planes across slices take every n-th slice (and row, where they cut rows, too): to average
there would be to read the volume for a picture.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from footprint.dtypes import put_into
from footprint.errors import ArgumentError, BudgetError, FormatError
from footprint.io.frames import Frames
from footprint.io.thin import block_means

AXES = ("z", "y", "x")
# Pixels of a picture's longer side, and bytes of rows read at a time: the largest of both that the budget has room for.
_SIDES = (1600, 1200, 800, 600, 400, 200, 100)
_BANDS = (4 << 20, 1 << 20, 256 << 10)
# Of a picture beside its numbers: in grey, as its library has it, and packed.
_DRAWN = 4
# Planes that were read and may be asked for again.
_KEPT = 256 << 20
# Points of a profile at most, and what each takes: four neighbours, with places and weights.
_POINTS, _POINT = 4096, 256


SEATS = 4
"""How many may read and draw at a time: one a plane, and who asks for a pixel meanwhile."""


class Outdated(Exception):
    """Nobody wants what is being read any more."""


class Plane(NamedTuple):
    """``values`` ``(n, m)``; a pixel stands for ``steps`` rows and columns of the plane's ``box`` (top, bottom, left, right)."""

    values: np.ndarray
    box: tuple[int, int, int, int]
    steps: tuple[int, int]


class _InTurn:
    """A lock for whoever came first: a plane that is read part by part would always be first to ask for the next."""

    def __init__(self) -> None:
        self._waiting: deque[threading.Event] = deque()
        self._mutex = threading.Lock()

    def __enter__(self) -> None:
        mine = threading.Event()
        with self._mutex:
            self._waiting.append(mine)
            if len(self._waiting) == 1:
                mine.set()
        mine.wait()

    def __exit__(self, *_: object) -> None:
        with self._mutex:
            self._waiting.popleft()
            if self._waiting:
                self._waiting[0].set()


class Planes:
    """Planes ``z`` (rows y, columns x), ``y`` (rows z, columns x) and ``x`` (rows y, columns z) of a volume.

    Files are read by one thread at a time, part by part, so that a plane that takes long keeps no other from being read.

    Parameters
    ----------
    frames
        The volume's slices; closed by whoever opened them.
    memory
        Bytes for everything: reading, what is kept, and what is drawn, where no more than `SEATS` threads do so at a time.

    Raises
    ------
    BudgetError
        The smallest picture takes more.
    FormatError
        The volume is empty.

    Attributes
    ----------
    shape, dtype
        ``(n_z, n_y, n_x)``, and that of planes: float32, or float64 where that would lose digits of the file's.
    side
        Pixels of a plane's longer side at most.
    reading
        Held while the file is read.
    """

    def __init__(self, frames: Frames, memory: int) -> None:
        self._frames, self.shape = frames, tuple(frames.shape)
        if min(self.shape) < 1:
            raise FormatError(frames.path, f"holds no pixels (shape {self.shape})")
        stored = np.dtype(frames.dtype)
        small = stored.itemsize <= (4 if stored.kind == "f" else 2)
        self.dtype = np.dtype(np.float32 if small else np.float64)
        self._deep = min(int(getattr(frames, "deep", 1)), self.shape[0])
        for self.side in _SIDES:
            for self._band in _BANDS:
                terms = self._terms(self.side, self._band)
                if sum(terms.values()) <= memory:
                    self._room = min(_KEPT, memory - sum(terms.values()))
                    self._kept: OrderedDict[Any, Plane] = OrderedDict()
                    self._mutex, self.reading = threading.Lock(), _InTurn()
                    return
        raise BudgetError(memory, terms, sum(terms.values()), "a picture of this volume")

    def _terms(self, side: int, band: int) -> dict[str, int]:
        """What a picture takes at most."""
        row = self.shape[2] * self.dtype.itemsize
        step = -(-self.shape[1] // side)
        many = max(step, self._many(band))
        # Rows, which of a block are known, and sums along them.
        rows = max(many, self._deep) * row + 2 * step * self.shape[2] + 24 * self.shape[2]
        return {
            "file reader": self._frames.host_bytes(self.shape[1], None),
            "rows": SEATS * max(rows, self._deep * side * self.dtype.itemsize, _POINTS * _POINT + max(band, row)),
            "pictures": SEATS * side * side * (self.dtype.itemsize + _DRAWN),
        }

    def _many(self, band: int) -> int:
        return max(1, min(self.shape[1], band // (self.shape[2] * self.dtype.itemsize)))

    def extent(self, axis: str) -> tuple[int, int]:
        """Rows and columns of a plane."""
        n_z, n_y, n_x = self.shape
        return {"z": (n_y, n_x), "y": (n_z, n_x), "x": (n_y, n_z)}[axis]

    def check(self, axis: str, index: int) -> None:
        """Raise ArgumentError unless the volume has such a plane."""
        if axis not in AXES:
            raise ArgumentError("axis", repr(axis), "z, y or x")
        n = self.shape[AXES.index(axis)]
        if not 0 <= index < n:
            raise ArgumentError("index", index, f"0 to {n - 1} along {axis}")

    def plane(
        self,
        axis: str,
        index: int,
        box: tuple[int, int, int, int] | None = None,
        side: int | None = None,
        wanted: Callable[[], bool] = lambda: True,
    ) -> Plane:
        """Read a plane, or the ``box`` (top, bottom, left, right) of one, at most ``side`` pixels wide and high.

        Raises
        ------
        ArgumentError
            No such plane, or a box outside it.
        Outdated
            ``wanted`` came to say no.
        """
        self.check(axis, index)
        n, m = self.extent(axis)
        top, bottom, left, right = box or (0, n, 0, m)
        if not (0 <= top < bottom <= n and 0 <= left < right <= m):
            raise ArgumentError("box", box, f"top, bottom, left and right inside {n} rows and {m} columns")
        most = max(1, min(side or self.side, self.side))
        steps = -(-(bottom - top) // most), -(-(right - left) // most)
        # Blocks begin at the same places wherever the box does, so that nothing shimmers when it moves.
        rows, columns = (slice(a // k * k, b, k) for a, b, k in ((top, bottom, steps[0]), (left, right, steps[1])))
        key = (axis, index, rows.start, bottom, columns.start, right, steps)
        with self._mutex:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                return found
        shape = tuple(len(range(s.start, s.stop, s.step)) for s in (rows, columns))
        if max(shape) > self.side:
            return self.plane(axis, index, box, most - 1, wanted)
        values = np.empty(shape, self.dtype)
        parts = self._read(axis, index, rows, columns, values)
        more = True
        while more:
            if not wanted():
                raise Outdated
            with self.reading:
                more = next(parts, False)
        found = Plane(values, (rows.start, bottom, columns.start, right), steps)
        with self._mutex:
            self._kept[key] = found
            while sum(one.values.nbytes for one in self._kept.values()) > self._room:
                self._kept.popitem(last=False)
        return found

    def _read(self, axis: str, index: int, rows: slice, columns: slice, out: np.ndarray) -> Iterator[bool]:
        """Fill ``out``; yields now and then, so that others may read and it may be given up."""
        if axis == "z":
            return self._slice(index, rows, columns, out)
        if axis == "y":
            return self._across_rows(index, rows, columns, out)
        return self._across_columns(index, columns, rows, out.T)

    def _slice(self, z: int, rows: slice, columns: slice, out: np.ndarray) -> Iterator[bool]:
        many = max(1, self._many(self._band) // rows.step) * rows.step
        band = np.empty((1, min(many, rows.stop - rows.start), self.shape[2]), self.dtype)
        at = 0
        for first in range(rows.start, rows.stop, many):
            part = band[:, : min(many, rows.stop - first)]
            self._frames.read(z, z + 1, slice(first, first + part.shape[1]), part)
            for k in range(0, part.shape[1], rows.step):
                out[at] = _thinned(part[0, k : k + rows.step], columns)
                at += 1
            yield True

    def _across_rows(self, y: int, slices: slice, columns: slice, out: np.ndarray) -> Iterator[bool]:
        band = np.empty((self._deep, 1, self.shape[2]), self.dtype)
        for taken, at, first, last in self._batches(slices):
            part = band[: last - first]
            self._frames.read(first, last, slice(y, y + 1), part)
            for i, k in enumerate(taken):
                out[at + i] = _thinned(part[k], columns)
            yield True

    def _across_columns(self, x: int, slices: slice, rows: slice, out: np.ndarray) -> Iterator[bool]:
        band = np.empty((self._deep, out.shape[1]), self.dtype)
        for taken, at, first, last in self._batches(slices):
            part = band[: last - first]
            self._columns(first, last, rows, x, part)
            out[at : at + len(taken)] = part[list(taken)]
            yield True

    def _columns(self, start: int, stop: int, rows: slice, x: int, out: np.ndarray) -> None:
        """Pixels below one another, by a reader that knows how, or from all that is in their rows."""
        columns = getattr(self._frames, "columns", None)
        if columns is not None:
            columns(start, stop, rows, x, out)
            return
        many = self._many(self._band)
        band = np.empty((1, min(many, rows.stop - rows.start), self.shape[2]), self.dtype)
        for i, line in enumerate(out, start):
            for first in range(rows.start, rows.stop, many):
                part = band[:, : min(many, rows.stop - first)]
                self._frames.read(i, i + 1, slice(first, first + part.shape[1]), part)
                # The first row of this band that is taken, and where it goes.
                skip = -(first - rows.start) % rows.step
                to = (first + skip - rows.start) // rows.step
                column = part[0, skip :: rows.step, x]
                put_into(line[to : to + len(column)], column)

    def _batches(self, slices: slice) -> Iterator[tuple[range, int, int, int]]:
        """Slices that are read together as one chunk has them: which are taken, where they go, and from where to where they are."""
        at, every = 0, range(slices.start, slices.stop, slices.step)
        while at < len(every):
            end = (every[at] // self._deep + 1) * self._deep
            n = len(range(every[at], min(end, slices.stop), slices.step))
            first, last = every[at], every[at + n - 1] + 1
            yield range(0, last - first, slices.step), at, first, last
            at += n

    # -- single pixels -----------------------------------------------------------------------------------------------------
    def value(self, z: int, y: int, x: int) -> float:
        """One pixel."""
        for axis, index in zip(AXES, (z, y, x)):
            self.check(axis, index)
        with self.reading:
            return float(self._at(np.array([[z, y, x]]))[0])

    def line(self, axis: str, index: int, start: tuple[float, float], end: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
        """A profile from ``start`` to ``end`` (row, column) of a plane, in the volume's own pixels, linearly between four of them.

        Returns
        -------
        distances, values
            A point a pixel, in pixels from the start, both ends among them; 4096 points at most.
        """
        self.check(axis, index)
        extent = self.extent(axis)
        ends = np.array([start, end], np.float64)
        if not ((ends >= 0) & (ends <= np.array(extent) - 1)).all():
            raise ArgumentError("line", ends.tolist(), f"rows from 0 to {extent[0] - 1} and columns from 0 to {extent[1] - 1}")
        length = float(np.hypot(*(ends[1] - ends[0])))
        t = np.linspace(0, 1, min(_POINTS, int(np.ceil(length)) + 1))
        points = ends[0] + t[:, None] * (ends[1] - ends[0])
        base = np.floor(points).astype(np.int64)
        share = points - base
        values = np.zeros(len(t))
        with self.reading:
            for down in (0, 1):
                for right in (0, 1):
                    weight = np.prod(np.where([down, right], share, 1 - share), axis=1)
                    # A neighbour without weight may be outside, or NaN.
                    use = weight > 0
                    values[use] += weight[use] * self._at(self._place(axis, index, base[use] + [down, right]))
        return t * length, values

    def _place(self, axis: str, index: int, points: np.ndarray) -> np.ndarray:
        rows, columns = points.T
        fixed = np.full(len(points), index)
        return np.stack({"z": (fixed, rows, columns), "y": (rows, fixed, columns), "x": (columns, rows, fixed)}[axis], axis=1)

    def _at(self, points: np.ndarray) -> np.ndarray:
        """Pixels at points ``(n, 3)`` that follow a line: by boxes of whole rows around as many as a band holds."""
        if not len(points):
            return np.empty(0, self.dtype)
        (z0, y0, x0), (z1, y1, x1) = points.min(axis=0).tolist(), (points.max(axis=0) + 1).tolist()
        # Where all are below one another no row is needed whole.
        wide = self.shape[2] if x1 - x0 > 1 else 1
        if len(points) > 1 and (z1 - z0) * (y1 - y0) * wide * self.dtype.itemsize > self._band:
            half = len(points) // 2
            return np.concatenate([self._at(points[:half]), self._at(points[half:])])
        box = np.empty((z1 - z0, y1 - y0, wide), self.dtype)
        if wide == 1:
            self._columns(z0, z1, slice(y0, y1, 1), x0, box[:, :, 0])
        else:
            self._frames.read(z0, z1, slice(y0, y1), box)
        return box[points[:, 0] - z0, points[:, 1] - y0, points[:, 2] - (x0 if wide == 1 else 0)]


def _thinned(rows: np.ndarray, columns: slice) -> np.ndarray:
    """One row of a picture; ``rows`` are destroyed."""
    part = rows[:, columns.start : columns.stop]
    if len(part) == 1 and columns.step == 1:
        return part[0]
    return block_means(part, np.arange(0, part.shape[1], columns.step))
