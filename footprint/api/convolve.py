"""Convolve and correlate signals and images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from footprint.api._arrays import Memory, Progress, described, where
from footprint.api._call import Described, Stream, call, planned
from footprint.api._filtered import How, filtered, last, number, operation, returned
from footprint.api._mask import file_mask, mask_slot, weights_of
from footprint.api._method import made_by
from footprint.api._turned import turned_spec
from footprint.dtypes import COMPLEX
from footprint.plan.faces import Filler, Region, Taker
from footprint.plan.plan import Plan
from footprint.plan.slots import Given
from footprint.spec import ArraySpec

Read = Callable[[int, int, np.ndarray], None]
Write = Callable[[int, int, np.ndarray], None]
# Bytes a file's library holds beside the block while so many rows are read into it, contiguous and of this dtype.
Reading = Callable[[int, str], int]


def convolve(
    image: Any,
    mask: Any,
    mode: str = "same",
    *,
    boundary: str = "constant",
    cval: float = 0.0,
    nan: str = "propagate",
    origin: int | tuple[int, ...] = 0,
    axes: Any = None,
    method: str = "auto",
    dtype: Any = None,
    out: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Any:
    """Convolve a signal, an image or a volume with a mask, out[y, x] = sum of mask[i, j] image[y + c_y - i, x + c_x - j].

    Direct sums take every tap: no weight is too small to count, and float32 results are within 1e-6 of the sum of |mask| |image|
    under masks of any size, on every device. See ``method`` for the others, which differ by rounding only.

    Parameters
    ----------
    image : array (n_x,), (n_y, n_x), (n_z, n_y, n_x), or with more axes
        Numbers of any dtype, byte order and strides; bool and integers of 8 and 16 bits are read as they are stored.
        NaN and infinities spread to every output they touch, also under a weight of zero, as 0 times NaN is NaN
        (scipy.ndimage leaves such weights out), unless ``nan`` says otherwise. Of an astropy Quantity the
        unit is carried on, times the mask's; an NDData or CCDData with a mask, unit or uncertainty is refused.
    mask : array (k_x,), (k_y, k_x) or (k_z, k_y, k_x)
        Any size, odd or even, real or complex, of as many dimensions as the image, or as ``axes`` has.
    mode : {"same", "full", "valid"}
        The size of the result, with the conventions of ``scipy.signal.convolve``: "full" has n + k - 1 outputs an axis,
        "same" the n in the middle of them (starting at (k - 1) // 2, so c = (k - 1) // 2; for an even mask
        ``scipy.ndimage.convolve`` puts the centre one further), "valid" the n - k + 1 that reach nothing outside: there
        is none where the mask is the larger, so that is refused (SciPy exchanges the two; do so yourself if you mean it).
    boundary : {"constant", "nearest", "reflect", "mirror", "wrap"}
        What lies outside: ``cval``; the last sample; abcd|dcba (the "reflect" of scipy.ndimage, numpy.pad's
        "symmetric"); abcd|cba (numpy.pad's "reflect"); abcd|abcd. Other libraries' names are accepted where no two
        differ: "edge" and "replicate" are "nearest", "symmetric" is "reflect", "circular" is "wrap".
    cval : float
        Value outside for "constant"; NaN is none of what is known.
    nan : {"propagate", "interpolate", "ignore"}
        What is done about NaN in the image: it spreads; or each result is the sum over what is a number, divided by the
        share of the mask's sum that fell on numbers (``astropy.convolution`` with ``normalize_kernel=False``, for which
        the mask's sum must not be 0), and NaN where there is none; or NaN adds nothing (astropy's "fill" with 0).
    origin : int or tuple of int
        Moves the mask's centre c, along all axes or each, in mode "same"; 0 lies on it.
    axes : tuple of int, optional
        Axes of the image that the mask's are, in order; along the others every image is filtered on its own. They must
        be given where the image has more than the mask. On a device they are the image's last, in order.
    method : {"auto", "direct", "separable", "fft"}
        "direct" sums, tap by tap. "fft": transforms of tiles (overlap-save), of signals, images and volumes on the CPU, of
        images on GPUs; the weights are finite. Results are within 1e-6 (float64: 1e-14) of the sum of |mask| times the
        largest |image| of the tile, so beside what is very much brighter, direct sums keep more digits; NaN and infinities
        reach what they reach in direct sums. "separable": the mask as a sum of products of a column and a row, found by its
        singular values until what is left is at most 2^-24 (float64: 2^-48) of the sum of |mask|; refused where it has too
        many. "auto" takes "fft" where, by the shapes of image and mask alone, it is predicted to be the quicker (on the CPU
        twice as quick), as for large images and masks from about 17 x 17 on, of some 200 samples or of 11 x 11 x 11, on
        GPUs 14 x 14; and "direct" otherwise, and with ``nan``. No method depends on memory, threads or parts; the plan says
        which, and why.
    dtype : dtype, optional
        Of the sums and the result, "float32" or "float64" ("complex64", "complex128"); "float16" gives float32 sums,
        rounded at the end.
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
        float32 for float16, float32, bool and integers of 8 and 16 bits; float64 for all others, unless ``dtype`` is
        given; where image or mask is complex, complex64 or complex128, by the image's precision. Sums have this dtype,
        and image and mask are rounded to it.

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
    return filtered(image, mask, True, How.of(mode, boundary, dtype, nan, origin, axes, method), cval, out, memory, device)


def correlate(
    image: Any,
    mask: Any,
    mode: str = "same",
    *,
    boundary: str = "constant",
    cval: float = 0.0,
    nan: str = "propagate",
    origin: int | tuple[int, ...] = 0,
    axes: Any = None,
    method: str = "auto",
    dtype: Any = None,
    out: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Any:
    """Correlate a signal, an image or a volume with a mask, out[y, x] = sum of mask[i, j] image[y - k_y // 2 + i,
    x - k_x // 2 + j].

    The convolution with the mask flipped in every axis; all else as in `convolve`. In mode "same" tap k // 2 lies on
    the output, as in ``scipy.signal.correlate`` and ``scipy.ndimage.correlate``. Of a complex mask the conjugate is taken.

    Parameters
    ----------
    image, mask, mode, boundary, cval, nan, origin, axes, method, dtype, out, memory, device
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
    return filtered(image, mask, False, How.of(mode, boundary, dtype, nan, origin, axes, method), cval, out, memory, device)


def plan_convolve(
    shape: tuple[int, ...],
    mask_shape: tuple[int, ...],
    *,
    dtype: str = "float32",
    mode: str = "same",
    boundary: str = "constant",
    cval: float = 0.0,
    nan: str = "propagate",
    origin: int | tuple[int, ...] = 0,
    axes: Any = None,
    method: str = "auto",
    mask_dtype: Any = None,
    result: Any = None,
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
    mode, boundary, cval, nan, origin, axes, method, memory, device
        As in `convolve`; a "separable" mask is planned as one product.
    mask_dtype : dtype, optional
        Of the mask, where it is complex.
    result : dtype, optional
        The ``dtype`` of `convolve`.

    Returns
    -------
    Plan
        Its inputs are the image and the mask in order of correlation (a convolution's mask flipped) in the sums' dtype;
        of a "separable" one the image alone.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.plan_convolve((8192, 8192), (13, 13), memory="1GB", device="cpu").footprint.total < 10**9
    True
    """
    spec, given = described(shape, dtype, kinds=COMPLEX)
    how = How.of(mode, boundary, result, nan, origin, axes, name="result")
    order = last(how.axes, len(spec.shape))
    if order is not None:
        spec, given = turned_spec(spec, order), Given(direct=False)
    is_complex = mask_dtype is not None and described((), mask_dtype, kinds=COMPLEX)[0].dtype[1] == "c"
    op, weights = operation(spec, mask_shape, how, number(cval), complex_mask=is_complex)
    image = Described(spec, given)
    target = Described(returned(op.out_specs(spec, weights)[0], how.result), Given(direct=order is None))
    op, rest = made_by(method, op, spec, mask_slot(weights), where(device), memory)
    return planned("convolve", op, [image, *rest], [target], where(device), memory)


def plan_correlate(shape: tuple[int, ...], mask_shape: tuple[int, ...], **options: Any) -> Plan:
    """Plan `correlate`; the same as `plan_convolve`."""
    return plan_convolve(shape, mask_shape, **options)


def plan_convolve_rows(
    shape: tuple[int, int],
    mask_shape: tuple[int, ...],
    *,
    dtype: str = "float32",
    mode: str = "same",
    boundary: str = "constant",
    cval: float = 0.0,
    nan: str = "propagate",
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
    shape, mask_shape
        Of the image and the mask.
    dtype
        Of the image.
    mode, boundary, cval, nan, method, result, memory, device
        As in `plan_convolve`.
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
    how = How.of(mode, boundary, result, nan, name="result")
    op, weights = operation(spec, mask_shape, how, number(cval))
    sink = Stream(None, returned(op.out_specs(spec, weights)[0], how.result), lambda block: writing)
    given = mask_slot(weights) if mask_file is None else file_mask(mask_file, weights.dtype)
    op, rest = made_by(method, op, spec, given, where(device), memory)
    return planned("convolve", op, [_blocks(spec, reading), *rest], [sink], where(device), memory)


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
        ``read(start, stop, out)`` puts rows start to stop of the image into ``out``, cast to its dtype. Called in a thread
        of the job's, or in one for each of several devices, at once.
    shape, dtype
        Of the image.
    mask, mode, boundary, cval, nan, method, result, memory, device
        As in `plan_convolve`; ``memory`` covers the blocks read and written, too.
    write : callable
        ``write(start, stop, block)`` takes rows start to stop of the result, in order and one block at a time, also where several
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
    how = How.of(mode, boundary, result, nan, name="result")
    weights = weights_of(mask, flip, how.sums or dtype, scaled=nan == "interpolate")
    op, wanted = operation(spec, weights.spec.shape, how, number(cval))
    out = returned(op.out_specs(spec, wanted)[0], how.result)
    source = _blocks(spec, reading, lambda region, block: read(region[0].start, region[0].stop, block))
    taker = Taker(lambda region, block: write(region[0].start, region[0].stop, block), ordered=True)
    sink = Stream(taker, out, lambda block: writing)
    seen: list[Plan] = []

    def told(plan: Plan) -> None:
        seen.append(plan)
        if on_plan is not None:
            on_plan(plan)

    op, rest = made_by(method, op, spec, weights, where(device), memory)
    call("convolve", op, [source, *rest], [sink], where(device), memory, progress=progress, on_plan=told)
    return seen[0]


def _blocks(spec: ArraySpec, reading: Reading | None, fill: Callable[[Region, np.ndarray], None] | None = None) -> Stream:
    """An image that comes by rows."""
    beside = None if reading is None else lambda block: reading(block.shape[0], block.dtype)
    return Stream(Filler(fill) if fill is not None else None, spec, beside)
