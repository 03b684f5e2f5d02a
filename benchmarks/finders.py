"""Source finders that `benchmarks.catalogues` compares: ours and others', each from a FITS file to rows of `COLUMNS`.

All look for peaks over 5 sigma on islands over 3, where they have two thresholds. Others' settings are their defaults but for what
is said here. SEP and photutils are given no beam, as they know of none, and take pixels' noise for independent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

COLUMNS = ("x", "y", "flux", "x_err", "y_err", "flux_err")
"""Pixels from 0, and fluxes in the image's unit times beams; NaN where a finder does not tell."""
FWHM, PIXEL = 5.0, 2 / 3600
BEAM_AREA = np.pi * FWHM**2 / (4 * np.log(2))
HEADER = {"BUNIT": "Jy/beam", "CTYPE1": "RA---SIN", "CTYPE2": "DEC--SIN", "CUNIT1": "deg", "CUNIT2": "deg", "CRVAL1": 40.0}
HEADER |= {"CRVAL2": -20.0, "CDELT1": -PIXEL, "CDELT2": PIXEL, "BMAJ": FWHM * PIXEL, "BMIN": FWHM * PIXEL, "BPA": 0.0}

Finder = Callable[[str], np.ndarray]


def rows(**columns: Any) -> np.ndarray:
    """Columns as an array (n, 6)."""
    n = len(columns["x"])
    return np.stack([np.asarray(columns.get(name, np.full(n, np.nan)), np.float64) for name in COLUMNS], 1)


def ours(**options: Any) -> Finder:
    def find(path: str) -> np.ndarray:
        import footprint as fp
        from footprint.io.image import open_image

        with open_image(path) as image:
            table = fp.find_sources(image, 5, flood=3, connectivity=8, device="cpu", **options)
        found = {name: np.asarray(table[name], float) for name in COLUMNS if name in table.colnames}
        for name in COLUMNS if "fit" in options else ():
            # What could not be fitted keeps its centre and its sum.
            there = np.isfinite(table["fit_x"])
            found[name] = np.where(there, table[f"fit_{name}"], found.get(name, np.nan))
        return rows(**found)

    return find


def pixels(path: str) -> np.ndarray:
    from astropy.io import fits

    return fits.getdata(path).astype(np.float32)


def sep(filtered: bool) -> Finder:
    """Its background and noise on a mesh, deblending and at least 5 pixels; SExtractor's FLUX_AUTO and windowed centroids."""

    def find(path: str) -> np.ndarray:
        import sep

        image = pixels(path)
        background = sep.Background(image)
        noise, image = background.rms(), image - background.back()
        if filtered:
            objects = sep.extract(image, 5.0, err=noise, filter_type="conv")
        else:
            objects = sep.extract(image, 3.0, err=noise, filter_kernel=None)
            objects = objects[objects["peak"] > 5 * noise[objects["ypeak"], objects["xpeak"]]]
        shape = [objects[name] for name in ("x", "y", "a", "b", "theta")]
        radius = np.nan_to_num(sep.kron_radius(image, *shape, 6.0)[0])
        flux, error, _ = sep.sum_ellipse(image, *shape, 2.5 * np.maximum(radius, 1.75 / objects["b"]), err=noise, subpix=1)
        half, _ = sep.flux_radius(image, shape[0], shape[1], 6.0 * shape[2], 0.5, normflux=flux, subpix=5)
        x, y, _ = sep.winpos(image, shape[0], shape[1], 2 / 2.35 * half)
        errors = {f"{axis}_err": np.sqrt(objects[f"err{axis}2"]) for axis in "xy"}
        return rows(x=x, y=y, flux=flux / BEAM_AREA, flux_err=error / BEAM_AREA, **errors)

    return find


def photutils(path: str) -> np.ndarray:
    """`Background2D` of 64 pixels, `SourceFinder` from 3 sigma on with at least 5 pixels, peaks over 5; Kron fluxes."""
    from photutils.background import Background2D
    from photutils.segmentation import SourceCatalog, SourceFinder

    image = pixels(path)
    background = Background2D(image, (64, 64), filter_size=(3, 3))
    noise, image = background.background_rms, image - background.background
    segments = SourceFinder(5, connectivity=8, progress_bar=False)(image, 3 * noise)
    found = SourceCatalog(image, segments, error=noise)
    y, x = np.reshape(found.max_value_index, (-1, 2)).T
    keep = image[y, x] > 5 * noise[y, x]
    centre, wide = (np.reshape(value, (-1, 2)) for value in (found.centroid_win, found.centroid_win_err))
    columns = {"x": centre[:, 0], "y": centre[:, 1], "x_err": wide[:, 0], "y_err": wide[:, 1]}
    columns |= {"flux": found.kron_flux / BEAM_AREA, "flux_err": found.kron_flux_err / BEAM_AREA}
    return rows(**{name: np.asarray(value)[keep] for name, value in columns.items()})


def pybdsf(path: str) -> np.ndarray:
    """`process_image` in one process: peaks over 5, islands over 3, Gaussians."""
    import bdsf

    found = bdsf.process_image(
        path,
        beam=(FWHM * PIXEL, FWHM * PIXEL, 0.0),
        frequency=1e9,
        thresh="hard",
        thresh_pix=5.0,
        thresh_isl=3.0,
        ncores=1,
        quiet=True,
    ).gaussians
    (x, y), (x_err, y_err) = (
        np.array([getattr(g, name) for g in found]).reshape(-1, 2).T for name in ("centre_pix", "centre_pixE")
    )
    fluxes = {f"flux{end}": [getattr(g, f"total_flux{mark}") for g in found] for end, mark in (("", ""), ("_err", "E"))}
    return rows(x=x, y=y, x_err=x_err, y_err=y_err, **fluxes)


def aegean(path: str) -> np.ndarray:
    """`find_sources_in_image` in one process: seeds over 5, floods over 4 (its defaults), errors of correlated noise."""
    import logging

    from AegeanTools.source_finder import SourceFinder
    from astropy.io import fits
    from astropy.wcs import WCS

    log = logging.getLogger("aegean")
    log.setLevel(logging.ERROR)
    found = SourceFinder(log=log).find_sources_in_image(path, innerclip=5, outerclip=4, cores=1)
    values = np.array([[s.ra, s.dec, s.int_flux, s.err_ra, s.err_dec, s.err_int_flux] for s in found], float).reshape(-1, 6)
    values[:, 3:][values[:, 3:] <= 0] = np.nan
    x, y = WCS(fits.getheader(path)).wcs_world2pix(values[:, 0], values[:, 1], 0)
    errors = {"x_err": values[:, 3] * np.cos(np.radians(values[:, 1])) / PIXEL, "y_err": values[:, 4] / PIXEL}
    return rows(x=x, y=y, flux=values[:, 2], flux_err=values[:, 5], **errors)


MESH = {"background": "mesh"}
APART = MESH | {"deblend": True}
FINDERS: dict[str, Finder] = {
    "footprint, one background": ours(),
    "footprint, mesh": ours(**MESH),
    "footprint, taken apart": ours(**APART),
    "footprint, points": ours(**APART, fit="point"),
    "footprint, Gaussians": ours(**APART, fit="gaussian"),
    "footprint, residual": ours(**APART, fit="gaussian", residual=True),
    "SEP, filtered": sep(True),
    "SEP, not filtered": sep(False),
    "photutils": photutils,
    "PyBDSF": pybdsf,
    "Aegean": aegean,
}
NEEDS = {"SEP": "sep", "photutils": "photutils", "PyBDSF": "bdsf", "Aegean": "AegeanTools"}
"""The package of a finder that is not ours, by its name's first word."""
