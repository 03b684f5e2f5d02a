"""Columns of catalogues of many programs: what they call places and shapes, and in which units they have them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from footprint.api._ellipses import WIDTH
from footprint.api._flux import parse_unit
from footprint.errors import ArgumentError

# Columns of places, in lower case, the first that are there.
_SKY = (
    ("ra", "dec"), ("raj2000", "dej2000"), ("_raj2000", "_dej2000"), ("ra_deg", "dec_deg"), ("alphawin_j2000", "deltawin_j2000"),
    ("alpha_j2000", "delta_j2000"), ("ra_deg_cont", "dec_deg_cont"), ("ra_icrs", "de_icrs"), ("radeg", "dedeg"),
    ("raj2000", "decj2000"), ("ra_j2000", "dec_j2000"), ("ra_1", "dec_1"), ("xwin_world", "ywin_world"), ("x_world", "y_world"),
)  # fmt: skip
# photutils' last three are those of its fits and of its apertures.
_PIXELS = (
    ("x", "y"), ("xcentroid", "ycentroid"), ("x_centroid", "y_centroid"), ("x_fit", "y_fit"), ("xcenter", "ycenter"),
    ("x_center", "y_center"),
)  # fmt: skip
# SExtractor's, whose first pixel is 1.
_FROM_ONE = (("xwin_image", "ywin_image"), ("x_image", "y_image"))
# Standard deviations in pixels and angles from x towards y: ours and SEP's, SExtractor's, photutils'.
_SHAPES = (
    ("fit_a", "fit_b", "fit_theta"), ("a", "b", "theta"), ("awin_image", "bwin_image", "thetawin_image"),
    ("a_image", "b_image", "theta_image"), ("semimajor_axis", "semiminor_axis", "orientation"),
    ("semimajor_sigma", "semiminor_sigma", "orientation"),
)  # fmt: skip
# What only SEP calls its columns so, beside an angle in radians, at most a quarter of a turn.
_SEPS = {"thresh", "tnpix", "cxx", "xcpeak"}
_QUARTER = 1.5708
# Full widths and position angles on the sky: ours, PyBDSF's, Selavy's and Aegean's; SExtractor's standard deviations, in degrees.
_WIDTHS = (
    ("fit_major", "fit_minor", "fit_pa"), ("major", "minor", "pa"), ("maj", "min", "pa"), ("maj_axis", "min_axis", "pos_ang"),
    ("a", "b", "pa"),
)  # fmt: skip
_SPREADS = tuple(
    (f"a{win}_world", f"b{win}_world", f"theta{win}_{sky}") for sky in ("j2000", "sky") for win in ("win", "")
)  # fmt: skip


class Widths(NamedTuple):
    """Full widths in arcseconds and position angles in degrees, (n, 3), and the columns they are from."""

    found: np.ndarray
    columns: tuple[str, ...]


def is_table(given: Any) -> bool:
    """Whether it has columns with names: a Table, or a structured array."""
    return hasattr(given, "colnames") or bool(getattr(getattr(given, "dtype", None), "names", None))


def columns_of(table: Any) -> list[str]:
    """Names of a table's columns."""
    return [str(name) for name in (getattr(table, "colnames", None) or table.dtype.names or ())]


def named(table: Any, choices: Any) -> tuple[str, ...] | None:
    """The first of several groups of columns that a table has, as it spells them."""
    spelt = {name.lower(): name for name in columns_of(table)}
    # A join's first of two places may be either's.
    several = {f"{name[:-1]}1" for name in spelt if name.endswith("_2")}
    there = spelt.keys() - several
    return next((tuple(spelt[name] for name in group) for group in choices if there.issuperset(group)), None)


def sky_columns(table: Any) -> tuple[str, ...] | None:
    """A table's columns of places on the sky; those of our fits, which may be NaN, where there are no others at all."""
    return named(table, _SKY) or (None if pixel_columns(table) else named(table, (("fit_ra", "fit_dec"),)))


def sky_object(table: Any) -> Any:
    """A table's first column of coordinates, as photutils' sky_centroid; None where there is none."""
    columns = (table[name] for name in getattr(table, "colnames", ()))
    return next((column for column in columns if hasattr(column, "icrs")), None)


def pixel_columns(table: Any) -> tuple[tuple[str, ...], int] | None:
    """A table's columns of x and y, and what its first pixel is called."""
    pair = named(table, _PIXELS)
    if pair is not None:
        return pair, 0
    pair = named(table, _FROM_ONE)
    return None if pair is None else (pair, 1)


def ellipses_in(table: Any) -> np.ndarray | None:
    """Standard deviations in pixels and degrees from x towards y, (n, 3), by a table's columns."""
    names = named(table, _SHAPES)
    if names is None:
        return None
    found = np.stack([values(table, column, unit) for column, unit in zip(names, ("pix", "pix", "deg"))], 1)
    own = getattr(table[names[2]], "unit", None)
    if not own and {name.lower() for name in columns_of(table)} >= _SEPS and not np.any(np.abs(found[:, 2]) > _QUARTER):
        found[:, 2] = np.degrees(found[:, 2])
    return found


def widths_in(table: Any) -> Widths | None:
    """Sizes on the sky, by a table's columns."""
    names, size, unit = named(table, _WIDTHS), 1.0, "arcsec"
    if names is None:
        names, size, unit = named(table, _SPREADS), WIDTH, "deg"
    if names is None:
        return None
    found = np.stack([values(table, column, "deg" if column == names[2] else "arcsec", unit) for column in names], 1)
    found[:, :2] *= size
    return Widths(found, names)


def values(table: Any, column: str, unit: str, usual: str = "") -> np.ndarray:
    """A column's numbers in this unit, of the ``usual`` one, or this, where the column names none; NaN where it has none."""
    try:
        found = np.asarray(np.ma.filled(np.ma.asarray(table[column], np.float64), np.nan))
    except (TypeError, ValueError):
        # Hours, minutes and seconds, mostly; whether a text of numbers is in hours or degrees is not for us to guess.
        got = f"{str(next(iter(table[column]), ''))!r} in the column {column}"
        fix = "astropy's SkyCoord(ra, dec, unit=('hourangle', 'deg')) has such text in degrees, as .ra.deg and .dec.deg"
        raise ArgumentError("positions", got, "numbers; angles are in degrees", fix) from None
    own = str(getattr(table[column], "unit", None) or "") or (usual if unit == "arcsec" else "")
    if own in ("", unit):
        return found
    try:
        return found * parse_unit(own).to(unit)
    except (ValueError, TypeError):
        wanted = "pixels" if unit == "pix" else "an angle"
        raise ArgumentError("positions", f"the column {column} in {own}", wanted) from None
