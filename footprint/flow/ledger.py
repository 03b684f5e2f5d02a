"""A debug mode: a ledger of the byte ranges alive, derived from the steps and not from the lifetimes the packer went by."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from footprint.spec import ArraySpec

if TYPE_CHECKING:
    from footprint.flow.bind import BoundPlan
    from footprint.flow.geometry import Geometry
    from footprint.flow.plan import Plan


class LifetimeError(AssertionError):
    """A slot is put onto bytes that another still needs: a fault of ours, never of the user's."""


class Ledger:
    """Watches a bound plan run.

    A slot is born before the first step that uses it and dies after the last; where a loop's edge lies between its uses, before the
    first and after the last turn. What dies is filled with bytes that are NaN as floats.
    """

    def __init__(self, plan: Plan, bound: BoundPlan) -> None:
        self.plan, self.bound = plan, bound
        self._lock = threading.Lock()
        self._alive: dict[tuple[int, int], tuple[str, int, int, int]] = {}
        self._uses = {slot.id: self._span(slot.id) for slot in plan.slots if plan.places[slot.id] and slot.kind == "scratch"}

    def _span(self, key: int) -> tuple[int, int] | None:
        """First and last step, as the order of execution has them; None where a slot outlives a part."""
        used = [t for t, step in enumerate(self.plan.steps) if any(ref.slot.id == key for ref in step.refs)]
        slot = self.plan.slots[key]
        if not used or slot.held or len({self.plan.steps[t].phase for t in used}) > 1:
            return None
        around = [loop for loop in self.plan.loops if any(loop.first <= t <= loop.last for t in used)]
        # A loop that holds some uses and not others is passed as a whole; one that holds all of them is lived through every turn.
        edges = [loop for loop in around if not all(loop.first <= t <= loop.last for t in used)]
        return min([*used, *(p.first for p in edges)]), max([*used, *(p.last for p in edges)])

    @contextmanager
    def around(self, index: int, geometry: Geometry) -> Iterator[None]:
        """Judge a step before it runs, and poison what dies with it."""
        repeats = self.plan.phases[self.plan.steps[index].phase].flag is not None and not self.plan.cuts
        with self._lock:
            for key, span in self._uses.items():
                if span is not None and span[0] <= index <= span[1] and (key, geometry.order) not in self._alive:
                    self._born(key, geometry)
        yield
        with self._lock:
            for key, span in self._uses.items():
                if span is not None and span[1] == index and not repeats and not self._inside_edge(key, index):
                    self._die(key, geometry)

    def _inside_edge(self, key: int, index: int) -> bool:
        """Whether the step runs in a loop whose edge the slot crosses: it may be needed in the next turn."""
        used = [t for t, step in enumerate(self.plan.steps) if any(ref.slot.id == key for ref in step.refs)]
        return any(p.first <= index <= p.last and not all(p.first <= t <= p.last for t in used) for p in self.plan.loops)

    def _range(self, key: int, geometry: Geometry) -> tuple[str, int, int, int]:
        slot = self.plan.slots[key]
        places = self.plan.places[key]
        lies = places[geometry.order % len(places)]
        nbytes = ArraySpec(slot.nominal(self.plan.cuts), slot.spec.dtype).nbytes
        return slot.space, lies.block, lies.offset, lies.offset + nbytes

    def _born(self, key: int, geometry: Geometry) -> None:
        mine = self._range(key, geometry)
        for (other, order), theirs in self._alive.items():
            if theirs[:2] == mine[:2] and mine[2] < theirs[3] and theirs[2] < mine[3]:
                names = self.plan.slots[key].name, self.plan.slots[other].name
                raise LifetimeError(f"{names[0]} of part {geometry.order} is put onto {names[1]} of part {order}, which is alive")
        self._alive[key, geometry.order] = mine

    def _die(self, key: int, geometry: Geometry) -> None:
        if self._alive.pop((key, geometry.order), None) is None:
            return
        slot = self.plan.slots[key]
        nbytes = ArraySpec(slot.nominal(self.plan.cuts), slot.spec.dtype).nbytes
        if slot.space == "host":
            self.bound.staging(slot)[:] = 0xFF
        elif self.plan.limits.host:
            block: Any = self.bound.view(slot, geometry.order, 0, ArraySpec((nbytes,), "uint8"))
            block[:] = 0xFF
