"""Find the sources of an image."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from footprint.api._arrays import Memory, Progress, described, where
from footprint.api._blank import blanked, check_blank, unwrap, without_pixels
from footprint.api._call import Face, Stream
from footprint.api._catalogue import catalogue, check_noise
from footprint.api._deblend import check_contrast, instead
from footprint.api._elsewhere import foretold_on, others_of
from footprint.api._fit import check_fit, check_models
from footprint.api._image import Image, Passes, Reading, foretold, from_file, see
from footprint.api._levels import kinds_of, levels_of, models_of, planned_maps, target
from footprint.api._light import check_photometry
from footprint.api._matched import filter_of
from footprint.api._negatives import beside, inverse
from footprint.api._negatives import negatives as negatives_of
from footprint.api._pairs import Pairs, check_pairs
from footprint.api._reliability import check_reliability, threshold_of, trials
from footprint.api._search import Search, check_capacity, largest_plan, rules_of
from footprint.api._sky import sky_of
from footprint.api._windowed import check_windowed
from footprint.api.background import cells_of
from footprint.api.sigma_clip import clip_of
from footprint.dtypes import kernel_dtype
from footprint.errors import ShapeError, choose, flag
from footprint.ops.sigma_clip import SigmaClip, check_maxiters, check_positive
from footprint.plan.plan import Plan
from footprint.spec import ArraySpec


def find_sources(
    image: Any,
    sigma: float = 5.0,
    *,
    flood: float | None = None,
    kappa: float = 3.0,
    maxiters: int | None = None,
    connectivity: int = 4,
    min_area: int | str = "auto",
    matched_filter: Any = None,
    deblend: bool = False,
    contrast: float = 0.002,
    fit: str | None = None,
    residual: bool = False,
    pairs: bool = False,
    apertures: Any = None,
    annulus: Any = None,
    kron: bool | float = False,
    windowed: bool | float = False,
    measure_on: Any = None,
    reliability: float | None = None,
    negatives: bool = False,
    lesson: bool = False,
    blank: str = "auto",
    mask: Any = None,
    weight: Any = None,
    header: Mapping[str, Any] | None = None,
    background: Any = "global",
    noise: Any = None,
    box: int = 64,
    filter_size: int = 3,
    save_background: Any = None,
    save_noise: Any = None,
    save_model: Any = None,
    save_residual: Any = None,
    labels: Any = None,
    capacity: int | None = None,
    memory: Memory = None,
    device: str = "auto",
    on_plan: Callable[[Plan], None] | None = None,
    progress: Progress | None = None,
) -> Any:
    """Find islands of pixels with image - background > sigma noise, and measure them.

    Background and noise are the median and the standard deviation left after clipping at kappa (see `sigma_clip`), or vary from
    place to place: on a mesh (see `background`), or as maps that you give. Islands are connected components, numbered by the raster
    order of their first pixel, as SciPy does. The image is read about three times and never copied: arrays in place, files by
    blocks of rows, with the same result to the last bit.

    Parameters
    ----------
    image : array (n_y, n_x), or an open image with ``read(rows, out)``
        Real numbers of any dtype, byte order and strides; what is not finite belongs to no island. Masked arrays, astropy's
        Quantity, CCDData and NDData, and FITS HDUs bring their mask, unit, header and WCS along; uncertainties are not used.
    sigma, kappa : float
        Threshold, and half width of the clip, in standard deviations.
    flood : float, optional
        A lower threshold down to which islands reach; those whose peak is over sigma are sources. By default the same as sigma.
    maxiters : int, optional
        The most clips of the whole image; with None, until nothing changes, as in the cells of a mesh.
    connectivity : {4, 8}
        8 if pixels that touch only at corners belong together, 4 if not. Deblending climbs by edges and corners within either.
    min_area : int or str
        The fewest pixels of an island, or a share of the beam's area, such as "0.3 beam"; with deblend, also of every part of one.
        "auto" is half the pixels over the flood of a point source whose peak is at sigma (they are the beam's area times ln(sigma /
        flood)); 1 without a beam or a flood.
    matched_filter : bool, "beam" or float, optional
        Find sources in a filtered image, and measure them on the image itself. The filter is the mean of each pixel's surroundings,
        weighted by the beam's shape (True or "beam") or by a round Gaussian of this full width in pixels; background and noise are
        those of the filtered image.
    deblend : bool
        Separate sources that share an island: every pixel goes to the summit it climbs to, and a summit over sigma is a source of
        its own if it rises above the pass to a higher summit by 1.5 times the noise and by contrast times the height of that
        summit. Give a flood below sigma, such as 3.
    contrast : float
        The least a summit must rise above a pass, as a share of the higher summit beyond it; 0 to 1.
    fit : {"point", "gaussian"}, optional
        Fit a Gaussian to every source, with its neighbours subtracted: of the beam's shape, or with a shape of its own.
    residual : bool
        With deblend: search the residual of the fits again, over a new mesh if there is a mesh, and fit everything that was found.
        Sources found this way have 8 in flags, island 0, and no pixel with their label; those whose fit is faint are dropped.
    pairs : bool
        Split a fit where two points, or a point beside a Gaussian, describe the image better than one of them, in noise correlated
        as the image's is; with fit="gaussian", deblend and residual. Both rows have 32 in flags; the fainter, which is a new row,
        also has 8. A source that the search of the residual found next to another row is fitted together with it, and joined to it
        where one source fits as well.
    apertures : radii, optional
        Sum over discs of these radii about the centres: pixels, or words such as "1.5 beam"; see `apertures`.
    annulus : two radii, optional
        Radii between which the sky around the discs is measured, as in `apertures`; by default the sky is the background.
    kron : bool or float
        Sum over ellipses of 2.5 Kron radii, or of this many.
    windowed : bool or float
        Centres in Gaussian windows about themselves, like SExtractor's XWIN_IMAGE: of the beam's size (without a beam, each
        source's own), or of this full width in pixels.
    measure_on : mapping of str to image, list of images, or image, optional
        Also measure the sources on these images of the same shape: other bands, planes of a cube, epochs. Arrays are assumed to
        have this image's unit and beam; names of columns end in the image's name, its file's name, or 1, 2 and so on.
    reliability : float, optional
        The share of detections that should be real, such as 0.9: sigma becomes the lowest threshold, from 3 or the flood up, at
        which the inverted image has few enough detections (see docs/sources.md). If there is none, sigma stays as given, or becomes
        the highest negative's.
    negatives : bool
        Also return the detections of the inverted image, by the same rules, as a table of their own.
    lesson : bool
        Take the background as 0, as the Carpentries' GPU lesson does, to reproduce its numbers.
    blank : {"auto", "nan", "zero", "none"}
        Which values mean that there is no data: those that are not finite always do; zeros do with "zero", and with "auto" if a
        floating-point image is padded with them, in which case a warning says so.
    mask, weight : array or open image (n_y, n_x), optional
        No data where the mask is not 0, or where the weight is not above 0.
    header : mapping, optional
        FITS header of the image, for positions and units; an image from a file brings its own.
    background : {"global", "mesh"}, or array or open image (n_y, n_x), or a number
        Where the background comes from: one clip of the whole image, a mesh of cells, a map, or one number for all pixels.
    noise : {"mesh"}, or array or open image (n_y, n_x), or a number, optional
        Where the noise comes from: by default the same as the background, or a mesh if that is a map. Where a noise map is not
        above 0 there is no data. Maps are in the image's unit.
    box, filter_size : int
        Pixels along a side of the mesh's cells, several times the largest source; cells along a side of its median filter.
    save_background, save_noise : array (n_y, n_x) of a floating dtype, or an object with ``write(rows, array)``, optional
        Receive background and noise at every pixel.
    save_model, save_residual : array (n_y, n_x) of a floating dtype, or an object with ``write(rows, array)``, optional
        Receive the sum of all fits at every pixel, and the image minus that.
    labels : array (n_y, n_x) of int32, or an object with ``write(rows, array)``, optional
        Receives the label of each pixel, 0 outside islands.
    capacity : int, optional
        Components the plan has room for (on the CPU, of those that have ended only islands), with deblend parts and twice as many
        summits. By default one for every 768 pixels; in a small budget fewer, with more summits than that. If an image needs more,
        it is planned again with enough, if the budget allows it and you gave no number.
    memory : str, int or float, optional
        The most memory the run may take beyond the image and the labels.
    device : str
        "auto", "cpu", "cuda", "cuda:1", "opencl".
    on_plan : callable, optional
        Called with every plan before anything is allocated or read for it.
    progress : callable, optional
        ``progress(rows_done, rows)``, counting every pass.

    Returns
    -------
    astropy.table.Table
        One row per island; with ``negatives``, a pair: that table, and one of the detections in the image mirrored about its
        background, which are due to noise. ``meta`` has the settings, background and noise (typical values of a mesh or maps), the
        clip, and the beam. flux, x, y, ra, dec, x_win, y_win and fitted values have errors (NAME_err) of the noise, correlated by
        the beam if that is known.

        * label; x, y (flux-weighted centre, from 0); ra, dec (ICRS, if the header has a WCS); peak; flux (sum over pixels minus the
          background: in Jy if the image is in Jy/beam and the beam is known, otherwise the plain sum, as its unit says); npix;
          x_min, x_max, y_min, y_max (inclusive); x_peak, y_peak; a, b, theta (standard deviations of the light along its axes in
          pixels, degrees from x towards y); with a WCS major, minor, pa (the same on the sky: full widths at half maximum in
          arcsec, degrees from north through east); x_interp, y_interp, peak_interp (the peak between pixels: for a point source the
          best position and flux density); snr (peak over noise); name (IAU, by the position); background and noise at the peak, if
          they vary. Errors are without the photons of sources, and what a threshold cuts off.
        * ``deblend``: rows and labels are parts of islands. island (its number without deblending); component (in it, from the
          brightest); flags, a sum: 1 if the island has other parts, 2 at the image's edge, 4 where a fit failed, 16 where it is
          narrower than the beam.
        * ``fit``: fit_x, fit_y (fit_ra, fit_dec), fit_peak, fit_flux (over the whole plane, so that no threshold cuts it off);
          "gaussian" also fit_a, fit_b, fit_theta and, if the beam is known, deconv_a, deconv_b, deconv_theta (without the beam),
          each also on the sky as fit_major and so on; fit_chi2 (per degree of freedom, as if pixels were independent). NaN where a
          fit failed.
        * ``apertures``: aper1_flux, aper1_flux_err, aper1_area and so on, aper_flags, see `apertures`. ``kron``: kron_radius (in
          units of a and b), kron_flux, kron_flux_err, kron_flags (8: a disc of 1.75 pixels, as the ellipse would be smaller).
        * ``measure_on``, for every image NAME: flux_NAME, flux_err_NAME, peak_NAME, snr_NAME (of the same pixels, over that image's
          own background); fit_peak_NAME, fit_flux_NAME, fit_chi2_NAME, fit_npix_NAME (Gaussians of fixed positions and shapes, see
          `measure_at`), and apertures about the same centres.
        * ``windowed``: x_win, y_win, NaN where there is no light or no place where it settles. ``matched_filter``: filtered_snr,
          the filtered image's peak over its noise, by which sources are found. ``negatives``: the same columns except those of
          fits and apertures; peak, flux and snr are below 0, as in the image.

    Raises
    ------
    ShapeError
        Not two-dimensional, empty, or without a finite pixel.
    ArgumentError, BudgetError, CapacityError
        An argument out of range; a budget, or the capacity given, that is too small.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> image = np.random.default_rng(1).normal(size=(64, 64))
    >>> image[10:13, 20:22] += 50
    >>> table = fp.find_sources(image, sigma=8)
    >>> len(table), int(table["npix"][0]), round(float(table["y"][0]), 1)
    (1, 6, 11.0)
    """
    given = unwrap(image)
    plain = see(given.data)
    sky = sky_of(plain.file, given.header if header is None else header, given.unit, given.wcs)
    ids = [] if labels is None else [target(labels, "labels", "int32", plain)]
    apart, share = check_contrast(deblend, contrast), check_reliability(reliability)
    saved = {"background": save_background, "noise": save_noise}
    cells = cells_of(box, filter_size, kappa, robust=True, alike=sky.beam_area)
    levels, fitted = levels_of(background, noise, cells, plain, sky, saved), check_fit(fit, sky)
    kept = check_models(fitted, apart, residual, {"model": save_model, "residual": save_residual})
    light = check_photometry(apertures, annulus, kron, sky)
    windows = check_windowed(windowed, sky)
    clipped = SigmaClip(check_positive("kappa", kappa), check_maxiters(maxiters))
    others = others_of(measure_on, plain, sky, fitted, light, levels, check_blank(blank), clipped)
    models = models_of(kept, plain, [*ids, *(levels.faces if levels is not None else [])])
    measured: dict[str, Any] = {"light": light, "windows": windows, "others": others}
    smooth, told_of = filter_of(matched_filter, sky)
    rules = rules_of(
        sigma, flood, kappa, maxiters, connectivity, lesson, levels, min_area=min_area, beam_area=sky.beam_area, residual=residual,
        kept=kept, labels=ids, chosen=share is not None, contrast=apart, fit=fitted, smooth=smooth, placed=sky.placed, **measured,
    )  # fmt: skip
    check_capacity(capacity)
    runs_on = plain.where(device)
    seen, padded = blanked(plain, check_blank(blank), {"mask": mask, "image's mask": given.mask, "weight": weight}, runs_on, memory)
    usual = (4 if ids else 3) * (1 if share is None else 3) + 3 * flag("negatives", negatives)
    told = None if progress is None else Passes(progress, seen.spec.shape[0], usual)
    richer = apart is not None or smooth is not None or bool(others)
    otherwise = instead(device, richer, seen.face)
    known: dict[str, Any] = {"on_plan": on_plan, "told": told, "models": models, "otherwise": otherwise, **measured}
    known["keep"] = share is None and not negatives and not pairs
    search = Search(seen, rules, levels, tuple(ids), capacity, runs_on, memory, **known)
    parted = check_pairs(pairs, search, kept)
    if parted and memory is not None:
        largest_plan([search, Pairs(beside(search, None if negatives else 0))])
    chosen = None if share is None else threshold_of(share, search)
    if chosen is not None:
        search = replace(search, rules=replace(rules, sigma=chosen.sigma))
    turned = inverse(search) if negatives else None
    if turned is not None:
        largest_plan([beside(search, None), turned])
        below = turned.run().columns
        search = beside(search, len(below["flux"]))
    found = search.run()
    if told is not None:
        told.end()
    if levels is not None and levels.mesh and any(np.isnan(value) for value in levels.typical.values()):
        raise without_pixels(seen)
    clip = clip_of(search.stats, search.counts, seen) if levels is None or levels.clip else None
    if clip is not None and levels is None:
        check_noise(clip, len(found.columns["flux"]))
    more = told_of | ({} if chosen is None else chosen.tell()) | (Pairs(search).part(found) if parted else {})
    how = (sky, "zero" if padded else blank, padded)
    table = catalogue(found.columns, search, clip, *how, more)
    return table if turned is None else (table, negatives_of(below, turned, *how, more))


def plan_find_sources(
    shape: tuple[int, int],
    sigma: float = 5.0,
    *,
    dtype: str = "float32",
    flood: float | None = None,
    kappa: float = 3.0,
    maxiters: int | None = None,
    connectivity: int = 4,
    min_area: int | str = "auto",
    matched_filter: Any = None,
    deblend: bool = False,
    contrast: float = 0.002,
    fit: str | None = None,
    residual: bool = False,
    pairs: bool = False,
    apertures: Any = None,
    annulus: Any = None,
    kron: bool | float = False,
    windowed: bool | float = False,
    measure_on: int | None = None,
    reliability: float | None = None,
    negatives: bool = False,
    lesson: bool = False,
    header: Mapping[str, Any] | None = None,
    background: str = "global",
    noise: str | None = None,
    box: int = 64,
    filter_size: int = 3,
    save_background: bool = False,
    save_noise: bool = False,
    save_model: bool = False,
    save_residual: bool = False,
    labels: bool | str = False,
    capacity: int | None = None,
    streamed: bool = False,
    reading: Reading | None = None,
    writing: int = 0,
    memory: Memory = None,
    device: str = "auto",
) -> Plan:
    """Plan `find_sources` of a C-contiguous image of this shape and dtype.

    Parameters
    ----------
    shape : tuple of int
        Of the image.
    dtype : str
        Of the image.
    background, noise : str
        As in `find_sources`; "map" for a map that is given, of the image's dtype.
    save_background, save_noise, save_model, save_residual : bool
        Whether these are wanted: as arrays of the dtype they are computed in, unless they also go to a file.
    measure_on : int, optional
        How many images of the same shape and dtype, and with the same beam, are measured on.
    labels : bool or "file"
        Whether labels are wanted: an int32 array, unless they also go to a file.
    streamed : bool
        Whether the image and maps come from files, and labels and maps go to files.
    reading : callable, optional
        ``reading(n_rows, dtype)``: bytes the file's library takes beside the block, contiguous and of that dtype, while it reads so
        many rows.
    writing : int
        Bytes that the writer of labels or maps takes beside a block.
    header : mapping, optional
        FITS header of the image: its beam decides the windows of fits, and with a WCS there are sizes on the sky.
    sigma, flood, kappa, maxiters, connectivity, min_area, matched_filter, deblend, contrast, fit, residual, pairs, apertures,
    annulus, kron, windowed, reliability, negatives, lesson, box, filter_size, capacity, memory, device
        As in `find_sources`; a plan is the same whatever the smallest area, and with a reliability the largest of the searches'.

    Returns
    -------
    Plan
        Its outputs are the clip's statistics and counts, the tables the catalogue is made of, the components met, and the labels.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.plan_find_sources((8192, 8192), memory="64MB", streamed=True, device="cpu").footprint.total < 64e6
    True
    """
    spec, _ = described(shape, dtype)
    if len(spec.shape) != 2 or spec.size == 0:
        raise ShapeError("shape", spec.shape, "(n_y, n_x) with at least one pixel")
    if isinstance(labels, str):
        choose("labels", labels, ("file",))
    apart = check_contrast(deblend, contrast)
    words = choose("background", background, ("global", "mesh", "map")), choose("noise", noise, ("mesh", "map")) if noise else None
    saved = tuple(name for name, wanted in (("background", save_background), ("noise", save_noise)) if wanted)
    sky = sky_of(None, header)
    levels = kinds_of(*words, cells_of(box, filter_size, kappa, robust=True, alike=sky.beam_area), saved)
    fitted, light = check_fit(fit, sky), check_photometry(apertures, annulus, kron, sky)
    to_file = streamed or labels == "file"

    def wanted(one: ArraySpec) -> Face:
        return Stream(None, one, lambda block: writing) if to_file else foretold(one)[0]

    if levels is not None:
        levels.saved = {name: wanted(ArraySpec(spec.shape, kernel_dtype(spec.dtype))) for name in saved}
    kept = check_models(fitted, apart, residual, {"model": save_model or None, "residual": save_residual or None})
    windows = check_windowed(windowed, sky)
    smooth = filter_of(matched_filter, sky)[0]
    ins = [from_file(spec, reading) if streamed else foretold(spec)[0] for _ in range(1 if smooth is None else 2)]
    ins += planned_maps(spec, levels, streamed, reading) if levels is not None else []
    others = foretold_on(measure_on or 0, ins[0], sky, fitted, light, levels)
    ins += [one.image.face for one in others]
    measured: dict[str, Any] = {"light": light, "windows": windows, "others": others}
    rules = rules_of(
        sigma, flood, kappa, maxiters, connectivity, lesson, levels, min_area=min_area, beam_area=sky.beam_area or 1.0,
        residual=residual, kept=kept, labels=labels, contrast=apart, fit=fitted, smooth=smooth, placed=sky.placed, **measured,
    )  # fmt: skip
    check_capacity(capacity)
    runs_on = where(device)
    ids = (wanted(ArraySpec(spec.shape, "int32")),) if labels else ()
    models = tuple(wanted(ArraySpec(spec.shape, kernel_dtype(spec.dtype))) for _ in kept)
    richer = apart is not None or smooth is not None or bool(others)
    known: dict[str, Any] = {"models": models, "otherwise": instead(device, richer), **measured}
    search = Search(Image(Stream(None, spec)), rules, levels, ids, capacity, runs_on, memory, **known)
    searches: list[Any] = [search] if check_reliability(reliability) is None else [search, *trials(search)]
    searches += [Pairs(beside(search, None if negatives else 0))] if check_pairs(pairs, search, kept) else []
    return largest_plan([*searches, *([beside(search, None), inverse(search)] if flag("negatives", negatives) else [])], ins)
