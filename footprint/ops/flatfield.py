"""From raw projections to sinograms of line integrals, step by step: open beam, minus log, dead pixels, transposition, shifts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from footprint.dtypes import read_dtype
from footprint.errors import ArgumentError, ShapeError
from footprint.kernels.minus_log.contract import HIGHEST, LOWEST
from footprint.ops.backproject import check_pixels
from footprint.ops.base import Op, Table
from footprint.ops.pipeline import FUSIONS, Stage
from footprint.ops.vertical_shift import split_shifts
from footprint.plan.builder import Builder
from footprint.plan.slots import NOTHING, Halo, Reach, Ref
from footprint.spec import ArraySpec


@dataclass(frozen=True)
class Flat(Op):
    """Transmission (raw - dark) / (flat - dark) of raw projections, NaN where a pixel is dead; flats interpolated in time.

    Attributes
    ----------
    lower, upper, weight
        For each projection the groups of flats around it in time, and how far it is from the first to the second.
    border
        Above 0: the open beam is each row's own mean over so many pixels at both ends, and flats are not read.
    gain
        How bright the beam of each projection is beside that of the flats; None where they are alike.
    ceiling
        Raw values from here on are saturated: NaN.
    """

    lower: Table
    upper: Table
    weight: Table
    border: int = 0
    gain: Table | None = None
    ceiling: float = np.inf

    axes = ("azx", ".zx", "zx")
    cut = "za"
    kernel = "flat"

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Projections, means of flats, mean of darks."""
        return ("projections", "flats", "dark"), ("transmission",)

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """Like the projections, float32."""
        n_angles = specs[0].shape[0]
        for name in ("lower", "upper", "weight", "gain"):
            table = getattr(self, name)
            if table is not None and len(table) != n_angles:
                raise ShapeError(name, f"{len(table)} values", f"{n_angles}, one per projection")
        return (ArraySpec(specs[0].shape, "float32", "azx"),)

    def flops(self, *specs: ArraySpec) -> float:
        """A division, and the flats' mixture."""
        return 8.0 * specs[0].size

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record one launch; the flats' places in time are cut with the projections."""
        raw, flats, dark, out = refs
        x = b.bring(raw, read_dtype(raw.spec.dtype))
        light, shade = b.bring(flats, "float32"), b.bring(dark, "float32")
        tables = {
            "flat before": (self.lower, "int64"),
            "flat after": (self.upper, "int64"),
            "flat weight": (self.weight, "float32"),
        }
        if self.gain is not None:
            tables["beam of each projection"] = (self.gain, "float32")
        times = [b.const(np.asarray(table.array, dtype), name, "a", of=raw) for name, (table, dtype) in tables.items()]
        with b.deliver(out, "float32") as y:
            b.launch(self.kernel, x, light, shade, *times, y, border=self.border, ceiling=float(self.ceiling))

    def of(self, frames: Sequence[int]) -> Flat:
        """The same of some projections."""
        tables = {name: getattr(self, name) for name in ("lower", "upper", "weight", "gain")}
        chosen: dict[str, Any] = {name: Table(table.array[list(frames)]) for name, table in tables.items() if table is not None}
        return replace(self, **chosen)


@dataclass(frozen=True)
class MinusLog(Op):
    """Line integrals -log of the transmission, clipped to ``lowest`` .. ``highest``; NaN stays NaN."""

    lowest: float = LOWEST
    highest: float = HIGHEST

    axes = ("azx",)
    cut = "zax"
    in_place = True

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """The same shape, float32."""
        return (ArraySpec(specs[0].shape, "float32", "azx"),)

    def flops(self, *specs: ArraySpec) -> float:
        """A logarithm counts as a polynomial."""
        return 20.0 * specs[0].size

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record one launch."""
        x = b.bring(refs[0], "float32")
        with b.deliver(refs[1], "float32") as y:
            b.launch("minus_log", x, y, lowest=self.lowest, highest=self.highest)


@dataclass(frozen=True)
class DeadPixels(Op):
    """NaN along x from the nearest good neighbours, by distance; ``empty`` where a row has none: 0 of lines, 1 of transmission."""

    empty: float = 0.0

    axes = ("azx",)
    cut = "za"

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """The same shape, float32."""
        return (ArraySpec(specs[0].shape, "float32", "azx"),)

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record one launch; not in place, as each dead pixel looks for its neighbours itself."""
        x = b.bring(refs[0], "float32")
        with b.deliver(refs[1], "float32") as y:
            b.launch("dead_pixels", x, y, empty=self.empty)


@dataclass(frozen=True)
class Sinograms(Op):
    """Projections (n_angles, n_z, n_x) as sinograms (n_z, n_angles, n_x)."""

    axes = ("azx",)
    cut = "za"

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """The first two axes exchanged, float32."""
        n_a, n_z, n_x = specs[0].shape
        return (ArraySpec((n_z, n_a, n_x), "float32", "zax"),)

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record one launch."""
        x = b.bring(refs[0], "float32")
        with b.deliver(refs[1], "float32") as y:
            b.launch("transpose", x, y)


@dataclass(frozen=True)
class Flatfield(Flat):
    """`Flat`, `MinusLog`, `DeadPixels` and `Sinograms` in one pass."""

    kernel = "flatfield"

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """Sinograms of line integrals."""
        (lines,) = super().out_specs(*specs)
        n_a, n_z, n_x = lines.shape
        return (ArraySpec((n_z, n_a, n_x), "float32", "zax"),)

    def flops(self, *specs: ArraySpec) -> float:
        """As its steps."""
        return 28.0 * specs[0].size


def _one_pass(stages: tuple[Stage, ...]) -> Stage | None:
    flat, log, dead = (stage.op for stage in stages[:3])
    assert isinstance(flat, Flat)
    if log != MinusLog() or dead != DeadPixels():
        return None
    settings = {field.name: getattr(flat, field.name) for field in fields(flat)}
    return Stage(Flatfield(**settings), stages[0].reads, stages[-1].writes)


FUSIONS[(Flat, MinusLog, DeadPixels, Sinograms)] = _one_pass


@dataclass(frozen=True)
class ShiftSinograms(Op):
    """Every angle of the sinograms shifted along z by its own number of pixels; rows outside the detector count as 0.

    ``shifts`` are float64, one per angle: a positive one reads from larger z.
    """

    shifts: Table

    axes = ("zax",)
    cut = "za"

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """The same shape; raises where shifts are not one per angle, or would move every row off the detector."""
        n_z, n_angles, _ = specs[0].shape
        check_shifts(self.shifts.array, n_angles, n_z)
        return (ArraySpec(specs[0].shape, "float32", "zax"),)

    def halo(self, axis: str) -> Reach:
        """Floor of the smallest shift to ceil of the largest, and the row itself."""
        if axis != "z" or len(self.shifts) == 0:
            return NOTHING
        lowest, highest = float(self.shifts.array.min()), float(self.shifts.array.max())
        return Halo(max(0, -int(np.floor(lowest))), max(0, int(np.ceil(highest))))

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record one launch; windows end where the detector does, so what lies outside them is outside the detector."""
        lines, out = refs
        parts = split_shifts(self.shifts.array, 1 << 40, "float64")
        whole, fraction = parts[:, 0].astype(np.int64), parts[:, 1].astype(np.float32)
        tables = [b.const(whole, "whole shifts", "a", of=lines), b.const(fraction, "fractions of shifts", "a", of=lines)]
        x = b.bring(lines, "float32")
        with b.deliver(out, "float32") as y:
            cut = "z" in dict(out.slot.reach)
            b.launch("flatfield.shift", x, *tables, y, z0=b.first(out, "z") - b.first(lines, "z") if cut else 0)  # type: ignore[operator]


def check_shifts(shifts: np.ndarray, n_angles: int, n_z: int) -> None:
    """Raise where they are not finite and one per angle, or longer than a detector of ``n_z`` rows."""
    check_pixels("shifts", np.asarray(shifts), n_angles)
    if n_angles and np.abs(shifts).max() > n_z:
        most = float(np.abs(shifts).max())
        raise ArgumentError("shifts", f"up to {most:.4g} pixels", f"at most the {n_z} rows of the detector")


@dataclass(frozen=True)
class Rows(Op):
    """``count`` rows of the first axis, from row ``first`` on."""

    first: int
    count: int
    names_of_axes: str = "zax"

    @property
    def axes(self) -> tuple[str, ...]:  # type: ignore[override]
        """As given."""
        return (self.names_of_axes,)

    @property
    def cut(self) -> str:  # type: ignore[override]
        """All of them."""
        return self.names_of_axes

    def halo(self, axis: str) -> Reach:
        """Rows lie further on in the input."""
        return Halo(-self.first, self.first) if axis == self.names_of_axes[0] else NOTHING

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """So many rows."""
        return (ArraySpec((self.count, *specs[0].shape[1:]), specs[0].dtype, self.names_of_axes),)

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record a copy: of a part that is cut along the axis all, as it has those rows only."""
        given, out = refs
        cut = not isinstance(b.first(out, self.names_of_axes[0]), int)
        x = b.bring(given)
        with b.deliver(out) as y:
            b.copy(x if cut else x[self.first : self.first + self.count], y)
