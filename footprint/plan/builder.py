"""Records a job: slots of memory and steps over them. From this one record come price, layout, parts and run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from footprint.backend.fft.base import fft_library, fft_scales
from footprint.dtypes import across, native
from footprint.errors import ShapeError
from footprint.kernels.common.table import state_specs, work_specs
from footprint.plan.exact import digest, shared
from footprint.plan.pack import check_block
from footprint.plan.slots import (
    NOTHING,
    Cut,
    Given,
    Library,
    Loop,
    LoopHandle,
    Number,
    Phase,
    Place,
    Reach,
    Ref,
    Slot,
    Step,
)
from footprint.spec import ArraySpec, Limits

# Bytes of a host buffer that arrays of the caller's cross a bus through, whatever their size.
RING = 64 << 20
# Bytes that a driver takes along with a command, so that they need no buffer of ours.
TINY = 64 << 10


class Builder:
    """Collects the slots, steps, loops and phases of one job for a device of the given limits.

    Parameters
    ----------
    limits
        Of the device.
    cuts
        How the job is cut into parts, outermost first.
    ring
        Bytes of the buffers that host arrays cross a bus through.
    keep
        Whether parts of inputs that are brought stay where kernels run, for later passes and phases.
    """

    def __init__(self, limits: Limits, cuts: tuple[Cut, ...] = (), ring: int = RING, keep: bool = False) -> None:
        self.limits, self.ring, self.keep, self.made = limits, ring, keep, dict[Any, Ref]()
        self.cuts = tuple(cut for cut in cuts if cut.count > 1)
        self.slots: list[Slot] = []
        self.steps: list[Step] = []
        self.loops: list[Loop] = []
        self.phases: list[Phase] = [Phase()]
        self.constants: dict[int, np.ndarray] = {}
        self.libraries: dict[str, Library] = {}
        self.notes: list[str] = []
        self.spares: set[int] = set()
        self.makers: dict[int, Callable[[], Ref]] = {}  # what makes a part of a slot once more, for a later phase
        self._tables: dict[tuple[Any, ...], Ref] = {}
        self._brought: dict[tuple[int, str], tuple[Ref, int]] = {}
        self._when, self.in_place = "part", False  # `in_place`: whether the first input may be the result

    # -- slots ---------------------------------------------------------------------------------------------------------
    def _slot(
        self,
        spec: ArraySpec,
        kind: str,
        name: str,
        reach: Mapping[str, Reach] | None = None,
        space: str = "device",
        held: bool = False,
        given: Given = Given(),  # noqa: B008  frozen
    ) -> Ref:
        pairs = tuple([(cut.axis, (reach or {}).get(cut.axis, NOTHING)) for cut in self.cuts if cut.axis in spec.axes])
        number = len(self.slots)
        slot = Slot(number, spec, kind, name or f"{kind}{number}", space, pairs, held, given)
        self.slots.append(slot)
        return Ref(slot, slot.nominal(self.cuts))

    def inp(self, spec: ArraySpec, name: str = "", given: Given = Given(), reach: Mapping[str, Reach] | None = None) -> Ref:  # noqa: B008
        """What the run reads: an array, or a source that fills blocks."""
        return self._slot(spec, "inp", name, reach, given=given)

    def out(self, spec: ArraySpec, name: str = "", given: Given = Given()) -> Ref:  # noqa: B008
        """What the run writes: an array, or a sink that takes blocks."""
        return self._slot(spec, "out", name, given=given)

    def scratch(self, shape: tuple[int, ...], dtype: str = "float32", name: str = "") -> Ref:
        """Memory that lives from its first to its last use and shares the arena with whatever lives at other times."""
        return self._slot(ArraySpec(shape, dtype), "scratch", name)

    def like(
        self, ref: Ref, dtype: str = "float32", name: str = "", shape: tuple[int, ...] | None = None, axes: str | None = None
    ) -> Ref:
        """Scratch that is cut as ``ref`` is: along axes it shares with it, it has its rows in every part.

        ``axes`` and ``shape`` are ``ref``'s unless given; a length along an axis that is cut is ``ref``'s in any case.
        """
        if ref.path:
            own = self.scratch(ref.spec.shape if shape is None else shape, dtype, name)
            return own.like(ref) if shape is None else own.like_rows(ref)
        whole = ref.slot.spec
        axes = whole.axes if axes is None else axes
        shape, cut = ref.usual if shape is None else shape, dict(ref.slot.reach)
        lengths = tuple([whole.length(a) if a in cut else n for a, n in zip(axes.ljust(len(shape), "."), shape)])
        return self._slot(ArraySpec(lengths, dtype, axes), "scratch", name, cut)

    def between(self, spec: ArraySpec, name: str, reach: Mapping[str, Reach]) -> Ref:
        """Scratch for what one operation leaves to the next: of the whole job's spec, with what is needed beyond a part."""
        return self._slot(spec, "scratch", name, reach)

    def side(self, ref: Ref, spec: ArraySpec, name: str, given: Given) -> Ref:
        """A further input that comes with ``ref``: along axes it shares with it, it is cut alike."""
        return self._slot(spec, "inp", name, dict(ref.slot.reach), given=given)

    def held(self, ref: Ref, shape: tuple[int, ...], dtype: str, name: str, along: str | None = None) -> Ref:
        """Scratch that is cut as ``ref`` is, or ``along`` some axes alone, and keeps its content for all parts that are summed."""
        whole, cut = ref.slot.spec, {axis: own for axis, own in ref.slot.reach if along is None or axis in along}
        axes = "".join(a if a in cut else "." for a in whole.axes.ljust(len(shape), "."))
        lengths = tuple(whole.length(a) if a != "." else n for a, n in zip(axes, shape))
        return self._slot(ArraySpec(lengths, dtype, axes), "scratch", name, cut, held=self.summing)

    def kept(self, shape: tuple[int, ...], dtype: str, name: str, axes: str = "") -> Ref:
        """Memory that is all zeros when the job starts and keeps its content from part to part, pass to pass, phase to phase."""
        return self._slot(ArraySpec(shape, dtype, axes), "kept", name)

    def gathered(self, shape: tuple[int, ...], dtype: str, name: str) -> Ref:
        """Memory that all parts fill together, every one its own: kept where there are several, and not zero where there is one."""
        return (self.kept if self.several else self.scratch)(shape, dtype, name)

    def state(self, kernel: str, *refs: Ref, again: bool = False, **numbers: Number) -> tuple[Ref, ...]:
        """What a kernel keeps from launch to launch, to be handed to it after ``refs``; ``again``: in one part, too."""
        wanted = state_specs(self.limits, kernel, tuple([r.spec for r in refs]), numbers)
        make = self.kept if again else self.gathered
        return tuple([make(s.shape, s.dtype, f"state of {kernel}") for s in wanted])

    def const(self, array: np.ndarray, name: str = "", axes: str = "", of: Ref | None = None) -> Ref:
        """A table written when the plan is bound and kept for all its runs; equal tables are one.

        With ``axes`` it is cut along those it shares with ``of``: a part sees its own rows.
        """
        array = np.ascontiguousarray(array)
        reach = {axis: own for axis, own in of.slot.reach if axis in axes} if of is not None else {}
        if any(axis != axes[0] or getattr(own, "wrap", False) for axis, own in reach.items()):
            raise AssertionError(f"table {name} is seen in place, so it can be cut along its first axis only, and none that wraps")
        same = (array.shape, array.dtype.str, axes, tuple(sorted(reach.items())), digest(array.data))
        if same not in self._tables:
            ref = self._slot(ArraySpec(array.shape, array.dtype.str, axes), "const", name, reach)
            self.constants[ref.slot.id] = shared(array, same[-1])
            self._tables[same] = ref
        return self._tables[same]

    def library(self, name: str, nbytes: int, *, bound: bool = True) -> None:
        """Memory a library takes for itself during the run; the largest of equal names counts, as they do not overlap."""
        if name not in self.libraries or self.libraries[name].nbytes < nbytes:
            self.libraries[name] = Library(name, int(nbytes), bound)

    def note(self, text: str) -> None:
        """A sentence for the plan's table: a choice that was made and why."""
        if text not in self.notes:
            self.notes.append(text)

    # -- where a part lies -----------------------------------------------------------------------------------------------
    def first(self, ref: Ref, axis: str) -> Place | int:
        """The row of the whole array that ``ref`` begins with along an axis; 0 where that is not cut."""
        return Place(((ref.slot.id, axis, 1),)) if self.in_parts(ref, axis) else 0

    def in_parts(self, ref: Ref, axis: str) -> bool:
        """Whether ``ref`` has only a part's rows along an axis, and not all of them."""
        return axis in dict(ref.slot.reach)

    @property
    def several(self) -> bool:
        """Whether there are several parts: what a kernel does to the whole at once may then take two looks at each."""
        return bool(self.cuts)

    def at_a_time(self, axis: str) -> int | None:
        """Rows that a part has along an axis that is cut, and is not summed; None along others."""
        return next((cut.size for cut in self.cuts if cut.axis == axis and not cut.sums), None)

    @property
    def summing(self) -> bool:
        """Whether results are added up from several parts: the first then starts from nothing, the last ends it."""
        return any(cut.sums for cut in self.cuts)

    @contextmanager
    def only(self, when: str) -> Iterator[None]:
        """Steps recorded inside run in the ``first`` or ``last`` of the parts that are summed, or at the ``end`` of the phase."""
        before, self._when = self._when, when
        yield
        self._when = before

    def until(self, flag: Ref, at: int = 0, most: int = 1000, usual: int = 1) -> None:
        """Run all parts of this phase again until element ``at`` of ``flag`` is not 0: ``usual`` times mostly, ``most`` at most."""
        self.phases[-1] = Phase(flag.slot.id, at, most, usual)

    def next_phase(self, only: tuple[tuple[int, int], ...] = ()) -> None:
        """What follows runs when all parts are through what was recorded before; one part merely goes on. ``only``: see `Phase`."""
        if all(step.phase < len(self.phases) - 1 for step in self.steps):
            self.phases.pop()
        self.phases.append(Phase(only=only))

    # -- steps ---------------------------------------------------------------------------------------------------------
    def _step(self, action: str, kernel: str, refs: tuple[Ref, ...], lane: str = "compute", when: str = "", **more: object) -> None:
        phase = len(self.phases) - 1
        self.steps.append(Step(action, kernel, refs, lane=lane, when=when or self._when, phase=phase, **more))  # type: ignore[arg-type]

    def launch(self, kernel: str, *refs: Ref, **numbers: Number) -> None:
        """Run ``kernel`` on ``refs``; its workspace, if the device needs one, is recorded with it."""
        plain = {name: value.value(lambda *_: 0) if isinstance(value, Place) else value for name, value in numbers.items()}
        wanted = work_specs(self.limits, kernel, tuple([r.spec for r in refs]), plain)
        work = tuple([self.scratch(s.shape, s.dtype, f"work of {kernel}") for s in wanted])
        self._step("launch", kernel, (*refs, *work), numbers=tuple(sorted(numbers.items())), n_work=len(work))

    def fft(self, src: Ref, dst: Ref, axis: int = -1, *, inverse: bool = False, scaled: bool = True) -> float:
        """Transform along an axis that is not cut: real to half-complex or back, or complex to complex, by the dtypes.

        A shorter source is padded with zeros; backwards there is a factor of 1/n, and the source may be destroyed. Lines of another
        axis than the last are laid beside each other first, in a copy of either end. Returned is what the result is still to be
        multiplied by: 1, or the factor 1/n where that is not asked for (``scaled``) and would take a pass of its own.
        """
        axis %= len(src.spec.shape)
        if axis == len(src.spec.shape) - 1:
            return self._rows(src, dst, inverse, scaled)
        lines, found = (self.like(ref, ref.spec.dtype, f"lines of {ref.slot.name}") for ref in (src, dst))
        lines, found = (ref.reshape(-1, end.spec.shape[axis]) for ref, end in ((lines, src), (found, dst)))
        self.launch("fft.lines", src, lines, axis=axis)
        left = self._rows(lines, found, inverse, scaled)
        self.launch("fft.unlines", found, dst, axis=axis)
        return left

    def _rows(self, src: Ref, dst: Ref, inverse: bool, scaled: bool) -> float:
        nbytes, bound = fft_library(self.limits, src.spec, dst.spec, inverse)
        check_block("FFT work", nbytes, self.limits.max_block)
        self.library("FFT work", nbytes, bound=bound)
        without = inverse and not scaled and not fft_scales(self.limits)
        self._step("ifft" if inverse else "fft", "", (src, dst), numbers=(("scaled", False),) if without else ())
        return 1 / dst.spec.shape[-1] if without else 1.0

    def copy(self, src: Ref, dst: Ref) -> None:
        """Copy where kernels run, casting as the dtypes say."""
        if src.spec.shape != dst.spec.shape:
            raise ShapeError("copy", src.spec.shape, f"the destination's shape {dst.spec.shape}")
        self._step("copy", "", (src, dst))

    @contextmanager
    def repeat(self, over: int | Ref, size: int = 1) -> Iterator[LoopHandle]:
        """Repeat the steps recorded inside: so many times, or once for every ``size`` rows that ``over`` has in the part."""
        count = over if isinstance(over, int) else -(-over.spec.shape[0] // size)
        handle = LoopHandle(len(self.loops), count)
        first = len(self.steps)
        self.loops.append(Loop(handle.id, first, -1, count))
        yield handle
        rows = None if isinstance(over, int) else over
        self.loops[handle.id] = Loop(handle.id, first, len(self.steps) - 1, count, rows, size)

    # -- between the caller's arrays and the kernels -------------------------------------------------------------------
    def readable(self, ref: Ref, dtype: str | None = None) -> bool:
        """Whether kernels can use ``ref`` where it lies, as ``dtype``, in every part."""
        slot = ref.slot
        if dtype is not None and np.dtype(dtype) != np.dtype(slot.spec.dtype):
            return False
        if slot.kind not in ("inp", "out"):
            return True
        given = slot.given
        here = self.limits.host or given.space == "device"
        native_ = np.dtype(slot.spec.dtype).isnative
        return given.owner == "caller" and given.direct and native_ and here and slot.together(self.cuts)

    def spare(self, ref: Ref) -> bool:
        """Whether nobody else reads ``ref``, so that an operation may work in its memory."""
        return ref.slot.id in self.spares

    def bring(self, ref: Ref, dtype: str | None = None) -> Ref:
        """``ref`` itself where kernels can read it as ``dtype``, else scratch that is filled from it."""
        if self.readable(ref, dtype):
            return ref
        wanted = native(dtype or ref.spec.dtype)
        key = (ref.slot.id, wanted)
        found, phase = self._brought.get(key, (None, -1))
        if found is None and self._keeps(ref):
            spec = ArraySpec(ref.slot.spec.shape, wanted, ref.slot.spec.axes)
            found = self._slot(spec, "kept", f"{ref.slot.name} kept", dict(ref.slot.reach))
            with self.only("once"):
                self.fetch(ref, found)
            self._brought[key] = found, len(self.phases) - 1
        again = bool(self.cuts) and phase != len(self.phases) - 1 and (found is None or found.slot.kind != "kept")
        if found is None or again:
            name, whole = f"{ref.slot.name} brought", ref.slot.spec
            if found is None:
                # What is the same in all parts of a sum is brought with the first.
                held, spec = any(c.sums and c.axis not in whole.axes for c in self.cuts), ArraySpec(whole.shape, wanted, whole.axes)
                found = self._slot(spec, "scratch", name, dict(ref.slot.reach), held=held) if held else self.like(ref, wanted, name)
            with self.only("first" if found.slot.held else self._when):
                self.fetch(ref, found)
            self._brought[key] = (found, len(self.phases) - 1)
        return found

    def _keeps(self, ref: Ref) -> bool:
        """Whether all parts of an input may stay where kernels run: each is its own rows, and they lie together."""
        slot = ref.slot
        whole = self.keep and slot.kind == "inp" and self._when == "part" and slot.together(self.cuts)
        return whole and bool(slot.reach) and len(slot.reach) == len(self.cuts) and all(r == NOTHING for _, r in slot.reach)

    def fetch(self, ref: Ref, scratch: Ref) -> Ref:
        """Carry ``ref``, wherever it lies, into ``scratch``, for kernels that change it."""
        slot = ref.slot
        if ref.path and slot.kind == "inp":
            raise AssertionError(f"a window of the input {slot.name} is brought: bring it whole, and take windows of that")
        if slot.kind not in ("inp", "out") or (slot.given.space == "device" and not (slot.given.strided or self.limits.host)):
            if slot.kind in ("inp", "out") and not slot.together(self.cuts):
                raise AssertionError(f"parts of {slot.name}, an array on a device, do not lie together")
            self.copy(ref, scratch)
        elif self.limits.host or slot.given.strided:
            self._beside(slot, scratch.spec, "reader")
            self._step("fill", "", (ref, scratch), "read" if self.limits.host else "compute")
        else:
            crosses = across(slot.spec.dtype, scratch.spec.dtype) if not _tiny(slot, scratch) else scratch.slot.spec.dtype
            there = scratch if crosses == scratch.slot.spec.dtype else self.like(ref, crosses, f"{slot.name} as it crosses")
            self._step("fill", "", (ref, there, *self._stage(slot, there)), "read")
            if there is not scratch:
                self.copy(there, scratch)
        return scratch

    @contextmanager
    def deliver(self, ref: Ref, dtype: str | None = None) -> Iterator[Ref]:
        """Yield ``ref`` itself where kernels can write it as ``dtype``, else scratch that is taken to it afterwards.

        What has none of the axes that are cut is kept, and taken at the end of the phase; what lacks the axis that is summed is
        held, and taken with the last part of the sum.
        """
        if self.readable(ref, dtype):
            yield ref
            return
        slot, wanted = ref.slot, native(dtype or ref.spec.dtype)
        if slot.kind not in ("inp", "out"):
            scratch = self.like(ref, wanted, f"{slot.name} to deliver")
            yield scratch
            self.copy(scratch, ref)
            return
        name = f"{slot.name} to deliver"
        if self._once(slot):
            scratch = self.kept(slot.spec.shape, wanted, name)
        else:
            scratch = self._slot(ArraySpec(slot.spec.shape, wanted, slot.spec.axes), "scratch", name, held=self.summing)
        yield scratch
        self.give(scratch, ref)

    def _once(self, slot: Slot) -> bool:
        """Whether a result is there when all parts are through, having no axis that is cut."""
        parts = {cut.axis for cut in self.cuts if not cut.sums}
        return bool(self.cuts) and not parts & set(slot.spec.axes)

    def give(self, scratch: Ref, ref: Ref) -> None:
        """Take what `deliver` would have yielded to a result."""
        # What is made when all parts are through is taken then, after it.
        late = any(s.when == "end" and any(r.slot is scratch.slot for r in s.refs) for s in self.steps)
        self._take(scratch, ref, "end" if self._once(ref.slot) or late else "last" if self.summing else "part")

    def _take(self, scratch: Ref, ref: Ref, when: str) -> None:
        slot = ref.slot
        if self.limits.host:
            self._beside(slot, ref.spec, "writer")
            self._step("take", "", (scratch, ref), "write", when)
        elif slot.given.space == "device":
            self._step("take" if slot.given.strided else "copy", "", (scratch, ref), "compute", when)
        else:
            crosses = across(scratch.slot.spec.dtype, slot.spec.dtype) if not _tiny(slot, scratch) else scratch.slot.spec.dtype
            there = scratch
            if crosses != scratch.slot.spec.dtype:
                there = self.like(ref, crosses, f"{slot.name} as it crosses")
                self._step("copy", "", (scratch, there), "compute", when)
            self._step("take", "", (there, ref, *self._stage(slot, there)), "write", when)

    def _stage(self, slot: Slot, there: Ref) -> tuple[Ref, ...]:
        """Host memory on the way across a bus: a ring for arrays, a whole block for a source, whose library fills it at once."""
        if _tiny(slot, there):
            return ()
        spec = there.spec
        if slot.given.owner == "caller" and spec.nbytes > self.ring:
            spec = ArraySpec((self.ring // spec.itemsize,), spec.dtype)
        self._beside(slot, ArraySpec(there.spec.shape, there.spec.dtype), "reader" if slot.kind == "inp" else "writer")
        return (self._slot(ArraySpec(spec.shape, spec.dtype), "scratch", f"{slot.name} staging", space="host"),)

    def _beside(self, slot: Slot, block: ArraySpec, who: str) -> None:
        if slot.given.beside is not None:
            self.library(f"file {who}", slot.given.beside(block))


def _tiny(slot: Slot, there: Ref) -> bool:
    """Whether an array of the caller's crosses a bus with the command itself; a window that wraps may be the larger of the two."""
    return slot.given.owner == "caller" and max(slot.spec.nbytes, there.spec.nbytes) <= TINY
