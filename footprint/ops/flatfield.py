"""From a block of raw projections to sinograms of line integrals: flats, darks, dead pixels, minus log, vertical shifts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from footprint.errors import ArgumentError, ShapeError
from footprint.ops.vertical_shift import split_shifts
from footprint.plan.builder import Builder
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec

# What the kernels read as it is; readers cast everything else to float32 on the way in.
_READ_AS_STORED = ("uint8", "uint16", "float32")


def read_dtype(stored: object) -> str:
    """The dtype a block of raw projections is read in."""
    name = np.dtype(stored).newbyteorder("=").name  # type: ignore[call-overload]
    return name if name in _READ_AS_STORED else "float32"


@dataclass(frozen=True, eq=False)
class Flatfield:
    """Minus the logarithm of the transmission, as sinograms.

    Attributes
    ----------
    lower, upper, weight
        For each projection the groups of flats around it in time, and how far it is from the first to the second.
    n_groups
        Groups of flats.
    border
        Above 0: the open beam is each row's own mean over so many pixels at both ends, and flats are not read.
    shifts
        Pixels each projection is shifted along z: a positive shift reads from larger z.
    """

    lower: np.ndarray
    upper: np.ndarray
    weight: np.ndarray
    n_groups: int = 1
    border: int = 0
    shifts: np.ndarray | None = None

    def check(self, n_angles: int, n_z: int) -> None:
        """Raise where something is not one per angle, or would move every row off the detector."""
        for name in ("lower", "upper", "weight"):
            if len(getattr(self, name)) != n_angles:
                raise ShapeError(name, f"{len(getattr(self, name))} values", f"{n_angles}, one per projection")
        if self.shifts is None:
            return
        if np.shape(self.shifts) != (n_angles,) or not np.isfinite(self.shifts).all():
            raise ShapeError("shifts", f"shape {np.shape(self.shifts)}", f"({n_angles},) finite pixels, one per projection")
        if n_angles and np.abs(self.shifts).max() > n_z:
            most = float(np.abs(self.shifts).max())
            raise ArgumentError("shifts", f"up to {most:.4g} pixels", f"at most the {n_z} rows of the detector")

    @cached_property
    def halo(self) -> tuple[int, int]:
        """Rows wanted before and after those made."""
        if self.shifts is None or len(self.shifts) == 0:
            return 0, 0
        return max(0, -int(np.floor(self.shifts.min()))), max(0, int(np.ceil(self.shifts.max())))

    def raw_spec(self, n_angles: int, rows: int, n_x: int, dtype: str) -> ArraySpec:
        """The raw block that ``rows`` rows of the result are made of."""
        return ArraySpec((n_angles, rows + sum(self.halo), n_x), read_dtype(dtype))

    def record(self, b: Builder, raw: Ref, flats: Ref, dark: Ref, out: Ref) -> None:
        """Record all projections into ``out`` (rows, n_angles, n_x) float32; all are where kernels can use them."""
        self.step(b, raw, flats, dark, out, *self.tables(b))

    def tables(self, b: Builder) -> tuple[tuple[Ref, Ref] | None, tuple[Ref, Ref, Ref]]:
        """Make the constants: shifts, if any, and the flats' weights in time."""
        lower, upper = (np.asarray(values, np.int64) for values in (self.lower, self.upper))
        weight = np.asarray(self.weight, np.float32)
        times = (b.const(lower, "flat before"), b.const(upper, "flat after"), b.const(weight, "flat weight"))
        if self.shifts is None:
            return None, times
        whole, fraction = split_shifts(self.shifts, 1 << 40, "float32")
        return (b.const(whole, "whole shifts"), b.const(fraction, "fractions of shifts")), times

    def step(
        self,
        b: Builder,
        raw: Ref,
        flats: Ref,
        dark: Ref,
        out: Ref,
        shifts: tuple[Ref, Ref] | None,
        times: tuple[Ref, Ref, Ref],
    ) -> None:
        """Record the launches on some projections: ``raw`` and the tables cut to them alike."""
        n_a, n_in, n_x = raw.spec.shape
        if shifts is None:
            b.launch("flatfield", raw, flats, dark, *times, out, border=self.border)
            return
        # Rows and columns in one axis, so that a short last group of angles stays contiguous.
        lines = b.scratch((n_a, n_in * n_x), name="line integrals").like_rows(times[0]).reshape(n_in, -1, n_x)
        b.launch("flatfield", raw, flats, dark, *times, lines, border=self.border)
        b.launch("flatfield.shift", lines, *shifts, out, z0=self.halo[0])
