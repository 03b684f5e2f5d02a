"""Pad signals, images and stacks."""

from __future__ import annotations

from typing import Any

import numpy as np

from footprint.answers import check_keywords
from footprint.api._arrays import Array, Memory, described, finished, on_host, output, receive, shared, where
from footprint.api._call import call, plan_verb
from footprint.api._recall import again, looks, remember
from footprint.api._units import in_unit, is_quantity, plain, refuse_parts
from footprint.errors import ArgumentError, ShapeError, choose
from footprint.kernels.common.borders import is_border, numpy_border, shows_borders
from footprint.ops.gather import Gather, Scattered
from footprint.ops.pad import GATHERED, MODES, STATISTICS, Pad
from footprint.plan.plan import Plan
from footprint.spec import ArraySpec

# Option -> its default, and the modes that take it.
_OPTIONS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "constant_values": (0, ("constant",)),
    "end_values": (0, ("linear_ramp",)),
    "stat_length": (None, STATISTICS),
    "reflect_type": ("even", ("reflect", "symmetric")),
}


# Longer lists of rows or columns are looked at anew by every call.
_SHORT = 4096


@shows_borders("mode", "numpy")
def pad(
    array: Any,
    pad_width: Any = None,
    mode: str = "constant",
    *,
    constant_values: Any = 0,
    end_values: Any = 0,
    stat_length: Any = None,
    reflect_type: str = "even",
    rows_index: Any = None,
    cols_index: Any = None,
    out: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Any:
    """Pad an array as ``numpy.pad`` does, or gather rows and columns, out[y, x] = array[rows_index[y], cols_index[x]].

    One pass, without an index image: borders are computed as they are copied.

    Parameters
    ----------
    array : array of 1 to 3 dimensions
        Real numbers of any dtype up to 8 bytes, byte order and strides. The unit of an astropy Quantity is kept.
    pad_width : int, (before, after), ((before, after), ...) or dict of axis to them
        Elements to add, as in ``numpy.pad``.
    mode : str
        With the meanings of ``numpy.pad``: "constant", "edge" (aaa|abcd|ddd), "reflect" (dcb|abcd|cba, scipy.ndimage's
        "mirror"), "symmetric" (cba|abcd|dcb, scipy.ndimage's "reflect"), "wrap" (bcd|abcd|abc), "linear_ramp",
        "maximum", "mean", "median", "minimum", "empty" (zeros here). The notes have the names that other libraries give to
        borders, which are accepted where no two differ.
    constant_values, end_values, stat_length, reflect_type
        As in ``numpy.pad``; where last digits may differ from its, as of odd reflections, is told with the result below.
    rows_index, cols_index : array of int, optional
        Instead of a width and a mode: the source row of each output row and the source column of each output column,
        of the last two axes; None keeps the axis.
    out : array, optional
        Where the result goes, apart from ``array``.
    memory : str, int or float, optional
        The most memory a run may take beyond the arrays you pass in.
    device : str
        "auto", "cpu", "cuda", "cuda:1", "opencl".

    Returns
    -------
    array
        Of the array's dtype in native byte order. Means and medians are summed in float64; those of integers are
        rounded to the nearest, ramps of integers down, as in NumPy, and ramps of floats to within a last place of NumPy; where one
        line's ramp is flat, NumPy multiplies in another order for all lines of that axis, and some of its whole numbers are then
        one less or more. Odd reflections of float32 and float64 are NumPy's to the bit where widths are smaller than the array.
        NumPy rounds after every reflection and every axis; here farther ones are within 2 eps of the largest exact one (NumPy's
        error is as large), and those of float16, which are computed in float32 and rounded once, within little more than half a
        last place of the exact value.

    Raises
    ------
    ShapeError, ArgumentError, BudgetError
        Where a width or index does not fit the array, a word is unknown, or the plan does not fit ``memory``.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> fp.pad(np.array([1, 2, 4]), 2, mode="reflect")
    array([4, 2, 1, 2, 4, 2, 1])
    >>> fp.pad(np.array([[1, 2], [3, 4]]), rows_index=[1, 1, 0], cols_index=[0, 1, 0])
    array([[3, 4, 3],
           [3, 4, 3],
           [1, 2, 1]])
    """
    custom = rows_index is not None or cols_index is not None
    options = pad_width, mode, constant_values, end_values, stat_length, reflect_type
    given = [one for one in (rows_index, cols_index) if one is not None] if custom else []
    # Lists are told by all that they hold, which says that they fit.
    short = not custom or all(type(one) is np.ndarray and one.size <= _SHORT for one in given)
    look = looks("pad", (*options, rows_index, cols_index, memory, device), array, out) if short else None
    found = again(look, [array, *given], out)
    if found is not None:
        return found
    if type(array) is not np.ndarray:
        refuse_parts(array, "array", keeps_unit=True)
    if type(array) is not np.ndarray and is_quantity(array):
        values, unit = plain(array, "array")
        name = "end_values" if mode == "linear_ramp" else "constant_values"
        more = dict(zip(_OPTIONS, options[2:])) | {"rows_index": rows_index, "cols_index": cols_index}
        run = lambda outside, out: pad(values, pad_width, mode, **more | {name: outside}, out=out, memory=memory, device=device)
        return in_unit(unit, unit, more[name], out, run, (name, "out"))
    source = receive(array, "array")
    if custom and (pad_width is not None or mode != "constant"):
        name, value = ("mode", mode) if pad_width is None else ("pad_width", pad_width)
        raise ArgumentError(name, repr(value), "nothing, when rows_index or cols_index is given")
    shape = source.spec.shape
    job: Pad | Gather
    if custom:
        job, lists = _custom(shape, rows_index, cols_index)
    else:
        job, lists = _job(shape, *options), []
    result = job.out_specs(source.spec)[0]
    target = _target(out, result, source)
    if result.size:
        key = call("pad", job, [source, *lists], [target], where(device, source, target), memory)
        remember(look, key, target.spec)
    return finished(target, out)


@shows_borders("mode", "numpy")
def plan_pad(
    shape: tuple[int, ...],
    pad_width: Any,
    mode: str = "constant",
    *,
    dtype: str = "float32",
    memory: Memory = None,
    device: str = "auto",
    **options: Any,
) -> Plan:
    """Plan `pad` of a C-contiguous array of this shape and dtype.

    Parameters
    ----------
    shape : tuple of int
        Of the array.
    pad_width, mode, memory, device
        As in `pad`.
    dtype : str
        Of the array.
    **options
        ``constant_values``, ``end_values``, ``stat_length``, ``reflect_type`` as in `pad`.

    Returns
    -------
    Plan
        On the CPU it takes no memory where borders are copies.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.plan_pad((4096, 4096), 16, "edge", device="cpu").nbytes
    0
    """
    spec, _ = described(shape, dtype)
    known = {option: usual for option, (usual, _) in _OPTIONS.items()}
    check_keywords("plan_pad", options, tuple(known))
    return plan_verb("pad", _job(spec.shape, pad_width, mode, *(known | options).values()), [spec], where(device), memory)


def _pairs(name: str, value: Any, ndim: int, wanted: str) -> list[list[Any]]:
    """NumPy's ways to give a number a side: one for all, (before, after) for all axes, or a pair an axis."""
    try:
        return np.broadcast_to(np.asarray(value), (ndim, 2)).tolist()
    except (TypeError, ValueError):
        raise ArgumentError(
            name, repr(value), f"{wanted}, a pair (before, after), or such a pair for each of {ndim} axes"
        ) from None


def _widths(pad_width: Any, ndim: int) -> tuple[tuple[int, int], ...]:
    if isinstance(pad_width, dict):
        if not all(isinstance(axis, int) and -ndim <= axis < ndim for axis in pad_width):
            raise ArgumentError("pad_width", pad_width, f"axes from {-ndim} to {ndim - 1}")
        by_axis = {axis % ndim: _widths(width, 1)[0] for axis, width in pad_width.items()}
        return tuple(by_axis.get(axis, (0, 0)) for axis in range(ndim))
    pairs = _pairs("pad_width", pad_width, ndim, "a number of elements")
    if not all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for pair in pairs for n in pair):
        raise ArgumentError("pad_width", repr(pad_width), "whole numbers, 0 or more")
    return tuple((before, after) for before, after in pairs)


def _job(
    shape: tuple[int, ...],
    pad_width: Any,
    mode: str,
    constant_values: Any,
    end_values: Any,
    stat_length: Any,
    reflect_type: str,
) -> Pad:
    ndim = len(shape)
    mode = numpy_border(mode, "mode") if is_border(mode) else mode
    choose("mode", mode, MODES)
    choose("reflect_type", reflect_type, ("even", "odd"))
    options = {
        "constant_values": constant_values,
        "end_values": end_values,
        "stat_length": stat_length,
        "reflect_type": reflect_type,
    }
    for option, value in options.items():
        usual, modes = _OPTIONS[option]
        if mode not in modes and not np.array_equal(value, usual):
            raise ArgumentError(option, repr(value), f"none in mode {mode!r}", f"it belongs to {', '.join(modes)}")
    lengths: tuple[tuple[int | None, int | None], ...] = ()
    if mode in STATISTICS and stat_length is not None:
        pairs = _pairs("stat_length", stat_length, ndim, "a number of elements")
        if not all(n is None or (isinstance(n, int) and n > 0) for pair in pairs for n in pair):
            raise ArgumentError("stat_length", repr(stat_length), "whole numbers, 1 or more, or None")
        lengths = tuple((first, last) for first, last in pairs)
    values: tuple[tuple[float, float], ...] = ()
    if mode in ("constant", "linear_ramp"):
        name, given = ("constant_values", constant_values) if mode == "constant" else ("end_values", end_values)
        found = _pairs(name, given, ndim, "a number")
        if not all(isinstance(n, float) or (isinstance(n, int) and n.bit_length() < 1024) for pair in found for n in pair):
            raise ArgumentError(name, repr(given), "real numbers")
        values = tuple((first, last) for first, last in found)
    odd = reflect_type == "odd" and GATHERED.get(mode) in ("reflect", "mirror")
    return Pad(_widths(pad_width, ndim), mode, odd, values, lengths)


def _custom(shape: tuple[int, ...], rows_index: Any, cols_index: Any) -> tuple[Gather, list[Array]]:
    """The operation, and the lists that are given, on the host."""
    if len(shape) < 2 and rows_index is not None:
        raise ShapeError("rows_index", f"an array of {len(shape)} dimension", "an array with rows, of 2 or 3 dimensions")
    reaches: list[Scattered | None] = [None] * len(shape)
    lengths, lists = list(shape), []
    for name, axis, given in (("rows_index", -2, rows_index), ("cols_index", -1, cols_index)):
        if given is None:
            continue
        values = np.asarray(on_host(receive(given, name).data))
        if values.ndim != 1 or (values.dtype.kind not in "iu" and values.size):
            raise ShapeError(name, f"{values.dtype} {values.shape}", "a vector of whole numbers")
        if values.size and (values.min() < 0 or values.max() >= shape[axis]):
            raise ArgumentError(name, f"{values.min()} to {values.max()}", f"0 to {shape[axis] - 1}, positions in the array")
        reaches[axis], lengths[axis] = Scattered.of(values), len(values)
        lists.append(Array(values, "numpy", "cpu"))
    return Gather(tuple(reaches), tuple(lengths)), lists


def _target(out: Any, result: ArraySpec, source: Array) -> Array:
    target = output(out, result, source)
    if out is not None:
        if not np.can_cast(result.dtype, target.spec.dtype, "same_kind"):
            raise ShapeError("out", f"dtype {target.data.dtype}", f"one that takes {np.dtype(result.dtype).name}")
        if shared(source, target):
            raise ArgumentError("out", "memory shared with array", "memory of its own")
    return target
