"""What fits add to source finding: the beam in pixels, and columns with units."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from footprint.api._ellipses import PIXELS, OnSky, without_beam
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
    beam = sky.inverse_beam
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
            use = "sum, as that image is" if name == "save_model" else "subtract from the image"
            raise ArgumentError(name, "no fits", f"fits to {use}", "give fit='gaussian' or fit='point'")
    if residual and apart is None:
        raise ArgumentError("residual", "islands that are not deblended", "deblending", "give deblend=True")
    return kept


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
    flux = sky.flux
    for name in ("fit_flux", "fit_flux_err"):
        columns.scale(name, flux.factor, flux.unit)
    columns.units |= {"fit_peak": sky.unit, "fit_peak_err": sky.unit}
    beam = sky.inverse_beam if "fit_a" in data else ()
    less = _covariance(beam) if beam else ()
    if "fit_a" in data:
        columns.units |= {"fit_theta": "deg", "fit_theta_err": "deg"}
        if less:
            _take_beam_off(columns, less)
    if "flags" in data:
        unfitted = np.isnan(data["fit_peak"])
        data["flags"][unfitted] |= UNFITTED
        if "deconv_b" in data:
            data["flags"][np.isnan(data["deconv_b"]) & ~unfitted] |= UNRESOLVED
    if "ra" in data:
        _place(columns, sky, less)
    if "fit_theta_err" in data:
        # To first order the angle of what is nearly round may be off by turns.
        np.minimum(data["fit_theta_err"], 90.0, out=data["fit_theta_err"])


def _place(columns: Columns, sky: Sky, less: tuple[float, ...]) -> None:
    """Add positions and sizes on the sky."""
    data = columns.data
    sizes = {"fit_theta_err": OnSky(columns, "fit_", "fit_")} if "fit_a" in data else {}
    if less:
        sizes["deconv_theta_err"] = OnSky(columns, "fit_", "deconv_", less)
    x, y, x_err, y_err = (data[f"fit_{name}"] for name in ("x", "y", "x_err", "y_err"))
    places = on_sky(lambda: sky.told, x, y, x_err, y_err, *sizes.values())
    new: dict[str, dict[str, np.ndarray]] = {}
    names = list(data)
    before = names[names.index("fit_x") - 1]
    new[before] = {"fit_ra": places.ra, "fit_dec": places.dec}
    if sky.area is not None:
        new[before] |= {"fit_ra_err": places.ra_err, "fit_dec_err": places.dec_err}
    columns.units |= dict.fromkeys(new[before], "deg")
    for name, size in sizes.items() if sky.area is not None else ():
        new[name] = size.found
        columns.units |= size.units
    columns.insert(new)


def _covariance(beam: tuple[float, ...]) -> tuple[float, ...]:
    """xx, yx and yy of what an inverse covariance is the inverse of."""
    yy, yx, xx = beam
    det = yy * xx - yx * yx
    return yy / det, -yx / det, xx / det


def _take_beam_off(columns: Columns, less: tuple[float, ...]) -> None:
    """Add what the beam, a covariance, leaves of the fitted shapes: NaN along axes narrower than it."""
    n, data = len(columns), columns.data
    found = {f"deconv_{name}{end}": np.empty(n) for name in PIXELS for end in ("", "_err")}
    for at in range(0, n, _PLACED):
        without_beam(data, slice(at, at + _PLACED), less, found)
    data |= found
    columns.units |= {name: "deg" for name in found if "theta" in name}
