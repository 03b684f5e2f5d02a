"""Frames through a plan one after another: read, computed and written side by side, in order, in bounded memory."""

from __future__ import annotations

import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from footprint.errors import ShapeError
from footprint.plan.drive import Flow, Job, Progress
from footprint.plan.faces import Filler, Taker, Turning
from footprint.plan.slots import Part
from footprint.plan.spent import SPENT
from footprint.spec import ArraySpec

if TYPE_CHECKING:
    from footprint.plan.bind import BoundPlan

At = Callable[[int, np.ndarray], None]
"""What reads or writes a block that is frame so and so."""

# Latencies kept for the percentiles: the last so many frames.
_LAST = 4096


class Recycled:
    """Arrays for results: one that nobody else holds any more is used again, so that its pages are touched once."""

    def __init__(self, spec: ArraySpec) -> None:
        self.spec = spec
        self._arrays: list[np.ndarray] = []

    def get(self) -> np.ndarray:
        """An array that only the caller holds."""
        for i in range(len(self._arrays)):
            # Ours in the list, and the argument of the question.
            if sys.getrefcount(self._arrays[i]) == 2:
                return self._arrays[i]
        made = np.empty(self.spec.shape, self.spec.dtype)
        self._arrays.append(made)
        return made


class FrameJob(Job):
    """Frames as they come: a part each, in one pass."""

    def __init__(self, bound: BoundPlan, frames: Iterator[Any], rest: dict[int, Any], depth: int) -> None:
        plan = bound.plan
        self.spec, self._frames = plan.inputs[0].spec, frames
        self._coming: dict[int, tuple[np.ndarray, float]] = {}
        self._going: dict[int, np.ndarray] = {}
        self._seen = 0
        self._results = Recycled(plan.outputs[0].spec)
        self.results: queue.Queue[np.ndarray | None] = queue.Queue(depth)
        self.latencies: list[float] = []
        feeds = {plan.inputs[0].id: Turning(self._frame), plan.outputs[0].id: Turning(self._result), **rest}
        super().__init__(plan, 0, 0, feeds, None, None)

    def next(self) -> list[Part] | None:
        """The next frame; None after the last."""
        frame = next(self._frames, None)
        if frame is None:
            return None
        array = np.asarray(frame)
        if array.shape != self.spec.shape or array.dtype != np.dtype(self.spec.dtype):
            raise ShapeError(f"frame {self._seen}", f"{array.dtype} {array.shape}", f"{self.spec}, as the first one")
        self._coming[self._seen] = (array, time.perf_counter())
        self._seen += 1
        return [()]

    def _frame(self, order: int) -> np.ndarray:
        return self._coming[order][0]

    def _result(self, order: int) -> np.ndarray:
        if order not in self._going:
            self._going[order] = self._results.get()
        return self._going[order]

    def finished(self, bound: BoundPlan, group: list[Part], order: int) -> None:
        """Hand a result on; where the consumer is slow, wait, and so does all that comes behind."""
        bound.crossing.finish("write")
        _, since = self._coming.pop(order)
        self.latencies.append(time.perf_counter() - since)
        del self.latencies[:-_LAST]
        self._put(self._going.pop(order))

    def _put(self, result: np.ndarray | None) -> None:
        while self.error is None:
            try:
                self.results.put(result, timeout=0.1)
                return
            except queue.Full:
                continue

    def fail(self, error: BaseException) -> None:
        """Keep the first error, and wake the consumer."""
        super().fail(error)
        try:
            self.results.put_nowait(None)
        except queue.Full:
            pass


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
    bound.begin(0)
    with spent.of([bound]) if spent is not None else nullcontext():
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


class Stopped(Exception):
    """The consumer wants no more."""


class FrameStream(Iterator[np.ndarray]):
    """Results in the order of the frames. Close it, use it in ``with``, or come to its end; until then its threads wait.

    Attributes
    ----------
    plan
        What it takes, beside the results that the consumer holds.
    """

    def __init__(self, bound: BoundPlan, frames: Iterator[Any], rest: dict[int, Any], depth: int) -> None:
        self.plan, self._bound = bound.plan, bound
        self._job = FrameJob(bound, frames, rest, depth)
        self._start = time.perf_counter()
        self._taken, self._open = 0, True
        bound.begin(0)
        self._threads = Flow(bound, self._job).threads
        for thread in self._threads:
            thread.start()
        self._watch = threading.Thread(target=self._end, name="footprint-stream", daemon=True)
        self._watch.start()

    def _end(self) -> None:
        for thread in self._threads:
            thread.join()
        self._job._put(None)

    def __next__(self) -> np.ndarray:
        if not self._open:
            raise StopIteration
        result = self._job.results.get()
        error = self._job.error
        if result is None or error is not None:
            self.close()
            if error is not None and not isinstance(error, Stopped):
                raise error
            raise StopIteration
        self._taken += 1
        self._seconds = time.perf_counter() - self._start
        return result

    def __enter__(self) -> FrameStream:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_open", False):
            self.close()

    def close(self) -> None:
        """End the threads and give the memory back; frames not handed on yet are dropped."""
        if not self._open:
            return
        self._open = False
        self._job.fail(Stopped())
        for thread in (*self._threads, self._watch):
            thread.join()
        self._bound.free()

    @property
    def statistics(self) -> dict[str, float]:
        """Frames handed on, seconds, frames a second; milliseconds from a frame's coming to its result: median, 95 %, largest."""
        return statistics(self._taken, getattr(self, "_seconds", 0.0), self._job.latencies)
