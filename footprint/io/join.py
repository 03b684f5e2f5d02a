"""Volumes that were written in parts, seen as one: an HDF5 file whose data are those of the parts, which stay where they are."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from footprint.errors import ArgumentError, FormatError, ShapeError, printable
from footprint.io.output import output
from footprint.io.packing import volume_kind
from footprint.units import kind_of

_GROUP, _DATA = "entry/reconstruction", "data"
# What is a part's own, or HDF5's.
_OWN = ("rows", "parts", "bad_pixels", "NX_class", "default")
_MOST = 10_000
# Parts that may be open together, of the thousand files that a process often may have.
_AT_ONCE = 100


@dataclass
class _Part:
    """A part: its detector rows, what it says of itself, and numbers of every slice."""

    path: str
    rows: tuple[int, int]
    shape: tuple[int, ...]
    dtype: np.dtype
    about: dict[str, Any]
    each: dict[str, np.ndarray]
    bad_pixels: str


def join_volumes(parts: Sequence[str | os.PathLike[str]], out: str | os.PathLike[str], overwrite: bool = False) -> tuple[int, int]:
    """Join parts into one volume: an HDF5 file with a virtual dataset over theirs, which copies no pixel.

    Parameters
    ----------
    parts
        HDF5 volumes ``(n, n_y, n_x)`` that `reconstruct` wrote from rows of one scan, in any order, compressed or not. ``out``
        refers to them relative to its own folder, so they must stay there.
    out
        The HDF5 file to write.
    overwrite
        Replace an existing file.

    Returns
    -------
    tuple of int
        The detector rows ``(first, last + 1)`` that the volume has.

    Raises
    ------
    FormatError
        A part is not such a volume, or was made with another option; rows are missing or present twice; a line of a part is not
        what the volume shows.
    ArgumentError
        ``out`` does not have an HDF5 suffix, or is one of the parts, or there are no parts.
    ShapeError
        Parts differ in shape or dtype.

    Examples
    --------
    >>> import os, tempfile, numpy as np
    >>> import footprint as fp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     names = [os.path.join(folder, name) for name in ("a.h5", "b.h5", "all.h5")]
    ...     for name, rows in zip(names, ("0:2", "2:5")):
    ...         n = int(rows[2]) - int(rows[0])
    ...         with fp.create_volume(name, (n, 4, 4), attrs={"rows": rows}) as volume:
    ...             volume.write(slice(0, n), np.ones((n, 4, 4), np.float32))
    ...     fp.join_volumes(names[:2], names[2])
    (0, 5)
    """
    import h5py

    from footprint.io.hdf5 import results_in

    if volume_kind(out) != "hdf5":
        raise ArgumentError("output", repr(str(out)), "a name ending in .h5, .hdf5, .hdf, .nx or .nxs", "only HDF5 has such a view")
    if isinstance(parts, str | os.PathLike) or not isinstance(parts, Sequence):
        raise ArgumentError("parts", kind_of(parts), "a list of the names of volumes")
    if not 1 <= len(parts) <= _MOST:
        raise ArgumentError("parts", f"{len(parts)} of them", f"1 to {_MOST}")
    if any(os.path.realpath(part) == os.path.realpath(out) for part in parts):
        raise ArgumentError("output", repr(str(out)), "a name that none of the parts has")
    found = sorted((_opened(os.fspath(part)) for part in parts), key=lambda part: part.rows)
    first, last = found[0], found[-1]
    for before, part in pairwise(found):
        _check_next(before, part)
        _check_alike(first, part)
    n_y, n_x = first.shape[1:]
    shape, home = (last.rows[1] - first.rows[0], n_y, n_x), Path(os.path.realpath(out)).parent
    layout = h5py.VirtualLayout(shape, first.dtype)
    for part in found:
        # HDF5 fills in what follows a "%" in such a name.
        name = os.path.relpath(os.path.realpath(part.path), home).replace("%", "%%")
        at = part.rows[0] - first.rows[0]
        layout[at : at + part.shape[0]] = h5py.VirtualSource(name, f"{_GROUP}/results/{_DATA}", part.shape, first.dtype)
    names = [printable(os.path.basename(part.path)) for part in found]
    attrs = {**first.about, "rows": f"{first.rows[0]}:{last.rows[1]}", "parts": names}
    bad = [f"rows {part.rows[0]}:{part.rows[1]}: {part.bad_pixels}" for part in found if part.bad_pixels]
    attrs |= {"bad_pixels": bad} if bad else {}
    each = {name: np.concatenate([part.each[name] for part in found]) for name in first.each}
    # What others read where a part is gone.
    fill = np.nan if first.dtype.kind == "f" else 0
    with output(out, overwrite) as temporary:
        with h5py.File(temporary, "w", locking=False) as file:
            results_in(file, 3, attrs, "reconstruction", each=each).create_virtual_dataset(_DATA, layout, fillvalue=fill)
        _check_seen(temporary, found, out)
    return first.rows[0], last.rows[1]


def _opened(path: str) -> _Part:
    import h5py

    from footprint.io.frames import reading
    from footprint.io.hdf5 import get, open_file, text
    from footprint.io.virtual import use_plugins

    with open_file(path) as file, reading(path):
        process, results = get(file, _GROUP), get(file, f"{_GROUP}/results")
        data = get(file, f"{_GROUP}/results/{_DATA}")
        if not isinstance(data, h5py.Dataset) or data.ndim != 3 or not isinstance(results, h5py.Group):
            raise FormatError(path, f"has no volume at {_GROUP}/results/{_DATA}", "give parts that footprint reconstruct wrote")
        if "axes" in results.attrs:
            raise FormatError(path, f"holds one row about several of {text(results.attrs['axes'])}", "give parts of one volume")
        use_plugins(data)
        said = text(process.attrs.get("rows", ""))
        rows = re.fullmatch(r"(\d{1,15}):(\d{1,15})", said)
        if rows is None or int(rows[2]) - int(rows[1]) != data.shape[0]:
            problem = f"says its rows are {said}, and has {data.shape[0]} slices" if said else "does not say which rows it has"
            raise FormatError(path, problem, f"it is the attribute rows of {_GROUP}, such as 0:{data.shape[0]}")
        about = {name: process.attrs[name] for name in process.attrs if name not in _OWN}
        each = {name: results[name] for name in results if name != _DATA}
        numbers = {name: one[()] for name, one in each.items() if isinstance(one, h5py.Dataset) and one.shape == data.shape[:1]}
        return _Part(
            path, (int(rows[1]), int(rows[2])), data.shape, data.dtype, about, numbers, text(process.attrs.get("bad_pixels", ""))
        )


def _check_next(before: _Part, part: _Part) -> None:
    """Raise unless one part begins where the other ends."""
    (start, stop), (a, b) = before.rows, part.rows
    if a < stop:
        problem = f"has rows {a}:{b}, and {before.path} has {start}:{stop}"
        raise FormatError(part.path, problem, "every row may be in one part only")
    if a > stop:
        raise FormatError(
            part.path, f"begins with row {a}, and {before.path} ends before row {stop}", f"rows {stop}:{a} are missing"
        )


def _check_alike(first: _Part, part: _Part) -> None:
    """Raise where two parts are not of one volume, naming what differs."""
    if (part.shape[1:], part.dtype) != (first.shape[1:], first.dtype):
        got, want = (f"{one.dtype} slices of {one.shape[1]} x {one.shape[2]}" for one in (part, first))
        raise ShapeError(part.path, got, f"{want}, as {first.path} has")
    if set(part.each) != set(first.each):
        name = sorted(set(part.each) ^ set(first.each))[0]
        raise FormatError(part.path, f"has {name} for every slice, or lacks it, unlike {first.path}", "make both alike")
    for name in sorted(set(first.about) | set(part.about)):
        one, other = (_plain(name, about.get(name)) for about in (part.about, first.about))
        if one != other:
            fix = "give --range as two numbers" if name.startswith("value_") else "make both with the same options"
            raise FormatError(part.path, f"was made with {name} {one}, {first.path} with {other}", fix)


def _check_seen(joined: str | os.PathLike[str], parts: Sequence[_Part], out: str | os.PathLike[str]) -> None:
    """Raise unless a line of every part is seen through the volume: HDF5 says nothing where it finds no part."""
    from footprint.io.frames import reading
    from footprint.io.hdf5 import open_file

    name, start = f"{_GROUP}/results/{_DATA}", parts[0].rows[0]
    with open_file(joined) as file:
        for first in range(0, len(parts), _AT_ONCE):
            # What a dataset has found it keeps open.
            data = file[name]
            for part in parts[first : first + _AT_ONCE]:
                z, y = part.shape[0] // 2, part.shape[1] // 2
                with open_file(part.path) as own, reading(part.path):
                    same = own[name][z, y].tobytes() == data[part.rows[0] - start + z, y].tobytes()
                if not same:
                    raise FormatError(out, f"does not show what is in {part.path}", "unset HDF5_VDS_PREFIX, or rename the part")
            del data


def _plain(name: str, value: Any) -> str:
    if isinstance(value, np.ndarray):
        return repr(value.tolist())
    # The same scan may have been named from another folder.
    return os.path.basename(str(value)) if name == "scan" else str(value)
