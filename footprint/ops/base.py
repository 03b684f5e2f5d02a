"""What every operation says of itself, and nothing else describes it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from footprint.plan.builder import Builder
from footprint.plan.exact import Table
from footprint.plan.rates import Cost
from footprint.plan.slots import NOTHING, Given, Reach, Ref
from footprint.spec import ArraySpec, Limits


class Op(ABC):
    """An operation: a frozen dataclass that knows shapes and steps, no device, no files.

    Attributes
    ----------
    axes
        Names of every input's axes, one letter each; "." for one that has none.
    cut
        Axes of the result along which parts are independent, in the order they are cut; every other is needed whole.
    sums
        Axis of the inputs along which parts' results add up, "" where none does.
    in_place
        Whether the result may be born where the first input dies. Never with a halo or another dtype: neighbours would be
        read after they were overwritten.
    again
        Axes along which the inputs' parts are read more than once: what is to be cut there must be an input of the job, since what
        an operation before leaves is gone with its part.
    units
        What the axes that are cut count, for the plan's table.
    look
        Nanoseconds of a core for a value of the first input beside moving it and `flops`, measured: what branches or sorts.
    """

    axes: tuple[str, ...] = ()
    cut: str = ""
    sums: str = ""
    in_place: bool = False
    again: str = ""
    units: Mapping[str, str] = {}
    look: ClassVar[float] = 0.0

    def in_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """The inputs with their axes named."""
        return tuple(spec.named(axes) for spec, axes in zip(specs, self.axes))

    @abstractmethod
    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """Shapes, dtypes and axes of the results; ShapeError or ArgumentError where inputs do not fit."""

    def halo(self, axis: str) -> Reach:
        """What a part needs of the first input beyond its own rows along an axis."""
        return NOTHING

    def reach(self, number: int, axis: str) -> Reach:
        """The same of any input: inputs beside the first are cut alike where they have the axis."""
        return self.halo(axis) if number == 0 else NOTHING

    @abstractmethod
    def record(self, b: Builder, *refs: Ref) -> None:
        """Record the steps on inputs and outputs, in this order: the only description of memory and work."""

    def cost(self, limits: Limits, *specs: ArraySpec) -> Cost:
        """What it takes on inputs of these specs; all in and out once unless said otherwise."""
        moved = sum(spec.nbytes for spec in (*specs, *self.out_specs(*specs)))
        return Cost(moved, self.flops(*specs), looks=self.looks(*specs))

    def flops(self, *specs: ArraySpec) -> float:
        """Operations on inputs of these specs."""
        return float(sum(spec.size for spec in specs))

    def looks(self, *specs: ArraySpec) -> float:
        """Nanoseconds of a core beside them."""
        return self.look * specs[0].size if self.look else 0.0

    def placed(self, first: int) -> Op:
        """The same for projections that begin with another row of the detector than its first, where that makes a difference."""
        return self

    def cuts_on(self, limits: Limits, ins: tuple[Given, ...]) -> str:
        """Axes that may be cut on a device, for inputs that lie so; all of `cut` unless a device's kernels want more at once."""
        return self.cut

    def grain(self, *specs: ArraySpec) -> int:
        """Parts along the first axis that is cut begin at multiples of so many rows."""
        return 1

    def grain_along(self, axis: str, *specs: ArraySpec) -> int:
        """The same of an axis that is cut after the first."""
        return 1

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of inputs and outputs, for tables and errors."""
        return tuple(f"input {i}" for i in range(len(self.axes))) or ("input",), ("out",)


__all__ = ["Op", "Table"]
