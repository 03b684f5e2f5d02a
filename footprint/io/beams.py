"""The beams of a cube's channels, each its own, which CASA puts in a table of the file: ``CASAMBM = T`` and an extension BEAMS."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from footprint.api._axes import header_shape, kept_axes
from footprint.api._flux import parse_unit
from footprint.io.fits_units import BLOCK, Unit, units
from footprint.io.frames import reading
from footprint.io.inflated import Inflated, Plain, is_gzip

# Three numbers and two places of every plane; a table that is larger is none of beams.
_LARGEST = 64 << 20


def own_beam(header: Any, path: str, plane: Sequence[int]) -> Any:
    """A header with the beam of its plane, a place along each axis of the cube that is longer than 1, in ``BMAJ BMIN BPA``.

    Where the table has none for it, as for a channel without data, it has no beam; where there is no such table, it stays as it is.
    """
    if header.get("CASAMBM", False) is not True or (table := _table(path)) is None:
        return header
    row = _row(table, header, plane)
    beam = [] if row is None else [_degrees(table, key, row) for key in ("BMAJ", "BMIN", "BPA")]
    if not beam or None in beam:
        return header
    made = header.copy()
    for key in ("BMAJ", "BMIN", "BPA", "CASAMBM"):
        made.remove(key, ignore_missing=True, remove_all=True)
    if np.isfinite(beam).all() and beam[0] > 0 and beam[1] > 0:
        made["BMAJ"], made["BMIN"], made["BPA"] = beam
    return made


def _row(table: Any, header: Any, plane: Sequence[int]) -> int | None:
    """Of a plane: by its channel and its polarisation."""
    shape = header_shape(header)
    kept = kept_axes(shape)
    if len(kept) != len(plane) + 2:
        return None
    channel = polarisation = 0
    for axis, index in zip(kept, plane):
        if str(header.get(f"CTYPE{len(shape) - axis}", "")).strip().upper() == "STOKES":
            polarisation = index
        else:
            channel = index
    names = {name.upper() for name in table.columns.names}
    found = np.ones(len(table.data), bool)
    for name, place in (("CHAN", channel), ("POL", polarisation)):
        if name in names:
            found &= np.asarray(table.data[name]) == place
    rows = np.flatnonzero(found)
    return int(rows[0]) if len(rows) and {"CHAN", "BMAJ", "BMIN", "BPA"} <= names else None


def _degrees(table: Any, name: str, row: int) -> Any:
    """A number of the table; None where its unit is no angle."""
    try:
        return float(parse_unit(table.columns[name].unit or "deg").to("deg", float(table.data[name][row])))
    except (ValueError, TypeError, AttributeError):
        return None


def _table(path: str) -> Any:
    """The extension of beams; None where a file has none."""
    from astropy.io import fits

    source = Inflated(path) if is_gzip(path) else Plain(path)
    try:
        with warnings.catch_warnings(), reading(path):
            warnings.simplefilter("ignore")
            unit = next((one for one in units(path, source) if _is_beams(one)), None)
            if unit is None:
                return None
            stored = source.read_at(unit.offset, -(-unit.data_bytes // BLOCK) * BLOCK)
            if len(stored) < unit.data_bytes:
                return None
            table = fits.BinTableHDU.fromstring(unit.header + stored)
            return table if table.data is not None else None
    finally:
        source.close()


def _is_beams(unit: Unit) -> bool:
    return unit.text("XTENSION") == "BINTABLE" and unit.text("EXTNAME").upper() == "BEAMS" and unit.data_bytes <= _LARGEST
