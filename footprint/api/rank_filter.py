"""Medians, other ranks, minima and maxima of the window around every pixel."""

from __future__ import annotations

from typing import Any

from footprint.api._arrays import Memory
from footprint.api._rank import Window, percentage, ranked
from footprint.api._window import whole
from footprint.kernels.common.borders import shows_borders


@shows_borders("mode")
def median_filter(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: float = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Any:
    """Take the median of the window around every pixel: of n sorted values the one at n // 2, counted from 0.

    The signature of ``scipy.ndimage.median_filter``, and its values to the bit, except where the image holds NaN or integers beyond
    2^53, which SciPy rounds. Columns of windows are sorted by networks of comparisons, in registers.

    Parameters
    ----------
    input : array (n_x,), (n_y, n_x) or (n_z, n_y, n_x)
        Real numbers of any dtype, byte order and strides; they are compared in a type that holds every value.
        The unit of an astropy Quantity is kept.
    size : int or tuple of int
        Size of the window: one for all axes, or one for each; at most 11, and any for minima and maxima. With three axes it is 1
        along one, as in ``size=(1, 3, 3)`` or ``size=3, axes=(1, 2)`` of a stack of planes, ``size=3, axes=(0, 1)`` of a picture's
        colours.
    footprint : array of bool, optional
        Instead of ``size``: the window, such as a disk or a cross; only true elements count; at most 11 along an axis.
    output : array or dtype, optional
        Where the result goes: an array of the image's shape, and a dtype that holds the image's, apart from ``input``; or
        the dtype of a new one.
    mode : {"reflect", "constant", "nearest", "mirror", "wrap"} or one for each axis
        What lies outside: abcd|dcba (numpy.pad's "symmetric"); ``cval``; the last pixel; abcd|cba (numpy.pad's "reflect");
        abcd|abcd. The notes have the names that other libraries give them, which are accepted where no two differ.
    cval : float
        Value outside for "constant", and only looked at there; the image's dtype must be able to hold it.
    origin : int or tuple of int
        Moves the window, which is centred at 0, towards smaller indices.
    axes : tuple of int, optional
        The axes that ``size``, ``mode`` and ``origin`` refer to; all by default. The window is 1 along others.
    memory : str, int or float, optional
        The most memory a run may take beyond the arrays you pass in: "2GB", bytes, or a share of the free memory. The result is the
        same to the last bit, however it is cut into parts.
    device : str
        "auto", "cpu", "cuda", "cuda:1", "opencl".

    Returns
    -------
    array
        Of the image's shape and dtype, in native byte order.

    Notes
    -----
    NaN is larger than every number, as in ``numpy.sort``: a median is NaN only where more than half of its window is, a
    minimum where all of it is, a maximum where any of it is. -0.0 comes before 0.0.

    Raises
    ------
    ShapeError, ArgumentError, BudgetError
        Where a window is larger than 11, arrays do not fit together, or not even one row fits ``memory``.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> fp.median_filter(np.array([1, 9, 2, 3, 7], np.uint8), 3)
    array([1, 2, 3, 3, 7], dtype=uint8)
    """
    how = Window(size, footprint, mode, cval, origin, axes)
    return ranked("median_filter", input, None, how, output, memory, device)


@shows_borders("mode")
def percentile_filter(
    input: Any,
    percentile: float,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: float = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Any:
    """Take a percentile of the window around every pixel: of n sorted values the one at int(n percentile / 100), from 0.

    Parameters
    ----------
    percentile : float
        -100 to 100; negative values count down from 100.
    input, size, footprint, output, mode, cval, origin, axes, memory, device
        As in `median_filter`.

    Returns
    -------
    array
        As in `median_filter`.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> fp.percentile_filter(np.array([1, 9, 2, 3, 7], np.uint8), 20, 5)
    array([1, 1, 2, 3, 3], dtype=uint8)
    """
    how = Window(size, footprint, mode, cval, origin, axes)
    return ranked("percentile_filter", input, percentage(percentile), how, output, memory, device)


@shows_borders("mode")
def rank_filter(
    input: Any,
    rank: int,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: float = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Any:
    """Take the value of a given rank in the window around every pixel.

    Parameters
    ----------
    rank : int
        From 0, the smallest; -1 is the largest.
    input, size, footprint, output, mode, cval, origin, axes, memory, device
        As in `median_filter`.

    Returns
    -------
    array
        As in `median_filter`.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> fp.rank_filter(np.array([1, 9, 2, 3, 7], np.uint8), -2, 3)
    array([1, 2, 3, 3, 7], dtype=uint8)
    """
    how = Window(size, footprint, mode, cval, origin, axes)
    return ranked("rank_filter", input, whole("rank", rank), how, output, memory, device)


@shows_borders("mode")
def minimum_filter(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: float = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Any:
    """Take the smallest value of the window around every pixel.

    Parameters
    ----------
    input, size, footprint, output, mode, cval, origin, axes, memory, device
        As in `median_filter`.

    Returns
    -------
    array
        As in `median_filter`.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> fp.minimum_filter(np.array([1, 9, 2, 3, 7], np.uint8), 3)
    array([1, 1, 2, 2, 3], dtype=uint8)
    """
    return ranked("minimum_filter", input, 0, Window(size, footprint, mode, cval, origin, axes), output, memory, device)


@shows_borders("mode")
def maximum_filter(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: float = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Any:
    """Take the largest value of the window around every pixel.

    Parameters
    ----------
    input, size, footprint, output, mode, cval, origin, axes, memory, device
        As in `median_filter`.

    Returns
    -------
    array
        As in `median_filter`.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> fp.maximum_filter(np.array([1, 9, 2, 3, 7], np.uint8), 3)
    array([9, 9, 9, 7, 7], dtype=uint8)
    """
    return ranked("maximum_filter", input, -1, Window(size, footprint, mode, cval, origin, axes), output, memory, device)
