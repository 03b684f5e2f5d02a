"""Filters by name on images that are never whole in memory, block by block of rows: what the command line runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from footprint.api._arrays import Memory, Progress, described, where
from footprint.api._call import Stream, call, planned
from footprint.api._image import Reading, from_file
from footprint.api._lines import branches, operation
from footprint.api._rank import Window, percentage, rank_op
from footprint.api.edges import curvatures, differences, sharpened, sobels
from footprint.api.gaussian_filter import boxes, gaussians
from footprint.backend.device import Device, parse
from footprint.backend.memory import pages_return
from footprint.backend.registry import running_backend
from footprint.errors import ArgumentError, choose
from footprint.ops.base import Op
from footprint.plan.faces import Filler, Region, Taker
from footprint.plan.plan import Plan
from footprint.plan.ready import bind
from footprint.spec import ArraySpec

OPTIONS: dict[str, tuple[str, ...]] = {
    "median": ("size",), "minimum": ("size",), "maximum": ("size",), "percentile": ("size", "percentile"),
    "gaussian": ("sigma",), "uniform": ("size",), "sobel": ("axis",), "laplace": (), "gaussian_laplace": ("sigma",),
    "unsharp_mask": ("sigma", "amount"),
}  # fmt: skip
"""What each filter is told beside the border; all of it is needed, but for an axis, the last, and an amount, 1."""


def filter_op(name: str, spec: ArraySpec, mode: str, cval: float, options: dict[str, Any], device: Device | None) -> Op:
    """The operation of a filter on an image; ArgumentError where an option is missing, or is another filter's."""
    known = OPTIONS[choose("filter", name, list(OPTIONS))]
    given = {key: value for key, value in options.items() if value is not None}
    for key in given:
        if key not in known:
            raise ArgumentError(key, given[key], f"an option of {name}", f"it takes {' and '.join(known) or 'none'}")
    for key in known:
        if key not in given and key not in ("axis", "amount"):
            raise ArgumentError(key, "none", f"a number, as {name} needs one")
    size, sigma = given.get("size"), given.get("sigma")
    # Of two axes, whatever their lengths.
    image = ArraySpec((1, 1), spec.dtype)
    if name in ("median", "minimum", "maximum", "percentile"):
        ranks = {"median": None, "minimum": 0, "maximum": -1}
        rank = ranks[name] if name in ranks else percentage(given["percentile"])
        # Rows come as the file has them, however short.
        return rank_op(spec, rank, Window(size, mode=mode, cval=cval), device, turns=False)[0]
    if name == "gaussian":
        return operation(lambda n: gaussians(sigma, 0, mode, 4.0, None, None, n), image, cval)[0]
    if name == "uniform":
        return operation(lambda n: boxes(size, mode, 0, None, n), image, cval)[0]
    if name == "sobel":
        return operation(lambda n: sobels(given.get("axis", -1), mode, n), image, cval)[0]
    if name == "laplace":
        return branches(lambda n: differences(n, None, mode), image, cval)[0]
    if name == "gaussian_laplace":
        return branches(lambda n: curvatures(n, None, sigma, mode, 4.0, None), image, cval)[0]
    return branches(lambda n: sharpened(n, None, sigma, given.get("amount", 1.0), mode), image, cval)[0]


def plan_filter_rows(
    name: str,
    shape: tuple[int, int],
    *,
    dtype: str = "float32",
    mode: str = "reflect",
    cval: float = 0.0,
    reading: Reading | None = None,
    writing: int = 0,
    memory: Memory = None,
    device: str = "auto",
    **options: Any,
) -> Plan:
    """Plan `filter_rows`: the blocks read and written are the plan's own."""
    op, source, result = _faces(name, shape, dtype, mode, cval, reading, None, options, where(device))
    return planned(name, op, [source], [Stream(None, result, lambda block: writing)], where(device), memory)


def filter_rows(
    name: str,
    read: Callable[[int, int, np.ndarray], None],
    shape: tuple[int, int],
    dtype: str,
    write: Callable[[int, int, np.ndarray], None],
    *,
    mode: str = "reflect",
    cval: float = 0.0,
    reading: Reading | None = None,
    writing: int = 0,
    memory: Memory = None,
    device: str = "auto",
    on_plan: Callable[[Plan], None] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> None:
    """Filter an image block by block of rows; arguments as of `convolve_rows`, ``options`` as in `OPTIONS`."""
    fill = lambda region, block: read(region[0].start, region[0].stop, block)
    op, source, result = _faces(name, shape, dtype, mode, cval, reading, fill, options, where(device))
    taker = Taker(lambda region, block: write(region[0].start, region[0].stop, block))
    sink = Stream(taker, result, lambda block: writing)
    call(name, op, [source], [sink], where(device), memory, progress=progress, on_plan=on_plan)


def plan_filter_frames(
    name: str,
    shape: tuple[int, int, int],
    *,
    dtype: str = "float32",
    reading: Callable[[Any], int] | None = None,
    **options: Any,
) -> Plan:
    """Plan `filter_frames`: one plan for every frame, which counts a frame and its result; ``options`` as of `plan_filter_rows`."""
    if len(parse(where(options.get("device", "auto"))).each) > 1:
        raise ArgumentError("device", repr(str(options["device"])), "one device for a stack")
    known = {key: value for key, value in options.items() if key in OPTIONS[choose("filter", name, list(OPTIONS))]}
    each = np.dtype(dtype).itemsize + np.dtype(result_dtype(name, dtype, known)).itemsize
    held = each * shape[1] * shape[2] + (reading(np.dtype(dtype)) if reading is not None else 0)
    return plan_filter_rows(name, shape[1:], dtype=dtype, reading=lambda rows, kind: held, **options)


def filter_frames(
    name: str,
    read: Callable[[int, np.ndarray], None],
    shape: tuple[int, int, int],
    dtype: str,
    write: Callable[[int, np.ndarray], None],
    *,
    on_plan: Callable[[Plan], None] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> None:
    """Filter every frame of a stack as an image of its own, one after another; arguments as of `convolve_frames`."""
    plan = plan_filter_frames(name, shape, dtype=dtype, **options)
    if on_plan is not None:
        on_plan(plan)
    pixels, made = np.empty(shape[1:], dtype), np.empty(shape[1:], plan.outputs[0].spec.dtype)

    def fill(region: Region, block: np.ndarray) -> None:
        block[...] = pixels[region[0]]

    def take(region: Region, block: np.ndarray) -> None:
        made[region[0]] = block

    source, sink = Filler(fill), Taker(take)
    with pages_return(), bind(plan, running_backend(where(options.get("device", "auto")))) as bound:
        for number in range(shape[0]):
            read(number, pixels)
            # Who stops the job waits for a part, and not for a frame.
            bound(source, out=[sink], progress=None if progress is None else lambda *_, n=number: progress(n, shape[0]))
            write(number, made)
        if progress is not None:
            progress(shape[0], shape[0])


def result_dtype(name: str, dtype: str, options: dict[str, Any]) -> str:
    """The dtype of a filter's result."""
    return _faces(name, (1, 1), dtype, "reflect", 0.0, None, None, options, None)[2].dtype


def _faces(
    name: str,
    shape: tuple[int, int],
    dtype: str,
    mode: str,
    cval: float,
    reading: Reading | None,
    fill: Callable[[Region, np.ndarray], None] | None,
    options: dict[str, Any],
    device: Device | None,
) -> tuple[Op, Stream, Any]:
    spec, _ = described(shape, dtype)
    op = filter_op(name, spec, mode, cval, options, device)
    return op, from_file(spec, reading, fill), op.out_specs(op.in_specs(spec)[0])[0]
