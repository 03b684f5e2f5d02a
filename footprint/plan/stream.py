"""Frames through a plan one after another: read, computed and written side by side, in order, in bounded memory."""

from __future__ import annotations

import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from footprint.backend import process
from footprint.errors import BackendError, ShapeError
from footprint.plan.drive import Flow, Job, Progress
from footprint.plan.faces import Filler, Taker, Turning
from footprint.plan.slots import Part
from footprint.plan.spent import SPENT
from footprint.spec import ArraySpec

if TYPE_CHECKING:
    from footprint.plan.bind import BoundPlan

At = Callable[[int, np.ndarray], None]
"""What reads or writes a block that is frame so and so."""

# Results that a stream has handed out before it is worth making memory for them that a device reaches.
_MANY = 64
# Latencies kept for the percentiles: the last so many frames.
_LAST = 4096
# Seconds that who closes a stream waits for a source that does not come back.
_PATIENCE = 1.0


class Recycled:
    """Arrays for results: memory that nobody else holds any more is used again, so that its pages are touched once.

    Of what others hold no more than ``most`` is remembered: who has let many go has the memory back.

    Parameters
    ----------
    spec
        Of an array.
    most
        See above.
    host
        Makes memory that a device reaches by itself, which takes a while: it replaces other memory when many have been asked for.
    """

    def __init__(self, spec: ArraySpec, most: int, host: Callable[[int], np.ndarray] | None = None) -> None:
        self.spec, self._most, self._host = spec, most, host
        self._asked, self._reached = 0, 0
        # Bytes: arrays are views of them, and hold them as long as any view of theirs is held.
        self._memory: list[np.ndarray] = []

    def get(self) -> np.ndarray:
        """An array that only the caller holds."""
        self._asked += 1
        if self._host is not None and self._asked > _MANY and self._reached < self._most:
            self._reached += 1
            self._drop()
            try:
                return self._seen(self._host(self.spec.nbytes))
            except BackendError:
                # The system has none to give: results come as before.
                self._host = None
        # The newest last, so that what a device reaches is used and the rest forgotten.
        for i in reversed(range(len(self._memory))):
            # Ours in the list, and the argument of the question.
            if sys.getrefcount(self._memory[i]) == 2:
                return self._seen(self._memory.pop(i))
        return self._seen(np.empty(self.spec.nbytes, np.uint8))

    def _drop(self) -> None:
        """Forget the oldest memory that nobody holds."""
        for i in range(len(self._memory)):
            if sys.getrefcount(self._memory[i]) == 2:
                del self._memory[i]
                return

    def _seen(self, memory: np.ndarray) -> np.ndarray:
        self._memory.append(memory)
        del self._memory[: -self._most]
        return memory.view(self.spec.dtype).reshape(self.spec.shape)


# What a source yields may be anything, None as well: a camera's dropped frame is an error and not the end.
END = object()


class Stopped(Exception):
    """The consumer wants no more."""


class FrameJob(Job):
    """Frames as they come: a part each, in one pass. Its threads know it, and nothing of the stream that the consumer holds.

    Attributes
    ----------
    cut_off
        What the source raised: the end of the frames, after which it is the consumer's.
    """

    def __init__(self, bound: BoundPlan, frames: Iterator[Any], first: Any, rest: dict[int, Any], depth: int) -> None:
        plan = bound.plan
        self.spec, self._source, self._first = plan.inputs[0].spec, frames, first
        self._coming: dict[int, tuple[np.ndarray, float]] = {}
        self._going: dict[int, np.ndarray] = {}
        self._seen, self._depth = 0, depth
        # Waiting to be taken, in the consumer's hands, and another on its way from a device.
        host = None if plan.limits.host else bound.backend.host
        self._arrays = Recycled(plan.outputs[0].spec, depth + (2 if host is None else 3), host)
        # The last result, while it crosses by itself, and when it has.
        self._crossing: tuple[int, Any] | None = None
        self._results: deque[np.ndarray] = deque()
        self._handing = threading.Condition()
        self._asks = False
        self.cut_off: BaseException | None = None
        self.latencies: list[float] = []
        feeds = {plan.inputs[0].id: Turning(self._frame), plan.outputs[0].id: Turning(self._result), **rest}
        super().__init__(plan, 0, 0, feeds, None, None)

    def next(self) -> list[Part] | None:
        """The next frame; None after the last, where the source fails, and where nobody wants it any more."""
        frame = self._ask()
        if self.error is not None:
            self._close()
            return None
        if frame is END:
            return None
        array = np.asarray(frame)
        if array.shape != self.spec.shape or array.dtype != np.dtype(self.spec.dtype):
            got = "None" if frame is None else f"{array.dtype} {array.shape}"
            self.cut_off = ShapeError(f"frame {self._seen}", got, f"{self.spec}, as the first one")
            return None
        if isinstance(frame, np.ma.MaskedArray) and np.ma.is_masked(frame):
            found = "a masked array, whose mask would be ignored"
            self.cut_off = ShapeError(f"frame {self._seen}", found, "a plain one", "give array.filled(numpy.nan)")
            return None
        self._coming[self._seen] = (array, time.perf_counter())
        self._seen += 1
        return [()]

    def _ask(self) -> Any:
        first, self._first = self._first, None
        if first is not None:
            return first
        self._asks = True
        try:
            return next(self._source, END)
        except BaseException as error:
            self.cut_off = error
            return END
        finally:
            self._asks = False

    def _frame(self, order: int) -> np.ndarray:
        return self._coming[order][0]

    def _result(self, order: int) -> np.ndarray:
        if order not in self._going:
            self._going[order] = self._arrays.get()
        return self._going[order]

    def finished(self, bound: BoundPlan, group: list[Part], order: int) -> None:
        """Hand results on; where the consumer is slow, wait, and so does all that comes behind.

        One that crosses by itself is handed on when the next has been queued behind it: the bus need not wait for the interpreter.
        """
        self.idle(bound)
        self._crossing = order, bound.crossing.latest("write")
        if self._crossing[1] is None:
            self.idle(bound)

    def idle(self, bound: BoundPlan) -> None:
        """Hand on what has been on its way."""
        if self._crossing is None:
            return
        (order, event), self._crossing = self._crossing, None
        if event is None:
            bound.crossing.finish("write")
        else:
            bound.backend.wait(event)
        _, since = self._coming.pop(order)
        self.latencies.append(time.perf_counter() - since)
        del self.latencies[:-_LAST]
        result = self._going.pop(order)
        with self._handing:
            self._handing.wait_for(lambda: len(self._results) < self._depth or self.error is not None)
            self._results.append(result)
            self._handing.notify_all()

    def take(self) -> np.ndarray | None:
        """The next result, waited for; None when there will be no more."""
        with self._handing:
            while not self._results:
                if self.running == 0 or (self.error is not None and self._still()):
                    return None
                # Ctrl-C reaches the thread that waits here.
                self._handing.wait(1.0)
            self._handing.notify_all()
            return self._results.popleft()

    def _still(self) -> bool:
        """Whether no thread touches the job's memory: one that waits for its source comes back to find that the job has failed."""
        return self.running <= self._asks

    def left(self) -> None:
        """A thread has ended."""
        super().left()
        with self._handing:
            self._handing.notify_all()

    def fail(self, error: BaseException) -> None:
        """Keep the first error, and wake whoever hands on or waits."""
        super().fail(error)
        with self._handing:
            self._handing.notify_all()

    def stop(self) -> None:
        """End: the threads, and the source; one that does not come back soon is closed when it does."""
        self.fail(Stopped())
        with self._handing:
            self._handing.wait_for(lambda: self.running == 0, _PATIENCE)
            self._handing.wait_for(self._still)
            self._results.clear()
        # Who still waits for the source finds that the job has failed; why, the consumer knows, or does not want to.
        self.error, self.cut_off = Stopped(), None
        if self.asking.acquire(blocking=False):
            try:
                self._close()
            finally:
                self.asking.release()

    def _close(self) -> None:
        """A generator has something to end: a file, a camera. What else is iterated over may be the caller's for longer."""
        if isinstance(self._source, Generator):
            self._source.close()


class StackJob(Job):
    """A stack's frames, a part each: from a source to a sink, both of which are told which frame it is.

    Attributes
    ----------
    latencies
        Seconds from the beginning of a frame's reading to the end of its writing, by frame.
    """

    def __init__(
        self, bound: BoundPlan, count: int, read: At, write: At, rest: dict[int, Any], progress: Progress | None = None
    ) -> None:
        plan = bound.plan
        source = Turning(lambda order: Filler(lambda region, block: read(order, block)))
        sink = Turning(lambda order: Taker(lambda region, block: write(order, block)))
        super().__init__(plan, 0, 0, {plan.inputs[0].id: source, plan.outputs[0].id: sink, **rest}, progress, None)
        self._total, self._asked = count, 0
        self.latencies = np.zeros(count)

    def next(self) -> list[Part] | None:
        """The next frame; None after the last."""
        if self._asked == self._total:
            return None
        self.latencies[self._asked] = -time.perf_counter()
        self._asked += 1
        return [()]

    def finished(self, bound: BoundPlan, group: list[Part], order: int) -> None:
        """A frame is written."""
        self.latencies[order] += time.perf_counter()
        if self.progress is not None:
            self.progress(order + 1, self._total)


def run_stack(
    bound: BoundPlan, count: int, read: At, write: At, rest: dict[int, Any], progress: Progress | None = None
) -> dict[str, float]:
    """Run ``count`` frames through a plan of one; `FrameStream.statistics` of them.

    Parameters
    ----------
    read, write
        ``read(number, block)`` fills a block with a frame, ``write(number, block)`` takes a result; each is called in order.
    rest
        The other inputs by slot.
    progress
        ``progress(frames_done, frames)``.
    """
    job, spent, start = StackJob(bound, count, read, write, rest, progress), SPENT.get(), time.perf_counter()
    with bound.backend.inside(bound.plan.limits.threads), spent.of([bound]) if spent is not None else nullcontext():
        bound.begin(0)
        job.side_by_side([bound])
    return statistics(count, time.perf_counter() - start, job.latencies)


def statistics(frames: int, seconds: float, latencies: Any) -> dict[str, float]:
    """Frames, seconds, frames a second; median, 95 % and largest of latencies in milliseconds."""
    times = 1e3 * np.asarray(latencies if len(latencies) else [float("nan")])
    return {
        "frames": frames,
        "seconds": seconds,
        "frames_per_second": frames / seconds if seconds else 0.0,
        "latency_median": float(np.median(times)),
        "latency_95": float(np.percentile(times, 95)),
        "latency_largest": float(times.max()),
    }


class FrameStream(Iterator[np.ndarray]):
    """Results in the order of the frames.

    It ends, and gives its memory back, when it is closed (by `close` or ``with``), comes to its end, or is let go of; at the latest
    with the interpreter. What the source raises comes after the results of the frames before it. A source that blocks is waited for
    a second, and then left alone until it comes back; a generator is closed.

    Attributes
    ----------
    plan
        What it takes, beside the results that the consumer holds.
    """

    def __init__(self, bound: BoundPlan, frames: Iterator[Any], first: Any, rest: dict[int, Any], depth: int) -> None:
        self.plan, self._job = bound.plan, FrameJob(bound, frames, first, rest, depth)
        self._start = time.perf_counter()
        self._taken, self._seconds = 0, 0.0
        # Called once, be it by `close`, by the collector or at exit.
        self._end = weakref.finalize(self, _end, self._job, bound)
        try:
            with bound.backend.inside(bound.plan.limits.threads) as here:
                bound.follow(here)
                bound.begin(0)
                Flow(bound, self._job).start()
        except BaseException:
            self._end()
            raise

    def __next__(self) -> np.ndarray:
        if not self._end.alive:
            raise StopIteration
        result = self._job.take()
        if result is None:
            job = self._job
            first = job.error if job.error is not None and not isinstance(job.error, Stopped) else job.cut_off
            self.close()
            try:
                raise first if first is not None else StopIteration
            finally:
                # As in `drive.Job.side_by_side`: named here, it would keep the memory its frames hold.
                del first
        self._taken += 1
        self._seconds = time.perf_counter() - self._start
        return result

    def __enter__(self) -> FrameStream:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the threads and give the memory back; frames not handed on yet are dropped."""
        self._end()

    @property
    def statistics(self) -> dict[str, float]:
        """Frames handed on, seconds, frames a second; milliseconds from a frame's coming to its result: median, 95 %, largest."""
        return statistics(self._taken, self._seconds, self._job.latencies)


def _end(job: FrameJob, bound: BoundPlan) -> None:
    if process.FORKED:
        # Threads and memory are the parent's.
        return
    if threading.current_thread() in bound.threads:
        # The collector ran in a thread that this waits for.
        threading.Thread(target=_end_here, args=(job, bound), daemon=True).start()
    else:
        _end_here(job, bound)


def _end_here(job: FrameJob, bound: BoundPlan) -> None:
    try:
        job.stop()
    finally:
        if job.running == 0:
            # They have left the job; that they are gone, too, takes them a moment.
            for thread in bound.late():
                thread.join()
        # Who still waits for the source touches nothing of it.
        bound.threads = []
        bound.free()
