"""Shift every projection of a stack along z by its own amount."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from footprint.dtypes import sum_dtype
from footprint.errors import ShapeError
from footprint.ops.base import Op
from footprint.plan.builder import Builder
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec
from footprint.units import counted

# Whole numbers up to this are exact in float32.
_EXACT = 1 << 24


def dtype_of_shifts(height: int, dtype: str) -> str:
    """What the table of shifts of projections of so many rows, which are summed in ``dtype``, holds exactly enough."""
    return dtype if height < _EXACT else "float64"


def split_shifts(shifts: np.ndarray, height: int, dtype: str) -> np.ndarray:
    """Whole rows and the rest in [0, 1) of each finite shift, (n_angles, 2).

    A shift that leaves the image is cut to one that just does.
    """
    # Not by numpy.clip, which takes longer than all the rest.
    return split_near(np.minimum(np.maximum(np.asarray(shifts, np.float64), -(height + 1)), height + 1), dtype)


def are_near(shifts: np.ndarray) -> bool:
    """Whether all float64 shifts are finite and so small that none must be cut, by one number that is quickly found."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(shifts.dot(shifts) < _EXACT**2)


def split_near(shifts: np.ndarray, dtype: str) -> np.ndarray:
    """`split_shifts` of those that `are_near`."""
    table = np.empty((len(shifts), 2), dtype)
    whole = np.floor(shifts)
    table[:, 0] = whole
    table[:, 1] = shifts - whole
    return table


@dataclass(frozen=True)
class VerticalShift(Op):
    """Linear interpolation along z, one shift an angle, in the order of the angles.

    ``dtype`` is what it is computed in; the shifts come beside the stack, as `split_shifts` gives them, so that another scan's
    are no other operation.
    """

    dtype: str = "float32"

    axes = ("azx", "a.")
    cut = "a"
    in_place = True
    units = {"a": "angles"}  # noqa: RUF012  shared, never changed

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The stack, the shifts, and the result."""
        return ("radios", "shifts"), ("out",)

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """A stack like the input, float32 for small dtypes and float64 for others."""
        radios, shifts = specs
        if len(radios.shape) != 3:
            raise ShapeError(
                "radios", counted(len(radios.shape), "dimensions"), "3: (n_angles, n_z, n_x)", "use radios[None] for one"
            )
        if shifts.shape[0] != radios.shape[0]:
            raise ShapeError("shifts", f"{shifts.shape[0]} values", f"{radios.shape[0]}, one per angle")
        return (ArraySpec(radios.shape, sum_dtype(radios.dtype), "azx"),)

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record one launch; ``radios`` and ``out`` may be one array of the caller's."""
        radios, shifts, out = refs
        x, table = b.bring(radios, dtype=self.dtype), b.bring(shifts)
        with b.deliver(out, dtype=self.dtype) as y:
            b.launch("vertical_shift", x, table, y, z0=0)
