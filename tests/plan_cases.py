"""Jobs of the tests cut, bound and run in any way; a backend, sources and sinks that count, fail and sleep."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from footprint.backend.cpu import CpuBackend
from footprint.ops.base import Op
from footprint.ops.job import job_of_op
from footprint.plan.builder import Builder
from footprint.plan.fit import Job, fit
from footprint.plan.lifetime import OVERLAPPED, SERIAL, Lanes
from footprint.plan.plan import Lies, Plan, finish
from footprint.plan.slots import Cut, Given
from footprint.spec import ArraySpec, Limits, aligned

LIMITS = Limits(device="cpu", threads=1)
SOURCE = Given(owner="source")
THREADS: tuple[Lanes, ...] = (SERIAL, OVERLAPPED, (("read", "compute"), ("write",)), (("read",), ("compute", "write")))
"""Ways to group lanes."""


class Counting(CpuBackend):  # type: ignore[misc]  # final for users; the tests look inside
    """The CPU, every block full of NaN, counting what it is asked for and what is given back."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[int] = []
        self.freed = 0

    def alloc(self, nbytes):
        self.blocks.append(nbytes)
        block = super().alloc(nbytes)
        block[:] = 0xFF
        return block

    def free(self, block):
        self.freed += block.size
        super().free(block)


class Source:
    """An array behind the face of a source, which counts and may fail or sleep."""

    def __init__(self, array: np.ndarray, die: int = -1, before: Any = None) -> None:
        self.array, self.die, self.calls, self.before = array, die, 0, before

    def fill(self, region, block):
        self.calls += 1
        if self.before is not None:
            self.before()
        if self.calls == self.die:
            raise OSError("the file is torn")
        np.copyto(block, self.array[region], casting="unsafe")


class Sink:
    """An array behind the face of a sink; every element may be taken once, unless `again`."""

    def __init__(self, array: np.ndarray, die: int = -1, before: Any = None) -> None:
        self.array, self.die, self.calls, self.before, self.flushed = array, die, 0, before, 0
        self.times = np.zeros(array.shape, int)

    def take(self, region, block):
        self.calls += 1
        if self.before is not None:
            self.before()
        if self.calls == self.die:
            raise OSError("no space left on device")
        self.array[region] = block
        self.times[region] += 1

    def flush(self):
        self.flushed += 1


@dataclass
class Case:
    """A job on given arrays: how its inputs and outputs meet the plan, and how to run it cut in some way."""

    op: Op
    arrays: list[np.ndarray]
    givens: list[Given] = field(default_factory=list)
    out_givens: list[Given] = field(default_factory=list)
    out_dtype: str = "float64"

    def __post_init__(self) -> None:
        self.specs = self.op.in_specs(*(ArraySpec(a.shape, a.dtype.str) for a in self.arrays))
        self.givens = self.givens or [Given(direct=a.dtype.isnative and a.flags.c_contiguous) for a in self.arrays]
        outs = self.op.out_specs(*self.specs)
        self.outs = [ArraySpec(outs[0].shape, self.out_dtype, outs[0].axes), *outs[1:]]
        self.out_givens = self.out_givens or [Given() for _ in outs]

    def job(self, limits: Limits = LIMITS) -> Job:
        return job_of_op(limits, self.op, list(zip(self.specs, self.givens)), list(zip(self.outs, self.out_givens)))

    def plan(self, cuts: tuple[Cut, ...] = (), lanes: Lanes = SERIAL, copies: int = 1, limits: Limits = LIMITS) -> Plan:
        builder = Builder(limits, cuts)
        self.job(limits).record(builder)
        return finish(builder, "case", lanes, copies)

    def fit(self, budget: int | None, limits: Limits = LIMITS) -> Plan:
        return fit(limits, budget, "case", self.job(limits))

    def faces(self, **how: Any) -> tuple[list[Any], list[Any], list[np.ndarray]]:
        """Inputs and outputs as the plan meets them, and the arrays that results end in."""
        inputs = [Source(a) if g.owner == "source" else a for a, g in zip(self.arrays, self.givens)]
        results = [np.full(spec.shape, -7, spec.dtype) for spec in self.outs]
        outputs = [Sink(a, **how) if g.owner == "source" else a for a, g in zip(results, self.out_givens)]
        return inputs, outputs, results

    def run(self, plan: Plan, check: str = "ledger", **how: Any) -> list[np.ndarray]:
        """Results of one run; what was planned was allocated and given back; sinks got everything once."""
        backend = Counting()
        inputs, outputs, results = self.faces(**how)
        with plan.bind(backend, check) as bound:
            assert (sum(backend.blocks), len(backend.blocks)) == (plan.nbytes + plan.host_nbytes, len(plan.blocks))
            bound(*inputs, out=outputs)
        assert backend.freed == plan.nbytes
        assert all((sink.times == 1).all() for sink in outputs if isinstance(sink, Sink))
        return results


def apart(plan: Plan) -> Plan:
    """The same plan with a block for every copy of every slot: nothing is shared, so no lifetime matters."""
    blocks: list[int] = []
    places = []
    for slot, copies in zip(plan.slots, plan.places):
        shape = slot.nominal(plan.cuts) if slot.kind == "scratch" else slot.spec.shape
        mine = []
        for _ in copies:
            mine.append(Lies(len(blocks), 0))
            blocks.append(aligned(max(ArraySpec(shape, slot.spec.dtype).nbytes, 1), plan.limits.align))
        places.append(tuple(mine))
    return replace(plan, places=tuple(places), blocks=tuple(blocks))


def scan(seed: int, n_a: int, n_z: int, n_x: int, dtype: str = "<u2") -> list[np.ndarray]:
    """Raw counts, light and dark."""
    rng = np.random.default_rng(seed)
    raw = rng.integers(200, 4000, (n_a, n_z, n_x)).astype(dtype)
    return [raw, 5000 + rng.random((n_z, n_x)), rng.random((n_z, n_x))]


def cuts_of(r: random.Random, case: Case) -> tuple[Cut, ...]:
    """Cuts along some of the axes a job allows, in order, and sometimes along its sum."""
    job = case.job()
    axes = [axis for axis in job.axes if r.random() < 0.6]
    cuts = [Cut(name, total, r.randint(1, max(total, 1)), unit) for name, total, unit in axes[:2]]
    if job.sums is not None and r.random() < 0.6:
        name, total, unit = job.sums
        cuts.append(Cut(name, total, r.randint(1, total), unit, sums=True))
    return tuple(cuts)
