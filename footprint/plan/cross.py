"""Across the bus: host arrays and blocks to a device and back, piece by piece through pinned memory, copies beside transfers."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import numpy as np

from footprint.backend.base import Backend
from footprint.plan.carry import Block, Carry, Cutting, Lines, Window
from footprint.plan.faces import COPIERS, fill_from, part_of, pieces, take_to
from footprint.plan.pins import PINS
from footprint.plan.slots import Ref, Step
from footprint.spec import ArraySpec

if TYPE_CHECKING:
    from footprint.plan.bind import BoundPlan
    from footprint.plan.geometry import Geometry

# Bytes that are worth a thread of their own.
_PIECE, _LEAST = 8 << 20, 1 << 20
# Bytes of a row from which rows that lie apart cross one by one at the rate of the bus.
_ROW = 16 << 10


class Crossing:
    """Carries blocks between the caller's memory and a device's, in the host memory of a bound plan; pinned blocks as they lie.

    A lane's own thread speaks to the device; workers only copy, each a piece of the ring while others cross. Threads that all
    called the driver would wait for its lock, and for each other.
    """

    def __init__(self, bound: BoundPlan) -> None:
        # What is bound knows this: were it known in turn, both and all that a plan names would stay until Python looks for circles.
        self.bound: BoundPlan = weakref.proxy(bound)  # type: ignore[assignment]
        self.lanes: dict[str, Lane] = {}

    def up(self, block: Block) -> None:
        """From an array or a source to the device; queued when it returns.

        What the caller gave has been read by then, but for pinned arrays, which are read until `latest` says otherwise.
        """
        backend, (step, view, spec, window, given, geometry, whole) = self.bound.backend, block
        shape = step.refs[0].slot.spec.shape
        if len(step.refs) == 2:
            # So few bytes that the driver takes them along with the command.
            if all(0 <= start and stop <= n for (start, stop), n in zip(window, shape)):
                given = part_of(given, window)
            else:
                # What wraps round an end is in two places of the array.
                both = np.empty(spec.shape, spec.dtype)
                fill_from(given, window, shape, both, alone=True)
                given = both
            backend.write(view, given)
            return
        if spec.size == 0:
            return
        stage = step.refs[2]
        if stage.slot.spec.nbytes >= spec.nbytes and not isinstance(given, np.ndarray):
            lane = self._lane(step.lane, stage, 0)
            lane.free(0)
            host = self._host(stage, spec.shape, 0)
            with COPIERS.alone():
                fill_from(given, window, shape, host)
            backend.write(view, host)
            lane.events[0] = backend.mark()
            return
        if self._as_it_lies(block, backend.write):
            return
        where = block.lines
        if where is not None:
            self._carry_up(step, given, where, spec, geometry, whole)
            return
        ring = Ring(stage.slot.spec, spec)
        lane = self._lane(step.lane, stage, ring.nbytes)
        waiting: dict[int, tuple[np.ndarray, Any]] = {}

        def send() -> None:
            at = lane.copied()
            host, there = waiting.pop(at)
            backend.write(there, host)
            lane.events[at] = backend.mark()

        for count, region in enumerate(pieces(spec.shape, ring.most)):
            at = count % ring.pieces
            while at in waiting:
                send()
            lane.free(at)
            part = tuple([r.stop - r.start for r in region])
            host = self._host(stage, part, at * ring.nbytes)
            waiting[at] = (host, self._piece(block, region, part))
            lane.copy(at, fill_from, given, _within(window, region), shape, host)
        while waiting:
            send()

    def down(self, block: Block) -> None:
        """From the device to an array, on its way when this returns (see `finish`), or to a sink."""
        backend, (step, view, spec, window, given, geometry, _) = self.bound.backend, block
        if len(step.refs) == 2:
            backend.read(part_of(given, window), view)
            return
        if spec.size == 0:
            return
        stage = step.refs[2]
        if stage.slot.spec.nbytes >= spec.nbytes and not isinstance(given, np.ndarray):
            self._lane(step.lane, stage, 0)
            rows = getattr(given, "rows", None)
            if rows is not None and (n := rows()) < spec.shape[0]:
                spec, window = ArraySpec((n, *spec.shape[1:]), spec.dtype), ((window[0][0], window[0][0] + n), *window[1:])
                view = self._view(block.ref, geometry, 0, spec, block.whole)
            host = self._host(stage, spec.shape, 0)
            if spec.size:
                backend.read(host, view)
            take_to(given, window, host)
            return
        if self._as_it_lies(block, lambda there, lies: backend.read(lies, there, wait=False)):
            return
        where = block.lines
        if where is not None:
            self._carry_down(step, given, where, spec, geometry)
            return
        ring = Ring(stage.slot.spec, spec)
        lane = self._lane(step.lane, stage, ring.nbytes)
        flying: deque[tuple[int, Any, np.ndarray, Window]] = deque()

        def land() -> None:
            at, event, host, where = flying.popleft()
            backend.wait(event)
            lane.copy(at, take_to, given, where, host)

        for count, region in enumerate(pieces(spec.shape, ring.most)):
            at = count % ring.pieces
            # Half of the ring is on its way while the other half is copied.
            if len(flying) > ring.pieces // 2:
                land()
            lane.free(at)
            part = tuple([r.stop - r.start for r in region])
            host = self._host(stage, part, at * ring.nbytes)
            backend.read(host, self._piece(block, region, part), wait=False)
            flying.append((at, backend.mark(), host, _within(window, region)))
        while flying:
            land()
        if len(self.bound.plan.lanes) == 1:
            # In one thread other steps may have the same host memory.
            lane.settle()

    def _as_it_lies(self, block: Block, move: Callable[[Any, np.ndarray], None]) -> bool:
        """Have a block cross by itself where the device reaches it, which the lane waits for at last; whether it does."""
        backend, step, nbytes = self.bound.backend, block.step, block.spec.nbytes
        # A frame, or all of an image: nothing need be worked out.
        lies, there = (block.given, block.view) if block.is_all() else (None, None)
        if lies is None:
            where = block.lines
            if where is None:
                return False
            together = where.run == nbytes
            if together or (backend.in_rows and _ROW <= where.run <= where.stride):
                part = part_of(block.given, block.window)
                lies = part.reshape((-1,) if together else (nbytes // where.run, -1)).view(np.uint8)
        with PINS.lock:
            pinned = PINS.crosses(block.given, nbytes, backend)
            if lies is None or not (pinned or backend.reaches(lies)):
                return False
            lane = self._lane(step.lane, step.refs[2], 0)
            move(there if there is not None else self._bytes(block.ref, block.geometry, 0, nbytes, block.whole), lies)
            # Those before it have ended when it has.
            lane.events[0] = backend.mark()
            return True

    def _carry_up(self, step: Step, given: np.ndarray, where: Lines, spec: ArraySpec, geometry: Geometry, whole: Any) -> None:
        """Plain bytes to the device: while some transfers cross, the threads fill the places of others."""
        backend, dst, stage = self.bound.backend, step.refs[1], step.refs[2]
        cut = Cutting.of(stage.slot.spec.nbytes, spec.nbytes, where)
        lane, memory = self._lane(step.lane, stage, -cut.transfer), self.bound.staging(stage.slot)
        job = lane.start(cut, memory, given, where, True)
        allowed = 0
        for number in range(cut.transfers):
            # What crossed half a ring ago is there, mostly: its place is waited for, not that of the last.
            while allowed < min(number + 1 + cut.places // 2, cut.transfers):
                backend.wait(lane.events.pop(allowed % cut.places, None))
                allowed += 1
                job.allow(allowed)
            job.arrive(number)
            there = self._bytes(dst, geometry, *cut.region(number), whole)
            backend.write(there, memory[cut.place(number)])
            lane.events[number % cut.places] = backend.mark()

    def _carry_down(self, step: Step, given: np.ndarray, where: Lines, spec: ArraySpec, geometry: Geometry) -> None:
        """Plain bytes from the device: half of the ring is on its way while the other half is copied, also when this returns."""
        backend, src, stage = self.bound.backend, step.refs[0], step.refs[2]
        cut = Cutting.of(stage.slot.spec.nbytes, spec.nbytes, where)
        lane, memory = self._lane(step.lane, stage, -cut.transfer), self.bound.staging(stage.slot)
        job = lane.start(cut, memory, given, where, False)
        landed, events = 0, deque[Any]()
        for number in range(cut.transfers + cut.places):
            if number - landed > cut.places // 2 or number >= cut.transfers:
                if landed == cut.transfers:
                    break
                backend.wait(events.popleft())
                landed += 1
                job.allow(landed)
            if number < cut.transfers:
                lane.empty(number % cut.places)
                backend.read(memory[cut.place(number)], self._bytes(src, geometry, *cut.region(number)), wait=False)
                events.append(backend.mark())
                lane.full[number % cut.places] = (job, number)
        if len(self.bound.plan.lanes) == 1:
            # In one thread other steps may have the same host memory.
            lane.settle()

    def _bytes(self, ref: Ref, geometry: Geometry, start: int, stop: int, whole: Any = None) -> Any:
        """Bytes of a device array's block."""
        return self._view(ref, geometry, start, ArraySpec((stop - start,), "uint8"), whole)

    def _view(self, ref: Ref, geometry: Geometry, start: int, spec: ArraySpec, whole: Any) -> Any:
        order = geometry.group if ref.slot.held else geometry.order
        first = geometry.start(ref.slot) if whole is not None or ref.slot.kind == "kept" else 0
        return self.bound.view(ref.slot, order, first + start, spec, whole)

    def finish(self, name: str = "") -> None:
        """Wait until all is where it belongs; raise what went wrong on the way. While lanes run, each waits for its own only."""
        for lane in self.lanes if not name else self.lanes.keys() & {name}:
            self.lanes[lane].settle()

    def latest(self, name: str) -> Any:
        """What tells that a lane's last block is across, and those before it; None where there is more to wait for than that."""
        lane = self.lanes.get(name)
        return lane.events[0] if lane is not None and not lane.copying and lane.events.keys() == {0} else None

    def abandon(self) -> None:
        """A run failed: wait until nobody touches its arrays and our memory any more, whatever else goes wrong on the way."""
        for lane in self.lanes.values():
            lane.abandon()

    def _lane(self, name: str, stage: Ref, nbytes: int) -> Lane:
        """The lane's host memory, as pieces of a slot; what served another slot, or was cut otherwise, is waited for."""
        lane = self.lanes.get(name)
        if lane is None:
            lane = self.lanes[name] = Lane(self.bound.backend)
        lane.serve((stage.slot.id, nbytes))
        return lane

    def _host(self, stage: Ref, shape: tuple[int, ...], offset: int) -> np.ndarray:
        memory = self.bound.staging(stage.slot)
        spec = ArraySpec(shape, stage.slot.spec.dtype)
        return memory[offset : offset + spec.nbytes].view(spec.dtype).reshape(shape)

    def _piece(self, block: Block, region: tuple[slice, ...], part: tuple[int, ...]) -> Any:
        """The piece of a device array: contiguous in C order."""
        flat, spec = 0, block.spec
        for r, n in zip(region, spec.shape):
            flat = flat * n + r.start
        return self._view(block.ref, block.geometry, flat * spec.itemsize, ArraySpec(part, spec.dtype), block.whole)


class Lane:
    """The pieces of host memory of one lane, each used by a copy, by a transfer, or free."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.events: dict[int, Any] = {}
        # Places of the ring that a job has yet to copy from.
        self.full: dict[int, tuple[Carry, int]] = {}
        self._jobs: list[Carry] = []
        self._copies: set[int] = set()
        self._box: SimpleQueue[tuple[int, BaseException | None]] = SimpleQueue()
        self._used_as: tuple[int, int] = (-1, 0)

    def serve(self, use: tuple[int, int]) -> None:
        """Be pieces of (slot, bytes) from now on."""
        if use != self._used_as:
            self.settle()
            self._used_as = use

    @property
    def copying(self) -> bool:
        """Whether anything is to be copied yet."""
        return bool(self._jobs or self._copies)

    def start(self, cut: Cutting, ring: np.ndarray, given: np.ndarray, where: Lines, up: bool) -> Carry:
        """Copy a block between the ring and the caller's array; the job before the last has ended."""
        while len(self._jobs) > 1:
            self._jobs.pop(0).join()
        self._jobs.append(Carry(cut, ring, given, where, up))
        return self._jobs[-1]

    def empty(self, place: int) -> None:
        """Wait until a place of the ring has been copied from."""
        if place in self.full:
            job, number = self.full.pop(place)
            job.arrive(number)

    def copy(self, at: int, work: Callable[..., None], given: Any, window: Window, *rest: Any) -> None:
        """Copy between the caller's array and a piece, in another thread."""
        self._copies.add(at)
        COPIERS.start(self._box, at, work, given, window, *rest, True)

    def copied(self) -> int:
        """The next piece whose copy has ended."""
        at, error = self._box.get()
        self._copies.discard(at)
        try:
            if error is not None:
                raise error
        finally:
            # As in `drive.Job.side_by_side`: named here, it would keep the memory its frames hold.
            del error
        return at

    def free(self, at: int) -> None:
        """Wait until neither a copy nor a transfer uses a piece."""
        while at in self._copies:
            self.copied()
        self.backend.wait(self.events.pop(at, None))

    def settle(self) -> None:
        """Wait for all of them."""
        while self._jobs:
            self._jobs.pop().join()
        self.full = {}
        while self._copies:
            self.copied()
        for at in list(self.events):
            self.backend.wait(self.events.pop(at))

    def abandon(self) -> None:
        """Wait for all of them, and forget what went wrong."""
        for job in self._jobs:
            job.stop()
        with suppress(Exception):
            while self._jobs:
                self._jobs.pop().join()
        self.full = {}
        while self._copies:
            with suppress(Exception):
                self.copied()
        for at in list(self.events):
            with suppress(Exception):
                self.backend.wait(self.events.pop(at))


class Ring:
    """How a host slot is cut into pieces for what crosses through it.

    Attributes
    ----------
    pieces, most, nbytes
        Pieces in all, elements of one, and bytes.
    """

    def __init__(self, stage: ArraySpec, block: ArraySpec) -> None:
        # Large blocks in large pieces, small ones in as many as there are threads to copy them.
        wanted = max(1, min(2 * COPIERS.workers, max(block.nbytes // _PIECE, min(COPIERS.workers, block.nbytes // _LEAST))))
        room = max(stage.size, 1)
        self.pieces = max(1, min(wanted, room))
        # A block no larger than the ring is cut all the same, so that workers share it.
        self.most = max(1, min(room // self.pieces, -(-block.size // self.pieces)))
        self.nbytes = self.most * stage.itemsize


def _within(window: Window, region: tuple[slice, ...]) -> Window:
    return tuple([(start + r.start, start + r.stop) for (start, _), r in zip(window, region)])
