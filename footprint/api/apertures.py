"""Sums over apertures at places that are given."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from footprint.api._arrays import Memory, described, where
from footprint.api._blank import blanked, unwrap
from footprint.api._call import Face, Stream, call, planned
from footprint.api._image import Image, Reading, foretold, from_file, host, see
from footprint.api._light import Photometry, annulus_of, describe_light, radii_of
from footprint.api._places import places_of
from footprint.api._sky import sky_of
from footprint.api._table import Columns
from footprint.dtypes import kernel_dtype
from footprint.errors import ArgumentError, ShapeError, warn
from footprint.kernels.apertures.contract import PLACE, SUMS
from footprint.ops.apertures import Apertures
from footprint.plan.faces import Taker
from footprint.plan.plan import Plan
from footprint.spec import ArraySpec


def apertures(
    image: Any,
    positions: Any,
    radii: Any,
    *,
    annulus: Any = None,
    background: Any = 0.0,
    noise: Any = None,
    mask: Any = None,
    header: Mapping[str, Any] | None = None,
    memory: Memory = None,
    device: str = "auto",
    on_plan: Callable[[Plan], None] | None = None,
) -> Any:
    """Sum the light within discs around given positions, sum_i A_i (image_i - background_i), A_i being the area of pixel i inside.

    Areas are exact, as photutils' and SEP's are. Pixels that are not finite or are masked, or where a noise map is not above 0,
    have no data: they are left out, and flagged. The image is read once, arrays in place and files by blocks of rows, to the same
    bits.

    Parameters
    ----------
    image : array (n_y, n_x), or an open image with ``read(rows, out)``
        As in `find_sources`.
    positions : array (n, 2), SkyCoord, or table
        x and y, counted from 0 at the centre of the first pixel; positions on the sky if the header has a WCS; a table as in
        `measure_at`.
    radii : number, str, Quantity, or a list of them
        In pixels; words such as ``"1.5 beam"`` (the geometric mean of its full widths at half maximum) or ``"10 arcsec"``; angles
        are converted by the pixel's size at the reference point.
    annulus : two radii, optional
        Radii between which the sky is measured (the area-weighted mean of the pixels there), which is then subtracted.
    background, noise : number, or array or open image (n_y, n_x)
        What is subtracted from every pixel; the standard deviation of a pixel's noise, without which there are no errors.
    mask : array or open image (n_y, n_x), optional
        No data where it is not 0.
    header : mapping, optional
        FITS header of the image, for units, positions and the beam.
    memory : str, int or float, optional
        The most memory the run may take beyond the arrays.
    device : str
        "auto", "cpu", "cuda", "cuda:1", "opencl".
    on_plan : callable, optional
        Called with the plan before anything is allocated or read.

    Returns
    -------
    astropy.table.Table
        One row per position: x, y; for every radius aper1_flux (in Jy where the image is in Jy/beam and the beam is known),
        aper1_flux_err (of the noise, correlated by the beam where one is known, and of the annulus, not of the source's photons),
        aper1_area (square pixels with data), aper2_flux and so on; aper_flags, a sum: 1 where pixels had no data, 2 beyond the
        image's end, 4 where there was no data at all, there or in the annulus, and the flux is NaN.

    Warns
    -----
    UserWarning
        A disc that is wider than the image.

    Raises
    ------
    ShapeError, ArgumentError, BudgetError, BackendError
        Shapes that differ, an argument out of range, a budget that is too small, a device that is not available.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> table = fp.apertures(np.ones((20, 20)), [(9.3, 8.1)], [2, 3])
    >>> round(float(table["aper2_flux"][0] / np.pi), 9)
    9.0
    """
    given = unwrap(image)
    plain = see(given.data)
    seen, _ = blanked(plain, "nan", {"mask": mask, "image's mask": given.mask})
    sky = sky_of(plain.file, given.header if header is None else header, given.unit, given.wcs)
    light = Photometry(radii_of("radii", radii, sky), annulus_of(annulus, sky), 0.0, sky.beam_area)
    at = places_of(positions, sky)
    level, spread = _value("background", background, seen), _value("noise", 1.0 if noise is None else noise, seen)
    maps = [one.face for one in (level, spread) if isinstance(one, Image)]
    values = [None if isinstance(one, Image) else one for one in (level, spread)]
    op = Apertures(max(len(at), 1), light.discs, *values)
    columns: dict[str, np.ndarray] = {}
    outs = [Stream(Taker(lambda region, sums: columns.update(light.columns(sums[: len(at)]))), _sums(op), key="catalogue")]
    call(
        "apertures",
        op,
        [seen.face, *maps, host(_places(at, op.count))],
        outs,
        plain.where(device),
        memory,
        on_plan=on_plan,
    )
    if noise is None:
        columns = {name: data for name, data in columns.items() if not name.endswith("_err")}
    found = Columns({"x": at[:, 0].copy(), "y": at[:, 1].copy()} | columns)
    describe_light(found, sky, light)
    for sentence in light.wide(seen.spec.shape):
        warn(sentence)
    return found.table()


def plan_apertures(
    shape: tuple[int, int],
    count: int,
    radii: Any = (5.0,),
    *,
    dtype: str = "float32",
    annulus: Any = None,
    background: float | str = 0.0,
    noise: float | str = 1.0,
    streamed: bool = False,
    reading: Reading | None = None,
    header: Mapping[str, Any] | None = None,
    memory: Memory = None,
    device: str = "auto",
) -> Plan:
    """Plan `apertures` at ``count`` positions of a C-contiguous image of this shape and dtype.

    Parameters
    ----------
    shape : tuple of int
        Of the image.
    count : int
        How many positions.
    dtype : str
        Of the image.
    radii, annulus, header, memory, device
        As in `apertures`.
    background, noise : float or "map"
        "map" for a map that is given, of the image's dtype.
    streamed : bool
        Whether the image and maps come from files.
    reading : callable, optional
        As in `plan_find_sources`.

    Returns
    -------
    Plan
        Its output is the table that the columns are made of.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.plan_apertures((4096, 4096), 1000, radii=[3, 5], device="cpu").nbytes
    64192
    """
    spec, _ = described(shape, dtype)
    if len(spec.shape) != 2 or spec.size == 0:
        raise ShapeError("shape", spec.shape, "(n_y, n_x) with at least one pixel")
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0:
        raise ArgumentError("count", repr(count), "a whole number, 0 or more")
    sky = sky_of(None, header)
    discs = radii_of("radii", radii, sky) + annulus_of(annulus, sky)
    given = {"background": background, "noise": noise}
    values = [None if isinstance(one, str) and one == "map" else _number(name, one, "'map'") for name, one in given.items()]
    op = Apertures(max(int(count), 1), discs, *values)
    images: list[Face] = [from_file(spec, reading) if streamed else foretold(spec)[0] for _ in range(1 + values.count(None))]
    ins = [*images, *foretold(ArraySpec((op.count, PLACE), "float64"))]
    outs = [Stream(Taker(lambda region, sums: None), _sums(op), key="catalogue")]
    return planned("apertures", op, ins, outs, where(device), memory)


def _sums(op: Apertures) -> ArraySpec:
    return ArraySpec((op.count, SUMS * len(op.radii)), "float64")


def _places(at: np.ndarray, count: int) -> np.ndarray:
    """The kernel's table of discs."""
    places = np.full((count, PLACE), np.nan)
    places[: len(at), 0], places[: len(at), 1] = at[:, 1], at[:, 0]
    places[: len(at), 2:] = 1.0, 0.0, 0.0, 1.0, 1.0
    # What lies nowhere has no aperture.
    places[~np.isfinite(places).all(1)] = np.nan
    return places


def _number(name: str, value: Any, instead: str = "a map") -> float:
    """One number for all pixels; a noise is above 0."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number) or (name == "noise" and number <= 0):
        raise ArgumentError(name, repr(value), f"a {'number above 0' if name == 'noise' else 'finite number'}, or {instead}")
    return number


def _value(name: str, value: Any, image: Image) -> Image | float:
    """A map, or one number for all."""
    if isinstance(value, str):
        raise ArgumentError(name, repr(value), "a number or a map")
    if not hasattr(value, "read") and not isinstance(value, Sequence) and np.ndim(value) == 0:
        return _number(name, value)
    seen = see(unwrap(value, name).data, name)
    if seen.spec.shape != image.spec.shape:
        raise ShapeError(name, f"shape {seen.spec.shape}", f"the image's {image.spec.shape}")
    if np.dtype(kernel_dtype(seen.spec.dtype)).kind != "f":
        raise ShapeError(name, f"dtype {seen.spec.dtype}", "real numbers")
    return seen
