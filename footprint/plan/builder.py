"""Records an operation: slots of memory and steps over them. From this one record come price, layout, chunk and run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from footprint.backend.fft.base import fft_library
from footprint.errors import ShapeError
from footprint.kernels.common.table import work_specs
from footprint.plan.pack import check_block
from footprint.plan.slots import Given, Library, Loop, LoopHandle, Number, Ref, Slot, Step
from footprint.spec import ArraySpec, Limits


class Builder:
    """Collects the slots, steps and loops of one program for a device of the given limits."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.slots: list[Slot] = []
        self.steps: list[Step] = []
        self.loops: list[Loop] = []
        self.constants: dict[int, np.ndarray] = {}
        self.libraries: dict[str, Library] = {}
        self.notes: list[str] = []
        self._tables: dict[tuple[tuple[int, ...], str, bytes], Ref] = {}

    # -- slots ---------------------------------------------------------------------------------------------------------
    def _slot(self, spec: ArraySpec, kind: str, name: str, given: Given = Given()) -> Ref:  # noqa: B008  frozen
        slot = Slot(len(self.slots), spec, kind, name or f"{kind}{len(self.slots)}", given)
        self.slots.append(slot)
        return Ref(slot)

    def inp(self, spec: ArraySpec, name: str = "", given: Given = Given()) -> Ref:  # noqa: B008
        """An array the run reads: the caller's, or a host buffer of the plan that the driver fills."""
        return self._slot(spec, "inp", name, given)

    def out(self, spec: ArraySpec, name: str = "", given: Given = Given()) -> Ref:  # noqa: B008
        """An array the run writes: the caller's, or a host buffer of the plan that the driver empties."""
        return self._slot(spec, "out", name, given)

    def scratch(self, shape: tuple[int, ...], dtype: str = "float32", name: str = "") -> Ref:
        """Memory that lives from its first to its last use and shares the arena with whatever lives at other times."""
        return self._slot(ArraySpec(shape, dtype), "scratch", name)

    # Operations that were recorded here and by `flow.Builder` ask this of where a part lies: nowhere, every run is whole.
    summing = False

    def first(self, ref: Ref, axis: str) -> int:
        """The row of the whole array that ``ref`` begins with."""
        return 0

    def const(self, array: np.ndarray, name: str = "", axes: str = "", of: Ref | None = None) -> Ref:
        """A table written when the plan is bound and kept for all its runs; equal tables are one."""
        array = np.ascontiguousarray(array)
        same = (array.shape, array.dtype.str, array.tobytes())
        if same not in self._tables:
            ref = self._slot(ArraySpec(array.shape, array.dtype.str), "const", name)
            self.constants[ref.slot.id] = array
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

    # -- steps ---------------------------------------------------------------------------------------------------------
    def launch(self, kernel: str, *refs: Ref, **numbers: Number) -> None:
        """Run ``kernel`` on ``refs``; its workspace, if the device needs one, is recorded with it."""
        wanted = work_specs(self.limits, kernel, tuple(r.spec for r in refs), numbers)
        work = tuple(self.scratch(s.shape, s.dtype, f"work of {kernel}") for s in wanted)
        self.steps.append(Step("launch", kernel, (*refs, *work), tuple(sorted(numbers.items())), len(work)))

    def fft(self, src: Ref, dst: Ref, *, inverse: bool = False) -> None:
        """Transform the last axis, real to half-complex or back; a shorter source is padded with zeros."""
        self.libraries_of_fft(src, dst, inverse)
        self.steps.append(Step("ifft" if inverse else "fft", "", (src, dst)))

    def libraries_of_fft(self, src: Ref, dst: Ref, inverse: bool) -> None:
        """Count the FFT library's own memory; one work area serves all transforms of a program, so the largest counts."""
        nbytes, bound = fft_library(self.limits, src.spec, dst.spec, inverse)
        check_block("FFT work", nbytes, self.limits.max_block)
        self.library("FFT work", nbytes, bound=bound)

    def copy(self, src: Ref, dst: Ref) -> None:
        """Copy between any two spaces, casting and swapping bytes as the dtypes say."""
        if src.spec.shape != dst.spec.shape:
            raise ShapeError("copy", src.spec.shape, f"the destination's shape {dst.spec.shape}")
        self.steps.append(Step("copy", "", (src, dst)))

    @contextmanager
    def repeat(self, count: int | Ref, size: int = 1) -> Iterator[LoopHandle]:
        """Repeat the steps recorded inside ``count`` times, or once for every ``size`` rows."""
        if isinstance(count, Ref):
            count = -(-count.spec.shape[0] // size)
        handle = LoopHandle(len(self.loops), int(count))
        self.loops.append(Loop(handle.id, len(self.steps), -1, handle.count))
        yield handle
        first = self.loops[handle.id].first
        self.loops[handle.id] = Loop(handle.id, first, len(self.steps) - 1, handle.count)

    # -- between the caller's arrays and the kernels -------------------------------------------------------------------
    def readable(self, ref: Ref, dtype: str | None = None) -> bool:
        """Whether kernels can use ``ref`` where it lies, as ``dtype``."""
        slot = ref.slot
        if dtype is not None and np.dtype(dtype) != np.dtype(slot.spec.dtype):
            return False
        if slot.kind not in ("inp", "out"):
            return slot.kind != "stage"
        return slot.given.direct and np.dtype(slot.spec.dtype).isnative and (self.limits.host or slot.given.space == "device")

    def bring(self, ref: Ref, dtype: str | None = None) -> Ref:
        """``ref`` itself where kernels can read it as ``dtype``, else scratch with a copy recorded."""
        if self.readable(ref, dtype):
            return ref
        wanted = np.dtype(dtype or ref.spec.dtype).newbyteorder("=").str
        scratch = self.scratch(ref.spec.shape, wanted, f"{ref.slot.name} brought").like(ref)
        self._transfer(ref, scratch, host=ref.slot, wanted=wanted)
        return scratch

    def fetch(self, ref: Ref, scratch: Ref) -> None:
        """Copy ``ref``, wherever it lies, into ``scratch``, for kernels that change it."""
        self._transfer(ref, scratch, host=ref.slot, wanted=scratch.slot.spec.dtype)

    @contextmanager
    def deliver(self, ref: Ref, dtype: str | None = None) -> Iterator[Ref]:
        """Yield ``ref`` itself where kernels can write it as ``dtype``, else scratch that is copied to it afterwards."""
        if self.readable(ref, dtype):
            yield ref
            return
        wanted = np.dtype(dtype or ref.spec.dtype).newbyteorder("=").str
        scratch = self.scratch(ref.spec.shape, wanted, f"{ref.slot.name} to deliver").like(ref)
        yield scratch
        self._transfer(scratch, ref, host=ref.slot, wanted=wanted)

    def _transfer(self, src: Ref, dst: Ref, host: Slot, wanted: str) -> None:
        """Copy; where a transfer between spaces must also convert, the host's end goes through a staging buffer."""
        plain = np.dtype(host.spec.dtype) == np.dtype(wanted) and host.given.direct
        if self.limits.host or host.given.space == "device" or plain:
            self.copy(src, dst)
            return
        outside = src if src.slot is host else dst
        stage = self._slot(ArraySpec(outside.spec.shape, wanted), "stage", f"{host.name} staging").like(outside)
        self.copy(src, stage)
        self.copy(stage, dst)
