"""Background and noise of an image on a mesh."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from footprint.api._arrays import Array, Memory, described, finished, new, output, shared
from footprint.api._call import call, planned
from footprint.api._image import foretold, from_file, host, see
from footprint.errors import ArgumentError
from footprint.ops.mesh import Mesh
from footprint.ops.sigma_clip import check_positive
from footprint.plan.plan import Plan
from footprint.spec import ArraySpec


def background(
    image: Any,
    mesh: int = 64,
    *,
    kappa: float = 3.0,
    median: int = 3,
    robust: bool = True,
    out: tuple[Any, Any] | None = None,
    memory: Memory = None,
    on_plan: Callable[[Plan], None] | None = None,
) -> tuple[Any, Any]:
    """Maps of background and noise: clipped statistics of cells of mesh x mesh pixels, a median filter, a bicubic spline.

    Values further than kappa standard deviations from a cell's median are clipped until none is. As sources only add, a normal
    distribution cut off a deviation over the background is then matched to what lies below it (``robust``), so that a crowd of
    sources raises neither map much. Cells with fewer than 30 % of their pixels take the values of those around. Runs on the CPU.

    Parameters
    ----------
    image : array (n_y, n_x), or an open image with ``read(rows, out)``
        Real numbers of any dtype, byte order and strides; what is not finite is ignored.
    mesh : int
        Pixels along a side of a cell, 4 to 1024: some times the largest source.
    kappa : float
        Half width of the clip, in standard deviations.
    median : int
        Cells along a side of the median filter, odd; 1 for none.
    robust : bool
        False takes the clip's standard deviation and mode (2.5 median - 1.5 mean, in skew cells the median), as SExtractor does.
    out : tuple of two arrays (n_y, n_x), optional
        Where background and noise go.
    memory : str, int or float, optional
        The most the run may take beside the arrays.

    Returns
    -------
    tuple of two arrays
        Background and noise: float32, for wider images float64.

    Raises
    ------
    ShapeError, ArgumentError, BudgetError
        An image of another shape, or without a finite pixel; an argument out of range; a budget that is too small.

    Notes
    -----
    After Bertin & Arnouts (1996), A&AS 117, 393.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> image = np.random.default_rng(1).normal(7, 2, size=(256, 256))
    >>> level, noise = fp.background(image)
    >>> bool(abs(level.mean() - 7) < 0.1), bool(abs(noise.mean() - 2) < 0.1)
    (True, True)
    """
    seen, op = see(image), _op(mesh, kappa, median, robust)
    specs = op.out_specs(seen.spec)
    if out is None:
        targets = [host(new(spec)) for spec in specs]
        given: tuple[Any, Any] = (None, None)
    else:
        given = out
        if not isinstance(out, tuple | list) or len(out) != 2:
            raise ArgumentError("out", repr(type(out).__name__), "two arrays, for background and noise")
        targets = [output(one, spec, host(np.empty(0)), "out") for one, spec in zip(out, specs)]
    arrays = [*targets, *([seen.face] if isinstance(seen.face, Array) else [])]
    if any(shared(a, b) for i, a in enumerate(arrays) for b in arrays[:i]):
        raise ArgumentError("out", "memory shared with another array", "arrays of their own")
    call("background", op, [seen.face], targets, "cpu", memory, on_plan=on_plan)
    if np.isnan(targets[1].data[0, 0]):
        raise ArgumentError("image", f"{seen.spec} without a finite pixel", "at least one finite pixel")
    return finished(targets[0], given[0]), finished(targets[1], given[1])


def plan_background(
    shape: tuple[int, int],
    *,
    dtype: str = "float32",
    mesh: int = 64,
    kappa: float = 3.0,
    median: int = 3,
    robust: bool = True,
    streamed: bool = False,
    memory: Memory = None,
) -> Plan:
    """Plan `background` of a C-contiguous image of this shape and dtype.

    Parameters
    ----------
    shape : tuple of int
        Of the image.
    dtype : str
        Of the image.
    streamed : bool
        Whether it comes from a file.
    mesh, kappa, median, robust, memory
        As in `background`.

    Returns
    -------
    Plan
        Its outputs are background and noise.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.plan_background((4096, 4096), memory="3MB", streamed=True).footprint.total < 3e6
    True
    """
    spec: ArraySpec = described(shape, dtype)[0]
    op = _op(mesh, kappa, median, robust)
    ins = [from_file(spec, None)] if streamed else foretold(spec)
    return planned("background", op, ins, foretold(*op.out_specs(spec)), "cpu", memory)


def _op(mesh: Any, kappa: Any, median: Any, robust: bool) -> Mesh:
    for name, value, low, high in (("mesh", mesh, 4, 1024), ("median", median, 1, 31)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or not low <= value <= high:
            raise ArgumentError(name, repr(value), f"a whole number, {low} to {high}")
    if median % 2 == 0:
        raise ArgumentError("median", repr(median), "an odd number")
    return Mesh(int(mesh), check_positive("kappa", kappa), int(median), up=1.0 if robust else 0.0)
