"""Launch shapes of the padding kernels."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.borders import NONE
from footprint.kernels.common.launch import A, Argument, Defines, Launch, Program
from footprint.kernels.common.load import c_type
from footprint.kernels.common.stream import flat_grid, rows_grid
from footprint.kernels.pad.contract import AT, LISTED
from footprint.spec import ArraySpec, Limits

_BITS = {1: "u8", 2: "u16", 4: "u32", 8: "u64", 16: "u64x2"}
STATISTICS = ("maximum", "minimum", "mean", "median", "upper")


def pad_program(
    limits: Limits, image: ArraySpec, out: ArraySpec, *lists: ArraySpec, fill: float = 0.0, **how: int | str
) -> Program:
    """One gathering pass."""
    if out.size == 0:
        return Program(())
    depth, height, width = out.shape
    grid, group, shape = rows_grid(depth * height, width)
    given = iter(range(2, 2 + len(lists)))
    borders = [AT[str(how[f"border_{axis}"])] for axis in "zyx"]
    # An axis without a list reads none: what stands in its place is not looked at.
    positions = [A(next(given)) if border == AT[LISTED] else A(0) for border in borders]
    defines: Defines = (
        *shape, ("T", _BITS[out.itemsize]), ("BYTES", out.itemsize), ("NONE", AT[NONE]), ("LISTED", AT[LISTED]),
        *zip(("BORDER_Z", "BORDER_Y", "BORDER_X"), borders),
    )  # fmt: skip
    low, high = np.frombuffer(np.full((), fill, out.dtype).tobytes().ljust(16, b"\0"), np.uint64)
    sizes = map(np.int64, (*image.shape[1:], depth, height, width))
    places = [np.int64(how[name]) for a in "zyx" for name in (f"{a}0", f"{a}_base", f"{a}_n")]  # type: ignore[arg-type]
    args: tuple[Argument, ...] = (A(0), A(1), *positions, *sizes, *places, np.uint64(low), np.uint64(high))
    return Program((Launch("pad.knl", "pad", grid, group, args, defines),))


def _fill(out: ArraySpec, entry: str, count: int, args: tuple[np.generic, ...], extra: Defines = ()) -> Program:
    if count == 0 or out.size == 0:
        return Program(())
    kind = np.dtype(out.dtype)
    defines: Defines = (("T", c_type(kind)), ("S", _sum_type(kind)), ("INTEGER", int(kind.kind in "iu")), ("WHAT", 0), *extra)
    sizes = tuple(map(np.int64, out.shape))
    return Program((Launch("pad_fill.knl", entry, flat_grid(count), (256, 1, 1), (A(0), *sizes, *args), defines),))


def _sum_type(kind: np.dtype) -> str:
    return "f32" if kind == np.float16 else c_type(kind)


def _padding(out: ArraySpec, lo: int, hi: int) -> int:
    return out.shape[0] * (lo + out.shape[1] - hi) * out.shape[2]


def constant_program(limits: Limits, out: ArraySpec, *, lo: int, hi: int, left: float, right: float) -> Program:
    """A value a side."""
    kind = np.float32 if out.dtype[1:] == "f2" else np.dtype(out.dtype).type
    sides = (kind(left), kind(right))
    if np.dtype(out.dtype).kind == "b":
        sides = (np.uint8(bool(left)), np.uint8(bool(right)))
    return _fill(out, "constant_", _padding(out, lo, hi), (np.int64(lo), np.int64(hi), *sides))


def ramp_program(limits: Limits, out: ArraySpec, *, lo: int, hi: int, left: float, right: float) -> Program:
    """Straight lines to the end values."""
    args = (np.int64(lo), np.int64(hi), np.float64(left), np.float64(right))
    return _fill(out, "ramp", _padding(out, lo, hi), args)


def odd_program(limits: Limits, out: ArraySpec, *, lo: int, hi: int, repeat: bool) -> Program:
    """Point reflections."""
    return _fill(out, "odd", _padding(out, lo, hi), (np.int64(lo), np.int64(hi), np.int64(repeat)))


def statistic_program(limits: Limits, out: ArraySpec, *, lo: int, hi: int, statistic: str, left: int, right: int) -> Program:
    """One statistic a line and side, without workspace."""
    count = 2 * out.shape[0] * out.shape[2] if _padding(out, lo, hi) else 0
    args = (np.int64(lo), np.int64(hi), np.int64(left), np.int64(right))
    return _fill(out, "statistic", count, args, (("WHAT", STATISTICS.index(statistic)),))
