"""DS9's regions of a catalogue: fitted Gaussians as ellipses, other sources as circles."""

from __future__ import annotations

from typing import Any

import numpy as np

from footprint.api._foreign import pixel_columns, sky_columns, widths_in
from footprint.errors import ArgumentError

# What calls a source in catalogues of others.
_CALLED = ("label", "source_id", "gaus_id", "component_name", "name")


def regions(table: Any) -> str:
    """DS9's text: a source's fitted Gaussian as an ellipse, or a circle of its area."""
    names = {name.lower(): name for name in table.colnames}
    pair = sky_columns(table)
    sky = pair is not None
    pixels_of = None if sky else pixel_columns(table)
    if not sky and pixels_of is None:
        fix = "rename those that are, with table.rename_columns(...)"
        raise ArgumentError("table", f"columns {', '.join(table.colnames)}", "columns ra and dec, or x and y, to draw regions", fix)
    frame = str(table.meta.get("frame", "icrs")).lower() if sky else "image"
    places = ("ra", "dec") if sky else ("x", "y")
    first, second = (_plain(table, n, "deg" if sky else "") for n in pair or (pixels_of or ((), 0))[0])
    pixels = _plain(table, names["npix"], "") if "npix" in names else np.full(len(table), 9.0)
    radius = np.maximum(np.sqrt(pixels / np.pi), 1.5)
    lines = ["# Region file format: DS9 version 4.1", 'global color=green width=1 font="helvetica 9 normal roman"', frame]
    called = next((names[name] for name in _CALLED if name in names), None)
    label = np.arange(1, len(table) + 1) if called is None else table[called]
    # DS9 counts pixels from 1; a radius in pixels is right in every frame only with the unit i.
    shift = 0 if pixels_of is None else 1 - pixels_of[1]
    fitted = _fitted(table, names, places, pair) if frame in ("icrs", "image") else np.full((len(table), 5), np.nan)
    mark = '"' if sky else ""
    for a, b, r, text, (x, y, major, minor, angle) in zip(first, second, radius, label, fitted):
        if np.isfinite([x, y, major, minor, angle]).all():
            shape = f"{major / 2:.8g}{mark},{minor / 2:.8g}{mark},{angle:.3f}"
            lines.append(f"ellipse({x + shift:.8f},{y + shift:.8f},{shape}) # text={{{text}}}")
        elif np.isfinite(a) and np.isfinite(b):
            lines.append(f"circle({a + shift:.8f},{b + shift:.8f},{r:.2f}{'i' if sky else ''}) # text={{{text}}}")
    return "\n".join(lines) + "\n"


def _fitted(table: Any, names: dict[str, str], places: tuple[str, ...], pair: tuple[str, ...] | None) -> np.ndarray:
    """Places, full widths in arcseconds or pixels, and DS9's angles of fitted Gaussians; NaN where there are none.

    Of catalogues of others, all of whose sources are Gaussians, those that `measure_at` takes of them.
    """
    sky = places[0] == "ra"
    units = ("deg", "deg", "arcsec", "arcsec", "deg") if sky else ("", "", "", "", "deg")
    wanted = [f"fit_{name}" for name in (*places, *(("major", "minor", "pa") if sky else ("a", "b", "theta")))]
    columns = [names[name] for name in wanted if name in names]
    if len(columns) < len(wanted):
        widths = widths_in(table) if sky and "npix" not in names else None
        if widths is None:
            return np.full((len(table), 5), np.nan)
        found = np.concatenate([np.stack([_plain(table, name, "deg") for name in pair or ()], 1), widths.found], 1)
    else:
        found = np.stack([_plain(table, name, unit) for name, unit in zip(columns, units)], 1)
    if sky:
        # From west, where north is up and east to the left, counterclockwise.
        found[:, 4] += 90
    else:
        found[:, 2:4] *= 2 * np.sqrt(2 * np.log(2))
    return found


def _plain(table: Any, name: str, unit: str) -> np.ndarray:
    column = table[name]
    if unit and column.unit is not None and str(column.unit):
        return np.asarray(column.quantity.to_value(unit) if hasattr(column, "quantity") else column.to_value(unit), np.float64)
    values = np.asarray(column.value if hasattr(column, "unit") and hasattr(column, "value") else column, np.float64)
    return np.ma.filled(values, np.nan)
