"""A plan given memory: blocks allocated, constants written, kernels compiled; calling it allocates nothing."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from footprint.backend.base import Backend
from footprint.errors import BackendError, ShapeError
from footprint.plan.slots import Ref, Slot, Step
from footprint.spec import ArraySpec

if TYPE_CHECKING:
    from footprint.plan.plan import Plan


class BoundPlan:
    """Runs a plan on a backend, as often as wanted, in the memory it took when it was made.

    Parameters
    ----------
    plan
        What to run; a job that is cut is run once a chunk, and its tail in the same memory.
    backend
        The device; its blocks are allocated here, exactly ``plan.nbytes`` bytes.
    """

    def __init__(self, plan: Plan, backend: Backend) -> None:
        self.plan, self.backend = plan, backend
        self._blocks: list[Any] = []
        self._host: np.ndarray | None = None
        try:
            with backend.turn:
                for size in plan.blocks:
                    self._blocks.append(backend.alloc(size))
                if plan.host_nbytes:
                    self._host = backend.host(plan.host_nbytes)
                self._programs = {id(plan): _Program(plan, backend, self._blocks, self._host)}
                if plan.tail:
                    self._programs[id(plan.tail)] = _Program(plan.tail, backend, self._blocks, self._host)
        except BaseException:
            self.free()
            raise
        self._active = 0

    def __enter__(self) -> BoundPlan:
        return self

    def __exit__(self, *error: object) -> None:
        self.free()

    def __call__(self, *inputs: Any, out: Sequence[Any] = (), size: int | None = None) -> None:
        """Run once.

        Parameters
        ----------
        inputs
            For each input slot an array of the slot's spec (the caller's), or a function that fills the plan's own buffer.
        out
            For each output slot an array that is written, or a function that is handed the plan's own buffer.
        size
            Units in this run; needed only for a shorter last run.
        """
        plan = self.plan
        if not self._programs:
            raise BackendError(plan.limits.device, f"the memory of plan {plan.name} has been given back", "bind the plan again")
        if size is not None and plan.chunk and size != plan.chunk.size:
            if plan.tail is None or size != plan.chunk.total % plan.chunk.size:
                raise ShapeError("size", size, f"{plan.chunk.size} or the tail's {plan.chunk.total % plan.chunk.size}")
            plan = plan.tail
        program = self._programs[id(plan)]
        if self._active != id(plan):
            program.write_constants()
            self._active = id(plan)
        program.run(inputs, tuple(out))

    def profile(self, *inputs: Any, out: Sequence[Any] = (), size: int | None = None) -> dict[str, float]:
        """Run once with the device waited for around every step; seconds by kernel, ``fft`` and ``copy`` (transfers)."""
        clock: dict[str, float] = {}
        for program in self._programs.values():
            program.clock = clock
        try:
            self(*inputs, out=out, size=size)
        finally:
            for program in self._programs.values():
                program.clock = None
        return clock

    def host(self, name: str) -> np.ndarray:
        """The host buffer of an input or output slot the plan owns."""
        return self._programs[id(self.plan)].owned(name)

    def free(self) -> None:
        """Give all memory back; the plan can be bound again."""
        self._programs = {}
        with self.backend.turn:
            for block in self._blocks:
                self.backend.free(block)
        self._blocks, self._host = [], None


class _Program:
    """One plan's steps on given blocks."""

    def __init__(self, plan: Plan, backend: Backend, blocks: list[Any], host: np.ndarray | None) -> None:
        self.plan, self.backend, self.blocks, self.host = plan, backend, blocks, host
        self.kernels: dict[tuple[int, tuple[ArraySpec, ...]], Any] = {}
        self.callers: dict[int, Any] = {}
        self.clock: dict[str, float] | None = None
        self.tree = _nest(plan, 0, len(plan.steps), set())
        # Compile what runs in the first turn now; a shorter last window may add a variant later, and only code.
        for index, step in enumerate(plan.steps):
            if step.action == "launch":
                self._kernel(index, step, tuple(ref.spec for ref in step.refs))
            elif step.action in ("fft", "ifft"):
                backend.prepare_fft(plan.limits.fft, step.refs[0].spec, step.refs[1].spec, step.action == "ifft")

    def write_constants(self) -> None:
        for key, array in self.plan.constants.items():
            place = self.plan.places[key]
            assert place is not None
            view = self.backend.view(self.blocks[place.block], place.offset, self.plan.slots[key].spec)
            self.backend.write(view, array)

    def owned(self, name: str) -> np.ndarray:
        for slot in (*self.plan.inputs, *self.plan.outputs):
            if slot.name == name and slot.given.owner == "plan":
                return self._owned(slot)
        raise KeyError(name)

    def _owned(self, slot: Slot) -> np.ndarray:
        place, stage = self.plan.places[slot.id], self.plan.stages[slot.id]
        if place is not None:
            return self.backend.view(self.blocks[place.block], place.offset, slot.spec)
        assert stage is not None and self.host is not None
        return self.host[stage : stage + slot.spec.nbytes].view(slot.spec.dtype).reshape(slot.spec.shape)

    def run(self, inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
        self._hand_over("inputs", self.plan.inputs, inputs)
        for slot, given in zip(self.plan.inputs, inputs):
            if slot.given.owner == "plan" and callable(given):
                given(self._owned(slot))
        self._hand_over("out", self.plan.outputs, outputs)
        # Not while the driver fills or empties its buffers: that may wait for another thread's plan.
        with self.backend.turn:
            self._run(self.tree, {})
            self.backend.sync()
        for slot, given in zip(self.plan.outputs, outputs):
            if slot.given.owner == "plan" and callable(given):
                given(self._owned(slot))
        self.callers.clear()

    def _hand_over(self, what: str, slots: tuple[Slot, ...], arrays: tuple[Any, ...]) -> None:
        if len(slots) != len(arrays):
            raise ShapeError(what, f"{len(arrays)} arrays", f"{len(slots)} ({', '.join(s.name for s in slots)})")
        for slot, array in zip(slots, arrays):
            if slot.given.owner == "caller":
                if tuple(array.shape) != slot.spec.shape:
                    raise ShapeError(slot.name, f"shape {tuple(array.shape)}", f"{slot.spec.shape}")
                if slot.given.direct:
                    _check_direct(slot, array)
                self.callers[slot.id] = array

    def _run(self, nodes: list[Any], turns: dict[int, int]) -> None:
        for node in nodes:
            if isinstance(node, int):
                self._step(node, turns) if self.clock is None else self._timed_step(node, turns, self.clock)
            else:
                loop, body = node
                for turn in range(loop.count):
                    turns[loop.id] = turn
                    self._run(body, turns)
                turns.pop(loop.id, None)

    def _step(self, index: int, turns: dict[int, int]) -> None:
        step, backend = self.plan.steps[index], self.backend
        at = [(ref, *ref.at(turns)) for ref in step.refs]
        if any(spec.size == 0 for _, _, spec in at[: len(at) - step.n_work]) and step.action != "launch":
            return
        if step.action == "copy":
            self._copy(at[0], at[1])
            return
        arrays = tuple(self._view(ref, offset, spec) for ref, offset, spec in at)
        if step.action == "launch":
            backend.launch(self._kernel(index, step, tuple(spec for _, _, spec in at)), arrays)
        else:
            backend.fft(self.plan.limits.fft, arrays[0], arrays[1], step.action == "ifft")

    def _timed_step(self, index: int, turns: dict[int, int], clock: dict[str, float]) -> None:
        step = self.plan.steps[index]
        self.backend.sync()
        start = time.perf_counter()
        self._step(index, turns)
        self.backend.sync()
        name = step.kernel or step.action
        clock[name] = clock.get(name, 0.0) + time.perf_counter() - start

    def _kernel(self, index: int, step: Step, specs: tuple[ArraySpec, ...]) -> Any:
        key = (index, specs)
        if key not in self.kernels:
            given = specs[: len(specs) - step.n_work]
            self.kernels[key] = self.backend.compile(step.kernel, given, dict(step.numbers))
        return self.kernels[key]

    def _view(self, ref: Ref, offset: int, spec: ArraySpec) -> Any:
        slot = ref.slot
        place = self.plan.places[slot.id]
        if place is not None:
            return self.backend.view(self.blocks[place.block], place.offset + offset, spec)
        return self.backend.adopt(self.callers[slot.id], offset, spec)

    def _copy(self, src: tuple[Ref, int, ArraySpec], dst: tuple[Ref, int, ArraySpec]) -> None:
        backend = self.backend
        a, b = self._host_array(*src), self._host_array(*dst)
        if a is not None and b is not None:
            if dst[0].slot.kind == "stage":
                # What was staged before may still be on its way to the device.
                backend.sync()
            np.copyto(b, a, casting="unsafe")
        elif a is not None:
            backend.write(self._view(*dst), a)
        elif b is not None:
            backend.read(b, self._view(*src))
        else:
            backend.copy(self._view(*dst), self._view(*src))

    def _host_array(self, ref: Ref, offset: int, spec: ArraySpec) -> np.ndarray | None:
        """The ref as a host array, strided or foreign as it may be, or None where it lies on a device."""
        slot = ref.slot
        stage = self.plan.stages[slot.id]
        if stage is not None:
            assert self.host is not None
            start = stage + offset
            return self.host[start : start + spec.nbytes].view(spec.dtype).reshape(spec.shape)
        if slot.kind in ("inp", "out") and slot.given.owner == "caller" and slot.given.space == "host":
            array: np.ndarray = self.callers[slot.id]
            return _part(array, offset, spec)
        return None


def _check_direct(slot: Slot, array: Any) -> None:
    """Kernels are given an address and take dtype and strides from the plan; copies to and from other arrays go by NumPy's."""
    if array.dtype != np.dtype(slot.spec.dtype):
        raise ShapeError(slot.name, f"dtype {array.dtype}", f"{np.dtype(slot.spec.dtype)}, as the plan was made for")
    if not array.flags.c_contiguous:
        raise ShapeError(slot.name, f"strides {array.strides}", "a C-contiguous array, as the plan was made for")


def _part(array: np.ndarray, offset: int, spec: ArraySpec) -> np.ndarray:
    """The part of a caller's array, of any strides, that starts ``offset`` bytes into its C order."""
    if array.shape == spec.shape:
        return array
    # Offsets count in the slot's own dtype, which the caller's array need not have.
    start = offset // spec.itemsize
    for axis in range(array.ndim):
        outer, inner = array.shape[: axis + 1], array.shape[axis + 1 :]
        at, rest = divmod(start, max(math.prod(inner), 1))
        if rest == 0 and inner in (spec.shape, spec.shape[1:]):
            index: tuple[Any, ...] = np.unravel_index(at, outer)
            if inner == spec.shape:
                part: np.ndarray = array[(*index, ...)]
                return part
            stop = index[-1] + spec.shape[0]
            if stop <= outer[-1]:
                part = array[(*index[:-1], slice(index[-1], stop))]
                return part
    # No rows of one axis: other shapes are seen in contiguous arrays only, as a copy of the whole is in no plan.
    if not array.flags.c_contiguous:
        raise ShapeError("array", f"strides {array.strides}", "a C-contiguous array")
    return array.reshape(-1)[start : start + spec.size].reshape(spec.shape)


def _nest(plan: Plan, first: int, stop: int, taken: set[int]) -> list[Any]:
    """Steps ``first:stop`` as a tree: an index, or ``(loop, body)``; the outermost loop that starts at a step comes first."""
    nodes: list[Any] = []
    index = first
    while index < stop:
        here = [p for p in plan.loops if p.first == index and p.id not in taken and p.last >= index]
        if here:
            loop = min(here, key=lambda p: (-p.last, p.id))
            nodes.append((loop, _nest(plan, index, loop.last + 1, taken | {loop.id})))
            index = loop.last + 1
        else:
            nodes.append(index)
            index += 1
    return nodes
