"""Where the samples of a gathered axis come from, which of them a part needs, and arrays gathered by lists of positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from footprint.dtypes import native
from footprint.errors import ShapeError
from footprint.kernels.common.borders import CODES, NONE, source_index
from footprint.kernels.pad.contract import LISTED
from footprint.ops.base import Op, Table
from footprint.plan.builder import Builder
from footprint.plan.slots import NOTHING, Given, Reach, Ref
from footprint.spec import ArraySpec, Limits
from footprint.units import counted

AXES = "zyx"
# Stretches of a list that are told apart when a part asks what it needs.
_STRETCHES = 1024


@dataclass(frozen=True)
class Continued:
    """What a line that starts ``before`` samples outside an array, and is continued by ``border``, takes of the array."""

    before: int
    border: str

    @property
    def wrap(self) -> bool:
        """Whether a window may leave the array and means the other end by that."""
        return self.border == "wrap"

    def window(self, start: int, stop: int, total: int) -> tuple[int, int]:
        """See `plan.slots.Reach`."""
        first, last = start - self.before, stop - self.before - 1
        if self.wrap:
            return first, last + 1
        if last < first or total == 0:
            return 0, 0
        if self.border == "constant":
            low = min(max(first, 0), total)
            return low, max(min(last + 1, total), low)
        code = CODES[self.border]
        ends = source_index(first, total, code), source_index(last, total, code)
        low, high = min(ends), max(ends)
        # What mirrors turns round at either end of the array, again and again.
        period = {"reflect": 2 * total, "mirror": max(2 * total - 2, 1)}.get(self.border, 0)
        if period:
            low = 0 if _meets(first, last, 0, period) else low
            high = total - 1 if _meets(first, last, total - 1, period) else high
        return low, high + 1

    def most(self, size: int, total: int) -> int:
        """See `plan.slots.Reach`: neighbours come from neighbours or from the same sample."""
        return size if self.wrap else min(size, total)


def _meets(first: int, last: int, place: int, period: int) -> bool:
    """Whether a number from ``first`` to ``last`` is ``place`` but for whole periods."""
    return first + (place - first) % period <= last


@dataclass(frozen=True)
class Scattered:
    """What stretches of a list of positions take of an array: the least and the greatest position of every ``each`` entries."""

    bounds: Table
    each: int

    @staticmethod
    def of(positions: np.ndarray) -> Scattered:
        """The reach of a list."""
        each = max(-(-len(positions) // _STRETCHES), 1)
        starts = np.arange(0, len(positions), each)
        if not len(starts):
            return Scattered(Table(np.zeros((0, 2), np.int64)), 1)
        ends = np.minimum.reduceat(positions, starts), np.maximum.reduceat(positions, starts)
        return Scattered(Table(np.stack(ends, axis=1), np.int64), each)

    def window(self, start: int, stop: int, total: int) -> tuple[int, int]:
        """See `plan.slots.Reach`."""
        if stop <= start:
            return 0, 0
        some = self.bounds.array[start // self.each : -(-stop // self.each)]
        return int(some[:, 0].min()), int(some[:, 1].max()) + 1

    def most(self, size: int, total: int) -> int:
        """See `plan.slots.Reach`."""
        count = min(-(-size // self.each) + (self.each > 1), len(self.bounds))
        if count == 0:
            return 0
        runs = np.lib.stride_tricks.sliding_window_view(self.bounds.array, count, axis=0)
        return int((runs[:, 1].max(axis=1) - runs[:, 0].min(axis=1)).max()) + 1


def gather(
    b: Builder, x: Ref, y: Ref, out: Ref, befores: list[int], borders: list[str], fill: float, lists: tuple[Ref, ...]
) -> None:
    """Record ``y``, of which ``out`` says where it lies, from ``x`` that holds what it needs, one border an axis."""
    names, lengths = AXES[3 - len(borders) :], x.slot.spec.shape
    numbers: dict[str, Any] = {}
    for axis, n, before, border in zip(names, lengths, befores, borders):
        first, base = b.first(out, axis), b.first(x, axis)
        if border == "wrap" and not isinstance(first, int):
            border = NONE
        numbers |= {f"{axis}0": first - before, f"{axis}_base": base, f"{axis}_n": n, f"border_{axis}": border}
    for axis in AXES[: 3 - len(borders)]:
        numbers |= {f"{axis}0": 0, f"{axis}_base": 0, f"{axis}_n": 1, f"border_{axis}": NONE}
    b.launch("pad", x.deep(3), y.deep(3), *lists, fill=fill, **numbers)


@dataclass(frozen=True)
class Gather(Op):
    """``out[z, y, x] = image[z, rows[y], columns[x]]``; lists come beside the image, an axis without one is kept.

    ``reaches`` holds, for every axis, what parts of its list need, or None.
    """

    reaches: tuple[Scattered | None, ...]
    lengths: tuple[int, ...]

    units = {"z": "planes", "y": "rows", "x": "elements"}  # noqa: RUF012  shared, never changed

    @property
    def dims(self) -> str:
        """Names of the axes."""
        return AXES[3 - len(self.reaches) :]

    @property
    def axes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Of the image, which has parts of its own along axes with a list, and of the lists."""
        return (self.dims, *(axis for axis, reach in zip(self.dims, self.reaches) if reach is not None))

    @property
    def cut(self) -> str:  # type: ignore[override]
        """Every axis."""
        return self.dims

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The array, the lists, and the result."""
        words = {"y": "rows_index", "x": "cols_index", "z": "planes_index"}
        return ("array", *(words[axis] for axis in self.axes[1:])), ("out",)

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """As long as the lists; the image's dtype in native byte order."""
        image = specs[0]
        checked(image)
        shape = tuple(n if reach is None else m for n, reach, m in zip(image.shape, self.reaches, self.lengths))
        return (ArraySpec(shape, native(image.dtype), self.dims),)

    def halo(self, axis: str) -> Reach:
        """What the part's stretch of the list names."""
        return self.reaches[self.dims.index(axis)] or NOTHING

    def cuts_on(self, limits: Limits, ins: tuple[Given, ...]) -> str:
        """An array on a device is read where it lies."""
        return "" if ins[0].space == "device" else self.cut

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record one launch."""
        image, *lists, out = refs
        kind = native(out.spec.dtype)
        x = b.bring(image, dtype=kind)
        brought = tuple(b.bring(one, dtype="int64") for one in lists)
        borders = [NONE if reach is None else LISTED for reach in self.reaches]
        with b.deliver(out, dtype=kind) as y:
            gather(b, x, y, out, [0] * len(borders), borders, 0.0, brought)


def checked(image: ArraySpec) -> None:
    """Refuse what no kernel moves."""
    if not 1 <= len(image.shape) <= 3:
        raise ShapeError("array", counted(len(image.shape), "dimensions"), "1 to 3")
    kind = np.dtype(image.dtype)
    if kind.itemsize > 8:
        raise ShapeError("array", f"dtype {kind.name}", "numbers of at most 8 bytes", "convert it first: array.astype('float64')")
