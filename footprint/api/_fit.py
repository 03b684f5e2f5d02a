"""What fits add to source finding: the beam in pixels, and columns with units."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from footprint.api._flux import flux_of
from footprint.api._onsky import on_sky
from footprint.api._sky import Sky
from footprint.api._table import Columns
from footprint.errors import ArgumentError, choose, flag
from footprint.kernels.fit.contract import CHI2, ERRORS, HEIGHT, MAJOR, MINOR, SUM, THETA, X, Y
from footprint.ops.fit import Fit

FITS = ("point", "gaussian")
# Of the column `flags`, beside those of deblending.
UNFITTED, UNRESOLVED = 4, 16

_POINT = {"x": X, "y": Y, "peak": HEIGHT, "flux": SUM}
SHAPED = _POINT | {"a": MAJOR, "b": MINOR, "theta": THETA}
# Windows of images whose beam is not known; the largest there are.
_USUAL, _LARGEST = 10, 40
# Sources whose shapes are worked on at a time.
_PLACED = 4096


def check_fit(fit: str | None, sky: Sky) -> Fit | None:
    """The fits that are wanted, with room for none yet."""
    if fit is None:
        return None
    free = choose("fit", fit, FITS) == "gaussian"
    beam = inverse_beam(sky)
    if not beam:
        if not free:
            raise ArgumentError("fit", "'point'", "an image whose header has the beam and the pixel size", "give 'gaussian'")
        return Fit(1, free, _USUAL)
    yy, yx, xx = beam
    wide = 1 / math.sqrt((yy + xx) / 2 - math.hypot((yy - xx) / 2, yx))
    # A shape's window; of a point, whose window is half of the radius, half the beam and a pixel: the noise of a beam makes wider
    # windows worse, by 5 to 7 % at 5 pixels and by 8 to 12 % at 12.
    reach = (1.5 if free else 0.5) * 2 * math.sqrt(2 * math.log(2)) * wide
    return Fit(1, free, min(max(math.ceil(reach) + 1, 3), _LARGEST), beam)


def check_models(fit: Fit | None, apart: float | None, residual: bool, saved: dict[str, Any]) -> dict[str, Any]:
    """The images of fits that are wanted; what needs fits, or deblending, has them."""
    kept = {name: value for name, value in saved.items() if value is not None}
    for name in (*(["residual"] if flag("residual", residual) else []), *(f"save_{name}" for name in kept)):
        if fit is None:
            raise ArgumentError(name, "no fits", "fits to subtract from the image", "give fit='point' or 'gaussian'")
    if residual and apart is None:
        raise ArgumentError("residual", "islands that are not deblended", "deblending", "give deblend=True")
    return kept


def inverse_beam(sky: Sky) -> tuple[float, ...]:
    """The inverse of the beam's covariance in pixels: yy, yx, xx; () where the header does not tell."""
    if sky.beam is None or not sky.beam_area:
        return ()
    scales = np.asarray(sky.wcs.pixel_scale_matrix, np.float64)[[sky.wcs.wcs.lng, sky.wcs.wcs.lat]]
    turn = math.radians(sky.beam.angle)
    # Position angles go from north to east; rows of the matrix are east and north.
    along, across = np.array([math.sin(turn), math.cos(turn)]), np.array([math.cos(turn), -math.sin(turn)])
    spread = sky.beam.major**2 * np.outer(along, along) + sky.beam.minor**2 * np.outer(across, across)
    try:
        inverse = scales.T @ np.linalg.inv(spread / (8 * math.log(2))) @ scales
    except np.linalg.LinAlgError:
        return ()
    return (float(inverse[1, 1]), float(inverse[0, 1]), float(inverse[0, 0])) if np.isfinite(inverse).all() else ()


def columns_of(fits: np.ndarray, free: bool) -> dict[str, np.ndarray]:
    """Columns of the rows of fits, each with its error after it."""
    found: dict[str, np.ndarray] = {}
    for name, column in (SHAPED if free else _POINT).items():
        found[f"fit_{name}"] = fits[:, column].copy()
        found[f"fit_{name}_err"] = fits[:, ERRORS + column].copy()
    return found | {"fit_chi2": fits[:, CHI2].copy()}


def describe_fits(columns: Columns, sky: Sky) -> None:
    """Add units and positions on the sky to a catalogue of fits, and flag what was not fitted."""
    data = columns.data
    if "fit_x" not in data:
        return
    columns.meta["fit"] = "gaussian" if "fit_a" in data else "point"
    flux = flux_of(sky.unit, sky.beam_area, sky.area)
    for name in ("fit_flux", "fit_flux_err"):
        columns.scale(name, flux.factor, flux.unit)
    columns.units |= {"fit_peak": sky.unit, "fit_peak_err": sky.unit}
    if "fit_a" in data:
        columns.units |= {"fit_theta": "deg", "fit_theta_err": "deg"}
        if beam := inverse_beam(sky):
            _take_beam_off(columns, beam)
    if "flags" in data:
        unfitted = np.isnan(data["fit_peak"])
        data["flags"][unfitted] |= UNFITTED
        if "deconv_b" in data:
            data["flags"][np.isnan(data["deconv_b"]) & ~unfitted] |= UNRESOLVED
    if "ra" not in data:
        return
    sky_of_fits = on_sky(sky.wcs, *(data[f"fit_{name}"] for name in ("x", "y", "x_err", "y_err")))
    new = {"fit_ra": sky_of_fits.ra, "fit_dec": sky_of_fits.dec}
    if sky.area is not None:
        new |= {"fit_ra_err": sky_of_fits.ra_err, "fit_dec_err": sky_of_fits.dec_err}
    names = list(data)
    columns.insert({names[names.index("fit_x") - 1]: new})
    columns.units |= dict.fromkeys(new, "deg")


def _take_beam_off(columns: Columns, beam: tuple[float, ...]) -> None:
    """Add what the beam, an inverse covariance, leaves of the fitted shapes: NaN along axes narrower than it."""
    yy, yx, xx = beam
    det = yy * xx - yx * yx
    shape, n, data = ("a", "b", "theta"), len(columns), columns.data
    found = {f"deconv_{name}{end}": np.empty(n) for name in shape for end in ("", "_err")}
    for at in range(0, n, _PLACED):
        rows = slice(at, at + _PLACED)
        a, b, theta = (data[f"fit_{name}"][rows] for name in shape)
        turn = np.radians(theta)
        mean, half = (a * a + b * b) / 2, (a * a - b * b) / 2
        # What is left of the covariance: half the sum and half the difference of xx and yy, and xy.
        rest = mean - (yy + xx) / (2 * det)
        plus, cross = half * np.cos(2 * turn) - (yy - xx) / (2 * det), half * np.sin(2 * turn) + yx / det
        spread = np.hypot(plus, cross)
        with np.errstate(invalid="ignore", divide="ignore"):
            # What rounding leaves of a shape that is the beam's is nothing.
            least = 1e-9 * mean
            major, minor = (np.sqrt(np.where(left > least, left, np.nan)) for left in (rest + spread, rest - spread))
            angle = np.where(np.isnan(major), np.nan, np.degrees(np.arctan2(cross, plus)) / 2)
            found["deconv_a"][rows], found["deconv_b"][rows], found["deconv_theta"][rows] = major, minor, angle
            # To first order, as if both had the same axes.
            found["deconv_a_err"][rows] = a * data["fit_a_err"][rows] / major
            found["deconv_b_err"][rows] = b * data["fit_b_err"][rows] / minor
            found["deconv_theta_err"][rows] = np.where(np.isnan(angle), np.nan, data["fit_theta_err"][rows] * half / spread)
    data |= found
    columns.units |= {name: "deg" for name in found if "theta" in name}
