"""Sigma clipping of an image that may come in blocks of rows, once and again, until its kernel says it is done."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np

from footprint.errors import ArgumentError, ShapeError
from footprint.kernels.sigma_clip.contract import rows_per_block
from footprint.plan.builder import Builder
from footprint.plan.fit import Variant
from footprint.plan.slots import Given, Ref
from footprint.spec import ArraySpec, Limits
from footprint.units import counted

# Rows of a block, together: enough to keep all cores busy, small beside any image worth cutting.
BLOCK_PIXELS = 1 << 20


def kernel_dtype(dtype: str) -> str:
    """What the kernels read: float32 where it holds every value of ``dtype``, else float64."""
    return "float32" if np.can_cast(np.dtype(dtype), np.float32, "safe") else "float64"


def check_positive(name: str, value: object) -> float:
    """A number of sigmas."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not 0 < number < float("inf"):
        raise ArgumentError(name, repr(value), "a number above 0")
    return number


def check_maxiters(value: int | None) -> int:
    """How often to clip; None is -1, until nothing changes."""
    if value is None:
        return -1
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise ArgumentError("maxiters", repr(value), "None or a whole number, 0 or more")
    return min(int(value), 2**31 - 1)


def as_rows(shape: tuple[int, ...], name: str = "image") -> tuple[int, int]:
    """Height and width of an array of any shape seen as rows of its last axis; one axis is a column."""
    if any(n == 0 for n in shape):
        raise ShapeError(name, f"shape {shape}", "at least one pixel")
    width = shape[-1] if len(shape) > 1 else 1
    size = int(np.prod(shape, dtype=np.int64))
    return size // width, width


@dataclass(frozen=True)
class SigmaClip:
    """Bounds at median -+ ``sigma`` std, until nothing changes or ``maxiters`` (-1: no limit) clips were made."""

    height: int
    width: int
    sigma: float = 3.0
    maxiters: int = -1
    strict: bool = True

    def out_specs(self, image: ArraySpec) -> tuple[ArraySpec, ...]:
        """Statistics and counts; ``image`` is a block of rows."""
        return ArraySpec((8,), "float64"), ArraySpec((8,), "int64")

    def record(self, b: Builder, image: Ref, where: Ref, *outs: Ref) -> None:
        """Take in a block.

        One launch and no other step touches the workspace, so it keeps its content from call to call.
        """
        x = b.bring(image, dtype=kernel_dtype(image.spec.dtype))
        with ExitStack() as stack:
            arrays = [stack.enter_context(b.deliver(out)) for out in outs]
            self.launch(b, x, b.bring(where), *arrays)

    def launch(self, b: Builder, *refs: Ref) -> None:
        """The one step."""
        b.launch(
            "sigma_clip",
            *refs,
            size=self.height * self.width,
            width=self.width,
            sigma=self.sigma,
            maxiters=self.maxiters,
            strict=self.strict,
        )


def pass_variant(
    limits: Limits,
    op: SigmaClip,
    image: ArraySpec,
    given: Given | None,
    labels: Given | None = None,
    reading: Callable[[int, str], int] | None = None,
    writing: int = 0,
) -> Variant:
    """How to cut a job of several passes: whole where kernels can read the image as it lies, else by blocks the plan owns.

    ``given`` is None for a file; ``reading(rows, dtype)`` says what reading them takes beside the block, ``writing`` what
    writing the labels does.
    """
    height, width = op.height, op.width
    group = rows_per_block(height * width, width)
    direct = given is not None and given.direct and np.dtype(image.dtype) == np.dtype(kernel_dtype(image.dtype))
    whole = given is not None and (direct or not limits.host)
    at_once = whole or not limits.host

    def record(b: Builder, size: int) -> None:
        rows = height if at_once else min(size * group, height)
        block = ArraySpec((rows, width), image.dtype if whole else kernel_dtype(image.dtype))
        given_here = given if whole and given is not None else Given(owner="plan")
        refs = [b.inp(block, "image", given_here), b.inp(ArraySpec((3,), "int64"), "where")]
        names = ("stats", "counts", "moments", "boxes", "labels")
        for name, spec in zip(names, op.out_specs(block)):
            owner = Given() if name in ("stats", "counts") else Given(owner="plan")
            refs.append(b.out(spec, name, labels if name == "labels" and labels is not None and whole else owner))
        op.record(b, *refs)
        if writing:
            b.library("file writer", writing, bound=False)
        if not whole:
            if reading is not None:
                b.library("file reader", reading(rows, block.dtype))
            b.note(f"{counted(-(-height // rows), 'blocks')} of {counted(rows, 'rows')} per pass; each pass reads every block once")

    groups = 1 if at_once else max(1, -(-min(height * width, BLOCK_PIXELS) // (group * width)))
    return Variant(f"x {group} rows", groups, record, inner=True)
