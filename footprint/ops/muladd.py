"""``dst[R] = a dst[R] + b other[S]``, in place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from footprint.errors import ArgumentError, ShapeError
from footprint.ops.base import Op
from footprint.plan.builder import Builder
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec

Region = tuple[tuple[int, int, int], ...]
"""Start, step and count an axis."""


def region(slices: object, shape: tuple[int, ...], name: str) -> Region:
    """Read slices (None, a slice, or one per axis; missing axes are whole) as start, step and count an axis.

    Raises
    ------
    ArgumentError, ShapeError
        Where something is no slice, there are too many, or the region is empty though the array is not.
    """
    given = () if slices is None else slices if isinstance(slices, tuple | list) else (slices,)
    if len(given) > len(shape):
        raise ShapeError(name, f"{len(given)} slices", f"at most {len(shape)}, one per axis")
    found = []
    for axis, n in enumerate(shape):
        one = given[axis] if axis < len(given) else None
        if isinstance(one, int | np.integer) and not isinstance(one, bool):
            if not -n <= one < n:
                raise ShapeError(name, f"index {one} of axis {axis}", f"{-n} to {n - 1}")
            one = slice(int(one) % n, int(one) % n + 1)
        if one is not None and not isinstance(one, slice):
            raise ArgumentError(
                name, repr(one), "slices, one per axis, or None for all", "for example (slice(10, 20), slice(None))"
            )
        try:
            steps = range(*(one or slice(None)).indices(n))
        except (TypeError, ValueError, OverflowError):
            raise ArgumentError(name, repr(one), "a slice of integers with a step that is not 0") from None
        if len(steps) == 0 and n:
            raise ShapeError(name, f"{one} of axis {axis}, which has {n} elements", "a region that is not empty")
        found.append((steps.start, steps.step, len(steps)))
    return tuple(found)


@dataclass(frozen=True)
class MulAdd(Op):
    """Combine the region ``target`` of one array with the region ``source`` of another; None: all of both, part by part."""

    a: float
    b: float
    target: Region | None = None
    source: Region | None = None
    dims: str = "zyx"

    in_place = True
    units = {"z": "planes", "y": "rows", "x": "elements"}  # noqa: RUF012  shared, never changed

    @property
    def axes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Of both arrays."""
        return (self.dims, self.dims)

    @property
    def cut(self) -> str:  # type: ignore[override]
        """Every axis, where the two lie alike; a region is reached into by the kernel."""
        return self.dims if self.target is None else ""

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The two arrays; the first is the result, too."""
        return ("dst", "other"), ("dst out",)

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """The destination, once the regions are seen to be equal in size."""
        dst, other = specs
        if not 1 <= len(dst.shape) <= 3 or len(other.shape) != len(dst.shape):
            raise ShapeError("other", f"{len(other.shape)} dimensions, dst has {len(dst.shape)}", "1 to 3, as many for both")
        sizes = [
            tuple(count for *_, count in region) if region is not None else spec.shape
            for region, spec in ((self.target, dst), (self.source, other))
        ]
        if sizes[0] != sizes[1]:
            raise ShapeError("other_region", f"size {sizes[1]}", f"{sizes[0]}, the size of dst's region")
        return (ArraySpec(dst.shape, dst.dtype, self.dims),)

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record one launch; ``dst`` and ``out`` are one array of the caller's, read and written."""
        dst, other, out = refs
        kind = "float64" if np.dtype(dst.spec.dtype).itemsize >= 8 else "float32"
        x = b.bring(other, dtype=kind).deep(3)
        if b.readable(out, kind):
            self._launch(b, out, x)
            return
        y = b.bring(dst, dtype=kind)
        self._launch(b, y, x)
        with b.deliver(out, dtype=kind) as z:
            b.copy(y, z)

    def _launch(self, b: Builder, y: Ref, x: Ref) -> None:
        if self.target is None or self.source is None:
            nowhere, one = (0, 0, 0), (1, 1, 1)
            places = {"dst_start": nowhere, "dst_step": one, "other_start": nowhere, "other_step": one}
            b.launch("muladd", y.deep(3), x, a=self.a, b=self.b, count=None, **places)
            return
        lead = ((0, 1, 1),) * (3 - len(self.target))
        dst_start, dst_step, count = zip(*lead, *self.target)
        other_start, other_step, _ = zip(*lead, *self.source)
        b.launch(
            "muladd", y.deep(3), x, a=self.a, b=self.b, count=count,
            dst_start=dst_start, dst_step=dst_step, other_start=other_start, other_step=other_step,
        )  # fmt: skip
