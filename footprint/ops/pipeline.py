"""Operations connected by names are an operation themselves: one record, one plan, cut into parts in one way."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from footprint.errors import ArgumentError
from footprint.ops.base import Op
from footprint.plan.builder import Builder
from footprint.plan.predict import extent
from footprint.plan.rates import Cost
from footprint.plan.slots import NOTHING, Cut, Given, Halo, Reach, Ref
from footprint.spec import ArraySpec, Limits


@dataclass(frozen=True)
class Stage:
    """An operation and the names of what it reads and writes."""

    op: Op
    reads: tuple[str, ...]
    writes: tuple[str, ...]


Fuse = Callable[[tuple[Stage, ...]], Stage | None]
FUSIONS: dict[tuple[type[Op], ...], Fuse] = {}
"""Neighbours that one kernel can do at once: types of operations -> a function that gives the stage which takes their place, or
None where their settings do not allow it.

It is applied only where they follow one another directly and no other stage reads what they pass on.
"""


@dataclass(frozen=True)
class Pipeline(Op):
    """Operations in order, connected by names.

    Attributes
    ----------
    stages
        In the order they run.
    inputs, outputs
        Names that the pipeline reads and writes.
    """

    stages: tuple[Stage, ...]
    inputs: tuple[str, ...] = ("input",)
    outputs: tuple[str, ...] = ("out",)

    @staticmethod
    def chain(ops: Sequence[Op], first: str = "input", last: str = "out", shared: Collection[str] = ()) -> Pipeline:
        """Every operation reads what the one before it wrote, and inputs of its own by their names.

        Where several operations have inputs of one name, each has its own, the second's called ``NAME 2``; names in ``shared`` are
        one input for all who read them.
        """
        if not ops:
            raise ArgumentError("steps", "none", "at least one operation")
        names = [first, *(f"after {type(op).__name__} {i}" for i, op in enumerate(ops[:-1], 1)), last]
        taken: dict[str, int] = {}

        def named(name: str) -> str:
            if name in shared:
                return name
            taken[name] = taken.get(name, 0) + 1
            return name if taken[name] == 1 else f"{name} {taken[name]}"

        own = [tuple(map(named, op.names()[0][1:])) for op in ops]
        stages = tuple(Stage(op, (names[i], *own[i]), (names[i + 1],)) for i, op in enumerate(ops))
        return Pipeline(stages, tuple(dict.fromkeys((first, *(name for some in own for name in some)))), (last,))

    # -- what an operation says of itself --------------------------------------------------------------------------------
    @property
    def axes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Every input's axes, as the first operation that reads it names them."""
        return tuple(
            next(s.op.axes[s.reads.index(name)] for s in self.stages if name in s.reads and s.op.axes) for name in self.inputs
        )

    @property
    def units(self) -> dict[str, str]:  # type: ignore[override]
        """Those of all operations; where two differ, the later one's word counts."""
        found: dict[str, str] = {}
        for stage in self.stages:
            found.update(stage.op.units)
        return found

    @property
    def cut(self) -> str:  # type: ignore[override]
        """The axes of the last operation's result that no other operation needs whole."""
        stages = self.fused().stages
        free = (a for a in stages[-1].op.cut if all(self._free(s, a) and not self._wraps(s, a) for s in stages))
        return "".join(a for a in free if self._even(a))

    @property
    def sums(self) -> str:  # type: ignore[override]
        """The axis that the last operation sums along, if all others can be cut along it; else an empty string."""
        *others, last = self.fused().stages
        axis = last.op.sums
        return axis if axis and all(axis in stage.op.cut for stage in others) else ""

    def _free(self, stage: Stage, axis: str) -> bool:
        """Whether an operation lets the job be cut along an axis: it can be cut, or lacks the axis and is done in every part."""
        op = stage.op
        if axis in op.again and any(axis in axes and n not in self.inputs for axes, n in zip(op.axes, stage.reads)):
            return False
        return axis in op.cut or not any(axis in axes for axes in op.axes)

    def _even(self, axis: str) -> bool:
        """Whether all readers of a name need the same rows around a part: kernels take their rows to begin where the slot does."""
        held = self._reaches((axis,), {})
        if any(held.get(name, {}).get(axis, NOTHING) != NOTHING for name in self.outputs):
            return False
        return all(
            held[name][axis] == _then(stage.op.reach(number, axis), held.get(out, {}).get(axis, NOTHING))
            for stage in self.stages
            for number, name in enumerate(stage.reads)
            for out in stage.writes
        )

    def _wraps(self, stage: Stage, axis: str) -> bool:
        """Whether it needs rows from the other end of another operation's result, which a part would have to compute there, too."""
        inner = [number for number, name in enumerate(stage.reads) if name not in self.inputs]
        return any(getattr(stage.op.reach(number, axis), "wrap", False) for number in inner)

    def cuts_on(self, limits: Limits, ins: tuple[Given, ...]) -> str:
        """The axes that all operations can be cut along on a device."""
        stages = self.fused().stages
        return "".join(a for a in self.cut if all(a in s.op.cuts_on(limits, ins) or a not in s.op.cut for s in stages))

    def whole_first(self, limits: Limits) -> bool:
        """Whether any operation is better taken whole."""
        return any(stage.op.whole_first(limits) for stage in self.fused().stages)

    def grain(self, *specs: ArraySpec) -> int:
        """The least common multiple of what all operations ask for."""
        known = self.specs(*specs)
        return math.lcm(*(s.op.grain(*(known[name] for name in s.reads)) for s in self.fused().stages))

    def grain_along(self, axis: str, *specs: ArraySpec) -> int:
        """The same for an axis that is cut after the first."""
        known = self.specs(*specs)
        return math.lcm(*(s.op.grain_along(axis, *(known[name] for name in s.reads)) for s in self.fused().stages))

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """Specs of the outputs; every operation checks what it is given."""
        known = self.specs(*specs)
        return tuple(known[name] for name in self.outputs)

    def specs(self, *specs: ArraySpec) -> dict[str, ArraySpec]:
        """Specs of everything that has a name."""
        known = dict(zip(self.inputs, specs))
        for stage in self.stages:
            given = stage.op.in_specs(*[known[name] for name in stage.reads])
            known |= {name: spec for name, spec in zip(stage.reads, given) if name in self.inputs}
            known |= dict(zip(stage.writes, stage.op.out_specs(*given)))
        return known

    def in_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """The inputs with the axes of their first readers."""
        return tuple([spec.named(axes) for spec, axes in zip(specs, self.axes)])

    def halo(self, axis: str) -> Reach:
        """The first input's reach."""
        return self.reach(0, axis)

    def reach(self, number: int, axis: str) -> Reach:
        """What a part needs of an input: the halos of all operations on the way to the outputs, added up."""
        return self._reaches((axis,), {})[self.inputs[number]].get(axis, NOTHING)

    def cost(self, limits: Limits, *specs: ArraySpec) -> Cost:
        """The sum over the operations that run, where fused ones count as one."""
        known, total = self.specs(*specs), Cost(0, 0, 0)
        for stage in self.fused().stages:
            total = total + stage.op.cost(limits, *(known[name] for name in stage.reads))
        return total

    def extra_cost(self, limits: Limits, cuts: Sequence[Cut], *specs: ArraySpec) -> tuple[Cost, ...]:
        """Of each operation: every part makes the rows that those behind it need. Work lies between what is read and made."""
        known, line = self.specs(*specs), self.fused()
        reaches = line._reaches(tuple(cut.axis for cut in cuts), {})

        def often(name: str) -> float:
            held = [(cut, reaches[name][cut.axis]) for cut in cuts if cut.axis in reaches.get(name, {})]
            held = [(cut, reach) for cut, reach in held if reach != NOTHING and cut.axis in known[name].axes]
            return math.prod(extent(reach, cut, known[name].length(cut.axis)) for cut, reach in held)

        found = []
        for stage in line.stages:
            made = max(map(often, stage.writes), default=1.0)
            more = (max(map(often, stage.reads[:1]), default=made) + made) / 2 - 1
            if more > 0:
                found.append(stage.op.cost(limits, *(known[name] for name in stage.reads)).times(more))
        return tuple(found)

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The names of the pipeline's inputs and outputs."""
        return self.inputs, self.outputs

    # -- recording -----------------------------------------------------------------------------------------------------
    def record(self, b: Builder, *refs: Ref) -> None:
        """Record every operation, with what lies between them in slots that share the arena by their lifetimes."""
        line = self.fused()
        known = line.specs(*(ref.slot.spec for ref in refs[: len(self.inputs)]))
        found = dict(zip((*self.inputs, *self.outputs), refs))
        ends = {name: dict(found[name].slot.reach) for name in self.outputs}
        reaches = line._reaches(tuple(cut.axis for cut in b.cuts), ends)
        for number, stage in enumerate(line.stages):
            # An output that a later stage reads, but kernels cannot where it lies, is made in scratch and copied out from there.
            # Results without axes that go out beside it take the same way, so that all arrive in their order.
            again = [name for name in stage.writes if name in found and line._read(name)]
            if again:
                again = [name for name in stage.writes if name in found and (name in again or not known[name].axes.strip("."))]
            given = {name: found[name] for name in again if not b.readable(found[name])}
            for name in stage.writes:
                if name not in found or name in given:
                    found[name] = line._between(b, number, name, known, found, reaches)
            b.spares = {found[name].slot.id for name in stage.reads if line._alone(name)}
            stage.op.record(b, *[found[name] for name in (*stage.reads, *stage.writes)])
            for name, ref in given.items():
                b.give(found[name], ref)

    def _read(self, name: str) -> bool:
        return any(name in stage.reads for stage in self.stages)

    def _between(
        self,
        b: Builder,
        number: int,
        name: str,
        known: dict[str, ArraySpec],
        found: dict[str, Ref],
        reaches: dict[str, dict[str, Reach]],
    ) -> Ref:
        """Memory for a result that only the pipeline sees: the first input's own, kept memory, or scratch."""
        stage, spec = self.stages[number], known[name]
        first = stage.reads[0]
        alone = self._alone(first)
        same = known[first].shape == spec.shape and known[first].dtype == spec.dtype and reaches[first] == reaches[name]
        if stage.op.in_place and alone and same and len(stage.writes) == 1:
            return found[first]
        if b.cuts and not any(cut.axis in spec.axes for cut in b.cuts):
            return b.kept(spec.shape, spec.dtype, name, spec.axes)
        return b.between(spec, name, reaches[name])

    def _alone(self, name: str) -> bool:
        """Whether a name is neither input nor output of the pipeline, and has a single reader."""
        return sum(name in s.reads for s in self.stages) == 1 and name not in (*self.inputs, *self.outputs)

    def _reaches(self, axes: tuple[str, ...], ends: dict[str, dict[str, Reach]]) -> dict[str, dict[str, Reach]]:
        """What every name must hold beyond a part, by axis: as much as the reader that needs most of it."""
        found: dict[str, dict[str, Reach]] = {name: dict(reach) for name, reach in ends.items()}
        for stage in reversed(self.stages):
            for number, name in enumerate(stage.reads):
                mine = found.setdefault(name, {})
                for axis in axes:
                    own = stage.op.reach(number, axis)
                    beyond = [found.get(out, {}).get(axis, NOTHING) for out in stage.writes] or [NOTHING]
                    needed = [_then(own, other) for other in beyond]
                    for reach in needed:
                        mine[axis] = _wider(mine[axis], reach) if axis in mine else reach
        for name in self.inputs:
            found.setdefault(name, {})
        return found

    def fused(self) -> Pipeline:
        """The same pipeline, with neighbours put into one stage where `FUSIONS` has one for them."""
        stages = list(self.stages)
        for kinds, fuse in FUSIONS.items():
            at = 0
            while at + len(kinds) <= len(stages):
                group = tuple(stages[at : at + len(kinds)])
                if tuple([type(s.op) for s in group]) == kinds and self._private(stages, group):
                    one = fuse(group)
                    if one is not None:
                        stages[at : at + len(kinds)] = [one]
                at += 1
        return replace(self, stages=tuple(stages))

    def _private(self, stages: list[Stage], group: tuple[Stage, ...]) -> bool:
        """Whether no stage outside the group reads what its stages pass to one another."""
        inner = {name for s in group[:-1] for name in s.writes} & {name for s in group for name in s.reads}
        others = [s for s in stages if s not in group]
        return not any(name in s.reads for s in others for name in inner)


def _then(own: Reach, other: Reach) -> Reach:
    if isinstance(own, Halo) and isinstance(other, Halo):
        return own.then(other)
    if other == NOTHING:
        return own
    raise AssertionError("only plain halos add up along a chain")


def _wider(a: Reach, b: Reach) -> Reach:
    if isinstance(a, Halo) and isinstance(b, Halo):
        return Halo(max(a.lo, b.lo), max(a.hi, b.hi), a.wrap or b.wrap)
    if a == b:
        return a
    raise AssertionError("only plain halos can be joined")
