"""Catalogues of sources: an astropy Table as ECSV, FITS, VOTable, CSV, Parquet or DS9 regions."""

from __future__ import annotations

import json
import os
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from footprint.api._columns import meaning
from footprint.errors import ArgumentError, FootprintError, FormatError, missing_extra, warn
from footprint.io.commented import from_commented
from footprint.io.fits_tables import from_fits
from footprint.io.frames import existing_file
from footprint.io.kinds import bracketed, called, suffixes
from footprint.io.mixins import unmixed
from footprint.io.output import check_output, output
from footprint.io.regions import regions
from footprint.units import kind_of

_KINDS = ("ecsv", "fits", "votable", "csv", "parquet", "regions")

_KINDS_OF = {bool: "boolean", int: "long", float: "double"}
_META_UNITS = {"beam_major": "deg", "beam_minor": "deg", "beam_angle": "deg", "beam_area": "pixel"}
# Columns of a catalogue at most, beyond which its parser takes minutes, and what is read of a line to count them.
_COLUMNS, _LINE = 10_000, 1 << 20


def catalog_kind(path: str | os.PathLike[str]) -> str:
    """Return ``ecsv``, ``fits``, ``votable``, ``csv``, ``parquet`` or ``regions``, by the suffix."""
    kind = called(path, *_KINDS)
    if kind is None:
        raise ArgumentError("output", repr(str(path)), f"a name ending in one of {', '.join(suffixes(*_KINDS))}")
    return kind


def check_suffix(suffix: str) -> None:
    """Raise ArgumentError where no catalogue's name ends so."""
    if called(f"catalogue.{suffix}", *_KINDS) is None:
        raise ArgumentError("format", suffix, f"one of {', '.join(end.lstrip('.') for end in suffixes(*_KINDS))}")


def check_catalog(path: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Raise FormatError or ArgumentError when `write_catalog` would; writes nothing."""
    if catalog_kind(path) == "parquet":
        _pyarrow()
    check_output(path, overwrite)


def write_catalog(table: Any, path: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Write a table of sources in the format given by the suffix; the file gets its name when it is finished.

    Parameters
    ----------
    table
        astropy Table or QTable. Units are kept: in ECSV, FITS and VOTable as the format has them, in CSV as ``flux [Jy]`` in the
        column's name.
    path
        ``.ecsv``, ``.fits .fit .fts``, ``.vot .votable .xml``, ``.csv``, ``.parquet`` (by pyarrow), or ``.reg`` for DS9 regions:
        ellipses at the half height of fitted Gaussians, where a source has its own (also of other programs' catalogues, as
        `measure_at` reads them), or circles of the source's area, at ``ra dec`` in the frame ``table.meta["frame"]``, ICRS by
        default, or at ``x y`` counted from 0. In formats other than ECSV and FITS a SkyCoord becomes the columns ra and dec.
    overwrite
        Replace an existing file.

    Raises
    ------
    FormatError
        The file exists, or cannot be written.
    ArgumentError
        Unknown suffix, no positions for regions, or a column of objects that the format cannot store.

    Examples
    --------
    >>> import tempfile, os
    >>> import footprint as fp
    >>> from astropy.table import Table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fp.write_catalog(Table({"x": [1.5], "y": [2.0]}), os.path.join(folder, "c.csv"))
    ...     print(open(os.path.join(folder, "c.csv")).read().strip())
    x,y
    1.5,2.0
    """
    kind = catalog_kind(path)
    if not hasattr(table, "colnames"):
        raise ArgumentError("table", kind_of(table), "an astropy table, as find_sources gives")
    with output(path, overwrite) as temporary, warnings.catch_warnings():
        # Units such as Jy/beam are outside the FITS and VOTable standards' lists, and every reader knows them.
        warnings.simplefilter("ignore")
        table = table if kind in ("ecsv", "fits") else unmixed(table)
        if kind == "regions":
            temporary.write_text(regions(table), "utf-8")
        elif kind == "csv":
            plain = table.copy(copy_data=False)
            plain.convert_bytestring_to_unicode()
            for name in table.colnames:
                unit = table[name].unit
                if unit is not None and str(unit):
                    plain.rename_column(name, f"{name} [{unit}]")
            plain.write(temporary, format="ascii.csv", overwrite=True)
        elif kind == "parquet":
            _parquet(table, temporary)
        elif kind == "votable":
            _votable(table).to_xml(str(temporary))
        elif kind == "fits":
            _fits(table).write(temporary, format="fits", overwrite=True)
        else:
            table.write(temporary, format="ascii.ecsv", overwrite=True)


def read_catalog(path: str | os.PathLike[str]) -> Any:
    """Read a table of sources, such as `write_catalog` wrote or any other of these formats.

    Parameters
    ----------
    path
        ``.ecsv``, ``.fits .fit``, ``.vot .votable .xml``, ``.csv`` or ``.parquet``. ``FILE.fits[NAME]`` is one table of several, by
        its name or number; without, it is the first, or of SExtractor's FITS_LDAC the first LDAC_OBJECTS. Units in names of CSV
        columns, as in ``flux [Jy]``, become the columns', and the PARAMs of a VOTable its metadata. If a CSV file names its columns
        in its last comment, as PyBDSF's do, those names are used.

    Returns
    -------
    astropy.table.Table
        All its rows and columns.

    Raises
    ------
    FormatError
        The file does not exist, or cannot be read.
    ArgumentError
        Unknown suffix, or regions.

    Examples
    --------
    >>> import tempfile, os
    >>> import footprint as fp
    >>> from astropy.table import Table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fp.write_catalog(Table({"x": [1.5], "y": [2.0]}), os.path.join(folder, "c.csv"))
    ...     fp.read_catalog(os.path.join(folder, "c.csv")).colnames
    ['x', 'y']
    """
    path, table_of = bracketed(path)
    kind = called(path, *_KINDS)
    if kind is None or kind == "regions":
        endings = ", ".join(suffixes(*(word for word in _KINDS if word != "regions")))
        raise ArgumentError("path", repr(os.fspath(path)), f"a catalogue whose name ends in one of {endings}")
    if table_of is not None and kind != "fits":
        raise ArgumentError("path", repr(f"{path}[{table_of}]"), "brackets behind the name of a FITS file only")
    existing_file(os.fspath(path), "a catalogue")
    from astropy.table import Table

    told = ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if kind == "parquet":
                return _from_parquet(path)
            if kind == "votable":
                return _from_votable(path)
            if kind == "csv":
                _check_width(path)
                if (commented := from_commented(path)) is not None:
                    return commented
            if kind == "fits":
                table, told = from_fits(path, table_of)
            else:
                table = Table.read(path, format={"ecsv": "ascii.ecsv", "csv": "ascii.csv"}.get(kind, kind))
        except (MemoryError, ImportError, FootprintError):
            raise
        except Exception as error:
            # Parsers raise whatever they stumble over.
            raise FormatError(path, f"cannot be read as a catalogue ({' '.join(str(error).split())[:200]})") from error
    if told:
        warn(told)
    for name in table.colnames if kind == "csv" else ():
        found = re.fullmatch(r"(.+) \[(.+)\]", name)
        if found is not None:
            table[name].unit = found[2]
            table.rename_column(name, found[1])
    return table


def _check_width(path: str | os.PathLike[str]) -> None:
    with open(path, "rb") as file:
        columns = 1 + file.readline(_LINE).count(b",")
    if columns > _COLUMNS:
        raise FormatError(path, f"has more than {_COLUMNS} columns", "it is not a catalogue, or it is damaged")


def _pyarrow(purpose: str = "writing") -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise missing_extra("pyarrow", "parquet", f"{purpose} Parquet") from None
    return pyarrow


def _parquet(table: Any, path: Path) -> None:
    """Columns as they are, units and descriptions as metadata of the fields, the table's as JSON in the schema's ``footprint``."""
    arrow = _pyarrow()
    plain = table.copy(copy_data=False)
    plain.convert_bytestring_to_unicode()
    fields, arrays = [], []
    for name in plain.colnames:
        column = plain[name]
        values = np.ma.filled(column.value if hasattr(column, "value") else column, np.nan) if column.dtype.kind == "f" else column
        array = arrow.array(np.asarray(values).astype(np.asarray(values).dtype.newbyteorder("=")))
        words = {"unit": str(column.unit or ""), "description": str(column.info.description or "")}
        fields.append(arrow.field(name, array.type, metadata={key: word for key, word in words.items() if word} or None))
        arrays.append(array)
    told = json.dumps(dict(table.meta), default=lambda value: value.tolist() if hasattr(value, "tolist") else str(value))
    schema = arrow.schema(fields, metadata={"footprint": told})
    arrow.parquet.write_table(arrow.Table.from_arrays(arrays, schema=schema), path)


def _from_parquet(path: str | os.PathLike[str]) -> Any:
    """Units, descriptions and metadata come back where `_parquet` has put them; files of others have their columns."""
    from astropy.table import Table

    arrow = _pyarrow("reading").parquet.read_table(path)
    made = Table({name: arrow.column(name).to_numpy() for name in arrow.column_names})
    for field in arrow.schema:
        known = field.metadata or {}
        for key in ("unit", "description"):
            if word := known.get(key.encode()):
                setattr(made[field.name], key, word.decode())
    told = (arrow.schema.metadata or {}).get(b"footprint")
    made.meta |= json.loads(told) if told else {}
    return made


def _fits(table: Any) -> Any:
    """With metadata as a header can hold them: words of up to 8 letters would come back in capitals, and NaN not at all."""
    plain, told = table.copy(copy_data=False), {}
    for name, value in table.meta.items():
        value = value.item() if isinstance(value, np.generic) else value
        known = name == "comments" or isinstance(value, bool | int | str) or (isinstance(value, float) and np.isfinite(value))
        text = value if known else str(value)
        # What a header has no letters for is written as Python would.
        text = text.encode("ascii", "backslashreplace").decode() if isinstance(text, str) else text
        told[f"HIERARCH {name}" if len(name) <= 8 and name != name.upper() and name != "comments" else name] = text
    plain.meta = told
    return plain


def _votable(table: Any) -> Any:
    """With what a Table's own writer leaves out: each entry of the metadata as a PARAM, the columns' UCDs, and pixels as a unit."""
    from astropy.io.votable import from_table
    from astropy.io.votable.tree import Param

    plain = table.copy(copy_data=False)
    for name in plain.colnames:
        column, told = plain[name], meaning(name)
        if told is not None:
            column.info.meta = {"ucd": told.ucd, **(column.info.meta or {})}
            column.info.description = column.info.description or told.description
            if told.pixels and column.unit is None:
                column.unit = "pix"
    made = from_table(plain)
    for name, value in table.meta.items():
        value = value.item() if isinstance(value, np.generic) else value
        known = type(value) in _KINDS_OF
        how = {"datatype": _KINDS_OF[type(value)]} if known else {"datatype": "unicodeChar", "arraysize": "*"}
        unit = {"unit": _META_UNITS[name]} if name in _META_UNITS else {}
        made.get_first_table().params.append(Param(made, name=name, value=value if known else str(value), **how, **unit))
    return made


def _from_votable(path: str | os.PathLike[str]) -> Any:
    """With the PARAMs of its table as metadata, which a Table's own reader leaves out."""
    from astropy.io.votable import parse
    from astropy.table import Table

    file = parse(os.fspath(path), verify="warn")
    # IDs are for references within the file: Selavy's column ra_deg_cont has the ID col_ra_deg_cont.
    made = Table.read(file, format="votable", use_names_over_ids=True)
    for column in made.itercols():
        # Long ones have been broken into lines.
        column.description = column.description and " ".join(column.description.split())
    for param in (param for table in file.iter_tables() for param in table.params):
        value = param.value
        if not np.ma.is_masked(value):
            made.meta[param.name] = value.item() if isinstance(value, np.generic) else value
    return made
