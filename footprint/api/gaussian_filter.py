"""Gaussian and uniform means, and derivatives of Gaussians, along the axes of an array."""

from __future__ import annotations

from typing import Any

import numpy as np

from footprint.api._arrays import Memory
from footprint.api._lines import Weights, lined, planned_lines
from footprint.api._window import axes_of, each, mode_of, number, placed, whole
from footprint.errors import ArgumentError
from footprint.kernels.common.borders import shows_borders
from footprint.plan.plan import Plan

# Weights to a side, and the highest derivative: more than images have use for, and few enough to be made before there is a plan.
_FARTHEST, _HIGHEST = 1 << 22, 64


@shows_borders("mode")
def gaussian_filter(
    input: Any,
    sigma: Any,
    order: Any = 0,
    output: Any = None,
    mode: Any = "reflect",
    cval: float = 0.0,
    truncate: float = 4.0,
    *,
    radius: Any = None,
    axes: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Any:
    """Convolve with a Gaussian, or a derivative of one, along every axis.

    The signature and weights of ``scipy.ndimage.gaussian_filter``. The last two axes are taken in one pass where neither has more
    than 64 weights (32 of float64).

    Parameters
    ----------
    input : array (n_x,), (n_y, n_x) or (n_z, n_y, n_x)
        Real numbers of any dtype, byte order and strides. NaN and infinities spread to everything their weights reach.
        The unit of an astropy Quantity is kept.
    sigma : float or tuple of float
        Standard deviation in pixels, for all axes or for each; an axis with 0 is not filtered.
    order : int or tuple of int
        0 for the Gaussian, 1 for its first derivative, and so on.
    output : array or dtype, optional
        Where the result goes: a floating array of the image's shape, apart from ``input``; or the dtype of a new one.
    mode : {"reflect", "constant", "nearest", "mirror", "wrap"} or one for each axis
        What lies outside: abcd|dcba (numpy.pad's "symmetric"); ``cval``; the last pixel; abcd|cba (numpy.pad's "reflect");
        abcd|abcd. The notes have the names that other libraries give them, which are accepted where no two differ.
    cval : float
        Value outside for "constant": outside the image, and outside each intermediate result that one axis leaves for the next.
    truncate : float
        Standard deviations after which the weights end.
    radius : int or tuple of int, optional
        Pixels after which the weights end, in place of ``truncate``.
    axes : tuple of int, optional
        Axes to filter along; all by default.
    memory : str, int or float, optional
        The most memory a run may take beyond the arrays you pass in: "2GB", bytes, or a share of the free memory. The result is the
        same to the last bit, however it is cut into parts.
    device : str
        "auto", "cpu", "cuda", "cuda:1", "opencl".

    Returns
    -------
    array
        float32 for float16, float32, bool and integers of 8 and 16 bits; float64 for all others. scipy.ndimage truncates results
        for integers to integers; cast them if you want that. Within 1e-6 of the sum of ``|w| |x|`` (float64: 1e-14); wide Gaussians
        of float32, by coarse rows and columns, also count light beyond their ends with up to 4e-7 of the largest weight, and matrix
        units, of numbers beside one over a million times larger, lose what is 2^-40 of that.

    Raises
    ------
    ShapeError, ArgumentError, BudgetError
        Where arrays do not fit together, a word is unknown, or not even one row fits ``memory``.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> fp.gaussian_filter(np.array([0.0, 0, 1, 0, 0]), 1, radius=1).round(3)
    array([0.   , 0.274, 0.452, 0.274, 0.   ])
    """
    made = lambda n_axes: gaussians(sigma, order, mode, truncate, radius, axes, n_axes)
    look = (sigma, order, mode, cval, truncate, radius, axes)
    return lined("gaussian_filter", input, look, made, cval, output, memory, device)


@shows_borders("mode")
def plan_gaussian_filter(
    shape: tuple[int, ...],
    sigma: Any,
    order: Any = 0,
    *,
    dtype: str = "float32",
    mode: Any = "reflect",
    cval: float = 0.0,
    truncate: float = 4.0,
    radius: Any = None,
    axes: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Plan:
    """Plan `gaussian_filter` of a C-contiguous array of this shape and dtype: every byte it will take, before any data.

    Parameters
    ----------
    shape : tuple of int
        Of the array.
    dtype : str
        Of the array.
    sigma, order, mode, cval, truncate, radius, axes, memory, device
        As in `gaussian_filter`.

    Returns
    -------
    Plan
        Its parts are planes, rows, and where not even a row fits, columns. On the CPU a long image of short rows is planned with
        its long axis last, and parts are pieces of that.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.plan_gaussian_filter((8192, 8192), 2, device="cpu").n_parts
    1
    """
    made = lambda n_axes: gaussians(sigma, order, mode, truncate, radius, axes, n_axes)
    return planned_lines("gaussian_filter", shape, dtype, made, cval, memory, device)


@shows_borders("mode")
def uniform_filter(
    input: Any,
    size: Any = 3,
    output: Any = None,
    mode: Any = "reflect",
    cval: float = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Any:
    """Take the mean of a box around every pixel.

    Parameters
    ----------
    size : int or tuple of int
        Size of the box, along all axes or each.
    origin : int or tuple of int
        Moves the box, which is centred at 0, towards smaller indices.
    input, output, mode, cval, axes, memory, device
        As in `gaussian_filter`.

    Returns
    -------
    array
        As in `gaussian_filter`.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> fp.uniform_filter(np.array([0.0, 0, 3, 0, 6]), 3)
    array([0., 1., 1., 3., 4.])
    """
    made = lambda n_axes: boxes(size, mode, origin, axes, n_axes)
    return lined("uniform_filter", input, (size, mode, cval, origin, axes), made, cval, output, memory, device)


@shows_borders("mode")
def plan_uniform_filter(
    shape: tuple[int, ...],
    size: Any = 3,
    *,
    dtype: str = "float32",
    mode: Any = "reflect",
    cval: float = 0.0,
    origin: Any = 0,
    axes: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Plan:
    """Plan `uniform_filter` of a C-contiguous array of this shape and dtype.

    Parameters
    ----------
    shape, dtype, memory, device
        As in `plan_gaussian_filter`.
    size, mode, cval, origin, axes
        As in `uniform_filter`.

    Returns
    -------
    Plan
        As of `plan_gaussian_filter`.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.plan_uniform_filter((512, 512), 5, device="cpu").n_parts
    1
    """
    made = lambda n_axes: boxes(size, mode, origin, axes, n_axes)
    return planned_lines("uniform_filter", shape, dtype, made, cval, memory, device)


def gaussians(sigma: Any, order: Any, mode: Any, truncate: Any, radius: Any, axes: Any, n_axes: int) -> list[Weights]:
    """Weights of Gaussians along the axes that have any."""
    wanted = axes_of(axes, n_axes)
    values = zip(
        wanted,
        each("sigma", sigma, len(wanted), number),
        each("order", order, len(wanted), whole),
        each("mode", mode, len(wanted), mode_of),
        each("radius", radius, len(wanted), lambda name, one: None if one is None else whole(name, one)),
    )
    ends, found = number("truncate", truncate), []
    for axis, width, derivative, border, reach in values:
        if width < 0 or derivative < 0 or ends < 0 or (reach or 0) < 0:
            name = "sigma" if width < 0 else "order" if derivative < 0 else "truncate" if ends < 0 else "radius"
            got = {"sigma": sigma, "order": order, "truncate": truncate, "radius": radius}[name]
            raise ArgumentError(name, got, "0 or more")
        if width > 1e-15:
            if derivative > _HIGHEST:
                raise ArgumentError("order", order, f"0 to {_HIGHEST}")
            samples = ends * width + 0.5 if reach is None else reach
            if samples > _FARTHEST:
                name, got = ("sigma", sigma) if reach is None else ("radius", radius)
                raise ArgumentError(name, got, f"a Gaussian of at most {_FARTHEST} samples to a side")
            reach = int(samples)
            # In order of correlation.
            found.append(Weights(axis, gaussian(width, derivative, reach)[::-1], -reach, border))
    return found


def gaussian(sigma: float, order: int, radius: int) -> np.ndarray:
    """Samples of a Gaussian, whose sum is 1, times the polynomial of its derivative, in order of convolution."""
    x = np.arange(-radius, radius + 1, dtype=float)
    weights = np.exp(-0.5 / sigma**2 * x**2)
    weights /= weights.sum()
    # f' = (q' + q p') f with p = -x^2 / 2 sigma^2.
    polynomial = np.polynomial.Polynomial([1.0])
    for _ in range(order):
        polynomial = polynomial.deriv() + polynomial * np.polynomial.Polynomial([0, -1 / sigma**2])
    return weights * polynomial(x)


def boxes(size: Any, mode: Any, origin: Any, axes: Any, n_axes: int) -> list[Weights]:
    """Equal weights along the axes of boxes longer than 1."""
    wanted = axes_of(axes, n_axes)
    sizes, modes = each("size", size, len(wanted), whole), each("mode", mode, len(wanted), mode_of)
    if not 1 <= min(sizes, default=1) <= max(sizes, default=1) <= 2 * _FARTHEST:
        raise ArgumentError("size", size, f"1 to {2 * _FARTHEST}")
    origins = each("origin", origin, len(wanted), whole)
    return [
        Weights(axis, np.full(length, 1 / length), placed("origin", move, length), border)
        for axis, length, border, move in zip(wanted, sizes, modes, origins)
        if length > 1
    ]
