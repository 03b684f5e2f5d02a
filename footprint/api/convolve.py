"""Convolve and correlate signals and images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from footprint.api._run import (
    Array,
    Memory,
    Progress,
    Reading,
    described,
    finished,
    limits_and_budget,
    output,
    receive,
    rows,
    run,
    shared,
    where,
    whole,
)
from footprint.errors import ArgumentError, ShapeError
from footprint.kernels.common.borders import CODES, border, source_index, stretches
from footprint.ops.convolve import Correlate, sum_dtype
from footprint.plan.builder import Builder
from footprint.plan.fit import Variant, fit
from footprint.plan.plan import Plan
from footprint.plan.slots import Given
from footprint.spec import ArraySpec, Limits

Read = Callable[[int, int, np.ndarray], None]
Write = Callable[[int, int, np.ndarray], None]

_BLOCK = Given(owner="plan")


def convolve(
    image: Any,
    mask: Any,
    *,
    mode: str = "same",
    boundary: str = "constant",
    cval: float = 0.0,
    out: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Any:
    """Convolve a signal or an image with a mask, out[y, x] = sum of mask[i, j] image[y + c_y - i, x + c_x - j].

    Direct summation, every tap of it: no weight is too small to count.

    Parameters
    ----------
    image : array (n_y, n_x) or (n_x,)
        Real numbers of any dtype, byte order and strides. NaN and infinities spread to every output they touch.
    mask : array (k_y, k_x) or (k_x,)
        Any size, odd or even, of as many dimensions as the image.
    mode : {"same", "full", "valid"}
        The size of the result, with the conventions of ``scipy.signal.convolve``: "full" has n + k - 1 outputs an axis,
        "same" the n in the middle of them (starting at (k - 1) // 2, so c = (k - 1) // 2; for an even mask
        ``scipy.ndimage.convolve`` puts the centre one further), "valid" the n - k + 1 that reach nothing outside.
    boundary : {"constant", "nearest", "reflect", "mirror", "wrap"}
        What lies outside: ``cval``; the last sample; abcd|dcba (the "reflect" of scipy.ndimage, numpy.pad's
        "symmetric"); abcd|cba (numpy.pad's "reflect"); abcd|abcd. Other libraries' names are accepted where no two
        differ in meaning.
    cval : float
        Value outside for "constant".
    out : array, optional
        Where the result goes: a floating array of the result's shape, apart from ``image``.
    memory : str, int or float, optional
        The most a run may take beside the arrays given: "2GB", bytes, or a share of the free memory. Rows are worked
        on in blocks where the whole does not fit; the result is the same to the last bit.
    device : str
        "auto", "cpu", "cuda", "cuda:1", "opencl".

    Returns
    -------
    array
        float32 for float16, float32, bool and integers of 8 and 16 bits; float64 for all others. Sums have this
        dtype, and the mask is rounded to it.

    Raises
    ------
    ShapeError, ArgumentError, BudgetError
        Where arrays do not fit together, a word is unknown, or not even one row fits ``memory``.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> fp.convolve(np.array([1.0, 2.0, 4.0]), np.array([1.0, -1.0]), mode="full")
    array([ 1.,  1.,  2., -4.])
    """
    return _filter(image, mask, True, Correlate(mode, border(boundary), _number(cval)), out, memory, device)


def correlate(
    image: Any,
    mask: Any,
    *,
    mode: str = "same",
    boundary: str = "constant",
    cval: float = 0.0,
    out: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Any:
    """Correlate a signal or an image with a mask, out[y, x] = sum of mask[i, j] image[y - k_y // 2 + i, x - k_x // 2
    + j].

    The convolution with the mask flipped in every axis; all else as in `convolve`. In mode "same" tap k // 2 lies on
    the output, as in ``scipy.signal.correlate`` and ``scipy.ndimage.correlate``.

    Parameters
    ----------
    image, mask, mode, boundary, cval, out, memory, device
        As in `convolve`.

    Returns
    -------
    array
        As in `convolve`.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> fp.correlate(np.array([1.0, 2.0, 4.0]), np.array([-1.0, 1.0]), mode="valid")
    array([1., 2.])
    """
    return _filter(image, mask, False, Correlate(mode, border(boundary), _number(cval)), out, memory, device)


def plan_convolve(
    shape: tuple[int, ...],
    mask_shape: tuple[int, ...],
    *,
    dtype: str = "float32",
    mode: str = "same",
    boundary: str = "constant",
    cval: float = 0.0,
    memory: Memory = None,
    device: str = "auto",
) -> Plan:
    """Plan `convolve` or `correlate` of a C-contiguous image of this shape and dtype: every byte it will take, before
    any data.

    Parameters
    ----------
    shape, mask_shape : tuple of int
        Of the image and the mask.
    dtype : str
        Of the image.
    mode, boundary, cval, memory, device
        As in `convolve`.

    Returns
    -------
    Plan
        Its inputs are the image and the mask in order of correlation (a convolution's mask flipped) in the sums' dtype.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.plan_convolve((8192, 8192), (13, 13), memory="1GB", device="cpu").footprint.total < 10**9
    True
    """
    job = Correlate(mode, border(boundary), _number(cval))
    spec, given = described(shape, dtype)
    weights, _ = described(mask_shape, sum_dtype(spec.dtype), "mask_shape")
    limits, budget = limits_and_budget(where(device), memory)
    return _plan(limits, budget, job, (spec, given), weights, (job.out_specs(spec, weights)[0], Given()))


def plan_correlate(shape: tuple[int, ...], mask_shape: tuple[int, ...], **options: Any) -> Plan:
    """Plan `correlate`; the same as `plan_convolve`."""
    return plan_convolve(shape, mask_shape, **options)


def plan_convolve_rows(
    shape: tuple[int, int],
    dtype: str,
    mask_shape: tuple[int, ...],
    *,
    mode: str = "same",
    boundary: str = "constant",
    cval: float = 0.0,
    memory: Memory = None,
    device: str = "auto",
    reading: Reading | None = None,
) -> Plan:
    """Plan `convolve_rows`: the blocks read and written are the plan's own, so the budget covers them.

    Parameters
    ----------
    shape, dtype, mask_shape
        Of the image and the mask.
    mode, boundary, cval, memory, device
        As in `convolve`.
    reading : callable, optional
        ``reading(n_rows, dtype)``: bytes the file's library takes beside the block, contiguous and of that dtype, while it reads
        so many rows; a bound.

    Returns
    -------
    Plan
        Its chunks are rows of the result.

    Examples
    --------
    >>> import footprint as fp
    >>> plan = fp.plan_convolve_rows((100_000, 8192), "uint16", (13, 13), memory="50MB", device="cpu")
    >>> plan.footprint.total < 50_000_000
    True
    """
    job = Correlate(mode, border(boundary), _number(cval))
    spec, _ = described(shape, dtype)
    weights, _ = described(mask_shape, sum_dtype(spec.dtype), "mask_shape")
    result = job.out_specs(spec, weights)[0]
    limits, budget = limits_and_budget(where(device), memory)
    return fit(limits, budget, "convolve", [_blocks(job, spec, weights, result, _BLOCK, reading)])


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
    memory: Memory = None,
    device: str = "auto",
    flip: bool = True,
    reading: Reading | None = None,
    on_plan: Callable[[Plan], None] | None = None,
    progress: Progress | None = None,
) -> Plan:
    """Convolve an image that is never whole in memory, block by block of rows.

    Parameters
    ----------
    read : callable
        ``read(start, stop, out)`` puts rows start to stop of the image into ``out``, whose dtype is the sums'.
    shape, dtype
        Of the image.
    mask, mode, boundary, cval, memory, device
        As in `convolve`; ``memory`` covers the blocks read and written, too.
    write : callable
        ``write(start, stop, block)`` takes rows start to stop of the result, in order.
    flip : bool
        False correlates.
    reading : callable, optional
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
    job = Correlate(mode, border(boundary), _number(cval))
    weights = _weights(mask, flip, dtype)
    options: dict[str, Any] = {"mode": mode, "boundary": boundary, "cval": cval, "memory": memory, "device": device}
    plan = plan_convolve_rows(shape, dtype, weights.spec.shape, reading=reading, **options)
    if on_plan is not None:
        on_plan(plan)
    if plan.outputs[0].spec.size:
        taken = [lambda start, stop: lambda block: write(start, stop, block)]
        run(plan, None, [_halo(job, read, shape[0], weights.spec.shape[0]), whole(weights)], taken, progress)
    return plan


def _number(cval: Any) -> float:
    try:
        return float(cval)
    except (TypeError, ValueError):
        raise ArgumentError("cval", repr(cval), "a number") from None


def _weights(mask: Any, flip: bool, dtype: str) -> Array:
    """The mask on the host, in order of correlation and in the sums' dtype."""
    data = receive(mask, "mask").data
    data = np.asarray(data.get() if hasattr(data, "get") else data)
    return receive(np.ascontiguousarray(np.flip(data) if flip else data, sum_dtype(dtype)), "mask")


def _filter(image: Any, mask: Any, flip: bool, job: Correlate, out: Any, memory: Memory, device: str) -> Any:
    source = receive(image, "image")
    weights = _weights(mask, flip, source.spec.dtype)
    result = job.out_specs(source.spec, weights.spec)[0]
    target = output(out, result, source)
    if out is not None and shared(source, target):
        raise ArgumentError("out", "memory that image uses, too", "an array of its own")
    limits, budget = limits_and_budget(where(device, source, target), memory)
    plan = _plan(limits, budget, job, (source.spec, source.given), weights.spec, (target.spec, target.given))
    if result.size == 0:
        return finished(target, out)
    if plan.inputs[0].given.owner == "plan":

        def read(start: int, stop: int, block: np.ndarray) -> None:
            block[...] = source.data[start:stop]

        n, taps = source.spec.shape[0], weights.spec.shape[0]
        run(plan, None, [_halo(job, read, n, taps), whole(weights)], [rows(target)])
    else:
        run(plan, None, [whole(source), whole(weights)], [whole(target)])
    return finished(target, out)


def _plan(
    limits: Limits,
    budget: int | None,
    job: Correlate,
    image: tuple[ArraySpec, Given],
    weights: ArraySpec,
    out: tuple[ArraySpec, Given],
) -> Plan:
    """The whole image at once where that fits, else blocks of rows."""

    def record(b: Builder, size: int) -> None:
        job.record(b, b.inp(image[0], "image", image[1]), b.inp(weights, "mask"), b.out(out[0], "out", out[1]))

    variants = [Variant("images", 1, record)]
    if image[1].space == out[1].space == "host":
        variants.append(_blocks(job, image[0], weights, *out))
    return fit(limits, budget, "convolve", variants)


def _blocks(
    job: Correlate,
    image: ArraySpec,
    weights: ArraySpec,
    out: ArraySpec,
    given: Given,
    reading: Reading | None = None,
) -> Variant:
    halo = weights.shape[0] - 1

    def record(b: Builder, size: int) -> None:
        # In the sums' dtype: it is what the kernel reads, and holds a cval that an integer image could not.
        block = b.inp(ArraySpec((size + halo, *image.shape[1:]), sum_dtype(image.dtype)), "image rows", _BLOCK)
        if reading is not None:
            b.library("file reader", reading(size + halo, block.spec.dtype))
        job.record(b, block, b.inp(weights, "mask"), b.out(ArraySpec((size, *out.shape[1:]), out.dtype), "out", given), block=True)

    return Variant("rows" if len(image.shape) == 2 else "samples", out.shape[0], record, note="blocks carry the mask's halo")


def _halo(job: Correlate, read: Read, n: int, taps: int) -> Callable[[int, int], Callable[[np.ndarray], None]]:
    """Fill a block with the rows its outputs need, the border's rows where they lie outside; no stretch is read
    twice.
    """
    code, first = CODES[job.boundary], job.offset(taps)

    def fill(start: int, stop: int, block: np.ndarray) -> None:
        index = [source_index(row, n, code) for row in range(start + first, stop + first + taps - 1)]
        for at, end, row in stretches(index):
            if row < 0:
                block[at:end] = job.cval
            else:
                read(row, row + end - at, block[at:end])

    if n == 0:
        raise ShapeError("image", "no rows", "at least one")
    return lambda start, stop: lambda block: fill(start, stop, block)
