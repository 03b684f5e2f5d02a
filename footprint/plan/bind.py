"""A plan given memory: blocks allocated, constants written, kernels compiled; running it allocates nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from footprint.backend import process
from footprint.backend.base import Backend, Baked, Transforms
from footprint.dtypes import put_into
from footprint.errors import BackendError
from footprint.plan.builder import TINY
from footprint.plan.cross import Crossing
from footprint.plan.drive import drive
from footprint.plan.geometry import WHOLE, Geometry, Prepared, few
from footprint.plan.handed import Handed
from footprint.plan.ledger import Ledger
from footprint.plan.slots import Part, Step
from footprint.plan.spent import SPENT, Clock
from footprint.plan.steps import Feeds, Steps
from footprint.spec import ArraySpec

if TYPE_CHECKING:
    from footprint.plan.plan import Plan

# Bytes of Python's objects that a bound plan takes, and those of every slot and step, rounded up: measured 9 kB of a threshold,
# 31 of find_sources.
_PLAN, _EACH = 10 << 10, 1280


def _objects(plan: Plan) -> int:
    return _PLAN + _EACH * (len(plan.slots) + len(plan.steps))


class BoundPlan(Steps):
    """Runs a plan on a backend, as often as wanted, in the memory it took when it was made. One call at a time runs.

    Parameters
    ----------
    plan
        What to run.
    backend
        The device; its blocks are allocated here, exactly ``plan.nbytes`` bytes.
    check
        ``ledger`` refuses a plan that puts a slot onto bytes of another while both are needed, going by the steps alone, watches
        copies as parts take them, and fills what is no longer needed with NaN: for tests.
    host
        Host memory of an earlier plan's (see `lend`), of exactly the sizes that this one needs.
    """

    def __init__(self, plan: Plan, backend: Backend, check: str = "", host: Sequence[np.ndarray] = ()) -> None:
        process.check(backend.limits.device)
        problem = backend.limits.lacks(plan.limits)
        if problem:
            raise BackendError(
                backend.limits.device, f"plan {plan.name} was made for another device: {problem}", "plan for this one"
            )
        super().__init__(plan, backend)
        self.blocks: list[Any] = []
        self.host: list[np.ndarray] = list(host)
        self.nbytes = plan.footprint.total
        # With what it holds beside the plan's own memory; on a host the tables are counted in it.
        tables = 0 if plan.limits.host else sum(table.nbytes for table in plan.constants.values())
        self.held = self.nbytes + tables + _objects(plan)
        self.clock: Clock | None = None
        self._turn = threading.Lock()
        self.crossing = Crossing(self)
        self.transforms: Transforms | None = None
        self.threads: list[threading.Thread] = []
        self._used_from: Any = None
        self._straight: list[Baked] | None = None
        # The first phase that uses a slot.
        self._since = {ref.slot.id: step.phase for step in reversed(plan.steps) for ref in step.refs}
        self.ledger = Ledger(plan, self) if check == "ledger" else None
        self._threads = plan.limits.threads
        self._handed = Handed(plan)
        self.feeds = self._handed.by_slot
        self._slots = [slot.id for kind in ("inp", "out") for slot in plan.slots if slot.kind == kind]
        # Results on the host are there when a call returns; those on a device follow in the order of the caller's stream.
        self._settles = not plan.limits.host and any(slot.given.space == "host" for slot in plan.outputs)
        try:
            with backend.inside(plan.limits.threads):
                self._allocate()
                self._compile()
                self._straight = [self._baked(i, step) for i, step in enumerate(plan.steps)] if plan.straight else None
        except BaseException:
            self.free()
            raise

    def __enter__(self) -> BoundPlan:
        return self

    def __exit__(self, *error: object) -> None:
        self.free()

    def replay(self, arrays: Sequence[Any]) -> None:
        """Run on inputs and outputs that are known to fit: as in an earlier call of the same key."""
        if process.FORKED:
            process.check(self.plan.limits.device)
        with self._turn:
            feeds = dict(zip(self._slots, arrays))
            if self._straight is not None:
                self._at_once(feeds)
            else:
                drive([self], feeds)

    def __call__(
        self, *inputs: Any, out: Sequence[Any] = (), progress: Callable[[int, int], None] | None = None, done: Any = None
    ) -> None:
        """Run the whole job on what a caller hands in.

        Parameters
        ----------
        inputs, out
            For every input and output an array of the slot's shape, or a `Source` or `Sink` where the plan was made for one. No
            output shares memory with an input, but that a job which works in place may write to its first.
        progress
            Called with rows done and rows in all after each part.
        done
            What is done already, see `plan.done`.
        """
        self._run(self._handed(inputs, out), progress, done)

    def whole(
        self,
        inputs: Sequence[Any],
        out: Sequence[Any],
        progress: Callable[[int, int], None] | None = None,
        done: Any = None,
    ) -> None:
        """Run the whole job on what a verb has seen to."""
        self._run(self.feeds(inputs, out), progress, done)

    def _run(self, feeds: Feeds, progress: Callable[[int, int], None] | None, done: Any) -> None:
        process.check(self.plan.limits.device)
        with self._turn:
            unwatched = progress is None and self.clock is None and SPENT.get() is None
            if self._straight is not None and unwatched:
                self._at_once(feeds)
                return
            if not self.blocks and self.plan.blocks:
                raise BackendError(
                    self.plan.limits.device, f"the memory of plan {self.plan.name} has been given back", "bind it again"
                )
            drive([self], feeds, progress, done)

    def _at_once(self, feeds: Feeds) -> None:
        """Run a straight job: in one frame, as small jobs feel every one."""
        straight = self._straight
        assert straight is not None
        try:
            with self.backend.inside(self._threads) as here:
                if here is not None:
                    self.follow(here)
                try:
                    for run in straight:
                        run(feeds, here)
                    if self.crossing.lanes:
                        self.crossing.finish()
                except BaseException:
                    self.crossing.abandon()
                    raise
                if self._settles:
                    self.backend.sync()
        except Exception as error:
            found = self.backend.fault(error)
            if found is None:
                raise
            try:
                raise found from error
            finally:
                del found

    def _baked(self, index: int, step: Step) -> Baked:
        """A step of a straight job with all but the caller's arrays fixed."""
        ready = self._prepare(index, step, {loop.id: 0 for loop in self.plan.loops}, WHOLE)
        kernel = ready.kernel if step.action == "launch" else self._casting(step)
        launch = None if kernel is None else self.backend.bake(kernel, ready.views, ready.callers)
        once: Baked = launch or (lambda feeds, here: self._do(ready, WHOLE, feeds))
        across = step.action == "fill" and len(step.refs) == 2 and step.refs[0].slot.given.space == "host"
        if across and not self.plan.limits.host and ready.views[1] is not None:
            send, key = self.backend.sender(ready.views[1]), step.refs[0].slot.id
            once = lambda feeds, here: send(feeds[key], here)
        elif step.action == "fill" and self.plan.limits.host and step.refs[0].slot.given.owner == "caller":
            view, slot = ready.views[1], step.refs[0].slot.id
            if view is not None and view.nbytes <= TINY:
                once = lambda feeds, here: put_into(view, feeds[slot])
        ledger = self.ledger
        if ledger is None:
            return once

        def watched(feeds: Feeds, here: Any) -> None:
            once(feeds, here)
            ledger.ended(index, WHOLE)

        return watched

    def _casting(self, step: Step) -> Any:
        """The kernel of a copy on a device that casts; None of any other step."""
        if step.action != "copy" or self.plan.limits.host:
            return None
        src, dst = (ref.at({loop.id: 0 for loop in self.plan.loops}, WHOLE.shape)[1] for ref in step.refs)
        return None if src.dtype == dst.dtype or dst.size == 0 else self.backend.compile("cast", (src, dst), {})

    def profile(self, *inputs: Any, out: Sequence[Any] = ()) -> dict[str, float]:
        """Run once with the device waited for around every step; seconds by kernel, ``fft``, ``copy``, ``fill`` and ``take``."""
        self.clock = clock = Clock(self.backend)
        try:
            self(*inputs, out=out)
            return clock.seconds
        finally:
            self.clock = None

    def follow(self, here: Any) -> None:
        """Have a job wait for the one before where that was queued elsewhere, by another thread or on another stream."""
        if here is not None:
            mine = (here, threading.get_ident())
            if self._used_from not in (None, mine):
                self.backend.rest()
            self._used_from = mine

    def late(self) -> list[threading.Thread]:
        """Threads of lanes that are still in their last step: of a job that was left while it stopped."""
        self.threads = [thread for thread in self.threads if thread.is_alive()]
        return self.threads

    def free(self) -> None:
        """Give all memory back, at once or when the last thread has left it; the plan can be bound again."""
        if self.late():
            threading.Thread(target=self._free_after, args=(list(self.threads),), name="footprint-free", daemon=True).start()
        else:
            self._free()

    def lend(self) -> list[np.ndarray]:
        """Host memory that another plan may have from now on, as nothing crosses any more; this one is to be freed."""
        with self._turn:
            self.crossing.abandon()
            self.backend.rest()
            host, self.host = self.host, []
            return host

    def _free_after(self, threads: list[threading.Thread]) -> None:
        for thread in threads:
            thread.join()
        self._free()

    def _free(self) -> None:
        with self._turn:
            self._prepared, self._ended, self._kernels, self._specs, self._straight = {}, {}, {}, {}, None
            if self.blocks or self.host:
                self.crossing.abandon()
                self._unless_lost(self.backend.rest)
            for block in self.blocks:
                self._unless_lost(partial(self.backend.free, block))
            if self.transforms is not None:
                self._unless_lost(self.transforms.release)
            self.blocks, self.host, self.transforms = [], [], None

    def _unless_lost(self, give: Callable[[], Any]) -> None:
        """Give something back; what a device that failed does not take is gone with it."""
        try:
            give()
        except Exception as error:
            if self.backend.fault(error) is None:
                raise

    # -- making ready --------------------------------------------------------------------------------------------------
    def _allocate(self) -> None:
        plan, backend = self.plan, self.backend
        for size in plan.blocks:
            self.blocks.append(backend.alloc(size))
        for size in plan.host_blocks if not self.host else ():
            self.host.append(backend.host(size))
        for key, array in plan.constants.items():
            backend.write(self.view(plan.slots[key], 0, 0, plan.slots[key].spec), array)
        if plan.constants:
            backend.sync()

    def _compile(self) -> None:
        """Compile what the first, the second and the last part run: between them are all shapes there are, mostly."""
        plan = self.plan
        parts = list(few(plan))
        for index, step in enumerate(plan.steps):
            if step.action in ("fft", "ifft"):
                if self.transforms is None:
                    self.transforms = self.backend.transforms(plan.limits)
                scaled = bool(dict(step.numbers).get("scaled", True))
                self.transforms.prepare(step.refs[0].spec, step.refs[1].spec, step.action == "ifft", scaled)
            elif step.action == "launch":
                for part in parts:
                    geometry = self.geometry(part, 0, 0)
                    self._kernel(index, step, tuple([ref.at({}, geometry.shape)[1] for ref in step.refs]), geometry)

    # -- a part --------------------------------------------------------------------------------------------------------
    def geometry(self, part: Part, order: int, turn: int) -> Geometry:
        """What every slot holds in a part."""
        plan = self.plan
        if not plan.cuts:
            return WHOLE._replace(order=order, group=order, turn=turn)
        windows = {slot.id: slot.window(plan.cuts, part) for slot in plan.slots if slot.reach}
        shapes = {key: tuple([stop - start for start, stop in window]) for key, window in windows.items()}
        group, inner = divmod(order, plan.n_summed)
        return Geometry(windows, shapes, order, group, (inner == 0, inner == plan.n_summed - 1), turn)

    def run(self, phase: int, lanes: int, geometry: Geometry, feeds: Feeds) -> None:
        """Run the steps of one thread's lanes on a part."""
        if self.ledger is not None:
            self.ledger.enter(phase, lanes, geometry)
        for node in self._ready(phase, lanes, geometry):
            if isinstance(node, Prepared):
                if geometry.runs(node.step.when) and not (geometry.turn and self._stays(node.step)):
                    self._execute(node, geometry, feeds)
            else:
                self._loop(node[0], node[1], {}, geometry, feeds)
        if self.ledger is not None:
            self.ledger.leave(phase, lanes, geometry)

    def finish_phase(self, phase: int, geometry: Geometry, feeds: Feeds) -> None:
        """Run what is left for when all parts are through."""
        for ready in self._ending(phase, geometry):
            self._execute(ready, geometry, feeds)
        self.crossing.finish()

    def begin(self, phase: int) -> None:
        """Fill what is kept from a phase on with zeros: its first part finds the same in every run."""
        if self.ledger is not None and phase == 0:
            self.ledger.begin()
        for slot in self.plan.slots:
            if slot.kind == "kept" and not slot.reach and self._since.get(slot.id) == phase:
                self.backend.clear(self.view(slot, 0, 0, slot.spec))

    def flag(self, slot: int, at: int, feeds: Feeds) -> bool:
        """Whether an element of a kept slot, or of an output the kernels write in place, is set."""
        one = self.plan.slots[slot]
        spec = ArraySpec((1,), one.spec.dtype)
        view = self.view(one, 0, at * spec.itemsize, spec, feeds.get(slot))
        found = np.empty(1, spec.dtype)
        self.backend.read(found, view)
        return bool(found[0])
