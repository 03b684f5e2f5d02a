"""Convolve and correlate images that are never whole in memory, by blocks of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from footprint.api._arrays import Memory, Progress, described, where
from footprint.api._call import Stream, call, planned
from footprint.api._filtered import Asked, number, operation, returned
from footprint.api._image import from_file
from footprint.api._mask import file_mask, mask_slot, shape_of, weights_of
from footprint.api._method import made_by
from footprint.api._sides import given_beside, rows_beside
from footprint.errors import flag
from footprint.kernels.common.borders import shows_borders
from footprint.plan.faces import Filler, Region, Taker
from footprint.plan.plan import Plan
from footprint.spec import ArraySpec

Read = Callable[[int, int, np.ndarray], None]
Write = Callable[[int, int, np.ndarray], None]
# Bytes a file's library holds beside the block while so many rows are read into it, contiguous and of this dtype.
Reading = Callable[[int, str], int]


@shows_borders("boundary")
def plan_convolve_rows(
    shape: tuple[int, int],
    mask_shape: Any,
    *,
    dtype: str = "float32",
    mode: str = "same",
    boundary: str = "constant",
    cval: float = 0.0,
    nan: str = "propagate",
    masked: Any = None,
    weight: Any = None,
    method: str = "auto",
    result: Any = None,
    reading: Reading | None = None,
    writing: int = 0,
    mask_file: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Plan:
    """Plan `convolve_rows`: the blocks read and written are the plan's own, so the budget covers them.

    Parameters
    ----------
    shape : tuple of int
        Of the image.
    mask_shape : tuple of int, array, open image or str
        The mask's, or the mask itself, as in `convolve`: as in `plan_convolve`, only with its weights is the plan that of the run.
    dtype
        Of the image.
    mode, boundary, cval, nan, method, result, memory, device
        As in `plan_convolve`.
    masked, weight : open image, array or dtype, optional
        As in `convolve`; an open image is read by rows, as the image is. Of an array the dtype suffices.
    reading : callable, optional
        ``reading(n_rows, dtype)``: bytes the file's library takes beside the block, contiguous and of that dtype, while it reads
        so many rows; a bound.
    writing : int
        Bytes the output's writer takes beside the blocks, as its ``host_bytes`` says.
    mask_file : optional
        The mask itself, where it is a file's: an open `Image`.

    Returns
    -------
    Plan
        Its chunks are rows of the result.

    Examples
    --------
    >>> import footprint as fp
    >>> plan = fp.plan_convolve_rows((100_000, 8192), (13, 13), dtype="uint16", memory="50MB", device="cpu")
    >>> plan.footprint.total < 50_000_000
    True
    """
    spec, _ = described(shape, dtype)
    how = Asked.of(mode, boundary, result, nan, name="result")
    taps, file = shape_of(mask_shape)
    mask_file = file if mask_file is None else mask_file
    beside = given_beside(masked, weight)
    op, weights = operation(spec, taps, how, number(cval), beside=beside)
    sides = rows_beside(beside, spec.shape)
    out = op.out_specs(spec, weights, *(one.spec for one in sides))[0]
    sink = _taken(returned(out, how.result), writing)
    if mask_file is not None:
        given: Any = file_mask(mask_file, weights.dtype)
    elif hasattr(mask_shape, "shape"):
        # A mask's own weights decide on the method, as they do when it is run.
        given = weights_of(mask_shape, True, how.sums or dtype, scaled=how.scales(beside))
    else:
        given = mask_slot(weights)
    made = made_by(method, op, spec, given, where(device), memory)
    return planned("convolve", made.op, [_blocks(spec, reading), *made.rest, *sides], [sink], where(device), memory)


@shows_borders("boundary")
def convolve_rows(
    read: Read,
    shape: tuple[int, int],
    dtype: str,
    mask: Any,
    write: Write,
    *,
    mode: str = "same",
    boundary: str = "constant",
    cval: float = 0.0,
    nan: str = "propagate",
    masked: Any = None,
    weight: Any = None,
    method: str = "auto",
    result: Any = None,
    flip: bool = True,
    reading: Reading | None = None,
    writing: int = 0,
    memory: Memory = None,
    device: str = "auto",
    on_plan: Callable[[Plan], None] | None = None,
    progress: Progress | None = None,
) -> Plan:
    """Convolve an image that is never whole in memory, block by block of rows.

    Parameters
    ----------
    read : callable
        ``read(start, stop, out)`` puts rows start to stop of the image into ``out``, cast to its dtype. Called in a thread of the
        job, or in one for each of several devices at once.
    shape, dtype
        Of the image.
    mask, mode, boundary, cval, nan, method, result, memory, device
        As in `convolve`; ``memory`` covers the blocks read and written, too.
    masked, weight : open image or array, optional
        As in `convolve`; an open image is read by rows, in the thread that reads the image.
    write : callable
        ``write(start, stop, block)`` takes rows start to stop of the result, in order and one block at a time, even if several
        devices share the work.
    flip : bool
        False correlates.
    reading, writing : optional
        As in `plan_convolve_rows`.
    on_plan : callable, optional
        Called with the plan before anything is allocated or read.
    progress : callable, optional
        ``progress(rows_done, rows)``.

    Returns
    -------
    Plan
        What was run.
    """
    spec, _ = described(shape, dtype)
    how = Asked.of(mode, boundary, result, nan, name="result")
    beside = given_beside(masked, weight)
    weights = weights_of(mask, flag("flip", flip), how.sums or dtype, scaled=how.scales(beside))
    op, wanted = operation(spec, weights.spec.shape, how, number(cval), beside=beside)
    sides = rows_beside(beside, spec.shape)
    out = returned(op.out_specs(spec, wanted, *(one.spec for one in sides))[0], how.result)
    source = _blocks(spec, reading, lambda region, block: read(region[0].start, region[0].stop, block))
    taker = Taker(lambda region, block: write(region[0].start, region[0].stop, block), ordered=True)
    sink = _taken(out, writing, taker)
    seen: list[Plan] = []

    def told(plan: Plan) -> None:
        seen.append(plan)
        if on_plan is not None:
            on_plan(plan)

    made = made_by(method, op, spec, weights, where(device), memory)
    call("convolve", made.op, [source, *made.rest, *sides], [sink], where(device), memory, progress=progress, on_plan=told)
    return seen[0]


def _blocks(spec: ArraySpec, reading: Reading | None, fill: Callable[[Region, np.ndarray], None] | None = None) -> Stream:
    """An image that comes by rows. What a reader takes beside them is a function of its own, which no key can tell."""
    if reading is None:
        return Stream(None if fill is None else Filler(fill), spec, key="rows", owner="source")
    return from_file(spec, reading, fill)


def _taken(spec: ArraySpec, writing: int, taker: Taker | None = None) -> Stream:
    """A result that is taken by rows."""
    return Stream(taker, spec, lambda block: writing, key=("rows", writing), owner="source")
