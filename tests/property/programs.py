"""Random programs with nested loops, and a backend that gives each slot a buffer of its own, filled with NaN."""

from __future__ import annotations

import random

import numpy as np

from footprint.backend.cpu import CpuBackend
from footprint.plan.bind import BoundPlan
from footprint.plan.builder import Builder
from footprint.plan.plan import Plan, finish
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec, Limits

LIMITS = Limits(device="cpu", threads=1)


def mix(*arrays: np.ndarray, salt: int) -> None:
    """The destination is the first array; its result depends on every source and on which step it is."""
    out, *sources = arrays
    out[...] = (sum(0.25 * s.astype("f8") for s in sources) + salt % 7).astype("f4")


def add(out: np.ndarray, source: np.ndarray, salt: int) -> None:
    """Accumulate: the destination's old content matters."""
    out += 0.125 * source


class RandomProgram:
    """Draws a program: steps that read what has been written, loops in loops, accumulators carried round them, windows."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.width, self.rows = self.r.randint(1, 9), self.r.randint(1, 6)
        self.b = Builder(LIMITS)
        self.salt = 0

    def step(self, known: list[Ref]) -> Ref:
        self.salt += 1
        out = self.b.scratch((self.rows, self.width))
        self.b.launch("mix", out, *self.r.sample(known, min(len(known), self.r.randint(1, 3))), salt=self.salt)
        return out

    def block(self, known: list[Ref], depth: int) -> list[Ref]:
        known = list(known)
        for _ in range(self.r.randint(1, 4)):
            if depth and self.r.random() < 0.4:
                total = self.step(known)
                with self.b.repeat(self.r.randint(1, 3)) as loop:
                    inner = self.block(known, depth - 1)
                    size = self.r.randint(1, self.rows)
                    for ref in (total, total.window(loop, size)):
                        source = self.r.choice(inner)
                        source = source.window(loop, size) if ref is not total else source
                        self.b.launch("add", ref, source, salt=0)
                known.append(total)
                if self.r.random() < 0.3:
                    known.append(self.r.choice(inner))
            else:
                known.append(self.step(known))
        return known

    def plan(self) -> Plan:
        spec = ArraySpec((self.rows, self.width))
        source, out = self.b.inp(spec, "x"), self.b.out(spec, "y")
        table = self.b.const(np.full((self.rows, self.width), 0.5, "f4"))
        known = self.block([source, table], depth=3)
        self.b.launch("mix", out, *self.r.sample(known, min(len(known), 3)), salt=1)
        return finish(self.b, "random")


class PackedCpu(CpuBackend):  # type: ignore[misc]  # final for users; the test replaces its kernels
    """The CPU with the programs' own kernels, counting what it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.allocated: list[int] = []

    def alloc(self, nbytes: int) -> np.ndarray:
        self.allocated.append(nbytes)
        block = super().alloc(nbytes)
        block[:] = 0xFF  # NaN in every float32
        return block

    def compile(self, kernel, specs, numbers):
        function = {"mix": mix, "add": add}[kernel]
        return lambda arrays: function(*arrays, **numbers)


class ApartBound(BoundPlan):
    """A bound plan whose views come from buffers of their own."""

    def __init__(self, plan: Plan, backend: PackedCpu) -> None:
        super().__init__(plan, backend)
        program = self._programs[id(plan)]
        buffers = {s.id: np.full(s.spec.nbytes, 0xFF, np.uint8) for s in plan.slots if plan.places[s.id] is not None}

        def view(ref: Ref, offset: int, spec: ArraySpec) -> np.ndarray:
            if ref.slot.id in buffers:
                return backend.view(buffers[ref.slot.id], offset, spec)
            return backend.adopt(program.callers[ref.slot.id], offset, spec)

        for key, array in plan.constants.items():
            backend.view(buffers[key], 0, plan.slots[key].spec)[...] = array
        program._view = view  # type: ignore[method-assign]
