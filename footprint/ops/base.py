"""What every operation says of itself: its shapes, how it may be cut, its cost and its steps. Nothing else describes it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from footprint.plan.builder import Builder
from footprint.plan.exact import Table
from footprint.plan.rates import Cost
from footprint.plan.slots import NOTHING, Cut, Given, Reach, Ref
from footprint.spec import ArraySpec, Limits


class Op(ABC):
    """An operation: a frozen dataclass that knows shapes and steps, no device, no files.

    Attributes
    ----------
    axes
        Names of every input's axes, one letter each; "." for one that has none.
    cut
        Axes of the result along which parts do not depend on each other, in the order they are cut; all others are needed whole.
    sums
        Axis of the inputs along which parts' results add up, "" where none does.
    in_place
        Whether the result may be born where the first input dies. Never with a halo or another dtype: neighbours would be
        read after they were overwritten.
    again
        Axes along which an input is read more than once. Where the job is cut along one, that input must be the job's own: the
        result of an operation before this one lives only as long as its part, and could not be read again.
    units
        What positions along the axes that are cut are called in the plan's table: rows, slices, angles.
    look
        Nanoseconds that a core takes for a value of the first input beyond moving it and `flops`, as for branching and sorting;
        measured.
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
        return tuple([spec.named(axes) for spec, axes in zip(specs, self.axes)])

    @abstractmethod
    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """Shapes, dtypes and axes of the results; ShapeError or ArgumentError where inputs do not fit."""

    def halo(self, axis: str) -> Reach:
        """What a part needs of the first input before and after its own rows along an axis."""
        return NOTHING

    def reach(self, number: int, axis: str) -> Reach:
        """The same for any of the inputs. Those after the first are cut where it is, if they have the axis, and need no more."""
        return self.halo(axis) if number == 0 else NOTHING

    @abstractmethod
    def record(self, b: Builder, *refs: Ref) -> None:
        """Record the steps; ``refs`` are the inputs, then the outputs. Memory and work are described nowhere else."""

    def cost(self, limits: Limits, *specs: ArraySpec) -> Cost:
        """What the operation costs on inputs of these specs: unless overridden, moving all inputs and outputs once, and `flops`."""
        moved = sum(spec.nbytes for spec in (*specs, *self.out_specs(*specs)))
        return Cost(moved, self.flops(*specs), looks=self.looks(*specs))

    def extra_cost(self, limits: Limits, cuts: Sequence[Cut], *specs: ArraySpec) -> tuple[Cost, ...]:
        """What all parts cost beyond the whole, as each computes rows that its neighbours compute, too."""
        return ()

    def flops(self, *specs: ArraySpec) -> float:
        """Arithmetic operations on inputs of these specs."""
        return float(sum(spec.size for spec in specs))

    def looks(self, *specs: ArraySpec) -> float:
        """Nanoseconds of a core beyond those; see `look`."""
        return self.look * specs[0].size if self.look else 0.0

    def placed(self, first: int) -> Op:
        """The operation for projections whose first row is row ``first`` of the detector, where that makes a difference."""
        return self

    def cuts_on(self, limits: Limits, ins: tuple[Given, ...]) -> str:
        """Axes that may be cut on a device, for inputs that are given so; fewer than `cut` where its kernels need more at once."""
        return self.cut

    def whole_first(self, limits: Limits) -> bool:
        """Whether the whole is taken wherever there is room for it, as parts are much more work on a device."""
        return False

    def grain(self, *specs: ArraySpec) -> int:
        """The number of rows that parts begin at multiples of, along the first axis that is cut."""
        return 1

    def grain_along(self, axis: str, *specs: ArraySpec) -> int:
        """The same for an axis that is cut after the first."""
        return 1

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of inputs and outputs, for tables and errors."""
        return tuple(f"input {i}" for i in range(len(self.axes))) or ("input",), ("out",)


__all__ = ["Op", "Table"]
