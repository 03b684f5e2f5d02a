"""HDF5: files opened with clear errors, frames read as hyperslabs, arrays written slab by slab."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import h5py
import numpy as np

from footprint.backend.memory import give_back
from footprint.errors import FormatError, printable
from footprint.io.direct import LEAST, PAGE
from footprint.io.frames import existing_file, reading
from footprint.io.raw import RawFrames

# Chunks that HDF5 would keep a dataset: readers here take whole chunks in order, so nothing is ever asked for again.
_CACHE = 0
# Bytes of a string of fixed length that is still a name or a unit.
_TEXT = 1 << 16
# Names that an error shows.
_SHOWN = 6
# Objects looked at to find the only array of a file.
_OBJECTS = 1 << 13


def is_hdf5(path: str | os.PathLike[str]) -> bool:
    """Whether the file has an HDF5 signature at its start or at one of the offsets HDF5 allows."""
    return bool(h5py.is_hdf5(os.fspath(path)))


def open_file(path: str | os.PathLike[str]) -> h5py.File:
    """Open an HDF5 file for reading; FormatError when it is none, or is truncated."""
    existing_file(path, "an HDF5 file")
    if not is_hdf5(path):
        raise FormatError(path, "is not an HDF5 file")
    with reading(path):
        return h5py.File(path, "r", rdcc_nbytes=_CACHE)


def get(group: h5py.Group, name: str) -> Any:
    """Return the object at ``name``, None where nothing is; FormatError where a link leads to a missing file or object."""
    here = group
    for part in name.strip("/").split("/"):
        if not isinstance(here, h5py.Group):
            return None
        try:
            link = here.get(part, getlink=True)
            if link is None:
                return None
            here = here[part]
        except (KeyError, OSError, RuntimeError, ValueError) as error:
            if isinstance(link, h5py.ExternalLink):
                raise FormatError(
                    group.file.filename,
                    f"{name} is a link to {link.path} in {link.filename}, which cannot be opened",
                    "keep the linked files beside it",
                ) from error
            if isinstance(link, h5py.SoftLink):
                return None
            raise FormatError(group.file.filename, f"{name} cannot be opened", "it may be damaged or truncated") from error
    return here


def first(group: h5py.Group, names: tuple[str, ...]) -> h5py.Dataset | None:
    """Return the first of ``names`` that is a dataset; a broken link counts only when no other name serves."""
    broken: FormatError | None = None
    for name in names:
        try:
            found = get(group, name)
        except FormatError as error:
            broken = broken or error
            continue
        if isinstance(found, h5py.Dataset):
            return found
    try:
        if broken is not None:
            raise broken
    finally:
        # Named here, it would keep the file open until Python looks for cycles.
        del broken
    return None


def text(value: Any) -> str:
    """Return an attribute or scalar dataset as text, whatever HDF5's spelling of strings."""
    if isinstance(value, h5py.Dataset):
        if value.dtype.itemsize > _TEXT or math.prod(value.chunks or ()) * value.dtype.itemsize > _TEXT:
            return ""
        value = value[()]
    if isinstance(value, np.ndarray):
        value = value.reshape(-1)[0] if value.size else ""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def scalar_text(group: h5py.Group, name: str) -> str:
    """Return a string of one element, empty where there is none or it cannot be read."""
    try:
        found = get(group, name)
        return text(found).strip() if isinstance(found, h5py.Dataset) and found.size == 1 else ""
    except (FormatError, OSError, RuntimeError, ValueError, TypeError):
        return ""


def unit_named(dataset: h5py.Dataset) -> str:
    """The unit a dataset says it has, in small letters; empty where it says none."""
    for name in ("units", "unit"):
        if name in dataset.attrs:
            return text(dataset.attrs[name]).strip().lower()
    return ""


def open_dataset(path: str, name: str | None) -> h5py.Dataset:
    """Open the dataset ``name`` of a file, or its only array of two dimensions or more."""
    file = open_file(path)
    try:
        if name:
            found = get(file, name)
            if not isinstance(found, h5py.Dataset):
                raise FormatError(path, f"holds no dataset {name}", _listing(_arrays(path, file)))
            return found
        arrays = _arrays(path, file)
        if len(arrays) != 1:
            problem = "holds no array of two dimensions or more" if not arrays else f"holds {len(arrays)} arrays"
            raise FormatError(path, problem, _listing(arrays) and f'name one as "{path}:/NAME"; {_listing(arrays)}')
        return arrays[0]
    except BaseException:
        file.close()
        raise


def _arrays(path: str, file: h5py.File) -> list[h5py.Dataset]:
    """Numeric datasets that could be an image, each object once.

    Groups are opened from the group that holds them: HDF5's own visit asks for every object by its whole path, which takes long
    where groups are thousands deep.
    """
    found: list[h5py.Dataset] = []
    seen = {_address(file)}
    with reading(path):
        root = file["/"]
        here: list[tuple[h5py.Group, Iterator[str]]] = [(root, iter(root))]
        while here:
            group, names = here[-1]
            name = next(names, None)
            if name is None:
                here.pop()
                continue
            item = group[name] if isinstance(group.get(name, getlink=True), h5py.HardLink) else None
            if item is None or isinstance(item, h5py.Datatype) or _address(item) in seen:
                continue
            seen.add(_address(item))
            if len(seen) > _OBJECTS:
                fix = f'name the array as "{path}:/NAME"'
                raise FormatError(path, f"holds more than {_OBJECTS} objects, too many to look for an array in", fix)
            if isinstance(item, h5py.Group):
                here.append((item, iter(item)))
            elif item.ndim >= 2 and item.dtype.kind in "biuf":
                found.append(item)
    return found


def _address(item: h5py.Group | h5py.Dataset) -> int:
    return int(h5py.h5o.get_info(item.id).addr)


def _listing(arrays: list[h5py.Dataset]) -> str:
    return f"it has {some([f'{str(a.name)[-80:]} {a.shape}' for a in arrays])}" if arrays else ""


def some(names: Iterable[str]) -> str:
    """Some names in words, and how many more there are."""
    shown = list(names)
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return (", ".join(name[:80] for name in shown[:_SHOWN]) + more) if shown else "nothing"


def as_stored(dataset: h5py.Dataset) -> bool:
    """Whether numbers in the file are NumPy's own, at offsets that count from its start."""
    # Where the file begins with a block of the user's, offsets mean different things to different versions of HDF5.
    plain = h5py.h5t.py_create(dataset.dtype, logical=True).equal(dataset.id.get_type())
    return bool(plain) and dataset.file.userblock_size == 0


def contiguous(dataset: h5py.Dataset, shape: tuple[int, int, int]) -> RawFrames | None:
    """A dataset that lies in its file as it is; None where it is in chunks, elsewhere, in its header, or not yet written."""
    layout = dataset.id.get_create_plist()
    if layout.get_layout() != h5py.h5d.CONTIGUOUS or layout.get_external_count() or not dataset.size or not as_stored(dataset):
        return None
    offset = dataset.id.get_offset()
    return None if offset is None else RawFrames(dataset.file.filename, offset, shape, dataset.dtype)


class _Nothing:
    """The rows of an array without elements."""

    def writing_bytes(self, dtype: Any) -> int:
        """Nothing is staged."""
        return 0

    def write(self, start: int, rows: slice, array: np.ndarray) -> None:
        """Nothing to write."""

    def sync(self) -> None:
        """Nothing to wait for."""

    def close(self) -> None:
        """Nothing is open."""


def results_in(
    file: h5py.File,
    n_axes: int,
    attrs: Mapping[str, Any],
    group: str,
    axis: Mapping[str, Any] = MappingProxyType({}),
    each: Mapping[str, Any] = MappingProxyType({}),
) -> h5py.Group:
    """Lay out ``entry/<group>/results`` of a NeXus file whose default plot its ``data`` will be; see `create_array`."""
    file.attrs["default"] = "entry"
    entry = file.create_group("entry")
    entry.attrs.update(NX_class="NXentry", default=group)
    process = entry.create_group(group)
    process.attrs.update(NX_class="NXprocess", default="results", program="footprint")
    for key, value in attrs.items():
        if value is not None:
            plain = isinstance(value, (bytes, bool, int, float, np.ndarray, np.generic, list, tuple))
            # A file's name may hold what is no text.
            process.attrs[key] = value if plain else printable(str(value))
    results = process.create_group("results")
    results.attrs.update(NX_class="NXdata", signal="data", interpretation="image")
    for name, values in axis.items():
        results[name] = np.asarray(values)
        results.attrs["axes"] = [name, *["."] * (n_axes - 1)]
    for name, values in each.items():
        results[name] = np.asarray(values)
    return results


def create_array(
    temporary: str | os.PathLike[str],
    shape: tuple[int, ...],
    dtype: np.dtype,
    attrs: Mapping[str, Any],
    group: str,
    axis: Mapping[str, Any] = MappingProxyType({}),
    each: Mapping[str, Any] = MappingProxyType({}),
) -> RawFrames | _Nothing:
    """Create a NeXus file whose default plot is the array ``entry/<group>/results/data``; ``attrs`` go on ``entry/<group>``.

    ``axis`` names the array's first axis and says where its frames lie on it; ``each`` are other numbers of every frame.

    HDF5 only lays the file out, and is closed before the first pixel: it crashes at exit when a disk fills up under it.
    The pixels go where it put them.
    """
    nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    with open(temporary, "wb") as trial:
        # A file that may not grow to its size fails here, as an error, and not inside HDF5.
        trial.truncate(nbytes + (1 << 16))
    # Locked already, by its Output. What is large begins with a page of the file, so that it may be written without a copy.
    aligned = {"alignment_threshold": LEAST, "alignment_interval": PAGE}
    with h5py.File(temporary, "w", locking=False, **aligned) as file:
        results = results_in(file, len(shape), attrs, group, axis, each)
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        plist.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        # The same job writes the same file, whenever it runs.
        plist.set_obj_track_times(False)
        space = h5py.h5s.create_simple(shape)
        offset = h5py.h5d.create(results.id, b"data", h5py.h5t.py_create(dtype, logical=True), space, dcpl=plist).get_offset()
    # HDF5 takes half a megabyte for every file that it opens.
    give_back()
    if not nbytes:
        return _Nothing()
    if offset is None:
        raise FormatError(temporary, "HDF5 did not lay its array out")
    lead = int(np.prod(shape[:-2], dtype=np.int64))
    return RawFrames(temporary, offset, (lead, shape[-2], shape[-1]), dtype, writable=True)
