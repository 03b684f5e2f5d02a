"""Find the sources of an image."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from footprint.api._passes import Rows, device_of, run_passes, see
from footprint.api._run import (
    Array,
    Memory,
    Progress,
    Reading,
    check_writable,
    described,
    limits_and_budget,
    receive,
    shared,
    where,
)
from footprint.api._sky import NO_SKY, Sky, sky_of
from footprint.api.measure import table_columns
from footprint.api.sigma_clip import Clip, clip_of
from footprint.errors import ArgumentError, BudgetError, CapacityError, ShapeError
from footprint.kernels.find_sources.contract import BACKGROUND, LABEL, NEEDED, NOISE, PAINTED, PIXELS, default_capacities
from footprint.kernels.sigma_clip.contract import DONE
from footprint.ops.find_sources import FindSources
from footprint.ops.label import check_connectivity
from footprint.ops.sigma_clip import check_maxiters, check_positive, pass_variant
from footprint.plan.fit import fit
from footprint.plan.plan import Plan
from footprint.plan.slots import Given
from footprint.spec import ArraySpec, Limits

Put = Callable[[slice, np.ndarray], None]


def find_sources(
    image: Any,
    sigma: float = 5.0,
    *,
    kappa: float = 3.0,
    maxiters: int | None = None,
    connectivity: int = 4,
    min_area: int = 1,
    lesson: bool = False,
    header: Mapping[str, Any] | None = None,
    labels: Any = None,
    capacity: int | None = None,
    memory: Memory = None,
    device: str = "auto",
    on_plan: Callable[[Plan], None] | None = None,
    progress: Progress | None = None,
) -> Any:
    """Find islands of pixels with image - background > sigma noise, and measure them.

    Background and noise are the median and the standard deviation left after clipping at kappa (see `sigma_clip`); islands are
    connected components, numbered by the raster order of their first pixel, as SciPy does. The image is read about three times
    and never copied: arrays where they lie, files by blocks of rows, with the same result to the last bit.

    Parameters
    ----------
    image : array (n_y, n_x), or an open image with ``read(rows, out)``
        Real numbers of any dtype, byte order and strides; what is not finite belongs to no island.
    sigma, kappa : float
        Threshold, and half width of the clip, in standard deviations.
    maxiters : int, optional
        Clips at most; None for until nothing changes.
    connectivity : {4, 8}
        Whether pixels that touch at corners belong together.
    min_area : int
        Pixels an island has at least.
    lesson : bool
        Take the background as 0, as the Carpentries' GPU lesson does: its numbers come out.
    header : mapping, optional
        FITS header of the image, for positions and units; an image from a file brings its own.
    labels : array (n_y, n_x) of int32, or an object with ``write(rows, array)``, optional
        Receives the label of each pixel, 0 outside islands.
    capacity : int, optional
        Components the plan has room for: one for every 768 pixels unless given, fewer in a small budget. Where an image needs
        more, it is planned again with the number needed, if the budget allows and none was given.
    memory : str, int or float, optional
        The most the run may take beside the image and the labels.
    device : str
        "auto", "cpu", "cuda", "cuda:1", "opencl".
    on_plan : callable, optional
        Called with the plan before anything is allocated or read.
    progress : callable, optional
        ``progress(rows_done, rows)``, counting every pass.

    Returns
    -------
    astropy.table.Table
        One row an island: label; x, y (flux-weighted centre, counted from 0), ra, dec (ICRS, where the header has a WCS);
        peak; flux (sum over pixels less the background: in Jy where the image is in Jy/beam and the beam is known, else the
        sum as it is, as its unit says); npix; x_min, x_max, y_min, y_max (inclusive); x_peak, y_peak; snr (peak over noise).
        ``meta`` has the clip, background, noise, threshold and beam_area (pixels).

    Raises
    ------
    ShapeError
        Not two-dimensional, empty, or without a finite pixel.
    ArgumentError, BudgetError, CapacityError
        An argument out of range; a budget, or the capacity given, that is too small.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> image = np.random.default_rng(1).normal(size=(64, 64))
    >>> image[10:13, 20:22] += 50
    >>> table = fp.find_sources(image, sigma=8)
    >>> len(table), int(table["npix"][0]), round(float(table["y"][0]), 1)
    (1, 6, 11.0)
    """
    rows = see(image)
    sky = NO_SKY if header is None and rows.file is None else sky_of(rows.file, header)
    op = _op(rows.spec, sigma, kappa, maxiters, connectivity, min_area, lesson, capacity, labels is not None)
    limits, budget = device_of(rows, device, memory)
    target, put = _labels(labels, rows)
    spec, given = rows.spec, rows.array.given if rows.array else None

    writing = labels.host_bytes("int32") if target is None and hasattr(labels, "host_bytes") else 0

    def planned(op: FindSources) -> Plan:
        return _plan(limits, budget, op, spec, given, target.given if target else None, rows.reading, writing)

    while True:
        plan = planned(op)
        if on_plan is not None:
            on_plan(plan)
        stats, counts, columns = _attempt(plan, rows, target, put, progress)
        needed, room = int(counts[NEEDED]), plan.outputs[2].spec.shape[0]
        if needed <= room:
            break
        op = _roomier(op, needed, room, capacity, planned)
    clip = clip_of(stats, counts, rows)
    return _table(columns, clip, float(stats[BACKGROUND]), float(stats[NOISE]), op, sky)


def plan_find_sources(
    shape: tuple[int, int],
    dtype: str = "float32",
    *,
    sigma: float = 5.0,
    kappa: float = 3.0,
    maxiters: int | None = None,
    connectivity: int = 4,
    min_area: int = 1,
    lesson: bool = False,
    labels: bool = False,
    capacity: int | None = None,
    streamed: bool = False,
    reading: Reading | None = None,
    writing: int = 0,
    memory: Memory = None,
    device: str = "auto",
) -> Plan:
    """Plan `find_sources` of an image of this shape and dtype; ``streamed`` where it comes from a file, whose
    reader takes ``reading(rows, dtype)`` bytes beside a contiguous block of so many rows of that dtype, and ``writing``
    the bytes that the labels' writer takes.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.plan_find_sources((8192, 8192), memory="64MB", streamed=True, device="cpu").footprint.total < 64e6
    True
    """
    spec, given = described(shape, dtype)
    if len(spec.shape) != 2 or spec.size == 0:
        raise ShapeError("shape", spec.shape, "(n_y, n_x) with at least one pixel")
    limits, budget = limits_and_budget(where(device), memory)
    op = _op(spec, sigma, kappa, maxiters, connectivity, min_area, lesson, capacity, labels)
    return _plan(
        limits, budget, op, spec, None if streamed else given, Given() if labels and not streamed else None, reading, writing
    )


def _op(
    spec: ArraySpec,
    sigma: float,
    kappa: float,
    maxiters: int | None,
    connectivity: int,
    min_area: int,
    lesson: bool,
    capacity: int | None,
    labels: bool,
) -> FindSources:
    for name, value in (("min_area", min_area), ("capacity", capacity)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1):
            raise ArgumentError(name, repr(value), "a whole number, 1 or more")
    height, width = spec.shape
    return FindSources(
        height,
        width,
        check_positive("kappa", kappa),
        check_maxiters(maxiters),
        threshold=check_positive("sigma", sigma),
        connectivity=check_connectivity(connectivity),
        min_area=min(int(min_area), spec.size + 1),
        lesson=bool(lesson),
        capacity=int(capacity or 0),
        labels=labels,
    )


def _plan(
    limits: Limits,
    budget: int | None,
    op: FindSources,
    spec: ArraySpec,
    given: Given | None,
    labels: Given | None,
    reading: Reading | None = None,
    writing: int = 0,
) -> Plan:
    capacities = (op.capacity,) if op.capacity else default_capacities(spec.size)
    variants = [pass_variant(limits, replace(op, capacity=n), spec, given, labels, reading, writing) for n in capacities]
    return fit(limits, budget, "find_sources", variants)


def _attempt(
    plan: Plan, rows: Rows, target: Array | None, put: Put | None, progress: Progress | None
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Run one plan: statistics, counts, and the catalogue's columns."""
    columns: dict[str, np.ndarray] = {}
    owned_labels = len(plan.outputs) > 4 and plan.outputs[4].given.owner == "plan"

    def take(owned: Callable[[str], np.ndarray], part: slice, counts: np.ndarray) -> None:
        if owned_labels and counts[PAINTED] and put is not None:
            put(part, owned("labels")[: part.stop - part.start])
        if counts[DONE]:
            columns.update(_columns(owned("moments"), owned("boxes"), int(counts[NEEDED])))

    passes = len(plan.outputs) - 1
    stats, counts = run_passes(plan, rows, passes, labels=target.data if target else None, take=take, progress=progress)
    return stats, counts, columns


def _roomier(op: FindSources, needed: int, room: int, capacity: int | None, plan: Callable[[FindSources], Plan]) -> FindSources:
    """The job with room for all components, unless the caller or the budget forbids."""
    if capacity is not None:
        raise CapacityError("capacity", room, needed)
    bigger = replace(op, capacity=needed)
    try:
        plan(bigger)
    except BudgetError as error:
        raise CapacityError("capacity", room, needed, f"give memory={error.smallest} or more, or a higher sigma") from error
    return bigger


def _labels(labels: Any, rows: Rows) -> tuple[Array | None, Put | None]:
    """Where labels go: the caller's array as it lies, or what takes them from the plan's blocks."""
    if labels is None:
        return None, None
    if hasattr(labels, "write") and not isinstance(labels, np.ndarray):
        return None, labels.write
    seen = receive(labels, "labels")
    if tuple(seen.data.shape) != rows.spec.shape or seen.data.dtype != np.dtype("int32"):
        raise ShapeError("labels", f"{seen.data.dtype} {tuple(seen.data.shape)}", f"int32 {rows.spec.shape}")
    check_writable(seen, labels, "labels")
    if rows.array is not None and shared(rows.array, seen):
        raise ArgumentError("labels", "memory shared with image", "an array of its own")

    def put(part: slice, block: np.ndarray) -> None:
        seen.data[part] = block

    return seen, put


def _columns(moments: np.ndarray, boxes: np.ndarray, needed: int) -> dict[str, np.ndarray]:
    """The islands' rows of the component table, by column."""
    n = min(needed, len(boxes))
    return table_columns(moments, boxes, np.flatnonzero((boxes[:n, PIXELS] > 0) & (boxes[:n, LABEL] > 0)))


def _table(columns: dict[str, np.ndarray], clip: Clip, background: float, noise: float, op: FindSources, sky: Sky) -> Any:
    """The catalogue as an astropy Table, with units and positions where they are known."""
    from astropy.table import Table

    with np.errstate(invalid="ignore", divide="ignore"):
        columns["snr"] = columns["peak"] / noise
    table = Table(columns, copy=False)
    table.meta.update(
        background=background,
        noise=noise,
        threshold=background + op.threshold * noise,
        sigma=op.threshold,
        kappa=op.sigma,
        clip_mean=clip.mean,
        clip_median=clip.median,
        clip_std=clip.std,
        clip_count=clip.count,
        clip_iterations=clip.iterations,
        connectivity=op.connectivity,
        min_area=op.min_area,
    )
    sky.describe(table)
    return table
