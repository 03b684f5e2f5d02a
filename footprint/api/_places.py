"""Places that a user gives: pixels, positions on the sky, or a catalogue's rows; and the shapes that it has."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np

from footprint.api._ellipses import InPixels
from footprint.api._foreign import columns_of, ellipses_in, is_table, pixel_columns, sky_columns, sky_object, values, widths_in
from footprint.api._onsky import on_sky
from footprint.api._sky import Sky
from footprint.errors import ArgumentError, ShapeError, warn

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
    if is_table(positions):
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
    pair, coordinates = sky_columns(table), sky_object(table)
    if sky.wcs is not None and pair:
        from astropy.coordinates import SkyCoord

        ra, dec = (values(table, column, "deg") for column in pair)
        _check_latitudes(dec, pair[1])
        return _on_sky(SkyCoord(ra, dec, unit="deg"), sky)
    if sky.wcs is not None and coordinates is not None:
        return _on_sky(coordinates, sky)
    found = pixel_columns(table)
    if found is None:
        placed = bool(pair) or coordinates is not None
        there = "ra and dec, and an image without a WCS" if placed else "neither ra and dec nor x and y"
        there += f" ({', '.join(columns_of(table))})"
        fix = "rename the columns that are, with table.rename_columns((OLD, OLD), ('ra', 'dec'))"
        fix += ", or to ('x', 'y') if they count pixels"
        wanted = "a table with ra and dec in degrees, or x and y in pixels"
        raise ArgumentError("positions", f"a table with {there}", wanted, "" if placed else fix)
    names, first = found
    return np.stack([values(table, column, "pix") for column in names], 1) - first


def _check_latitudes(found: np.ndarray, column: str) -> None:
    """Raise ArgumentError for degrees that no latitude has; NaN is none that is known."""
    off = np.flatnonzero(np.abs(found) > 90)
    if len(off):
        more = f", and {len(off) - 1} more" if len(off) > 1 else ""
        got = f"{found[off[0]]:.10g} degrees in the column {column}, row {off[0] + 1} of {len(found)}{more}"
        raise ArgumentError("positions", got, "declinations from -90 to 90, or NaN where a place is not known")


def shapes_of(shapes: Any, positions: Any, at: np.ndarray, sky: Sky) -> np.ndarray:
    """Standard deviations along the axes in pixels and degrees from x towards y, (n, 3), of sources ``at`` these pixels."""
    count = len(at)
    if isinstance(shapes, str):
        # A catalogue of places on the sky may be another image's, whose pixels are no measure here.
        known = shapes == "catalogue" and is_table(positions)
        if known and sky.placed and (sky_columns(positions) or sky_object(positions) is not None):
            widths = widths_in(positions)
            if widths is not None:
                shown = InPixels(*widths.found.T)
                none = np.zeros(count)
                on_sky(lambda: sky.told, at[:, 0], at[:, 1], none, none, shown)
                _tell_small(shown.found, positions, widths.columns[:2])
                return shown.found
        own = ellipses_in(positions) if known else None
        if own is None:
            wanted = "'catalogue' with a table that has fit_a, fit_b and fit_theta, or a, b and theta, or sizes on the sky"
            got = f"{shapes!r}, and a table with {', '.join(columns_of(positions))}" if known else repr(shapes)
            raise ArgumentError("shapes", got, f"an array (n, 3) of a, b and theta, or {wanted}")
        found = own
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
