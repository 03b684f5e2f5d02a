"""Derivatives, Laplacians and sharpening, as sums along axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from footprint.api._arrays import Memory
from footprint.api._lines import Weights, branched, lined, planned_branches, planned_lines
from footprint.api._window import axes_of, each, mode_of, number, whole
from footprint.api.gaussian_filter import gaussians
from footprint.errors import ArgumentError
from footprint.kernels.common.borders import shows_borders
from footprint.plan.plan import Plan

Pairs = list[tuple[list[Weights], float]]


@shows_borders("mode")
def sobel(
    input: Any,
    axis: int = -1,
    output: Any = None,
    mode: Any = "reflect",
    cval: float = 0.0,
    *,
    memory: Memory = None,
    device: str = "auto",
) -> Any:
    """Take the Sobel derivative along an axis: -1, 0, 1 along it and 1, 2, 1 along all others.

    Parameters
    ----------
    axis : int
        Along which the derivative is taken.
    input, output, mode, cval, memory, device
        As in `gaussian_filter`.

    Returns
    -------
    array
        As in `gaussian_filter`.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> fp.sobel(np.array([0.0, 1, 4, 9]))
    array([1., 4., 8., 5.])
    """
    if isinstance(output, int):
        # OpenCV's order of arguments: ddepth, dx, dy.
        fix = "axis=1 is OpenCV's dx=1, differences across the rows; axis=0 is its dy=1"
        raise ArgumentError("output", output, "an array, or a dtype such as 'float32'", fix)
    made = lambda n_axes: sobels(axis, mode, n_axes)
    return lined("sobel", input, (axis, mode, cval), made, cval, output, memory, device)


@shows_borders("mode")
def laplace(
    input: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: float = 0.0,
    *,
    axes: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Any:
    """Take the Laplacian by second differences: the sum of 1, -2, 1 along every axis.

    Parameters
    ----------
    axes : tuple of int, optional
        Along which it is taken, all by default: (1, 2) of a stack of planes, (0, 1) of a picture (n_y, n_x, colours).
    input, output, mode, cval, memory, device
        As in `gaussian_filter`.

    Returns
    -------
    array
        As in `gaussian_filter`.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> fp.laplace(np.array([0.0, 1, 4, 9]))
    array([ 1.,  2.,  2., -5.])
    """
    made = lambda n_axes: differences(n_axes, axes, mode)
    return branched("laplace", input, (mode, cval, axes), made, cval, output, memory, device)


@shows_borders("mode")
def gaussian_laplace(
    input: Any,
    sigma: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: float = 0.0,
    *,
    axes: Any = None,
    truncate: float = 4.0,
    radius: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Any:
    """Take the Laplacian by second derivatives of Gaussians.

    Parameters
    ----------
    axes : tuple of int, optional
        Along which it is taken, all by default: (1, 2) of a stack of planes, (0, 1) of a picture (n_y, n_x, colours). Along all
        three of a volume NaN reaches all neighbours, those across corners too.
    input, sigma, output, mode, cval, truncate, radius, memory, device
        As in `gaussian_filter`; no sigma is 0.

    Returns
    -------
    array
        As in `gaussian_filter`.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> fp.gaussian_laplace(np.array([0.0, 0, 1, 0, 0]), 1, radius=1).round(3)
    array([ 0.   ,  0.   , -0.452,  0.   ,  0.   ])
    """
    made = lambda n_axes: curvatures(n_axes, axes, sigma, mode, truncate, radius)
    return branched("gaussian_laplace", input, (sigma, mode, cval, axes, truncate, radius), made, cval, output, memory, device)


@shows_borders("mode")
def unsharp_mask(
    image: Any,
    radius: float = 1.0,
    amount: float = 1.0,
    *,
    output: Any = None,
    mode: Any = "reflect",
    cval: float = 0.0,
    axes: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Any:
    """Sharpen: image + amount (image - its Gaussian of standard deviation ``radius``), neither scaled nor clipped.

    Parameters
    ----------
    image : array (n_x,), (n_y, n_x) or (n_z, n_y, n_x)
        Real numbers of any dtype.
    radius : float or tuple of float
        Standard deviation in pixels.
    amount : float
        How much of the difference is added; a negative amount smooths.
    axes : tuple of int, optional
        Along which it is taken, all by default: (1, 2) of a stack of planes, (0, 1) of a picture (n_y, n_x, colours). Along all
        three of a volume NaN reaches all neighbours, those across corners too.
    output, mode, cval, memory, device
        As in `gaussian_filter`.

    Returns
    -------
    array
        As in `gaussian_filter`; ``skimage.filters.unsharp_mask`` gives the same with ``preserve_range=True``.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> fp.unsharp_mask(np.array([0.0, 0, 1, 1]), 1.0).round(2)
    array([-0.06, -0.3 ,  1.3 ,  1.06])
    """
    made = lambda n_axes: sharpened(n_axes, axes, radius, amount, mode)
    return branched("unsharp_mask", image, (radius, amount, mode, cval, axes), made, cval, output, memory, device)


@shows_borders("mode")
def plan_sobel(
    shape: tuple[int, ...],
    axis: int = -1,
    *,
    dtype: str = "float32",
    mode: Any = "reflect",
    cval: float = 0.0,
    memory: Memory = None,
    device: str = "auto",
) -> Plan:
    """Plan `sobel` of a C-contiguous array of this shape and dtype.

    Parameters
    ----------
    shape, dtype, memory, device
        As in `plan_gaussian_filter`.
    axis, mode, cval
        As in `sobel`.

    Returns
    -------
    Plan
        As of `plan_gaussian_filter`.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.plan_sobel((512, 512), 0, device="cpu").n_parts
    1
    """
    return planned_lines("sobel", shape, dtype, lambda n_axes: sobels(axis, mode, n_axes), cval, memory, device)


@shows_borders("mode")
def plan_laplace(
    shape: tuple[int, ...],
    *,
    dtype: str = "float32",
    mode: Any = "reflect",
    cval: float = 0.0,
    axes: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Plan:
    """Plan `laplace` of a C-contiguous array of this shape and dtype.

    Parameters
    ----------
    shape, dtype, memory, device
        As in `plan_gaussian_filter`.
    mode, cval, axes
        As in `laplace`.

    Returns
    -------
    Plan
        As of `plan_gaussian_filter`.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.plan_laplace((512, 512), device="cpu").n_parts
    1
    """
    return planned_branches("laplace", shape, dtype, lambda n_axes: differences(n_axes, axes, mode), cval, memory, device)


@shows_borders("mode")
def plan_unsharp_mask(
    shape: tuple[int, ...],
    radius: float = 1.0,
    amount: float = 1.0,
    *,
    dtype: str = "float32",
    mode: Any = "reflect",
    cval: float = 0.0,
    axes: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Plan:
    """Plan `unsharp_mask` of a C-contiguous array of this shape and dtype.

    Parameters
    ----------
    shape, dtype, memory, device
        As in `plan_gaussian_filter`.
    radius, amount, mode, cval, axes
        As in `unsharp_mask`.

    Returns
    -------
    Plan
        As of `plan_gaussian_filter`.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.plan_unsharp_mask((512, 512), 2, device="cpu").n_parts
    1
    """
    made = lambda n_axes: sharpened(n_axes, axes, radius, amount, mode)
    return planned_branches("unsharp_mask", shape, dtype, made, cval, memory, device)


@shows_borders("mode")
def plan_gaussian_laplace(
    shape: tuple[int, ...],
    sigma: Any,
    *,
    dtype: str = "float32",
    mode: Any = "reflect",
    cval: float = 0.0,
    axes: Any = None,
    truncate: float = 4.0,
    radius: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Plan:
    """Plan `gaussian_laplace` of a C-contiguous array of this shape and dtype.

    Parameters
    ----------
    shape, dtype, memory, device
        As in `plan_gaussian_filter`.
    sigma, mode, cval, axes, truncate, radius
        As in `gaussian_laplace`.

    Returns
    -------
    Plan
        As of `plan_gaussian_filter`.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.plan_gaussian_laplace((512, 512), 2, device="cpu").n_parts
    1
    """
    made = lambda n_axes: curvatures(n_axes, axes, sigma, mode, truncate, radius)
    return planned_branches("gaussian_laplace", shape, dtype, made, cval, memory, device)


def sobels(axis: Any, mode: Any, n_axes: int) -> list[Weights]:
    """Weights of Sobel's derivative, its own axis first."""
    along = whole("axis", axis)
    if not -n_axes <= along < n_axes:
        raise ArgumentError("axis", axis, f"{-n_axes} to {n_axes - 1}")
    order = [along % n_axes, *(a for a in range(n_axes) if a != along % n_axes)]
    modes = each("mode", mode, n_axes, mode_of)
    return [Weights(a, np.array([1.0, 2, 1] if i else [-1.0, 0, 1]), -1, modes[a]) for i, a in enumerate(order)]


def differences(n_axes: int, axes: Any, mode: Any) -> Pairs:
    """Second differences, a branch an axis."""
    wanted = axes_of(axes, n_axes)
    modes = each("mode", mode, len(wanted), mode_of)
    return [([Weights(axis, np.array([1.0, -2, 1]), -1, border)], 1.0) for axis, border in zip(wanted, modes)]


def curvatures(n_axes: int, axes: Any, sigma: Any, mode: Any, truncate: Any, radius: Any) -> Pairs:
    """Second derivatives of Gaussians, a branch an axis."""
    wanted = axes_of(axes, n_axes)
    if min(each("sigma", sigma, len(wanted), number), default=1) <= 0:
        raise ArgumentError("sigma", sigma, "above 0")
    orders = [tuple(2 * (a == axis) for a in wanted) for axis in wanted]
    return [(gaussians(sigma, order, mode, truncate, radius, wanted, n_axes), 1.0) for order in orders]


def sharpened(n_axes: int, axes: Any, radius: Any, amount: Any, mode: Any) -> Pairs:
    """The image, and what is taken off it."""
    share, wanted = number("amount", amount), axes_of(axes, n_axes)
    if min(each("radius", radius, len(wanted), number), default=0) < 0:
        raise ArgumentError("radius", radius, "0 or more")
    return [([], 1 + share), (gaussians(radius, 0, mode, 4.0, None, wanted, n_axes), -share)]
