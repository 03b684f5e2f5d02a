"""An operation on given inputs and outputs as a job that `plan.fit` can cut."""

from __future__ import annotations

from collections.abc import Sequence

from footprint.dtypes import native
from footprint.errors import BudgetError
from footprint.ops.base import Op
from footprint.plan.builder import Builder
from footprint.plan.fit import Job, fit
from footprint.plan.plan import Plan
from footprint.plan.slots import Given
from footprint.spec import ArraySpec, Limits

Meeting = tuple[ArraySpec, Given]
"""Spec of an input or output, and how it meets the plan."""

# No axis is cut into more parts than this unless they are of so many bytes: what each costs beside its work would tell.
_MANY, _SMALL = 4096, 64 << 10


def plan_op(
    limits: Limits,
    budget: int | None,
    name: str,
    op: Op,
    ins: Sequence[Meeting],
    outs: Sequence[Meeting],
    notes: Sequence[str] = (),
) -> Plan:
    """The plan of an operation; ``outs`` differ from the operation's own by dtype only.

    Where the budget is too small, sources that hold what they have decompressed are asked to read it anew each time instead.
    """
    job = job_of_op(limits, op, ins, outs, notes)
    try:
        return fit(limits, budget, name, job)
    except BudgetError:
        leaner = [given.lean() for _, given in ins if given.lean is not None]
        if not any(leaner):
            raise
    return fit(limits, budget, name, job)


def job_of_op(limits: Limits, op: Op, ins: Sequence[Meeting], outs: Sequence[Meeting], notes: Sequence[str] = ()) -> Job:
    """How it is recorded, where it may be cut, and what crosses lanes."""
    specs = op.in_specs(*(spec for spec, _ in ins))
    wanted = op.out_specs(*specs)
    results = [spec.named(own.axes) for (spec, _), own in zip(outs, wanted)]
    into, out_of = op.names()

    def record(b: Builder) -> None:
        b.in_place = op.in_place
        refs = []
        for number, (spec, (_, given), word) in enumerate(zip(specs, ins, into)):
            reach = {cut.axis: op.reach(number, cut.axis) for cut in b.cuts if cut.axis in spec.axes}
            refs.append(b.inp(spec, word, given, reach))
        for spec, (_, given), word in zip(results, outs, out_of):
            refs.append(b.out(spec, word, given))
        op.record(b, *refs)
        for note in notes:
            b.note(note)

    def length(axis: str) -> int:
        return next(spec.length(axis) for spec in (*results, *specs) if axis in spec.axes)

    givens = tuple(given for _, given in ins)
    everything = [*zip(specs, givens), *((spec, given) for spec, (_, given) in zip(results, outs))]
    cut = ""
    for a in op.cuts_on(limits, givens):
        cut += a if _cuttable(a, cut, everything) else ""
    axes = tuple((a, length(a), op.units.get(a, "")) for a in cut)
    sums = None
    if op.sums and _cuttable(op.sums, cut[:1], everything):
        sums = (op.sums, next(s.length(op.sums) for s in specs if op.sums in s.axes), op.units.get(op.sums, ""))
    read = sum(spec.nbytes for spec, given in zip(specs, givens) if not _stays(limits, spec, given))
    written = sum(spec.nbytes for spec, (_, given) in zip(results, outs) if not _stays(limits, spec, given))
    files = any(given.owner == "source" for given in (*givens, *(g for _, g in outs)))
    # On the host a copy of an array takes the memory's time and a core's, so there only files are worth overlapping.
    streamed = files or (not limits.host and read + written > 1 << 22)
    row = (read + written) // max(axes[0][1], 1) if axes else 0
    nbytes = sum(spec.nbytes for spec, _ in everything)
    grains = []
    for number, (a, total, _) in enumerate(axes):
        nbytes //= max(total, 1)
        grains.append(_grain(op.grain_along(a, *specs) if number else op.grain(*specs), total, nbytes))
    first, finer = (grains[0] if grains else 1), tuple(grains[1:])
    cost = op.cost(limits, *specs)
    extra = lambda cuts: op.extra_cost(limits, cuts, *specs)
    return Job(record, axes, sums, row, cost, streamed, first, finer, op.whole_first(limits), extra)


def _grain(grain: int, total: int, nbytes: int) -> int:
    """The smallest part worth cutting off an axis of so many rows of so many bytes: a row of one pixel is none."""
    each = max(nbytes * grain, 1)
    return grain * max(1, min(-(-total // (grain * _MANY)), _SMALL // each))


def _stays(limits: Limits, spec: ArraySpec, given: Given) -> bool:
    """Whether kernels use an array where it lies."""
    if given.owner == "source":
        return False
    if not limits.host:
        return given.space == "device"
    return given.direct and native(spec.dtype) == spec.dtype


def _cuttable(axis: str, coarser: str, everything: Sequence[Meeting]) -> bool:
    """Whether every array can be had in parts: rows of a device's array lie together if there is one of each axis before."""

    def together(spec: ArraySpec) -> bool:
        before = spec.axes[: spec.axes.index(axis)]
        return all(n == 1 or a in coarser for a, n in zip(before, spec.shape))

    return all(given.space != "device" or axis not in spec.axes or together(spec) for spec, given in everything)
