"""What a bound plan does with its steps: views, kernels and numbers made ready for a part, and one step after another run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from footprint.backend.base import Backend, Transforms
from footprint.plan.carry import Block
from footprint.plan.cross import Crossing
from footprint.plan.faces import fill_from, given, take_to
from footprint.plan.geometry import Geometry, Prepared, nest
from footprint.plan.ledger import Ledger
from footprint.plan.slots import Loop, Place, Slot, Step
from footprint.plan.spent import Clock
from footprint.spec import ArraySpec

if TYPE_CHECKING:
    from footprint.plan.plan import Plan

Feeds = Mapping[int, Any]
"""The caller's array, source or sink by slot id."""

# Prepared programs kept a lane: parts at either end and between, in every copy of the slots.
_KEPT = 8


class Steps:
    """The steps of a plan in the memory of a binding, which is a subclass."""

    plan: Plan
    backend: Backend
    blocks: list[Any]
    host: list[np.ndarray]
    clock: Clock | None
    crossing: Crossing
    transforms: Transforms | None
    ledger: Ledger | None

    def __init__(self, plan: Plan, backend: Backend) -> None:
        self.plan, self.backend = plan, backend
        self._kernels: dict[tuple[Any, ...], Any] = {}
        # One of each spec that kernels are known by: those of a search for sources would be 300 KB of equal ones.
        self._specs: dict[ArraySpec, ArraySpec] = {}
        # With the numbers that they were made ready for, and steps that end a phase.
        self._prepared: dict[tuple[Any, ...], tuple[tuple[Any, ...], list[Any]]] = {}
        self._ended: dict[tuple[Any, ...], list[Prepared]] = {}
        self._trees: dict[tuple[int, int], list[Any]] = {}
        self._moving: dict[tuple[int, int], list[Place]] = {}
        self._standing = [slot.id for slot in plan.slots if slot.kind in ("const", "kept") and slot.reach]

    def view(self, slot: Slot, copy: int, offset: int, spec: ArraySpec, given: Any = None) -> Any:
        """An array of ``spec``, ``offset`` bytes into a copy of a slot, where kernels run."""
        places = self.plan.places[slot.id]
        if not places:
            return self.backend.adopt(given, offset, spec)
        lies = places[copy % len(places)]
        return self.backend.view(self.blocks[lies.block], lies.offset + offset, spec)

    def staging(self, slot: Slot) -> np.ndarray:
        """The bytes of a host slot."""
        lies = self.plan.places[slot.id][0]
        return self.host[lies.block][lies.offset : lies.offset + slot.spec.nbytes]

    def _stays(self, step: Step) -> bool:
        """Whether what a step fills is still there from the pass before: where the job is whole."""
        return step.action == "fill" and not self.plan.cuts

    def _ready(self, phase: int, lanes: int, geometry: Geometry) -> list[Any]:
        moving = tuple([self._number(value, geometry) for value in self._places_of(phase, lanes)])
        copies = (geometry.order % self.plan.copies, geometry.group % self.plan.copies)
        # A table, or an input that stays, is there as a whole, and every part has other rows of it.
        rows = tuple([geometry.windows[slot] for slot in self._standing])
        # Steps that only the first, the last part of a sum or the first pass takes are not made ready for others.
        ends = (geometry.ends, geometry.turn == 0)
        key = (phase, lanes, tuple(geometry.shapes.values()), rows, copies, ends)
        found = self._prepared.get(key)
        if found is None:
            if len(self._prepared) >= _KEPT:
                self._prepared.clear()
            found = self._prepared[key] = (moving, self._flat(self._tree(phase, lanes), {}, geometry))
        elif found[0] != moving:
            # The same arrays, at another place of the image.
            found = self._prepared[key] = (moving, [self._moved(node, geometry) for node in found[1]])
        return found[1]

    def _moved(self, node: Any, geometry: Geometry) -> Any:
        """A step that was made ready for a part of the same shapes, for another place; loops look at it themselves."""
        if not isinstance(node, Prepared) or not any(isinstance(value, Place) for _, value in node.step.numbers):
            return node
        if self.plan.limits.host:
            # There nothing is compiled for a number, and to find what was made before takes longer than to make it.
            step, numbers = node.step, {name: self._number(value, geometry) for name, value in node.step.numbers}
            kernel = self.backend.compile(step.kernel, node.specs[: len(node.specs) - step.n_work], numbers)
        else:
            kernel = self._kernel(node.number, node.step, node.specs, geometry)
        # Not by _replace: see `spec.ArraySpec` on tuples of iterators.
        return Prepared(node.step, node.number, kernel, node.views, node.callers, node.spec, node.specs)

    def _ending(self, phase: int, geometry: Geometry) -> list[Prepared]:
        """Steps for when all parts of a phase are through, made ready."""
        key = (phase, "end", geometry.order, geometry.turn, tuple(geometry.windows.values()))
        if key not in self._ended:
            if len(self._ended) >= _KEPT:
                self._ended.clear()
            ends = [(i, step) for i, step in enumerate(self.plan.steps) if step.phase == phase and step.when == "end"]
            self._ended[key] = [self._prepare(i, step, {}, geometry) for i, step in ends]
        return self._ended[key]

    def _flat(self, nodes: list[Any], turns: dict[int, int], geometry: Geometry) -> list[Any]:
        """Steps made ready, those of loops that turn once among them; other loops as they are."""
        found: list[Any] = []
        for node in nodes:
            if isinstance(node, int):
                if geometry.runs(self.plan.steps[node].when):
                    found.append(self._prepare(node, self.plan.steps[node], turns, geometry))
            elif self._once(node, geometry):
                found += self._flat(node[1], {**turns, node[0].id: 0}, geometry)
            else:
                found.append(node)
        return found

    def _once(self, node: Any, geometry: Geometry) -> bool:
        """Whether a loop, and all in it, turns once, and brings nothing: what is brought in a loop is brought in every pass."""
        if isinstance(node, int):
            return self.plan.steps[node].action != "fill"
        return node[0].turns(geometry.shape) == 1 and all(self._once(one, geometry) for one in node[1])

    def _places_of(self, phase: int, lanes: int) -> list[Place]:
        key = (phase, lanes)
        if key not in self._moving:
            here = self.plan.lanes[lanes]
            steps = [s for s in self.plan.steps if s.phase == phase and s.lane in here]
            self._moving[key] = [value for step in steps for _, value in step.numbers if isinstance(value, Place)]
        return self._moving[key]

    def _tree(self, phase: int, lanes: int) -> list[Any]:
        """The steps of a thread as a tree of indices and ``(loop, body)``."""
        key = (phase, lanes)
        if key not in self._trees:
            here = self.plan.lanes[lanes]
            wanted = {i for i, s in enumerate(self.plan.steps) if s.phase == phase and s.lane in here and s.when != "end"}
            self._trees[key] = nest(self.plan.loops, 0, len(self.plan.steps), set(), wanted)
        return self._trees[key]

    def _prepare(self, index: int, step: Step, turns: dict[int, int], geometry: Geometry) -> Prepared:
        at = [(ref, *ref.at(turns, geometry.shape)) for ref in step.refs]
        specs = tuple([spec for _, _, spec in at]) if step.action == "launch" else ()
        kernel = self._kernel(index, step, specs, geometry) if specs else None
        # What is filled from, or taken to, comes with the call and is no kernel's business.
        outside = {"fill": 0, "take": 1}.get(step.action)
        views: list[Any] = []
        callers: list[tuple[int, int, int, ArraySpec]] = []
        for place, (ref, offset, spec) in enumerate(at):
            slot = ref.slot
            if self.ledger is not None and self.plan.places[slot.id] and slot.kind != "const":
                self.ledger.inside(slot, offset, spec)
            if slot.space == "host" or place == outside:
                views.append(None)
            elif self.plan.places[slot.id]:
                start = geometry.start(slot) if slot.kind in ("const", "kept") else 0
                order = geometry.group if slot.held else geometry.order
                views.append(self.view(slot, order, start + offset, spec))
            else:
                views.append(None)
                callers.append((place, slot.id, offset, spec))
        spec = at[0 if outside is None else 1 - outside][2]
        return Prepared(step, index, kernel, tuple(views), tuple(callers), spec, specs)

    def _execute(self, ready: Prepared, geometry: Geometry, feeds: Feeds) -> None:
        clock = self.clock
        since = clock.start() if clock is not None else 0.0
        self._do(ready, geometry, feeds)
        if clock is not None:
            clock.stop(ready.step, since)
        if self.ledger is not None:
            self.ledger.ended(ready.number, geometry)

    def _do(self, ready: Prepared, geometry: Geometry, feeds: Feeds) -> None:
        step, backend, arrays = ready.step, self.backend, ready.views
        if ready.callers:
            given = list(arrays)
            for place, key, offset, spec in ready.callers:
                slot = self.plan.slots[key]
                given[place] = backend.adopt(feeds[key], geometry.start(slot) + offset, spec)
            arrays = tuple(given)
        if step.action == "launch":
            backend.launch(ready.kernel, arrays)
        elif step.action == "copy":
            backend.copy(arrays[1], arrays[0])
        elif step.action == "fill":
            self._fill(ready, arrays[1], geometry, feeds)
        elif step.action == "take":
            self._take(ready, arrays[0], geometry, feeds)
        elif arrays[0] is not None and step.refs[0].at({}, geometry.shape)[1].size:
            assert self.transforms is not None
            self.transforms(arrays[0], arrays[1], step.action == "ifft", bool(dict(step.numbers).get("scaled", True)))

    def _fill(self, ready: Prepared, view: Any, geometry: Geometry, feeds: Feeds) -> None:
        step = ready.step
        slot = step.refs[0].slot
        window, feed = _window(slot, geometry), feeds[slot.id]
        if self.plan.limits.host:
            fill_from(given(feed, geometry.order), window, slot.spec.shape, view)
        else:
            block = Block(step, view, ready.spec, window, given(feed, geometry.order), geometry, feeds.get(step.refs[1].slot.id))
            self.crossing.up(block)

    def _take(self, ready: Prepared, view: Any, geometry: Geometry, feeds: Feeds) -> None:
        step = ready.step
        slot = step.refs[1].slot
        window, feed = _window(slot, geometry), feeds[slot.id]
        if self.plan.limits.host:
            take_to(given(feed, geometry.order), window, view)
        else:
            self.crossing.down(Block(step, view, ready.spec, window, given(feed, geometry.order), geometry))

    def _loop(self, loop: Loop, body: list[Any], turns: dict[int, int], geometry: Geometry, feeds: Feeds) -> None:
        for turn in range(loop.turns(geometry.shape)):
            now = {**turns, loop.id: turn}
            for node in body:
                if isinstance(node, int):
                    step = self.plan.steps[node]
                    if geometry.runs(step.when):
                        self._execute(self._prepare(node, step, now, geometry), geometry, feeds)
                else:
                    self._loop(node[0], node[1], now, geometry, feeds)

    def _number(self, value: Any, geometry: Geometry) -> Any:
        if not isinstance(value, Place):
            return value

        def first(slot: int, axis: str) -> int:
            if slot < 0:
                return geometry.turn
            return geometry.windows[slot][self.plan.slots[slot].spec.axes.index(axis)][0]

        return value.value(first)

    def _kernel(self, index: int, step: Step, specs: tuple[ArraySpec, ...], geometry: Geometry) -> Any:
        numbers = {name: self._number(value, geometry) for name, value in step.numbers}
        key = (index, specs, tuple(numbers.values()))
        if key not in self._kernels:
            if len(self._kernels) > _KEPT * len(self.plan.steps):
                self._kernels.clear()
                self._specs.clear()
            specs = tuple([self._specs.setdefault(spec, spec) for spec in specs])
            kernel = self.backend.compile(step.kernel, specs[: len(specs) - step.n_work], numbers)
            self._kernels[index, specs, key[2]] = kernel
            return kernel
        return self._kernels[key]


def _window(slot: Slot, geometry: Geometry) -> tuple[tuple[int, int], ...]:
    return geometry.windows.get(slot.id) or tuple([(0, n) for n in slot.spec.shape])
