"""A debug mode: a ledger of the bytes that are needed, derived from the steps as they run and not from the packer's lifetimes."""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from footprint.plan.geometry import nest
from footprint.plan.slots import Slot
from footprint.spec import ArraySpec

if TYPE_CHECKING:
    from footprint.plan.bind import BoundPlan
    from footprint.plan.geometry import Geometry
    from footprint.plan.plan import Lies, Plan

Where = tuple[tuple[int, int], ...]
"""The turn of every loop around a step, outermost first: ``(loop, turn)``; the pass of the phase comes first, as loop -1."""


class LifetimeError(AssertionError):
    """A slot is put onto bytes that another still needs: a fault of ours, never of the user's."""


class _Use(NamedTuple):
    """A slot's steps, the threads that run them, the spans of its thread's trace in which it is needed; None: all of ``phases``."""

    slot: Slot
    threads: frozenset[int]
    spans: tuple[tuple[int, int], ...] | None
    dies: int
    """Step after which its content is never read again; -1 where only the end of the part is sure."""
    phases: tuple[int, int]
    """The first and the last in which it is needed."""


class Ledger:
    """Watches a bound plan.

    When it is made, every thread's steps are unrolled, each loop and each pass twice, and no two slots may lie on common bytes
    while both are needed. While the plan runs it sees that a copy is free when the next part takes it, that no step leaves its
    slot, and fills what is no longer needed with bytes that are NaN as floats (where kernels run on the host).
    """

    def __init__(self, plan: Plan, bound: BoundPlan) -> None:
        self.plan = plan
        self.bound: BoundPlan = weakref.proxy(bound)  # type: ignore[assignment]
        self._lock = threading.Lock()
        self._taken: dict[tuple[int, int], int] = {}
        self._nbytes = {slot.id: _nbytes(plan, slot) for slot in plan.slots}
        self._uses = list(_uses(plan))
        self._judge()
        mine = [use for use in self._uses if use.spans is not None and use.slot.space == "device" and plan.limits.host]
        self._dying: dict[int, list[Slot]] = {}
        self._late: dict[tuple[int, int], list[Slot]] = {}
        for use in mine:
            (thread,) = use.threads
            found = self._dying.setdefault(use.dies, []) if use.dies >= 0 else self._late.setdefault((use.phases[0], thread), [])
            found.append(use.slot)
        # What threads hand on within a phase: (slot, phase, first thread, last thread).
        several = [use for use in self._uses if len(use.threads) > 1 and use.slot.kind == "scratch" and not _stays(plan, use.slot)]
        at = [(use, next(iter(_phases(plan, use.slot)))[0]) for use in several if len(_phases(plan, use.slot)) == 1]
        self._handed = [(use.slot, phase, min(use.threads), max(use.threads)) for use, phase in at]

    def _judge(self) -> None:
        """No two slots that are needed at once share a byte."""
        for number, one in enumerate(self._uses):
            for other in self._uses[:number]:
                if _together(one, other) and self._share(one.slot, other.slot):
                    names = one.slot.name, other.slot.name
                    raise LifetimeError(f"{names[0]} lies on bytes of {names[1]} while both are needed, in plan {self.plan.name}")
            copies = self.plan.places[one.slot.id]
            if any(self._cross(one.slot, a, one.slot, b) for n, a in enumerate(copies) for b in copies[:n]):
                raise LifetimeError(f"copies of {one.slot.name} lie on each other, in plan {self.plan.name}")

    def _share(self, one: Slot, other: Slot) -> bool:
        places = self.plan.places
        return any(self._cross(one, a, other, b) for a in places[one.id] for b in places[other.id])

    def _cross(self, one: Slot, a: Lies, other: Slot, b: Lies) -> bool:
        apart = one.space != other.space or a.block != b.block
        return not apart and a.offset < b.offset + self._nbytes[other.id] and b.offset < a.offset + self._nbytes[one.id]

    # -- while it runs -------------------------------------------------------------------------------------------------
    def begin(self) -> None:
        """A run starts: whatever a run that failed left behind is over."""
        self._taken.clear()

    def enter(self, phase: int, thread: int, geometry: Geometry) -> None:
        """A thread starts a part: the copies it is first to use must be free."""
        for key, shape in geometry.shapes.items():
            slot = self.plan.slots[key]
            if self.plan.places[key] and slot.kind == "scratch":
                self.inside(slot, 0, ArraySpec(shape, slot.spec.dtype))
        with self._lock:
            for slot, its, first, _ in self._handed:
                if (its, first) != (phase, thread):
                    continue
                at, number = self._copy(slot, geometry)
                if self._taken.setdefault(at, number) != number:
                    raise LifetimeError(f"{slot.name} of part {number} is put onto that of part {self._taken[at]}, which is needed")

    def leave(self, phase: int, thread: int, geometry: Geometry) -> None:
        """A thread has ended a part: what it was last to use is free."""
        for slot in self._late.get((phase, thread), ()):
            self._poison(slot, geometry)
        with self._lock:
            for slot, its, _, last in self._handed:
                if (its, last) == (phase, thread) and (geometry.ends[1] or not slot.held):
                    self._poison(slot, geometry)
                    self._taken.pop(self._copy(slot, geometry)[0], None)

    def ended(self, index: int, geometry: Geometry) -> None:
        """A step has run: what died with it holds nothing."""
        for slot in self._dying.get(index, ()):
            self._poison(slot, geometry)

    def inside(self, slot: Slot, offset: int, spec: ArraySpec) -> None:
        """A step's array must lie in its slot."""
        if spec.size and not 0 <= offset <= self._nbytes[slot.id] - spec.nbytes:
            raise LifetimeError(f"{spec} at byte {offset} leaves slot {slot.name} of {self._nbytes[slot.id]} bytes")

    def _copy(self, slot: Slot, geometry: Geometry) -> tuple[tuple[int, int], int]:
        number = geometry.group if slot.held else geometry.order
        return (slot.id, number % len(self.plan.places[slot.id])), number

    def _poison(self, slot: Slot, geometry: Geometry) -> None:
        if self.plan.limits.host and self._nbytes[slot.id]:
            number = self._copy(slot, geometry)[1]
            block: Any = self.bound.view(slot, number, 0, ArraySpec((self._nbytes[slot.id],), "uint8"))
            block[:] = 0xFF


def _nbytes(plan: Plan, slot: Slot) -> int:
    shape = slot.nominal(plan.cuts) if slot.kind == "scratch" else slot.spec.shape
    return math.prod(shape) * slot.spec.itemsize


def _phases(plan: Plan, slot: Slot) -> set[tuple[int, bool]]:
    """The phases it is used in, and whether by the steps that end one: where there are several, its content is passed on."""
    return {(step.phase, step.when == "end") for step in plan.steps if any(ref.slot.id == slot.id for ref in step.refs)}


def _stays(plan: Plan, slot: Slot) -> bool:
    """Whether it is filled in the first pass only."""
    filled = any(step.action == "fill" and step.refs[1].slot.id == slot.id for step in plan.steps)
    flagged = any(plan.phases[s.phase].flag is not None for s in plan.steps if any(r.slot.id == slot.id for r in s.refs))
    return filled and flagged and not plan.cuts


def _uses(plan: Plan) -> Iterator[_Use]:
    """How every slot that lies in the plan's memory is used."""
    thread = {lane: i for i, group in enumerate(plan.lanes) for lane in group}
    traces = [list(_trace(plan, number)) for number in range(len(plan.lanes))]
    for slot in plan.slots:
        steps = [t for t, step in enumerate(plan.steps) if any(ref.slot.id == slot.id for ref in step.refs)]
        if not steps or not plan.places[slot.id]:
            continue
        threads = frozenset(thread[plan.steps[t].lane] for t in steps)
        whole = slot.kind != "scratch" or slot.held or len(threads) > 1 or len(_phases(plan, slot)) > 1 or _stays(plan, slot)
        numbers = [number for number, _ in _phases(plan, slot)]
        phases = (min(numbers), max(numbers)) if slot.kind != "const" else (0, len(plan.phases))
        if whole:
            yield _Use(slot, threads, None, -1, phases)
            continue
        # Loops that hold all uses: in each of their turns the slot is another. Others are passed with its content.
        inside = [loop.id for loop in plan.loops if all(loop.first <= t <= loop.last for t in steps)]
        spans: dict[Where, list[int]] = {}
        for position, (step, where) in enumerate(traces[next(iter(threads))]):
            if step in steps:
                scope = tuple(turn for turn in where if turn[0] in inside or turn[0] < 0)
                spans.setdefault(scope, []).append(position)
        edge = any(loop.first <= steps[-1] <= loop.last and loop.id not in inside for loop in plan.loops)
        always = all(plan.steps[t].when == plan.steps[steps[-1]].when for t in steps)
        dies = steps[-1] if always and not edge else -1
        yield _Use(slot, threads, tuple((found[0], found[-1]) for found in spans.values()), dies, phases)


def _trace(plan: Plan, thread: int) -> Iterator[tuple[int, Where]]:
    """A thread's steps as they run, loops and passes twice: enough to come back to where a slot was left."""
    for number, phase in enumerate(plan.phases):
        mine = {t for t, s in enumerate(plan.steps) if s.phase == number and s.lane in plan.lanes[thread]}
        ends = sorted(t for t in mine if plan.steps[t].when == "end")
        tree = nest(plan.loops, 0, len(plan.steps), set(), mine - set(ends))
        for turn in range(1 if phase.flag is None else 2):
            yield from _unrolled(tree, ((-1 - number, turn),))
            yield from ((t, ((-1 - number, turn),)) for t in ends)


def _unrolled(tree: list[Any], where: Where) -> Iterator[tuple[int, Where]]:
    for node in tree:
        if isinstance(node, int):
            yield node, where
        else:
            loop, body = node
            for turn in range(2 if loop.over is not None else min(loop.count, 2)):
                yield from _unrolled(body, (*where, (loop.id, turn)))


def _together(one: _Use, other: _Use) -> bool:
    if one.spans is None or other.spans is None:
        return one.phases[0] <= other.phases[1] and other.phases[0] <= one.phases[1]
    if one.threads != other.threads:
        return True
    return any(a[0] <= b[1] and b[0] <= a[1] for a in one.spans for b in other.spans)


__all__ = ["Ledger", "LifetimeError"]
