"""What a job reads from and writes to: arrays, files, iterators, workers; the same two faces for every verb."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any, Protocol, runtime_checkable

import numpy as np

from footprint import settings
from footprint.dtypes import put_into

Region = tuple[slice, ...]
"""Where a block lies in the whole array."""

# Bytes below which a copy by several threads takes longer than by one.
_ALONE = 1 << 20
# Bytes from which a call of the C library is worth its few microseconds.
_PLAIN = 1 << 16


@runtime_checkable
class Source(Protocol):
    """Fills blocks of the job's input.

    It is called in one thread of the job's, for one part after the other, and for overlapping regions where parts need their
    neighbours' rows. Where several devices share a job, each does so in a thread of its own, beside the others.
    """

    def fill(self, region: Region, block: np.ndarray) -> None:
        """Put ``region`` of the whole array into ``block``, casting to its dtype."""
        ...


@runtime_checkable
class Sink(Protocol):
    """Takes blocks of the job's output.

    It is called in one thread of the job's, for one part after the other, in order. Where several devices share a job, each does so
    in a thread of its own, beside the others and in whatever order they are done; with an attribute ``ordered`` that is true, parts
    are in order all the same, and one at a time: a device waits for its turn.
    """

    def take(self, region: Region, block: np.ndarray) -> None:
        """Keep ``block``, which is ``region`` of the whole result; it is overwritten when this returns."""
        ...


class Filler:
    """A source that is a function."""

    def __init__(self, fill: Callable[[Region, np.ndarray], None]) -> None:
        self.fill = fill


class Taker:
    """A sink that is a function; ``ordered`` see `Sink`, ``flush`` waits until what it took is durable.

    ``rows`` tells how many rows of a table it looks at, once that is known: more need not cross a bus.
    """

    def __init__(
        self,
        take: Callable[[Region, np.ndarray], None],
        ordered: bool = False,
        flush: Callable[[], None] | None = None,
        rows: Callable[[], int] | None = None,
    ) -> None:
        self.take, self.ordered, self.flush, self.rows = take, ordered, flush, rows


def put(dst: np.ndarray, src: np.ndarray) -> None:
    """Copy, casting as the dtypes say; plain bytes by the C library, which does not hold the interpreter."""
    plain = dst.dtype == src.dtype and dst.flags.c_contiguous and src.flags.c_contiguous and dst.shape == src.shape
    if plain and dst.nbytes > _PLAIN:
        ctypes.memmove(dst.ctypes.data, src.ctypes.data, dst.nbytes)
    else:
        put_into(dst, src)


class Copiers:
    """Threads that copy between the caller's pages and ours, made when first needed.

    They are fed through C queues and mostly call the C library: what they did in Python the lanes would have to wait for.

    Parameters
    ----------
    ways
        As many times `workers` threads.
    """

    def __init__(self, ways: int = 2) -> None:
        self._ways = ways
        self._tasks: SimpleQueue[tuple[Callable[..., Any], tuple[Any, ...], SimpleQueue[Any], Any]] = SimpleQueue()
        self._lock = threading.Lock()
        self._pid = 0
        self._here = threading.local()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Reads of this thread are shared with no other: beside lanes that are in Python each thread would wait for its turn."""
        before = getattr(self._here, "alone", False)
        self._here.alone = True
        try:
            yield
        finally:
            self._here.alone = before

    @property
    def readers(self) -> int:
        """Threads that may share what this one reads."""
        return 1 if getattr(self._here, "alone", False) else self.workers

    @property
    def workers(self) -> int:
        """Threads that copy one way at a time: more wait for memory, fewer do not fill the bus."""
        return max(1, min(settings.threads() // 2, 8))

    def start(self, box: SimpleQueue[Any], key: Any, work: Callable[..., Any], *args: Any) -> None:
        """Call ``work`` in one of the threads; ``(key, None)`` or ``(key, error)`` comes to the box when it is done."""
        if self._pid != os.getpid():
            self._hire()
        if self._pid == os.getpid():
            self._tasks.put((work, args, box, key))
        else:
            # No thread can be started: this one does it.
            self._do(work, args, box, key)

    def _hire(self) -> None:
        with self._lock:
            if self._pid != os.getpid():
                tasks = self._tasks = SimpleQueue()
                for number in range(self._ways * self.workers):
                    name = f"footprint-copy-{number}"
                    try:
                        threading.Thread(target=self._copy_on, args=(tasks,), name=name, daemon=True).start()
                    except RuntimeError:
                        # As many as the system starts.
                        break
                    self._pid = os.getpid()

    def _copy_on(self, tasks: SimpleQueue[Any]) -> None:
        with self.alone():
            while True:
                self._do(*tasks.get())

    @staticmethod
    def _do(work: Callable[..., Any], args: tuple[Any, ...], box: SimpleQueue[Any], key: Any) -> None:
        """Nothing of a job is kept alive while there is no next one."""
        try:
            work(*args)
        except BaseException as error:
            box.put((key, error))
        else:
            box.put((key, None))

    def copy(self, dst: np.ndarray, src: np.ndarray) -> None:
        """Copy all, casting as the dtypes say, by rows of the longest axis; the first error is raised when all have ended."""
        parts = min(self.workers * 2, dst.nbytes // _ALONE) if dst.nbytes >= _ALONE else 1
        if parts < 2:
            put(dst, src)
            return
        axis = int(np.argmax(dst.shape))
        step = -(-dst.shape[axis] // parts)
        lead, box = (slice(None),) * axis, SimpleQueue[Any]()
        rows = [(*lead, slice(at, at + step)) for at in range(0, dst.shape[axis], step)]
        for some in rows[1:]:
            self.start(box, None, put, dst[some], src[some])
        try:
            put(dst[rows[0]], src[rows[0]])
        finally:
            errors = list(filter(None, (box.get()[1] for _ in rows[1:])))
        if errors:
            # Kept here, it would keep this frame with the arrays until Python looks for cycles.
            raise errors.pop(0)


COPIERS = Copiers()


class Turning:
    """An input or output that is another array, source or sink in every part: frames of a stream."""

    def __init__(self, at: Callable[[int], Any]) -> None:
        self.at = at


def given(feed: Any, order: int) -> Any:
    """What a feed is in the ``order``-th part."""
    return feed.at(order) if isinstance(feed, Turning) else feed


def region_of(window: tuple[tuple[int, int], ...]) -> Region:
    """A window as slices."""
    return tuple([slice(start, stop) for start, stop in window])


def part_of(array: Any, window: tuple[tuple[int, int], ...]) -> Any:
    """What a window shows of an array, as an array even where it has no axes."""
    return array[(*region_of(window), ...)]


def fill_from(
    given: Any, window: tuple[tuple[int, int], ...], shape: tuple[int, ...], block: np.ndarray, alone: bool = False
) -> None:
    """Fill a block from an array or a source, ``alone`` in this thread; rows of a window beyond an end come from the other end."""
    for region, part in _stretches(window, shape, block):
        if isinstance(given, np.ndarray):
            put(part, given[region]) if alone else COPIERS.copy(part, given[region])
        else:
            given.fill(region, part)


def take_to(given: Any, window: tuple[tuple[int, int], ...], block: np.ndarray, alone: bool = False) -> None:
    """Carry a block to an array or a sink, ``alone`` in this thread, as copiers have it."""
    if isinstance(given, np.ndarray):
        part = part_of(given, window)
        put(part, block) if alone else COPIERS.copy(part, block)
    else:
        given.take(region_of(window), block)


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
