"""Across the bus: host arrays and blocks to a device and back, piece by piece through pinned memory, copies beside transfers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from footprint.flow.faces import COPIERS, fill_from, pieces, take_to
from footprint.flow.slots import Ref, Step
from footprint.spec import ArraySpec

if TYPE_CHECKING:
    from footprint.flow.bind import BoundPlan
    from footprint.flow.geometry import Geometry

# Bytes that are worth a thread of their own.
_PIECE = 1 << 20

Window = tuple[tuple[int, int], ...]


class Crossing:
    """Carries blocks between the caller's memory and a device's, in the host memory of a bound plan.

    Every worker has pieces of the ring to itself: it copies one while the other crosses, and asks nobody.
    """

    def __init__(self, bound: BoundPlan) -> None:
        self.bound = bound
        # By lane: what its host memory was last used as (slot, bytes of a piece), and events of transfers that may still read it.
        self._last: dict[str, tuple[tuple[int, int], dict[int, Any]]] = {}

    def up(self, step: Step, view: Any, window: Window, given: Any, geometry: Geometry) -> None:
        """From an array or a source to the device; queued when it returns, and ``given`` is free again."""
        backend = self.bound.backend
        shape, dst = step.refs[0].slot.spec.shape, step.refs[1]
        if len(step.refs) == 2:
            # So few bytes that the driver takes them along with the command.
            backend.write(view, given[tuple(slice(*w) for w in window)])
            return
        _, spec = dst.at({}, geometry.shape)
        if spec.size == 0:
            return
        stage = step.refs[2]
        if stage.slot.spec.nbytes >= spec.nbytes and not isinstance(given, np.ndarray):
            busy = self._busy(step.lane, stage, 0)
            backend.wait(busy.pop(0, None))
            block = self._host(stage, spec.shape, 0)
            fill_from(given, window, shape, block)
            backend.write(view, block)
            busy[0] = backend.mark()
            return
        ring = Ring(stage.slot.spec, spec)
        busy = self._busy(step.lane, stage, ring.nbytes)

        def carry(pieces: list[tuple[int, tuple[slice, ...]]]) -> None:
            for at, region in pieces:
                part = tuple(r.stop - r.start for r in region)
                host = self._host(stage, part, at * ring.nbytes)
                backend.wait(busy.pop(at, None))
                fill_from(given, _within(window, region), shape, host, alone=True)
                backend.write(self._piece(dst, geometry, region, part), host)
                busy[at] = backend.mark()

        self._spread(ring, spec.shape, carry)

    def down(self, step: Step, view: Any, window: Window, given: Any, geometry: Geometry) -> None:
        """From the device to an array or a sink; done when it returns."""
        backend = self.bound.backend
        src = step.refs[0]
        if len(step.refs) == 2:
            backend.read(given[tuple(slice(*w) for w in window)], view)
            return
        _, spec = src.at({}, geometry.shape)
        if spec.size == 0:
            return
        stage = step.refs[2]
        if stage.slot.spec.nbytes >= spec.nbytes and not isinstance(given, np.ndarray):
            block = self._host(stage, spec.shape, 0)
            backend.read(block, view)
            take_to(given, window, block)
            return
        ring = Ring(stage.slot.spec, spec)

        def carry(pieces: list[tuple[int, tuple[slice, ...]]]) -> None:
            flying: deque[tuple[Any, np.ndarray, Window]] = deque()

            def land() -> None:
                event, host, where = flying.popleft()
                backend.wait(event)
                take_to(given, where, host, alone=True)

            for at, region in pieces:
                if len(flying) == ring.each:
                    land()
                part = tuple(r.stop - r.start for r in region)
                host = self._host(stage, part, at * ring.nbytes)
                backend.read(host, self._piece(src, geometry, region, part), wait=False)
                flying.append((backend.mark(), host, _within(window, region)))
            while flying:
                land()

        self._spread(ring, spec.shape, carry)

    def _spread(self, ring: Ring, shape: tuple[int, ...], carry: Callable[[list[tuple[int, tuple[slice, ...]]]], None]) -> None:
        """Give every worker its pieces, each with its place in the ring."""
        jobs: list[list[tuple[int, tuple[slice, ...]]]] = [[] for _ in range(ring.workers)]
        for count, region in enumerate(pieces(shape, ring.most)):
            jobs[count % ring.workers].append((count % ring.pieces, region))
        jobs = [job for job in jobs if job]
        use = self.bound.backend.share()

        def work(job: list[tuple[int, tuple[slice, ...]]]) -> None:
            with use():
                carry(job)

        COPIERS.each(work, jobs)

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

    def _busy(self, lane: str, stage: Ref, nbytes: int) -> dict[int, Any]:
        """Events of this slot's pieces; host memory that served another slot, or was cut otherwise, is waited for."""
        key, busy = self._last.get(lane, ((-1, 0), {}))
        if key != (stage.slot.id, nbytes):
            for event in busy.values():
                self.bound.backend.wait(event)
            busy = {}
            self._last[lane] = ((stage.slot.id, nbytes), busy)
        return busy


class Ring:
    """How a host slot is cut into pieces for what crosses through it.

    Attributes
    ----------
    workers, each
        Threads that carry, and pieces each of them has.
    pieces, most, nbytes
        Pieces in all, elements of one, and bytes.
    """

    def __init__(self, stage: ArraySpec, block: ArraySpec) -> None:
        wanted = max(1, min(COPIERS.workers, block.nbytes // _PIECE))
        room = max(stage.size, 1)
        self.workers = max(1, min(wanted, room // 2))
        self.each = 2 if room >= 2 * self.workers else 1
        self.pieces = self.workers * self.each
        # A block no larger than the ring is cut all the same, so that workers share it.
        self.most = max(1, min(room // self.pieces, -(-block.size // self.pieces) if block.size <= room else room))
        self.nbytes = self.most * stage.itemsize


def _within(window: Window, region: tuple[slice, ...]) -> Window:
    return tuple((start + r.start, start + r.stop) for (start, _), r in zip(window, region))
