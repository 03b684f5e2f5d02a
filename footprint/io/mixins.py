"""Columns of a table that are objects of astropy: as numbers and words, for formats that know nothing else."""

from __future__ import annotations

from typing import Any

from footprint.errors import ArgumentError
from footprint.units import kind_of


def unmixed(table: Any) -> Any:
    """A table whose SkyCoords are columns ra and dec in degrees, ICRS, and whose Times are words; itself where it has neither.

    Where there are columns of these names already, those of a SkyCoord have its name before theirs.
    """
    mixed = [name for name in table.colnames if not hasattr(table[name], "unit") or hasattr(table[name], "icrs")]
    if not mixed:
        return table
    from astropy.table import Column

    made = table.copy(copy_data=False)
    for name in mixed:
        column, at = table[name], made.colnames.index(name)
        made.remove_column(name)
        if hasattr(column, "icrs"):
            taken = {"ra", "dec"} & {one.lower() for one in made.colnames}
            called = [f"{name}_{axis}" if taken else axis for axis in ("ra", "dec")]
            degrees = [Column(angle.deg, unit="deg") for angle in (column.icrs.ra, column.icrs.dec)]
            made.add_columns(degrees, [at, at], called)
        elif hasattr(column, "isot"):
            made.add_column(column.isot, at, name)
        else:
            wanted = "numbers, words, quantities, SkyCoords or Times"
            raise ArgumentError("table", f"the column {name}, {kind_of(column)}", wanted, "write ECSV, or leave it out")
    return made
