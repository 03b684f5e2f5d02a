"""Background and noise of an image on a mesh."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from footprint.api._arrays import Array, Memory, described, finished, output, shared, where
from footprint.api._blank import PADDED, blanked, check_blank, unwrap, without_pixels
from footprint.api._call import call, planned
from footprint.api._image import foretold, from_file, host, see
from footprint.api._sky import sky_of
from footprint.errors import ArgumentError, flag, warn
from footprint.ops.mesh import Cells, Paint
from footprint.ops.pipeline import Pipeline, Stage
from footprint.ops.sigma_clip import check_positive
from footprint.plan.plan import Plan
from footprint.spec import ArraySpec


def background(
    image: Any,
    box: int = 64,
    *,
    filter_size: int = 3,
    kappa: float = 3.0,
    robust: bool = True,
    blank: str = "auto",
    mask: Any = None,
    weight: Any = None,
    header: Mapping[str, Any] | None = None,
    out: tuple[Any, Any] | None = None,
    memory: Memory = None,
    device: str = "auto",
    on_plan: Callable[[Plan], None] | None = None,
) -> tuple[Any, Any]:
    """Maps of background and noise: clipped statistics of cells of box x box pixels, a median filter, a bicubic spline.

    Values farther than kappa standard deviations from a cell's median are clipped until there are none. Since sources only add
    light, a normal distribution truncated one standard deviation above the background is then fitted to the values below that
    (``robust``), so that a crowd of sources raises neither map much. Cells with data in less than 30 % of their pixels take the
    values of those around them. If the beam is known, the noise is corrected for being too low in cells of few beams: by 2.2 times
    the beam's area over the cell's. Beside a step the noise stays above 0, where natural splines would swing below it.

    Parameters
    ----------
    image : array (n_y, n_x), or an open image with ``read(rows, out)``
        Real numbers of any dtype, byte order and strides, or what holds them, as in `find_sources`; pixels that are masked or not
        finite are ignored.
    box : int
        Pixels along a side of a cell, 4 to 1024: several times the largest source.
    filter_size : int
        Cells along a side of the median filter, odd; 1 for none.
    kappa : float
        Half width of the clip, in standard deviations.
    robust : bool
        False takes the clip's standard deviation and mode (2.5 median - 1.5 mean; in skewed cells the median), as SExtractor does.
    blank, mask, weight
        Which pixels have no data, as in `find_sources`.
    header : mapping, optional
        FITS header of the image, for the beam; an image from a file, or an HDU, brings its own.
    out : tuple of two arrays (n_y, n_x), optional
        Where background and noise go.
    memory : str, int or float, optional
        The most memory the run may take beyond the arrays.
    device : str
        "auto", "cpu", "cuda", "cuda:1", "opencl".

    Returns
    -------
    tuple of two arrays
        Background and noise: float32, or float64 for images of wider dtypes.

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
    held = unwrap(image)
    plain = see(held.data)
    masks = {"mask": mask, "image's mask": held.mask, "weight": weight}
    seen, padded = blanked(plain, check_blank(blank), masks, plain.where(device), memory)
    sky = sky_of(plain.file, held.header if header is None else header, held.unit, held.wcs)
    op = maps_of(cells_of(box, filter_size, kappa, robust, sky.beam_area))
    specs = op.out_specs(seen.spec)
    given: tuple[Any, Any] = (None, None) if out is None else out
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise ArgumentError("out", repr(type(out).__name__), "two arrays, for background and noise")
    like = plain.face if isinstance(plain.face, Array) else host(np.empty(0))
    targets = [output(one, spec, like, "out") for one, spec in zip(given, specs)]
    arrays = [*targets, *([plain.face] if isinstance(plain.face, Array) else [])]
    if any(shared(a, b) for i, a in enumerate(arrays) for b in arrays[:i]):
        raise ArgumentError("out", "memory shared with another array", "arrays of their own")
    call("background", op, [seen.face], targets, plain.where(device), memory, on_plan=on_plan)
    if np.isnan(float(targets[1].data[0, 0])):
        raise without_pixels(seen)
    if padded:
        warn(PADDED)
    return finished(targets[0], given[0]), finished(targets[1], given[1])


def plan_background(
    shape: tuple[int, int],
    box: int = 64,
    *,
    dtype: str = "float32",
    filter_size: int = 3,
    kappa: float = 3.0,
    robust: bool = True,
    header: Mapping[str, Any] | None = None,
    streamed: bool = False,
    memory: Memory = None,
    device: str = "auto",
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
    box, filter_size, kappa, robust, header, memory, device
        As in `background`.

    Returns
    -------
    Plan
        Its outputs are background and noise.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.plan_background((4096, 4096), memory="3MB", streamed=True, device="cpu").footprint.total < 3e6
    True
    """
    spec: ArraySpec = described(shape, dtype)[0]
    op = maps_of(cells_of(box, filter_size, kappa, robust, sky_of(None, header).beam_area))
    ins = [from_file(spec, None)] if streamed else foretold(spec)
    return planned("background", op, ins, foretold(*op.out_specs(spec)), where(device), memory)


def maps_of(cells: Cells) -> Pipeline:
    """The cells, and maps of them."""
    stages = Stage(cells, ("image",), ("cells",)), Stage(Paint(cells.size), ("image", "cells"), ("background", "noise"))
    return Pipeline(stages, ("image",), ("background", "noise"))


def cells_of(box: Any, filter_size: Any, kappa: Any, robust: bool, alike: float | None = None) -> Cells:
    """The cells that such options ask for, for noise that a beam of this area correlates where one is known."""
    for name, value, low, high in (("box", box, 4, 1024), ("filter_size", filter_size, 1, 31)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or not low <= value <= high:
            raise ArgumentError(name, repr(value), f"a whole number, {low} to {high}")
    if filter_size % 2 == 0:
        raise ArgumentError("filter_size", repr(filter_size), "an odd number")
    up = float(flag("robust", robust))
    return Cells(int(box), check_positive("kappa", kappa), int(filter_size), up=up, alike=alike or 0.0)
