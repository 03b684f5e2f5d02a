"""Frames of a stream as parts of a job: what comes from the source, what is on its way, and the memory that results lie in."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from footprint.errors import BackendError, ShapeError
from footprint.plan.drive import Flow, Job
from footprint.plan.faces import Turning
from footprint.plan.results import unheld
from footprint.plan.slots import Part
from footprint.spec import ArraySpec

if TYPE_CHECKING:
    from footprint.plan.bind import BoundPlan

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
        idle = unheld(self._memory)
        return self._seen(self._memory.pop(idle[-1]) if idle else np.empty(self.spec.nbytes, np.uint8))

    def _drop(self) -> None:
        """Forget the oldest memory that nobody holds."""
        for i in unheld(self._memory)[:1]:
            del self._memory[i]

    def _seen(self, memory: np.ndarray) -> np.ndarray:
        self._memory.append(memory)
        del self._memory[: -self._most]
        return memory.view(self.spec.dtype).reshape(self.spec.shape)


# What a source yields may be anything, None as well: a camera's dropped frame is an error and not the end.
END = object()


class Frames(NamedTuple):
    """What a stream's frames are and its results are to be.

    Attributes
    ----------
    see
        ``see(frame, number)``: a frame that came after the first as NumPy's array, which may be of any library; it raises what is
        to be told of one that cannot be taken.
    back
        A result as an array of the library that the frames are of.
    """

    see: Callable[[Any, int], np.ndarray]
    back: Callable[[np.ndarray], Any]


class Stopped(Exception):
    """The consumer wants no more."""


class FrameJob(Job):
    """Frames as they come: a part each, in one pass. Its threads know it, and nothing of the stream that the consumer holds.

    Attributes
    ----------
    cut_off
        What the source raised: the end of the frames, after which it is the consumer's.
    """

    def __init__(
        self,
        bound: BoundPlan,
        frames: Iterator[Any],
        first: np.ndarray,
        rest: dict[int, Any],
        depth: int,
        see: Callable[[Any, int], np.ndarray],
    ) -> None:
        plan, self._see = bound.plan, see
        self.spec, self._source = plan.inputs[0].spec, frames
        self._first: np.ndarray | None = first
        self._coming: dict[int, tuple[np.ndarray, float]] = {}
        self._going: dict[int, np.ndarray] = {}
        self._seen = self._taken = 0
        self._backend = bound.backend
        host = None if plan.limits.host else bound.backend.host
        # A device has one frame on its way in, one on its way out, and as many as there are copies between them.
        self._most = depth if host is None else depth + 1
        # For results that wait to be taken, that in the consumer's hands, and another on its way from a device.
        self._arrays = Recycled(plan.outputs[0].spec, depth + (2 if host is None else 3), host)
        # What tells that a result is there, which may be on its way yet, and when its frame came.
        self._results: deque[tuple[np.ndarray, Any, float]] = deque()
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
        got, array = "None", np.empty(0)
        if frame is not None:
            try:
                # NumPy's are seen as they are, and the first was before there was a plan: small frames feel every microsecond.
                array = frame if type(frame) is np.ndarray or not self._seen else self._see(frame, self._seen)
            except Exception as error:
                self.cut_off = error
                return None
            got = f"{array.dtype} {array.shape}"
        if frame is None or array.shape != self.spec.shape or array.dtype != np.dtype(self.spec.dtype):
            self.cut_off = ShapeError(f"frame {self._seen}", got, f"{self.spec}, as the first one")
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

    def room(self) -> bool:
        """Wait until a device may have another frame beside those that nobody has taken yet; False where the job has failed."""
        with self._handing:
            self._handing.wait_for(lambda: self._seen - self._taken < self._most or self.error is not None)
            return self.error is None

    def finished(self, bound: BoundPlan, group: list[Part], order: int) -> None:
        """Hand a result on, though it be on its way yet; where the consumer is slow, wait, and so does all that comes behind."""
        there = bound.crossing.latest("write")
        if there is None:
            bound.crossing.finish("write")
        _, since = self._coming.pop(order)
        result = self._going.pop(order)
        with self._handing:
            self._handing.wait_for(lambda: len(self._results) < self._most or self.error is not None)
            self._results.append((result, there, since))
            self._handing.notify_all()

    def take(self) -> np.ndarray | None:
        """The next result, waited for; None when there will be no more."""
        with self._handing:
            while not self._results:
                if self.running == 0 or (self.error is not None and self._still()):
                    return None
                # Ctrl-C reaches the thread that waits here.
                self._handing.wait(1.0)
            result, there, since = self._results.popleft()
        try:
            if there is not None:
                self._backend.wait(there)
        except Exception as error:
            self.fail(self._backend.fault(error) or error)
            return None
        self.latencies.append(time.perf_counter() - since)
        del self.latencies[:-_LAST]
        with self._handing:
            self._taken += 1
            self._handing.notify_all()
        return result

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
        # Who still waits for the source finds that the job has failed; why, the consumer knows, or does not want to.
        self.error, self.cut_off = Stopped(), None
        if self.asking.acquire(blocking=False):
            try:
                self._close()
            finally:
                self.asking.release()

    def forget(self) -> None:
        """Let go of results that nobody will take, and that nothing is on its way to any more."""
        self._results.clear()

    def _close(self) -> None:
        """A generator has something to end: a file, a camera. What else is iterated over may be the caller's for longer."""
        if isinstance(self._source, Generator):
            self._source.close()


class Ahead(Flow):
    """Frames queued by one thread, on a device that works them off by itself: lane behind lane, and none is waited for.

    Threads of lanes would wait for each other to have the interpreter, and take as long to wake as a frame takes to cross. What
    waits here, for memory that is not pinned, waits while the device has other frames.
    """

    def names(self) -> list[str]:
        """The one thread's."""
        return ["frames"]

    def _all(self, i: int) -> None:
        job, bound, order = self.job, self.bound, 0
        backend, threads = bound.backend, bound.plan.limits.threads
        assert isinstance(job, FrameJob)
        for lane in self.lanes:
            with backend.lane(lane, threads):
                backend.after(self._first)
        while job.room():
            with job.asking:
                group = job.next()
            if group is None:
                return
            for at, lane in enumerate(self.lanes):
                with backend.lane(lane, threads):
                    self._run(at, group[0], order)
            job.finished(bound, group, order)
            # Whoever gave this frame may write the next one to the same memory.
            read = bound.crossing.latest("read")
            if read is not None:
                backend.wait(read)
            order += 1
