"""Which of a FITS file's tables is a catalogue."""

from __future__ import annotations

from typing import Any

from footprint.errors import FormatError

# What SExtractor's FITS_LDAC calls the sources of a chip, behind a table that has nothing but the header of its image.
_SOURCES, _HEADER = "LDAC_OBJECTS", "LDAC_IMHEAD"


def from_fits(path: str, wanted: int | str | None) -> tuple[Any, str]:
    """The table asked for, by its name or number, or the first with sources in it; and what is to be said of others."""
    from astropy.io import fits
    from astropy.table import Table

    with fits.open(path) as hdus:
        tables = {i: str(hdu.name) for i, hdu in enumerate(hdus) if isinstance(hdu, fits.BinTableHDU | fits.TableHDU)}
        tables = {i: name for i, name in tables.items() if not isinstance(hdus[i], fits.CompImageHDU)}
        called = {i: name or str(i) for i, name in tables.items()}
        if wanted is not None:
            found = [i for i, name in tables.items() if wanted == i or str(wanted).upper() == name.upper()]
            if not found:
                raise FormatError(path, f"has no table {wanted}", f"it has {', '.join(called.values()) or 'none'}")
        else:
            found = [i for i, name in tables.items() if name == _SOURCES] or list(tables)
            if not found:
                raise FormatError(path, "holds no table")
        left = [name for i, name in called.items() if i != found[0] and name != _HEADER]
    told = ""
    if wanted is None and left:
        names = list(called.values())
        others = ", ".join(name if names.count(name) == 1 else str(i) for i, name in called.items() if i != found[0])
        told = f"of several tables {called[found[0]]} is read; '{path}[NAME]' reads another of {others}"
    return Table.read(path, format="fits", hdu=found[0]), told
