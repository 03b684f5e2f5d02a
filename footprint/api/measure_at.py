"""Measure an image at places that are known."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from footprint.api._arrays import Memory, described, where
from footprint.api._blank import blanked, check_blank, unwrap
from footprint.api._call import Face, Stream, call, planned
from footprint.api._elsewhere import BEAMED, UNBEAMED, areas, covariance, far_of, heights, units, widest, window, with_fluxes
from footprint.api._image import Reading, foretold, from_file, host, see
from footprint.api._levels import Levels, kinds_of, levels_of, planned_maps
from footprint.api._light import Photometry, check_photometry, describe_light
from footprint.api._places import places_of, shapes_of
from footprint.api._sky import Sky, sky_of
from footprint.api._table import Columns
from footprint.api.background import cells_of
from footprint.errors import ArgumentError, ShapeError, warn
from footprint.kernels.find_sources.contract import LABEL, MOMENTS, PIXELS, SUM, SUM_X, SUM_Y, X_PEAK, Y_PEAK
from footprint.kernels.fit.contract import COLUMNS, MAJOR, MINOR, THETA, X, Y
from footprint.kernels.held.contract import FOUND
from footprint.kernels.sigma_clip.contract import BACKGROUND, NOISE
from footprint.ops.held import Held
from footprint.ops.measure_at import at_places
from footprint.ops.search import Maps
from footprint.ops.sigma_clip import SigmaClip, check_positive
from footprint.plan.faces import Taker
from footprint.plan.plan import Plan
from footprint.spec import ArraySpec

# Bytes of a place beside the plan: its row of the table of fits, x and y twice, shape, ra and dec, the ratio to the noise; where
# apertures are summed, of moments and boxes. Places worked on at a time.
_GIVEN, _SUMMED, _ROWS = 8 * (COLUMNS + 12), 8 * (MOMENTS + 12), 4096

# What catalogues call a row, in lower case: kept, so that rows are known again.
_TOLD = ("name", "label", "id", "number", "source_id", "object_id", "objid", "uuid")


def measure_at(
    image: Any,
    positions: Any,
    *,
    shapes: Any = None,
    apertures: Any = None,
    annulus: Any = None,
    kappa: float = 3.0,
    blank: str = "auto",
    mask: Any = None,
    weight: Any = None,
    header: Mapping[str, Any] | None = None,
    background: Any = "global",
    noise: Any = None,
    box: int = 64,
    filter_size: int = 3,
    memory: Memory = None,
    device: str = "auto",
    on_plan: Callable[[Plan], None] | None = None,
) -> Any:
    """Measure the sources of a catalogue: heights a_k of Gaussians g_k of fixed positions and shapes, all at once.

    Linear least squares: sum_p g_k(p) (image(p) - background(p) - sum_j a_j g_j(p)) = 0 for every source k, over the pixels within
    a quarter of its full width at half maximum (as few pixels are best in noise correlated by the beam; to a hundredth of its peak
    where no beam is known), and those within 1.6 pixels. Whatever overlaps is solved together. The image is read for its background
    and then for its pixels, files by blocks of rows, to the same bits.

    Parameters
    ----------
    image : array (n_y, n_x), or an open image with ``read(rows, out)``
        As in `find_sources`.
    positions : table, SkyCoord, or array (n, 2)
        A table's ra and dec (degrees, ICRS) where the image has a WCS, otherwise its x and y; arrays are x and y, counted from 0 at
        the centre of the first pixel. RAJ2000, SExtractor's ALPHA_J2000 and X_IMAGE (counted from 1), photutils' sky_centroid and
        x_centroid and the like are understood. `read_catalog` reads files.
    shapes : array (n, 3) or (3,), or "catalogue", optional
        Standard deviations along the axes in pixels, and degrees from x towards y; "catalogue" takes those of the table: on the sky
        (fit_major, fit_minor, fit_pa, or major, minor, pa; also PyBDSF's, Selavy's and Aegean's columns; arcsec unless they have a
        unit; SExtractor's A_WORLD, B_WORLD, THETA_J2000) where it has ra and dec and the image has a WCS, otherwise fit_a, fit_b,
        fit_theta, or a, b, theta (in radians in a table of SEP's, known by its other columns), or SExtractor's and photutils'. By
        default all have the beam's shape.
    apertures, annulus
        Also sum over discs around the positions, as in `find_sources`. Without shapes and without a beam these are all that is
        measured, and the table has no columns of fits.
    kappa, blank, mask, weight, header, background, noise, box, filter_size
        As in `find_sources`.
    memory : str, int or float, optional
        The most memory the run may take beyond the image.
    device : str
        As in `find_sources`.
    on_plan : callable, optional
        Called with the plan before anything is allocated or read.

    Returns
    -------
    astropy.table.Table
        One row per position, in their order: name, label, id, number or source_id, where the table given has them; x, y, ra and dec
        (where the image has a WCS); fit_peak, fit_peak_err, fit_flux (over the whole plane; in Jy where those of `find_sources`
        are), fit_flux_err, fit_chi2 (per degree of freedom, as if pixels were independent), fit_npix (pixels fitted), snr (fit_peak
        over its error), and the columns of `apertures`. Errors are of noise correlated by the beam where one is known, with the
        heights of up to seven neighbours unknown. NaN where there are no pixels with data, where two have the same position, and
        where so many are so close together that 100 steps do not settle their heights.

    Raises
    ------
    ShapeError, ArgumentError, BudgetError
        Shapes that differ, an argument out of range, a budget that is too small.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> y, x = np.indices((40, 40))
    >>> image = 7 * np.exp(-((y - 20.3) ** 2 + (x - 11) ** 2) / 8) + np.random.default_rng(1).normal(size=(40, 40)) * 1e-6
    >>> table = fp.measure_at(image, [(11, 20.3)], shapes=(2, 2, 0), background=0 * image, noise=0 * image + 1e-6)
    >>> round(float(table["fit_peak"][0]), 4), round(float(table["fit_flux"][0] / (2 * np.pi * 4)), 4)
    (7.0, 7.0)
    """
    given = unwrap(image)
    plain = see(given.data)
    seen, padded = blanked(
        plain, check_blank(blank), {"mask": mask, "image's mask": given.mask, "weight": weight}, plain.where(device), memory
    )
    sky = sky_of(plain.file, given.header if header is None else header, given.unit, given.wcs)
    cells = cells_of(box, filter_size, kappa, robust=True, alike=sky.beam_area)
    levels = levels_of(background, noise, cells, plain, sky, {})
    light = check_photometry(apertures, annulus, False, sky)
    at = places_of(positions, sky)
    own = None if shapes is None else shapes_of(shapes, positions, at, sky)
    wide = None if own is None else max(float(np.nanmax(own[:, :2], initial=1.0)), 1.0)
    op = _held(len(at), sky, wide, light)
    steps = at_places(
        op, SigmaClip(kappa), None if levels is None else levels.record, None if light is None else light.op(op.capacity)
    )
    columns: dict[str, np.ndarray] = {}
    stats = np.full(8, np.nan)
    fits = _fits(at, own, op)
    ins: list[Face] = [seen.face, *(levels.faces if levels is not None else []), host(np.array([len(at)])), host(fits)]
    ins += [host(one) for one in _tables(at, op.capacity)] if light is not None else []
    outs = _outs(op, levels, light, seen.spec.shape, stats, len(at), columns)
    call("measure_at", steps, ins, outs, plain.where(device), memory, on_plan=on_plan)
    if own is None and not op.beam:
        columns = {name: one for name, one in columns.items() if name.startswith("aper")}
    for sentence in light.wide(seen.spec.shape) if light is not None else ():
        warn(sentence)
    return _table(positions, at, columns, fits, sky, levels, light, stats, "zero" if padded else blank)


def _held(count: int, sky: Sky, wide: float | None, light: Photometry | None) -> Held:
    """What is solved, with windows for the beam's shape, or for Gaussians so ``wide``; nothing where light is summed alone."""
    beam = sky.inverse_beam
    if wide is None and not beam:
        if light is None:
            wanted, fix = (
                "an image whose header has the beam and the pixel size",
                "give a, b and theta, or apertures to sum over alone",
            )
            raise ArgumentError("shapes", "none", wanted, fix)
        wide = 1.0
    wide, within = widest(beam) if wide is None else wide, BEAMED if beam else UNBEAMED
    given = _GIVEN + (_SUMMED if light is not None else 0)
    return Held(max(count, 1), window(wide, within), within, far_of(max(wide, 1.0)), beam, given=given)


def _fits(at: np.ndarray, own: np.ndarray | None, op: Held) -> np.ndarray:
    """The table of fits that is held."""
    fits = np.full((op.capacity, COLUMNS), np.nan)
    fits[: len(at), X], fits[: len(at), Y] = at[:, 0], at[:, 1]
    if own is None and not op.beam:
        shape: Any = (math.nan,) * 3
    elif own is None:
        yy, yx, xx = covariance(op.beam)
        mean, half = (xx + yy) / 2, math.hypot((xx - yy) / 2, yx)
        shape = math.sqrt(mean + half), math.sqrt(max(mean - half, 0.0)), math.degrees(math.atan2(yx, (xx - yy) / 2)) / 2
    else:
        shape = own.T
    for column, value in zip((MAJOR, MINOR, THETA), shape):
        fits[: len(at), column] = value
    # No Gaussian is as narrow as this, or none at all.
    fits[~((fits[:, MAJOR] > 0) & (fits[:, MINOR] > 0) & np.isfinite(fits[:, THETA])), X] = np.nan
    return fits


def _tables(at: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Moments and boxes of sources whose centres are the positions."""
    moments, boxes = np.zeros((count, MOMENTS)), np.zeros((count, 8), np.int64)
    whole = np.isfinite(at).all(1) & (np.abs(at) < 2.0**31).all(1)
    moments[: len(at), SUM] = 1
    moments[: len(at), SUM_X], moments[: len(at), SUM_Y] = at[:, 0], at[:, 1]
    boxes[: len(at), [LABEL, PIXELS]] = whole[:, None]
    boxes[: len(at), [X_PEAK, Y_PEAK]] = np.rint(np.where(whole[:, None], at, 0))
    return moments, boxes


def _outs(
    op: Held, levels: Levels | None, light: Photometry | None, shape: Any, stats: np.ndarray, count: int, columns: dict[str, Any]
) -> list[Face]:
    """What takes the results, in the order of the steps."""
    outs: list[Face] = levels.sink(shape) if levels is not None else []
    outs += [host(stats), host(np.zeros(8, np.int64))] if levels is None or levels.clip else []
    take = Taker(lambda region, found: columns.update(heights(found[:count])))
    outs.append(Stream(take, ArraySpec((op.capacity, FOUND), "float64"), key="catalogue"))
    if light is not None:
        own = light
        summed = Taker(lambda region, sums: columns.update(own.columns(sums[:count])))
        outs.append(Stream(summed, ArraySpec((op.capacity, light.op(1).columns), "float64"), key="catalogue"))
    return outs


def _table(
    positions: Any, at: np.ndarray, columns: dict[str, np.ndarray], fits: np.ndarray, sky: Sky, levels: Levels | None,
    light: Photometry | None, stats: np.ndarray, blanks: str,
) -> Any:  # fmt: skip
    n = len(at)
    area, parts = np.empty(n), [slice(first, min(first + _ROWS, n)) for first in range(0, n, _ROWS)]
    for rows in parts:
        area[rows] = areas([fits[rows, one] for one in (MAJOR, MINOR, THETA)], np.zeros(3), ())
    found = with_fluxes(columns, area) if "fit_peak" in columns else columns
    if "fit_peak" in found:
        with np.errstate(invalid="ignore", divide="ignore"):
            found["snr"] = found["fit_peak"] / found["fit_peak_err"]
    placed = {"x": at[:, 0].copy(), "y": at[:, 1].copy()}
    if sky.wcs is not None:
        world = np.empty((2, n))
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for rows in parts:
                world[:, rows] = sky.told.places(at[rows])
        placed |= zip(("ra", "dec"), world)
    made = Columns(placed | found, dict.fromkeys(("ra", "dec"), "deg"))
    units(made, sky)
    describe_light(made, sky, light)
    typical, meta = levels.typical if levels is not None else {}, made.meta
    meta |= {name: typical.get(name, float(stats[i])) for name, i in (("background", BACKGROUND), ("noise", NOISE))}
    meta |= levels.tell() if levels is not None else {}
    meta["blanks"] = blanks
    if sky.beam is not None:
        meta |= {"beam_major": sky.beam.major, "beam_minor": sky.beam.minor, "beam_angle": sky.beam.angle}
    table = made.table()
    told = [name for name in getattr(positions, "colnames", ()) if str(name).lower() in _TOLD]
    if told:
        table.add_columns([positions[name] for name in told], [0] * len(told), told)
    return table


def plan_measure_at(
    shape: tuple[int, int],
    count: int,
    *,
    dtype: str = "float32",
    widest: float | None = None,
    apertures: Any = None,
    annulus: Any = None,
    header: Mapping[str, Any] | None = None,
    background: str = "global",
    noise: str | None = None,
    box: int = 64,
    filter_size: int = 3,
    streamed: bool = False,
    reading: Reading | None = None,
    memory: Memory = None,
    device: str = "auto",
) -> Plan:
    """Plan `measure_at` of ``count`` positions of a C-contiguous image of this shape and dtype.

    Parameters
    ----------
    shape : tuple of int
        Of the image.
    count : int
        How many positions.
    dtype : str
        Of the image.
    widest : float, optional
        The largest standard deviation of the shapes in pixels; the beam's unless given.
    apertures, annulus, header, box, filter_size, memory, device
        As in `measure_at`.
    background, noise : str
        As in `measure_at`; "map" for a map that is given, of the image's dtype.
    streamed, reading
        As in `plan_find_sources`.

    Returns
    -------
    Plan
        Its outputs are the tables that the columns are made of.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.plan_measure_at((4096, 4096), 1000, widest=2.1, memory="64MB", streamed=True).footprint.total < 64e6
    True
    """
    spec, _ = described(shape, dtype)
    if len(spec.shape) != 2 or spec.size == 0:
        raise ShapeError("shape", spec.shape, "(n_y, n_x) with at least one pixel")
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0:
        raise ArgumentError("count", repr(count), "a whole number, 0 or more")
    sky = sky_of(None, header)
    levels = kinds_of(background, noise, cells_of(box, filter_size, 3.0, robust=True, alike=sky.beam_area), ())
    light = check_photometry(apertures, annulus, False, sky)
    op = _held(int(count), sky, None if widest is None else check_positive("widest", widest), light)
    record: Maps | None = None if levels is None else levels.record
    steps = at_places(op, SigmaClip(), record, None if light is None else light.op(op.capacity))
    ins = [from_file(spec, reading)] if streamed else foretold(spec)
    ins += planned_maps(spec, levels, streamed, reading) if levels is not None else []
    ins += foretold(ArraySpec((1,), "int64"), ArraySpec((op.capacity, COLUMNS), "float64"))
    if light is not None:
        ins += foretold(ArraySpec((op.capacity, MOMENTS), "float64"), ArraySpec((op.capacity, 8), "int64"))
    outs = _outs(op, levels, light, spec.shape, np.zeros(8), 0, {})
    return planned("measure_at", steps, ins, outs, where(device), memory)
