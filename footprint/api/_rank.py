"""How the verbs of ranks come from scipy.ndimage's arguments to an operation, and run it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from footprint.api._arrays import Memory, described, finished, receive, shared, where
from footprint.api._call import Described, call
from footprint.api._recall import again, looks, remember_turned
from footprint.api._tomo import numbers
from footprint.api._turned import Order, free_first, long_last, plan_turned, turned, turned_back
from footprint.api._units import in_unit, is_quantity, plain, refuse_parts
from footprint.api._window import as_planes, asked, axes_of, each, mode_of, number, placed, target_of, whole
from footprint.backend.device import Device
from footprint.backend.registry import device_limits
from footprint.errors import ArgumentError, ShapeError
from footprint.kernels.common.borders import NONE
from footprint.kernels.rank_filter.contract import MOST
from footprint.kernels.separable.contract import VECTOR
from footprint.ops.base import Op
from footprint.ops.pipeline import Pipeline
from footprint.ops.rank_filter import RankFilter
from footprint.ops.separable import AXES
from footprint.plan.plan import Plan
from footprint.spec import ArraySpec
from footprint.units import counted


class Window(NamedTuple):
    """The window of a rank filter and what lies beyond the image: arguments of the verbs, as they were given."""

    size: Any
    footprint: Any = None
    mode: Any = "reflect"
    cval: Any = 0.0
    origin: Any = 0
    axes: Any = None


def planned_rank(verb: str, shape: Any, dtype: str, rank: Any, how: Window, memory: Memory, device: str) -> Plan:
    """The plan of a rank filter; a rank that is a float is a percentile, and none the median."""
    spec, _ = described(shape, dtype)
    op, order = rank_op(spec, rank, how, where(device))
    return plan_turned(verb, op, spec, order, where(device), memory)


def ranked(verb: str, image: Any, rank: Any, how: Window, out: Any, memory: Memory, device: str) -> Any:
    """The result of a rank filter; a rank that is a float is a percentile, and none the median.

    Of what is only described, the operation and the order of axes it takes.
    """
    if isinstance(image, Described):
        if image.data is None:
            return rank_op(image.spec, rank, how, where(device))
        # Ranks of a block are the same in any order.
        image = image.data
    kind, out = asked(out)
    look = looks(verb, (rank, *how, kind, memory, device), image, out)
    found = again(look, [image], out) if out is not image else None
    if found is not None:
        return found
    if type(image) is not np.ndarray:
        refuse_parts(image, "input", keeps_unit=True)
    if type(image) is not np.ndarray and is_quantity(image):
        values, unit = plain(image, "input")
        into = lambda out: (kind or None) if out is None else out
        run = lambda cval, out: ranked(verb, values, rank, how._replace(cval=cval), into(out), memory, device)
        return in_unit(unit, unit, how.cval, out, run, ("cval", "output"))
    natural = receive(image, "input")
    op, order = rank_op(natural.spec, rank, how, where(device, natural))
    source = turned(natural, order)
    result = turned_back(op.out_specs(source.spec)[0], order)
    target = target_of(out, kind, result, natural, shared)
    if result.size:
        key = call(verb, op, [source], [turned(target, order)], where(device, source, target), memory)
        remember_turned(look, key, image, out, target.spec, order)
    return finished(target, out)


def rank_op(
    spec: ArraySpec, rank: int | float | None, how: Window, device: Device | None = None, turns: bool = True
) -> tuple[Op, Order]:
    """The operation, a rank that is a float being a percentile and none the median, and the order of axes it takes.

    Unless it ``turns`` an image whose rows are short, its axes stay as they are.
    """
    n_axes, dtype = len(spec.shape), spec.dtype
    if not 1 <= n_axes <= 3:
        raise ShapeError("input", counted(n_axes, "dimensions"), "1 to 3", as_planes(n_axes))
    if np.dtype(dtype).itemsize > 8:
        raise ShapeError("input", f"dtype {np.dtype(dtype).name}", "numbers of at most 8 bytes", "use float64")
    wanted = axes_of(how.axes, n_axes)
    sizes, chosen = _sizes(how.size, how.footprint, len(wanted))
    given = "size" if how.footprint is None else "footprint"
    lengths, borders, moved = [1] * n_axes, [NONE] * n_axes, [0] * n_axes
    modes, origins = each("mode", how.mode, len(wanted), mode_of), each("origin", how.origin, len(wanted), whole)
    for axis, length, name, move in zip(wanted, sizes, modes, origins):
        lengths[axis], borders[axis], moved[axis] = length, name, move
    used = {axis for axis, length in enumerate(lengths) if length > 1}
    order = (_long(spec, used, device) if turns else None) or free_first(used, n_axes)
    if order is not None:
        lengths, moved = ([values[axis] for axis in order] for values in (lengths, moved))
        borders = [borders[axis] for axis in order]
    if chosen is not None:
        # Its axes in the order of the image's, and in the order in which they are filtered.
        chosen = np.expand_dims(chosen.transpose(np.argsort(wanted)), [i for i in range(n_axes) if i not in wanted])
        chosen = chosen if order is None else chosen.transpose(order)
    if n_axes == 3 and lengths[0] > 1:
        fix = "give axes=(1, 2) for every plane on its own, or axes=(0, 1) for every colour"
        if chosen is None and _rank(rank, count := math.prod(lengths)) in (0, count - 1):
            fix += "; minima and maxima of a volume are those along axes=(1, 2), and of these those along axes=0"
        raise ShapeError(given, sizes, "1 along one of three axes", fix)
    first = [placed("origin", move, length) for move, length in zip(moved, lengths)]
    places = () if chosen is None else tuple(np.argwhere(chosen.reshape((1, *lengths)[-2:])).ravel().tolist())
    count = len(places) // 2 or math.prod(lengths)
    # Where the window is one pixel wide nothing outside is looked at.
    borders = [name if length > 1 else NONE for name, length in zip(borders, lengths)]
    last = slice(-min(n_axes, 2), None)
    place, beyond = _rank(rank, count), (tuple(borders[last]), _cval(how.cval, dtype, "constant" in modes), AXES[-n_axes:])
    window = tuple(lengths[last]), tuple(first[last])
    if max(lengths) <= MOST:
        return RankFilter(window[0], place, window[1], *beyond, places), order
    if places or place not in (0, count - 1):
        fix = "minimum_filter and maximum_filter take larger boxes"
        raise ArgumentError(given, sizes, f"windows of at most {MOST} along an axis", fix)
    shape = spec.shape if order is None else [spec.shape[axis] for axis in order]
    window = _within(*window, shape[last])
    if device is not None and device_limits(device).family == "cpu":
        # There a kernel takes boxes of any size.
        return RankFilter(window[0], math.prod(window[0]) - 1 if place else 0, window[1], *beyond), order
    ends = [RankFilter(size, math.prod(size) - 1 if place else 0, at, *beyond) for size, at in _windows(*window, beyond[0])]
    return Pipeline.chain(ends, "input", "output"), order


def _within(sizes: tuple[int, ...], first: tuple[int, ...], shape: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A box no longer than what has been seen of an image: twice as far as it is long, that is all of it."""
    begins = [max(at, -2 * max(n, 1)) for at, n in zip(first, shape)]
    ends = [min(size + at, 2 * max(n, 1) + 1) for size, at, n in zip(sizes, first, shape)]
    return tuple([end - at for end, at in zip(ends, begins)]), tuple(begins)


_Windows = list[tuple[tuple[int, ...], tuple[int, ...]]]
"""Sizes, and where they begin."""


def _windows(sizes: tuple[int, ...], first: tuple[int, ...], borders: tuple[str, ...]) -> _Windows:
    """Windows that kernels of GPUs take, of which one after another reaches what a larger one does: extremes of extremes.

    What all but the last find is taken beyond an end as the border says: see `_reach`.
    """
    left = [(-start, start + size - 1) for size, start in zip(sizes, first)]
    found: _Windows = []
    while any(lo + hi >= MOST for lo, hi in left):
        reach = [_reach(lo, hi, border) if lo + hi >= MOST else (0, 0) for (lo, hi), border in zip(left, borders)]
        found.append((tuple([back + on + 1 for back, on in reach]), tuple([-back for back, _ in reach])))
        left = [(lo - back, hi - on) for (lo, hi), (back, on) in zip(left, reach)]
    if any(lo + hi for lo, hi in left):
        found.append((tuple([lo + hi + 1 for lo, hi in left]), tuple([-lo for lo, _ in left])))
    return found


def _reach(lo: int, hi: int, border: str) -> tuple[int, int]:
    """How far before and after a pixel the next window reaches, of one that reaches ``lo`` and ``hi``.

    Beyond an end where the image is mirrored, windows that reach as far before as after find what is mirrored; the last may then
    lie beside its pixel. Elsewhere every window holds its own: what it reaches beyond an end is found at that end, too, or is
    ``cval``.
    """
    half = MOST // 2
    if border in ("reflect", "mirror"):
        return half, half
    back = min(lo, MOST - 1 - min(hi, half))
    return back, MOST - 1 - back


def _long(spec: ArraySpec, used: set[int], device: Device | None) -> Order:
    """The order in which rows of a plane fill a processor's vectors."""
    found = long_last(spec, used, device, VECTOR // np.dtype(spec.dtype).itemsize - 1)
    if found is None or used <= {*found[-2:]}:
        return found
    # Windows lie in planes: the one axis they go along stands down these instead of across them.
    return (found[1], found[0], found[2]) if used == {found[0]} else None


def _sizes(size: Any, footprint: Any, count: int) -> tuple[tuple[int, ...], np.ndarray | None]:
    """The window's lengths, and which of its places count where not all do."""
    if getattr(size, "ndim", 0) > 1:
        raise ArgumentError("size", f"an array of shape {tuple(size.shape)}", "a whole number for every axis", "give footprint=")
    if footprint is not None:
        box = numbers("footprint", footprint) != 0
        if box.ndim != count or not box.any():
            raise ArgumentError("footprint", f"shape {box.shape}, {int(box.sum())} true", f"{count} dimensions, some of it true")
        return box.shape, None if box.all() else box
    if size is None:
        raise ArgumentError("size", None, "the window's, such as 3 or (3, 5)")
    sizes = each("size", size, count, whole)
    if min(sizes, default=1) < 1:
        raise ArgumentError("size", size, "1 or more")
    return sizes, None


def percentage(percentile: Any) -> float:
    """A percentile that is one."""
    share = number("percentile", percentile)
    if not -100 <= share <= 100:
        raise ArgumentError("percentile", percentile, "-100 to 100")
    return share


def _rank(rank: int | float | None, count: int) -> int:
    if rank is None:
        return count // 2
    if isinstance(rank, float):
        share = rank + 100 if rank < 0 else rank
        return count - 1 if share == 100 else int(count * share / 100)
    if not -count <= rank < count:
        raise ArgumentError("rank", rank, f"{-count} to {count - 1} in a window of {count}")
    return rank % count


def _cval(cval: Any, dtype: str, used: bool) -> str:
    """The constant as text, exactly as the kernels see it; where no border is one it is any number, and counts as 0."""
    if not used:
        _cval(cval, "float64", True)
        cval = 0
    kind = np.dtype(dtype)
    if kind.kind == "f":
        try:
            return repr(float(cval))
        except (TypeError, ValueError, OverflowError):
            raise ArgumentError("cval", repr(cval), "a number") from None
    low, high = (0, 1) if kind.kind == "b" else (np.iinfo(kind).min, np.iinfo(kind).max)
    try:
        found = int(cval)
        fits = found == cval and low <= found <= high
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits:
        raise ArgumentError("cval", cval, f"a value that {kind.name} holds, {low} to {high}")
    return str(found)
