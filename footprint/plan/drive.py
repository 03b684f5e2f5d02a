"""The one driver: parts through the lanes of a plan, on every binding of it, pass after pass, phase after phase."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

from footprint.errors import ThreadError
from footprint.plan.slots import Part
from footprint.plan.spent import SPENT

if TYPE_CHECKING:
    from footprint.plan.bind import BoundPlan, Feeds
    from footprint.plan.geometry import Geometry
    from footprint.plan.plan import Plan

Progress = Callable[[int, int], None]


def drive(bounds: list[BoundPlan], feeds: Feeds, progress: Progress | None = None, done: Any = None) -> None:
    """Run a whole job.

    Parameters
    ----------
    bounds
        Bindings of one plan, one a device; parts go to whichever is free.
    feeds
        The caller's arrays, sources and sinks by slot.
    progress
        ``progress(rows_done, rows)`` after each part, along the plan's first cut.
    done
        A `DoneSet`: parts it covers are left out; others are added when ``feeds``' sinks have made them durable.
    """
    spent = SPENT.get()
    try:
        with spent.of(bounds) if spent is not None else nullcontext():
            _drive(bounds, feeds, progress, done)
    except Exception as error:
        found = bounds[0].backend.fault(error)
        if found is None:
            raise
        try:
            raise found from error
        finally:
            del found


def _drive(bounds: list[BoundPlan], feeds: Feeds, progress: Progress | None, done: Any) -> None:
    plan = bounds[0].plan
    keeps = any(slot.kind == "kept" for slot in plan.slots)
    if keeps and (len(bounds) > 1 or done is not None):
        raise AssertionError(f"plan {plan.name} keeps results from part to part: one device, and no going on where it was")
    for bound in bounds:
        for thread in bound.late():
            thread.join()
    try:
        with ExitStack() as inside:
            for bound in reversed(bounds):
                # The first is current at last.
                bound.follow(inside.enter_context(bound.backend.inside(plan.limits.threads)))
            for number in range(len(plan.phases)):
                _phase(bounds, number, feeds, progress, done)
            _settle(bounds)
    except BaseException:
        for bound in bounds:
            if not bound.late():
                bound.crossing.abandon()
        raise


def _phase(bounds: list[BoundPlan], number: int, feeds: Feeds, progress: Progress | None, done: Any) -> None:
    """All parts, and again until the phase's flag is set."""
    plan, phase = bounds[0].plan, bounds[0].plan.phases[number]
    for bound in bounds:
        bound.begin(number)
    for turn in range(phase.most):
        job = Job(plan, number, turn, feeds, progress, done)
        job.run(bounds)
        last = bounds[0].geometry(job.last, max(plan.n_parts - 1, 0), turn)
        bounds[0].finish_phase(number, last, feeds)
        for bound in bounds:
            if bound.clock is not None:
                bound.clock.passed()
        if phase.flag is None or bounds[0].flag(phase.flag, phase.at, feeds):
            return
    raise RuntimeError(f"{plan.name} is not done after {phase.most} passes")


def _settle(bounds: list[BoundPlan]) -> None:
    """Results on the host are there when a call returns; those on a device follow in the order of the caller's stream."""
    plan = bounds[0].plan
    if not plan.limits.host and any(slot.given.space == "host" for slot in plan.outputs):
        for bound in bounds:
            bound.backend.sync()


class Job:
    """One pass over all parts of a phase."""

    def __init__(self, plan: Plan, phase: int, turn: int, feeds: Feeds, progress: Progress | None, done: Any) -> None:
        self.plan, self.phase, self.turn, self.feeds = plan, phase, turn, feeds
        self.progress, self.done_set = progress, done
        self._lock = threading.Lock()
        self._ended = threading.Condition(self._lock)
        # Who waits for what: only those are woken for whom it is there.
        self._waiting: dict[threading.Condition, Callable[[], bool]] = {}
        self.asking = threading.Lock()
        self.error: BaseException | None = None
        # Whether threads may take parts.
        self.begun = threading.Event()
        self.begun.set()
        # Threads that have not ended; groups of parts that were asked for, and that are through.
        self.running, self.asked, self.through, self.ordered, self.shared = 0, 0, 0, False, False
        self.last: Part = tuple(cut.range(cut.count - 1) for cut in plan.cuts)
        self._groups = self._parts()
        self._disk = threading.Lock()
        self._rows = self._skipped = 0
        # Groups of parts that the same rows along the first cut are in, and of rows of which some are through how many are not.
        self._per_rows = math.prod(cut.count for cut in plan.cuts[1:] if not cut.sums)
        self._left: dict[tuple[int, int], int] = {}

    def _parts(self) -> Iterator[list[Part]]:
        """Parts that are summed stay together, on one device."""
        group: list[Part] = []
        for part in self.plan.parts(self.phase):
            group.append(part)
            if len(group) == self.plan.n_summed:
                if self.done_set is not None and self.plan.chunk is not None and self.done_set.covers(*part[0]):
                    self._skipped += part[0][1] - part[0][0] if self._count(part[0]) else 0
                else:
                    yield group
                group = []

    def next(self) -> list[Part] | None:
        """The next group of parts, for whichever binding asks first; to be called with ``asking`` held."""
        return next(self._groups, None)

    def run(self, bounds: list[BoundPlan]) -> None:
        """Run all parts, here where one thread of lanes has one binding, few rows are looked at, or no thread starts."""
        alone = len(self.plan.lanes) == 1 or self.plan.n_parts == 1 or self.plan.phases[self.phase].only
        if len(bounds) == 1 and alone:
            self._inline(bounds[0])
        else:
            try:
                self.side_by_side(bounds)
            except ThreadError:
                self._inline(bounds[0])

    def side_by_side(self, bounds: list[BoundPlan]) -> None:
        """Run all parts, a thread for every group of lanes of every binding.

        A job that fails, or is stopped, ends when every thread has ended its step. Who is stopped again meanwhile leaves at once:
        the threads keep the memory until they end, see `BoundPlan.free`.
        """
        self.shared = len(bounds) > 1
        self.ordered = self.shared and any(getattr(self.feeds[s.id], "ordered", False) for s in self.plan.outputs)
        self.begun.clear()
        try:
            try:
                for bound in bounds:
                    Flow(bound, self).start()
            finally:
                self.begun.set()
            with self._lock:
                # Ctrl-C reaches the thread that waits here.
                while self.running and self.error is None:
                    self._ended.wait(1.0)
        except BaseException as error:
            self.fail(error)
        for bound in bounds:
            for thread in bound.late():
                thread.join()
        if self.error is not None:
            # Kept here, it would keep the frames it went through, and they the blocks, until Python looks for cycles.
            first, self.error = self.error, None
            try:
                raise first
            finally:
                del first
        for bound in bounds:
            bound.crossing.finish()

    def _inline(self, bound: BoundPlan) -> None:
        order = 0
        while (group := self.next()) is not None:
            for part in group:
                geometry = bound.geometry(part, order, self.turn)
                for lanes in range(len(self.plan.lanes)):
                    bound.run(self.phase, lanes, geometry, self.feeds)
                order += 1
            self.finished(bound, group, order - 1)
        bound.crossing.finish()

    def finished(self, bound: BoundPlan, group: list[Part], order: int) -> None:
        """A group of parts is through: where rows are with it, make them durable, then say so."""
        plan, rows = self.plan, self._rows_of(group)
        if self.done_set is not None:
            bound.crossing.finish("write")
        with self._disk:
            through = self._count(rows)
            self._rows += rows[1] - rows[0] if through else 0
            if through and self.done_set is not None and plan.chunk is not None:
                for slot in plan.outputs:
                    flush = getattr(self.feeds[slot.id], "flush", None)
                    if flush is not None:
                        flush()
                self.done_set.add(*rows)
            if self.progress is not None:
                # Passes are counted on: how many there will be, a phase with a flag does not know.
                self.progress(self._rows + self._skipped, plan.cuts[0].total if plan.cuts else 1)
        if self.ordered:
            with self.changing():
                self.through += 1

    def _rows_of(self, group: list[Part]) -> tuple[int, int]:
        """What a group is of along the first cut; all of it where that is summed."""
        if not self.plan.cuts:
            return 0, 1
        return (0, self.plan.cuts[0].total) if self.plan.cuts[0].sums else group[0][0]

    def _count(self, rows: tuple[int, int]) -> bool:
        """Count a group off; whether it was the last of these rows."""
        if left := self._left.pop(rows, self._per_rows) - 1:
            self._left[rows] = left
        return not left

    def wait(self, ready: Callable[[], bool]) -> bool:
        """Wait until something is ready; False where the job has failed."""
        with self._lock:
            if not (self.error or ready()):
                mine = threading.Condition(self._lock)
                self._waiting[mine] = ready
                while not (self.error or ready()):
                    mine.wait()
                del self._waiting[mine]
            return self.error is None

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Change what threads wait for; those for whom it is there now go on, and no other is woken, for the interpreter's sake."""
        with self._lock:
            yield
            for one, ready in self._waiting.items():
                if self.error or ready():
                    one.notify()

    def joined(self) -> None:
        """A thread is about to start."""
        with self._lock:
            self.running += 1

    def left(self) -> None:
        """A thread has ended."""
        with self._lock:
            self.running -= 1
            self._ended.notify_all()

    def fail(self, error: BaseException) -> None:
        """Keep the first error; the others follow from it."""
        with self.changing():
            self.error = self.error or error
            self._ended.notify_all()


class Flow:
    """One binding's threads: one for every group of lanes that has steps in the phase.

    Its parts stay in order, so a counter a thread is all that connects them: thread i may start part p when thread i - 1 is past
    it, and every slot that i is first to use has a copy that its last user is done with. On a device "done" means queued: what must
    really have ended is waited for by events, on the device.
    """

    def __init__(self, bound: BoundPlan, job: Job) -> None:
        plan = bound.plan
        self.bound, self.job, self.copies = bound, job, plan.copies
        here = [s for s in plan.steps if s.phase == job.phase and s.when != "end"]
        busy = {s.lane for s in here}
        # Of the plan's groups of lanes those that a thread is for, in order.
        self.lanes = [i for i, group in enumerate(plan.lanes) if busy.intersection(group)] or [0]
        count = len(self.lanes)
        self.done = [0] * count
        self.queues: list[deque[tuple[Part | None, list[Part], int]]] = [deque() for _ in range(count)]
        self.events: list[dict[int, Any]] = [{} for _ in range(count)]
        # Of parts that some thread is not through with.
        self.geometries: dict[int, Geometry] = {}
        thread = {lane: i for i, lanes in enumerate(self.lanes) for lane in plan.lanes[lanes]}
        self.waits: list[set[tuple[int, bool]]] = [set() for _ in range(count)]
        for slot in plan.slots:
            users = [thread[s.lane] for s in here if any(r.slot.id == slot.id for r in s.refs)]
            if slot.kind == "scratch" and slot.space == "device" and users and min(users) < max(users):
                self.waits[min(users)].add((max(users), slot.held))
        # What the caller has queued for these arrays, and what was cleared for this job, comes first.
        self._first = bound.backend.mark()

    def names(self) -> list[str]:
        """Of the threads."""
        return [self.bound.plan.lanes[i][0] for i in self.lanes]

    def start(self) -> None:
        """Start the threads; the binding knows them, as it must outlive them. None keeps the interpreter from ending."""
        job = self.job
        self.bound.threads = []
        for i, name in enumerate(self.names()):
            thread = threading.Thread(target=self._thread, args=(i,), name=f"footprint-{name}", daemon=True)
            self.bound.threads.append(thread)
            job.joined()
            try:
                thread.start()
            except BaseException as error:
                job.left()
                if isinstance(error, RuntimeError):
                    raise ThreadError from error
                raise

    def _free_at(self, part: int, held: bool) -> int:
        """How many parts a later thread must be through before ``part`` may use their copy."""
        if not held:
            return part - self.copies + 1
        return (part // self.bound.plan.n_summed - self.copies + 1) * self.bound.plan.n_summed

    def _ready(self, i: int, part: int) -> bool:
        if i and self.done[i - 1] <= part:
            return False
        return all(self.done[j] >= self._free_at(part, held) for j, held in self.waits[i])

    def _thread(self, i: int) -> None:
        job = self.job
        job.begun.wait()
        try:
            self._all(i)
        except BaseException as error:
            # Here it is known which device it was.
            job.fail(self.bound.backend.fault(error) or error)
        finally:
            job.left()

    def _all(self, i: int) -> None:
        """What a thread does."""
        job, order, last = self.job, 0, i == len(self.done) - 1
        with self.bound.backend.lane(self.lanes[i], self.bound.plan.limits.threads):
            self.bound.backend.after(self._first)
            while True:
                if not (job.wait(partial(self._ready, i, order)) and self._is_at(order, i)):
                    return
                part, group, number = self._take(i)
                if part is None:
                    break
                if last and job.ordered and not job.wait(lambda n=number: job.through >= n):  # type: ignore[misc]
                    return
                self._run(i, part, order)
                if last and part == group[-1]:
                    job.finished(self.bound, group, order)
                order += 1
                with job.changing():
                    self.done[i] = order
            self.bound.backend.sync()
        with job.changing():
            self.done[i] = 1 << 62

    def _is_at(self, order: int, i: int) -> bool:
        """Before a part is asked for: where other devices share them, wait until this one really needs it; False on failure.

        Threads queue parts far ahead of a device that reaches the caller's memory by itself, and the first to ask would have most.
        """
        before = order - self.copies * self.bound.plan.n_summed - 1
        if i or before < 0 or self.queues[0] or not self.job.shared:
            return True
        if not self.job.wait(lambda: self.done[-1] > before):
            return False
        self.bound.backend.wait(self.events[-1].get(before))
        return True

    def _take(self, i: int) -> tuple[Part | None, list[Part], int]:
        """The next part; the first thread asks the job, which may have to wait for it, and leaves it for those behind."""
        if not i and not self.queues[0]:
            with self.job.asking:
                group, number = self.job.next(), self.job.asked
                self.job.asked += 1
            for queue in self.queues:
                queue.extend([(part, group, number) for part in group] if group is not None else [(None, [], number)])
        return self.queues[i].popleft()

    def _run(self, i: int, part: Part, order: int) -> None:
        bound, backend = self.bound, self.bound.backend
        if i:
            backend.after(self.events[i - 1].get(order))
        for j, held in self.waits[i]:
            backend.after(self.events[j].get(self._free_at(order, held) - 1))
        if not i:
            self.geometries[order] = bound.geometry(part, order, self.job.turn)
        last = i == len(self.done) - 1
        geometry = self.geometries.pop(order) if last else self.geometries[order]
        bound.run(self.job.phase, self.lanes[i], geometry, self.job.feeds)
        self.events[i][order] = backend.mark()
        self.events[i].pop(order - (self.copies + 1) * bound.plan.n_summed - 1, None)
