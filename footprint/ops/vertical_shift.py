"""Shift every projection of a stack along z by its own amount."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from footprint.errors import ShapeError
from footprint.plan.builder import Builder
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec


def split_shifts(shifts: np.ndarray, height: int, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Whole rows and the rest in [0, 1) of each shift; one that leaves the image is cut to one that just does."""
    shifts = np.clip(np.asarray(shifts, np.float64), -(height + 1), height + 1)
    whole = np.floor(shifts)
    return whole.astype(np.int64), (shifts - whole).astype(dtype)


@dataclass(frozen=True)
class VerticalShift:
    """Linear interpolation along z, one shift an angle, in the order of the angles."""

    def out_specs(self, radios: ArraySpec, n_shifts: int) -> tuple[ArraySpec, ...]:
        """A stack like the input, float32 for small dtypes and float64 for others."""
        if len(radios.shape) != 3:
            raise ShapeError("radios", f"{len(radios.shape)} dimensions", "3: (n_angles, n_z, n_x)", "use radios[None] for one")
        if n_shifts != radios.shape[0]:
            raise ShapeError("shifts", f"{n_shifts} values", f"{radios.shape[0]}, one per angle")
        kind = np.dtype(radios.dtype)
        small = kind.itemsize <= (4 if kind.kind == "f" else 2)
        return (ArraySpec(radios.shape, "float32" if small else "float64"),)

    def record(self, b: Builder, radios: Ref, whole: Ref, fraction: Ref, out: Ref) -> None:
        """Record one launch; ``radios`` and ``out`` may be one array of the caller's."""
        kind = fraction.spec.dtype
        x, shift, rest = b.bring(radios, dtype=kind), b.bring(whole), b.bring(fraction)
        with b.deliver(out, dtype=kind) as y:
            b.launch("vertical_shift", x, shift, rest, y, z0=0)
