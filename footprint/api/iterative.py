"""Reconstruct slices from few, noisy or missing projections by iterating: SIRT, CGLS, total variation."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from footprint.api._arrays import Memory
from footprint.api._half import say_of_axis
from footprint.api._tomo import angles_of, numbers, on_stack, planned_stack, position, shape_of
from footprint.errors import ArgumentError, ShapeError, flag
from footprint.ops.backproject import Geometry
from footprint.ops.iterative import ITERATIONS, METHODS, MOST, Iterative
from footprint.plan.plan import Plan

Box = tuple[int, int, int, int]


def sirt(
    sinogram: Any,
    angles: Any = None,
    *,
    iterations: int = ITERATIONS["sirt"],
    nonnegative: bool = False,
    center: float | None = None,
    roi: Box | None = None,
    pixel_size: float | None = None,
    circle: bool = False,
    axis_shifts: Any = None,
    out: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Any:
    """Reconstruct slices by SIRT, x += C A' R (b - A x), from x = 0.

    A is `project` and A' its exact transpose; R and C hold one over the sums of A along its rows and columns, or 0 where such a sum
    is below a hundredth of a pixel. ``|b - A x|``, weighted by R, falls in every iteration, towards its minimum.

    Parameters
    ----------
    sinogram : array (n_angles, n_x) or (n_z, n_angles, n_x)
        Line integrals: minus the logarithm of the transmission. Any real dtype; computed in float32; not changed.
    angles : array (n_angles,), optional
        Radians, or a Quantity in any unit of angle, with any spacing; equally spaced over [0, pi) by default.
    iterations : int
        How many, at most 1,000,000: few give soft slices, many give sharper ones with more noise.
    nonnegative : bool
        Set values below 0 to 0 in every iteration.
    center : float, optional
        Rotation axis in pixels from the centre of pixel 0; (n_x - 1) / 2 by default. As in `fbp` it may lie off the detector; give
        a ``roi`` then that holds all that was seen.
    roi : (x0, x1, y0, y1), optional
        Region of the slice, end-exclusive, in pixels of the n_x by n_x square. Everything around it is taken to be empty: if the
        object reaches beyond the detector, give a larger region, not a smaller one.
    pixel_size : float, optional
        Divides the result: with centimetres it is in 1/cm.
    circle : bool
        Zeros outside the circle that every projection has seen.
    axis_shifts : array (n_angles,), optional
        Shift of each projection on the detector, in pixels.
    out : array (n_y, n_x) or (n_z, n_y, n_x), optional
        Where the slices go, of a floating dtype.
    memory : str, int or float, optional
        The most memory a run may take beyond the arrays you pass in. Slices are processed in chunks, each through all iterations.
    device : str
        "auto", "cpu", "cuda", "cuda:1", "opencl".

    Returns
    -------
    array (n_y, n_x) or (n_z, n_y, n_x)
        float32. Sums have one order: the bits are the same in every run and whatever ``memory`` allows.

    Raises
    ------
    ShapeError, ArgumentError, BudgetError
        Where arrays or settings do not fit together, or not one slice fits ``memory``.

    References
    ----------
    J. Gregor and T. Benson, IEEE Transactions on Medical Imaging 27 (2008), 918.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> disc = np.repeat(2 * np.sqrt(np.maximum(20**2 - (np.arange(64) - 31.5) ** 2, 0))[None], 30, axis=0)
    >>> float(fp.sirt(disc, iterations=50, nonnegative=True)[24:40, 24:40].mean().round(2))
    1.0
    """
    how = Iterated("sirt", iterations, None, nonnegative, center, roi, pixel_size, circle, axis_shifts)
    return _reconstructed(sinogram, angles, how, out, memory, device)


def plan_sirt(
    shape: tuple[int, ...],
    angles: Any = None,
    *,
    dtype: str = "float32",
    iterations: int = ITERATIONS["sirt"],
    nonnegative: bool = False,
    center: float | None = None,
    roi: Box | None = None,
    pixel_size: float | None = None,
    circle: bool = False,
    axis_shifts: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Plan:
    """Plan `sirt` of C-contiguous sinograms of this shape and dtype on the host.

    Parameters
    ----------
    shape, dtype
        Of the sinograms.
    angles, iterations, nonnegative, center, roi, pixel_size, circle, axis_shifts, memory, device
        As in `sirt`; ``angles`` may be their number.

    Returns
    -------
    Plan
        Its chunks are slices.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.plan_sirt((64, 180, 512), memory="100MB", device="cpu").footprint.total <= 100e6
    True
    """
    how = Iterated("sirt", iterations, None, nonnegative, center, roi, pixel_size, circle, axis_shifts)
    return _plan(shape, angles, how, dtype, memory, device)


def cgls(
    sinogram: Any,
    angles: Any = None,
    *,
    iterations: int = ITERATIONS["cgls"],
    center: float | None = None,
    roi: Box | None = None,
    pixel_size: float | None = None,
    circle: bool = False,
    axis_shifts: Any = None,
    out: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Any:
    """Reconstruct slices by conjugate gradients on the normal equations A'A x = A' b, from x = 0.

    ``|b - A x|`` falls in every iteration, faster than by any other method that knows only A and A': some ten to thirty are enough,
    and more fit the noise. Every slice has steps of its own, kept in float64 where kernels run.

    Parameters
    ----------
    sinogram, angles, center, roi, pixel_size, circle, axis_shifts, out, memory, device
        As in `sirt`.
    iterations : int
        How many.

    Returns
    -------
    array (n_y, n_x) or (n_z, n_y, n_x)
        As for `sirt`.

    Raises
    ------
    ShapeError, ArgumentError, BudgetError
        Where arrays or settings do not fit together, or not one slice fits ``memory``.

    References
    ----------
    A. Bjorck, Numerical Methods for Least Squares Problems, SIAM 1996, section 7.4.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> disc = np.repeat(2 * np.sqrt(np.maximum(20**2 - (np.arange(64) - 31.5) ** 2, 0))[None], 30, axis=0)
    >>> float(fp.cgls(disc, iterations=8)[24:40, 24:40].mean().round(2))
    1.0
    """
    how = Iterated("cgls", iterations, None, False, center, roi, pixel_size, circle, axis_shifts)
    return _reconstructed(sinogram, angles, how, out, memory, device)


def plan_cgls(
    shape: tuple[int, ...],
    angles: Any = None,
    *,
    dtype: str = "float32",
    iterations: int = ITERATIONS["cgls"],
    center: float | None = None,
    roi: Box | None = None,
    pixel_size: float | None = None,
    circle: bool = False,
    axis_shifts: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Plan:
    """Plan `cgls` of C-contiguous sinograms of this shape and dtype on the host.

    Parameters
    ----------
    shape, dtype
        Of the sinograms.
    angles, iterations, center, roi, pixel_size, circle, axis_shifts, memory, device
        As in `cgls`; ``angles`` may be their number.

    Returns
    -------
    Plan
        Its chunks are slices.
    """
    how = Iterated("cgls", iterations, None, False, center, roi, pixel_size, circle, axis_shifts)
    return _plan(shape, angles, how, dtype, memory, device)


def tv(
    sinogram: Any,
    angles: Any = None,
    *,
    weight: float,
    iterations: int = ITERATIONS["tv"],
    nonnegative: bool = False,
    center: float | None = None,
    roi: Box | None = None,
    pixel_size: float | None = None,
    circle: bool = False,
    axis_shifts: Any = None,
    out: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Any:
    """Reconstruct slices of little total variation: the minimum of ``|A x - b|² / 2 + weight sum |grad x|``.

    grad x holds the differences to the next column and the next row, 0 at the last, and ``|grad x|`` is its length at each pixel.
    The method is the primal-dual one of Chambolle and Pock, with a step for every ray and pixel from the sums of A along rows and
    columns.

    Parameters
    ----------
    sinogram, angles, nonnegative, center, roi, pixel_size, circle, axis_shifts, out, memory, device
        As in `sirt`.
    weight : float
        Above 0, in the sinogram's units (of slices in 1/pixel, whatever ``pixel_size``): larger is smoother between edges. About s
        sqrt(n_angles) smooths noise of standard deviation s in the sinogram.
    iterations : int
        How many.

    Returns
    -------
    array (n_y, n_x) or (n_z, n_y, n_x)
        As for `sirt`.

    Raises
    ------
    ShapeError, ArgumentError, BudgetError
        Where arrays or settings do not fit together, or not one slice fits ``memory``.

    References
    ----------
    A. Chambolle and T. Pock, Journal of Mathematical Imaging and Vision 40 (2011), 120; T. Pock and A. Chambolle, ICCV 2011, 1762.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> disc = np.repeat(2 * np.sqrt(np.maximum(20**2 - (np.arange(64) - 31.5) ** 2, 0))[None], 12, axis=0)
    >>> float(fp.tv(disc, weight=0.1, iterations=100)[24:40, 24:40].mean().round(2))
    1.0
    """
    how = Iterated("tv", iterations, weight, nonnegative, center, roi, pixel_size, circle, axis_shifts)
    return _reconstructed(sinogram, angles, how, out, memory, device)


def plan_tv(
    shape: tuple[int, ...],
    angles: Any = None,
    *,
    dtype: str = "float32",
    weight: float = 1.0,
    iterations: int = ITERATIONS["tv"],
    nonnegative: bool = False,
    center: float | None = None,
    roi: Box | None = None,
    pixel_size: float | None = None,
    circle: bool = False,
    axis_shifts: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Plan:
    """Plan `tv` of C-contiguous sinograms of this shape and dtype on the host.

    Parameters
    ----------
    shape, dtype
        Of the sinograms.
    angles, weight, iterations, nonnegative, center, roi, pixel_size, circle, axis_shifts, memory, device
        As in `tv`; ``angles`` may be their number, and no ``weight`` changes the memory.

    Returns
    -------
    Plan
        Its chunks are slices.
    """
    how = Iterated("tv", iterations, weight, nonnegative, center, roi, pixel_size, circle, axis_shifts)
    return _plan(shape, angles, how, dtype, memory, device)


class Iterated(NamedTuple):
    """Arguments of `sirt`, `cgls` and `tv` that say how slices are made, as they were given."""

    method: str
    iterations: Any = None
    weight: Any = None
    nonnegative: bool = False
    center: Any = None
    roi: Any = None
    pixel_size: Any = None
    circle: bool = False
    axis_shifts: Any = None

    def op(self, angles: np.ndarray, n_x: int) -> Iterative:
        """The operation, of values that can be compared."""
        count = ITERATIONS[self.method] if self.iterations is None else self.iterations
        if not isinstance(count, int | np.integer) or isinstance(count, bool):
            raise ArgumentError("iterations", repr(count), f"a whole number from 1 to {MOST:,}")
        try:
            share = None if self.weight is None else float(self.weight)
        except (TypeError, ValueError, OverflowError):
            raise ArgumentError("weight", repr(self.weight), "a number above 0") from None
        axis = position((n_x - 1) / 2 if self.center is None else self.center)
        shifts = None if self.axis_shifts is None else numbers("axis_shifts", self.axis_shifts)
        geometry = Geometry(angles, n_x, axis, self.roi, shifts)
        positive, circle = flag("nonnegative", self.nonnegative), flag("circle", self.circle)
        return Iterative(geometry, self.method, int(count), share, positive, self.pixel_size, circle)


def _reconstructed(sinogram: Any, angles: Any, how: Iterated, out: Any, memory: Memory, device: str) -> Any:
    shape = shape_of(sinogram, "sinogram")
    op = _op(shape, angles, how, "sinogram")
    say_of_axis(op.geometry.checked().check_shifts(), widened=False)
    return on_stack(how.method, "sinogram", sinogram, op, out, memory, device)


def _plan(shape: Any, angles: Any, how: Iterated, dtype: str, memory: Memory, device: str) -> Plan:
    return planned_stack(how.method, shape, dtype, _op(shape, angles, how, "shape"), memory, device)


def _op(shape: Any, angles: Any, how: Iterated, name: str) -> Iterative:
    if not isinstance(shape, tuple | list) or len(shape) not in (2, 3):
        raise ShapeError(name, shape, "(n_angles, n_x) or (n_z, n_angles, n_x)")
    return how.op(angles_of(angles, shape[-2]), shape[-1])


__all__ = ["METHODS", "cgls", "plan_cgls", "plan_sirt", "plan_tv", "sirt", "tv"]
