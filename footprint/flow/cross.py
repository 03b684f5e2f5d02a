"""Across the bus: host arrays and blocks to a device and back, piece by piece through pinned memory, copies beside transfers."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from footprint.flow.faces import COPIERS, fill_from, pieces, take_to
from footprint.flow.slots import Ref, Step
from footprint.spec import ArraySpec

if TYPE_CHECKING:
    from footprint.flow.bind import BoundPlan
    from footprint.flow.geometry import Geometry

# Pieces a ring is cut into: one is copied while others cross.
_PIECES = 4

Window = tuple[tuple[int, int], ...]


class Crossing:
    """Carries blocks between the caller's memory and a device's, in the host memory of a bound plan."""

    def __init__(self, bound: BoundPlan) -> None:
        self.bound = bound
        # Host bytes a transfer may still be reading, by lane: (block, start, stop, event).
        self._busy: dict[str, deque[tuple[int, int, int, Any]]] = {}

    def up(self, step: Step, view: Any, window: Window, given: Any, geometry: Geometry) -> None:
        """From an array or a source to the device; queued when it returns, and ``given`` is free again."""
        backend = self.bound.backend
        shape, dst = step.refs[0].slot.spec.shape, step.refs[1]
        _, spec = dst.at({}, geometry.shape)
        if spec.size == 0:
            return
        if len(step.refs) == 2:
            # So few bytes that the driver takes them along with the command.
            backend.write(view, given[tuple(slice(*w) for w in window)])
            return
        stage = step.refs[2]
        if stage.slot.spec.nbytes >= spec.nbytes:
            block = self._host(stage, spec.shape, 0)
            self._wait(step.lane, stage, 0, spec.nbytes)
            fill_from(given, window, shape, block)
            backend.write(view, block)
            self._mark(step.lane, stage, 0, spec.nbytes)
            return
        most = stage.slot.spec.size // _PIECES
        for count, region in enumerate(pieces(spec.shape, most)):
            at = (count % _PIECES) * most
            part = tuple(r.stop - r.start for r in region)
            host = self._host(stage, part, at * spec.itemsize)
            self._wait(step.lane, stage, at * spec.itemsize, host.nbytes)
            fill_from(given, _within(window, region), shape, host)
            backend.write(self._piece(dst, geometry, region, part), host)
            self._mark(step.lane, stage, at * spec.itemsize, host.nbytes)

    def down(self, step: Step, view: Any, window: Window, given: Any, geometry: Geometry) -> None:
        """From the device to an array or a sink; done when it returns."""
        backend = self.bound.backend
        src = step.refs[0]
        _, spec = src.at({}, geometry.shape)
        if spec.size == 0:
            return
        if len(step.refs) == 2:
            backend.read(given[tuple(slice(*w) for w in window)], view)
            return
        stage = step.refs[2]
        if stage.slot.spec.nbytes >= spec.nbytes:
            block = self._host(stage, spec.shape, 0)
            backend.read(block, view)
            take_to(given, window, block)
            return
        most = stage.slot.spec.size // _PIECES
        flying: deque[tuple[Any, np.ndarray, Window]] = deque()

        def land() -> None:
            event, host, where = flying.popleft()
            backend.wait(event)
            if isinstance(given, np.ndarray):
                COPIERS.copy(given[tuple(slice(*w) for w in where)], host)
            else:
                take_to(given, where, host)

        for count, region in enumerate(pieces(spec.shape, most)):
            if len(flying) == _PIECES:
                land()
            part = tuple(r.stop - r.start for r in region)
            host = self._host(stage, part, (count % _PIECES) * most * spec.itemsize)
            backend.read(host, self._piece(src, geometry, region, part), wait=False)
            flying.append((backend.mark(), host, _within(window, region)))
        while flying:
            land()

    def _host(self, stage: Ref, shape: tuple[int, ...], offset: int) -> np.ndarray:
        memory = self.bound.staging(stage.slot)
        spec = ArraySpec(shape, stage.slot.spec.dtype)
        return memory[offset : offset + spec.nbytes].view(spec.dtype).reshape(shape)

    def _piece(self, ref: Ref, geometry: Geometry, region: tuple[slice, ...], part: tuple[int, ...]) -> Any:
        """The piece of a device array: contiguous in C order."""
        _, spec = ref.at({}, geometry.shape)
        flat = 0
        for r, n in zip(region, spec.shape):
            flat = flat * n + r.start
        order = geometry.group if ref.slot.held else geometry.order
        return self.bound.view(ref.slot, order, flat * spec.itemsize, ArraySpec(part, spec.dtype))

    def _wait(self, lane: str, stage: Ref, offset: int, nbytes: int) -> None:
        """Wait until no transfer reads these host bytes any more."""
        lies = self.bound.plan.places[stage.slot.id][0]
        start = lies.offset + offset
        busy = self._busy.setdefault(lane, deque())
        for _ in range(len(busy)):
            block, first, last, event = busy.popleft()
            if block == lies.block and first < start + nbytes and start < last:
                self.bound.backend.wait(event)
            else:
                busy.append((block, first, last, event))

    def _mark(self, lane: str, stage: Ref, offset: int, nbytes: int) -> None:
        lies = self.bound.plan.places[stage.slot.id][0]
        start = lies.offset + offset
        self._busy.setdefault(lane, deque()).append((lies.block, start, start + nbytes, self.bound.backend.mark()))


def _within(window: Window, region: tuple[slice, ...]) -> Window:
    return tuple((start + r.start, start + r.stop) for (start, _), r in zip(window, region))
