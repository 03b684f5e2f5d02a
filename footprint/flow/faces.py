"""What a job reads from and writes to: arrays, files, iterators, workers; the same two faces for every verb."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, runtime_checkable

import numpy as np

from footprint import settings

Region = tuple[slice, ...]
"""Where a block lies in the whole array."""

# Bytes below which a copy by several threads takes longer than by one.
_ALONE = 1 << 20


@runtime_checkable
class Source(Protocol):
    """Fills blocks of the job's input."""

    def fill(self, region: Region, block: np.ndarray) -> None:
        """Put ``region`` of the whole array into ``block``, casting to its dtype."""
        ...


@runtime_checkable
class Sink(Protocol):
    """Takes blocks of the job's output."""

    def take(self, region: Region, block: np.ndarray) -> None:
        """Keep ``block``, which is ``region`` of the whole result; it is overwritten when this returns."""
        ...


class Filler:
    """A source that is a function."""

    def __init__(self, fill: Callable[[Region, np.ndarray], None]) -> None:
        self.fill = fill


class Taker:
    """A sink that is a function."""

    def __init__(self, take: Callable[[Region, np.ndarray], None]) -> None:
        self.take = take


class Copiers:
    """Threads that copy between the caller's pages and ours, made when first needed; NumPy copies without the interpreter."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        self._pid = 0

    @property
    def workers(self) -> int:
        """Threads that copy one way at a time: more wait for memory, fewer do not fill the bus."""
        return max(1, min(settings.threads() // 2, 6))

    def _threads(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None or self._pid != os.getpid():
                self._pool, self._pid = ThreadPoolExecutor(2 * self.workers, "footprint-copy"), os.getpid()
            return self._pool

    def each(self, work: Callable[[Any], None], jobs: Sequence[Any]) -> None:
        """Call ``work`` with every job, side by side, this thread doing the first; raise the first error when all have ended."""
        if len(jobs) > 1:
            started = [self._threads().submit(work, job) for job in jobs[1:]]
            try:
                work(jobs[0])
            finally:
                errors = [one.exception() for one in started]
            for error in errors:
                if error is not None:
                    raise error
        elif jobs:
            work(jobs[0])

    def copy(self, dst: np.ndarray, src: np.ndarray) -> None:
        """Copy all, casting as the dtypes say, by rows of the longest axis."""
        parts = min(self.workers * 2, dst.nbytes // _ALONE) if dst.nbytes >= _ALONE else 1
        if parts < 2:
            np.copyto(dst, src, casting="unsafe")
            return
        axis = int(np.argmax(dst.shape))
        step = -(-dst.shape[axis] // parts)
        lead = (slice(None),) * axis
        rows = [(*lead, slice(at, at + step)) for at in range(0, dst.shape[axis], step)]
        self.each(lambda some: np.copyto(dst[some], src[some], casting="unsafe"), rows)


COPIERS = Copiers()


def region_of(window: tuple[tuple[int, int], ...]) -> Region:
    """A window as slices."""
    return tuple(slice(start, stop) for start, stop in window)


def fill_from(
    given: Any, window: tuple[tuple[int, int], ...], shape: tuple[int, ...], block: np.ndarray, alone: bool = False
) -> None:
    """Fill a block from an array or a source, ``alone`` in this thread; rows of a window beyond an end come from the other end."""
    for region, part in _stretches(window, shape, block):
        if isinstance(given, np.ndarray):
            np.copyto(part, given[region], casting="unsafe") if alone else COPIERS.copy(part, given[region])
        else:
            given.fill(region, part)


def take_to(given: Any, window: tuple[tuple[int, int], ...], block: np.ndarray, alone: bool = False) -> None:
    """Carry a block to an array or a sink, ``alone`` in this thread."""
    region = region_of(window)
    if isinstance(given, np.ndarray):
        np.copyto(given[region], block, casting="unsafe") if alone else COPIERS.copy(given[region], block)
    else:
        given.take(region, block)


def _stretches(
    window: tuple[tuple[int, int], ...], shape: tuple[int, ...], block: np.ndarray
) -> Iterator[tuple[Region, np.ndarray]]:
    for axis, ((start, stop), n) in enumerate(zip(window, shape)):
        if start >= 0 and stop <= n:
            continue
        at = start
        while at < stop:
            first = at % n
            count = min(n - first, stop - at)
            piece = list(window)
            piece[axis] = (first, first + count)
            rows = (*(slice(None),) * axis, slice(at - start, at - start + count))
            yield from _stretches(tuple(piece), shape, block[rows])
            at += count
        return
    yield region_of(window), block


def pieces(shape: tuple[int, ...], most: int) -> Iterator[tuple[slice, ...]]:
    """Regions of at most ``most`` elements, each contiguous in C order, that make up an array of this shape."""
    if not shape:
        yield ()
        return
    row = 1
    for n in shape[1:]:
        row *= n
    if row > most and len(shape) > 1:
        for i in range(shape[0]):
            for rest in pieces(shape[1:], most):
                yield (slice(i, i + 1), *rest)
        return
    step = max(most // max(row, 1), 1)
    for at in range(0, shape[0], step):
        yield (slice(at, min(at + step, shape[0])), *(slice(0, n) for n in shape[1:]))
