"""Places that a user gives: pixels, positions on the sky, or a catalogue's rows; and the shapes that it has."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np

from footprint.api._ellipses import InPixels
from footprint.api._flux import parse_unit
from footprint.api._onsky import on_sky
from footprint.api._sky import Sky
from footprint.errors import ArgumentError, ShapeError, warn

# Columns of places in catalogues of many kinds, in lower case, the first that are there.
_SKY = (
    ("ra", "dec"), ("raj2000", "dej2000"), ("_raj2000", "_dej2000"), ("ra_deg", "dec_deg"), ("alphawin_j2000", "deltawin_j2000"),
    ("alpha_j2000", "delta_j2000"), ("ra_deg_cont", "dec_deg_cont"), ("ra_icrs", "de_icrs"), ("radeg", "dedeg"),
    ("raj2000", "decj2000"), ("ra_j2000", "dec_j2000"), ("ra_1", "dec_1"),
)  # fmt: skip
_PIXELS = (("x", "y"), ("xcentroid", "ycentroid"))
# SExtractor's, whose first pixel is 1.
_FROM_ONE = (("xwin_image", "ywin_image"), ("x_image", "y_image"))
_SHAPES = (("fit_a", "fit_b", "fit_theta"), ("a", "b", "theta"))
# Full widths and position angles on the sky: ours, PyBDSF's, Selavy's and Aegean's.
SIZES = (
    ("fit_major", "fit_minor", "fit_pa"), ("major", "minor", "pa"), ("maj", "min", "pa"), ("maj_axis", "min_axis", "pos_ang"),
    ("a", "b", "pa"),
)  # fmt: skip
# Places that are turned into pixels at a time.
_PLACED = 4096
# Pixels that a Gaussian is wide at least; half of those of a catalogue are narrower where its unit is another.
_SMALL, _FWHM = 0.1, np.sqrt(8 * np.log(2))


def places_of(positions: Any, sky: Sky) -> np.ndarray:
    """Columns x and y in pixels: of an array of them, a SkyCoord, or a table's columns, those of the sky before those of pixels."""
    if isinstance(positions, str | os.PathLike):
        fix = "read it with footprint.read_catalog(...)"
        raise ArgumentError("positions", f"the name {os.fspath(positions)!r}", "a table, a SkyCoord or an array", fix)
    if hasattr(positions, "icrs"):
        return _on_sky(positions, sky)
    if hasattr(positions, "colnames") or getattr(getattr(positions, "dtype", None), "names", None):
        return _of_table(positions, sky)
    try:
        found = np.asarray(positions, np.float64)
    except (TypeError, ValueError, OverflowError):
        got = repr(type(positions).__name__)
        raise ArgumentError(
            "positions", got, "an array (n, 2) of x and y, a SkyCoord, or a table with ra and dec, or x and y"
        ) from None
    found = found.reshape(0, 2) if found.size == 0 else found
    if found.ndim != 2 or found.shape[1] != 2:
        raise ShapeError("positions", f"shape {found.shape}", "(n, 2), x and y of every position")
    return found


def _on_sky(positions: Any, sky: Sky) -> np.ndarray:
    if sky.wcs is None:
        raise ArgumentError("positions", "positions on the sky", "x and y in pixels", "give a header with a WCS")
    positions = positions.reshape(-1) if positions.isscalar else positions
    found = np.empty((len(positions), 2))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for at in range(0, len(found), _PLACED):
            rows = slice(at, at + _PLACED)
            found[rows] = np.stack(sky.wcs.world_to_pixel(positions[rows]), 1)
    return found


def _of_table(table: Any, sky: Sky) -> np.ndarray:
    if sky.wcs is not None and (pair := sky_columns(table)):
        from astropy.coordinates import SkyCoord

        return _on_sky(SkyCoord(*(_values(table, column, "deg") for column in pair), unit="deg"), sky)
    pair = named(table, _PIXELS) or named(table, _FROM_ONE)
    if pair is None:
        there = "ra and dec, and an image without a WCS" if sky_columns(table) else "neither ra and dec nor x and y"
        there += f" ({', '.join(_names(table))})"
        fix = "" if sky_columns(table) else "rename the columns that are, with table.rename_columns((OLD, OLD), ('ra', 'dec'))"
        raise ArgumentError("positions", f"a table with {there}", "a table with ra and dec in degrees, or x and y in pixels", fix)
    return np.stack([_values(table, column, "pix") for column in pair], 1) - (named(table, _PIXELS) is None)


def shapes_of(shapes: Any, positions: Any, at: np.ndarray, sky: Sky) -> np.ndarray:
    """Standard deviations along the axes in pixels and degrees from x towards y, (n, 3), of sources ``at`` these pixels."""
    count = len(at)
    if isinstance(shapes, str):
        # A catalogue of places on the sky may be another image's, whose pixels are no measure here.
        if shapes == "catalogue" and sky.placed and hasattr(positions, "colnames") and sky_columns(positions):
            sizes = named(positions, SIZES)
            if sizes is not None:
                shown = InPixels(*(_values(positions, column, unit) for column, unit in zip(sizes, ("arcsec", "arcsec", "deg"))))
                none = np.zeros(count)
                on_sky(lambda: sky.told, at[:, 0], at[:, 1], none, none, shown)
                _tell_small(shown.found, positions, sizes[:2])
                return shown.found
        names = named(positions, _SHAPES) if shapes == "catalogue" and hasattr(positions, "colnames") else None
        if names is None:
            wanted = "'catalogue' with a table that has fit_a, fit_b and fit_theta, or a, b and theta, or sizes on the sky"
            raise ArgumentError("shapes", repr(shapes), f"an array (n, 3) of a, b and theta, or {wanted}")
        found = np.stack([_values(positions, column, unit) for column, unit in zip(names, ("pix", "pix", "deg"))], 1)
    else:
        try:
            found = np.asarray(shapes, np.float64)
        except (TypeError, ValueError, OverflowError):
            raise ArgumentError("shapes", repr(type(shapes).__name__), "an array (n, 3) of a, b and theta") from None
        found = np.broadcast_to(found, (count, 3)) if found.shape == (3,) else found
    if found.shape != (count, 3):
        raise ShapeError("shapes", f"shape {found.shape}", f"({count}, 3): a, b and theta of every position")
    return found


def _tell_small(found: np.ndarray, table: Any, columns: tuple[str, ...]) -> None:
    """Warn of sizes that no image shows: mostly they are in another unit than they are taken for."""
    wide = np.nanmedian(found[:, 0]) * _FWHM if np.isfinite(found[:, 0]).any() else 1.0
    if wide < _SMALL:
        own, first = str(getattr(table[columns[0]], "unit", None) or ""), columns[0]
        fix = f"where they are degrees, as PyBDSF's, give them that unit: table[{first!r}].unit = 'deg' and so on"
        told = f"they are in {own}" if own else f"they have no unit, and are taken for arcsec; {fix}"
        warn(f"{' and '.join(columns)} of the catalogue are {wide:.2g} pixels wide, half of them less: {told}")


def sky_columns(table: Any) -> tuple[str, ...] | None:
    """A table's columns of places on the sky; those of our fits, which may be NaN, where there are no others at all."""
    return named(table, _SKY) or (None if named(table, _PIXELS) else named(table, (("fit_ra", "fit_dec"),)))


def named(table: Any, choices: Any) -> tuple[str, ...] | None:
    """The first of several groups of columns that a table has, as it spells them."""
    spelt = {name.lower(): name for name in _names(table)}
    # A join's first of two places may be either's.
    several = {f"{name[:-1]}1" for name in spelt if name.endswith("_2")}
    there = spelt.keys() - several
    return next((tuple(spelt[name] for name in group) for group in choices if there.issuperset(group)), None)


def _names(table: Any) -> list[str]:
    """A table's columns."""
    return [str(name) for name in (getattr(table, "colnames", None) or table.dtype.names or ())]


def _values(table: Any, column: str, unit: str) -> np.ndarray:
    """A column's numbers in this unit, which they are taken to have where the column names none; NaN where it has none."""
    try:
        found = np.asarray(np.ma.filled(np.ma.asarray(table[column], np.float64), np.nan))
    except (TypeError, ValueError):
        # Hours, minutes and seconds, mostly; whether a text of numbers is in hours or degrees is not for us to guess.
        got = f"{str(next(iter(table[column]), ''))!r} in the column {column}"
        fix = "astropy's SkyCoord(ra, dec, unit=('hourangle', 'deg')) has such text in degrees, as .ra.deg and .dec.deg"
        raise ArgumentError("positions", got, "numbers; angles are in degrees", fix) from None
    own = str(getattr(table[column], "unit", None) or "")
    if own in ("", unit):
        return found
    try:
        return found * parse_unit(own).to(unit)
    except (ValueError, TypeError):
        wanted = "pixels" if unit == "pix" else "an angle"
        raise ArgumentError("positions", f"the column {column} in {own}", wanted) from None
