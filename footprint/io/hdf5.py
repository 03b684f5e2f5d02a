"""HDF5: files opened with clear errors, frames read as hyperslabs, arrays written slab by slab."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Mapping
from typing import Any

import h5py
import numpy as np

from footprint.errors import FormatError, printable
from footprint.io.chunks import Chunks
from footprint.io.frames import existing_file, reading
from footprint.io.raw import RawFrames
from footprint.units import format_bytes

# Chunks that HDF5 would keep a dataset: readers here take whole chunks in order, so nothing is ever asked for again.
_CACHE = 0
# Its cache of the index of chunks and of everything else that is no pixel grows to 32 MiB, unless it is told not to.
_INDEX = 1 << 17
INDEX_BYTES = 4 * _INDEX
"""What the index of chunks takes at most: the cache, and what HDF5 makes of its entries; 1.9 times the cache, measured."""
# Numbers that are no pixels: angles, keys, positions.
_MANY = 1 << 20
# Filters below this number are HDF5's own; the others come with hdf5plugin.
_FIRST_PLUGIN_FILTER = 256


def is_hdf5(path: str | os.PathLike[str]) -> bool:
    """Whether the file has an HDF5 signature at its start or at one of the offsets HDF5 allows."""
    return bool(h5py.is_hdf5(os.fspath(path)))


def open_file(path: str | os.PathLike[str]) -> h5py.File:
    """Open an HDF5 file for reading; FormatError when it is none, or is truncated."""
    existing_file(path, "an HDF5 file")
    if not is_hdf5(path):
        raise FormatError(path, "is not an HDF5 file")
    with reading(path):
        file = h5py.File(path, "r", rdcc_nbytes=_CACHE)
        sizes = file.id.get_mdc_config()
        sizes.set_initial_size, sizes.initial_size, sizes.min_size, sizes.max_size = True, _INDEX, _INDEX, _INDEX
        file.id.set_mdc_config(sizes)
        return file


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
    if broken is not None:
        raise broken
    return None


def text(value: Any) -> str:
    """Return an attribute or scalar dataset as text, whatever HDF5's spelling of strings."""
    if isinstance(value, h5py.Dataset):
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


def values(path: str, dataset: h5py.Dataset, what: str, most: int = _MANY) -> np.ndarray:
    """Read a small dataset of numbers whole, as float64 in one dimension; FormatError where it declares more than ``most``."""
    if dataset.dtype.kind not in "biuf":
        raise FormatError(path, f"{dataset.name} holds {dataset.dtype}, wanted numbers ({what})")
    chunk = math.prod(dataset.chunks or ()) * dataset.dtype.itemsize
    size = dataset.size or 0
    if size > most or chunk > max(8 * most, 1 << 20):
        has = f"{size} values" if size > most else f"chunks of {format_bytes(chunk)}"
        raise FormatError(path, f"{dataset.name} has {has}, too many for {what} (at most {most})")
    use_plugins(dataset)
    with reading(path, dataset.name):
        if not (dataset.chunks and size):
            return np.asarray(dataset[()], np.float64).reshape(-1)
        found = np.empty(dataset.shape)
        chunks = Chunks(path, dataset)
        try:
            chunks.whole(found)
        finally:
            chunks.close()
        return found.reshape(-1)


def use_plugins(dataset: h5py.Dataset) -> None:
    """Register hdf5plugin's filters where a dataset needs them, and refuse virtual datasets whose sources are missing."""
    if dataset.is_virtual:
        _check_sources(dataset, set())
        needs = True
    else:
        plist = dataset.id.get_create_plist()
        needs = any(plist.get_filter(i)[0] >= _FIRST_PLUGIN_FILTER for i in range(plist.get_nfilters()))
    if needs:
        import hdf5plugin  # noqa: F401  # importing it registers the filters


def _short(source: Any, found: h5py.Dataset) -> bool:
    """Whether a source has less than a virtual dataset takes from it, as after an aborted scan."""
    try:
        if source.src_space.get_select_type() == h5py.h5s.SEL_ALL:
            return bool(source.vspace.get_select_npoints() > found.size)
        last = source.src_space.get_select_bounds()[1]
    except (RuntimeError, ValueError, TypeError):
        # A selection without end takes what there is.
        return False
    return len(last) == found.ndim and any(end >= have for end, have in zip(last, found.shape))


def _check_sources(dataset: h5py.Dataset, seen: set[tuple[str, str]]) -> None:
    """Look for every source of a virtual dataset, and theirs: HDF5 reads fill values, silently, where one is missing."""
    main = dataset.file.filename
    folder = os.path.dirname(os.path.abspath(main))
    for source in dataset.virtual_sources():
        name, inner = source.file_name, source.dset_name
        key = (os.path.normpath(os.path.join(folder, name)) if name != "." else os.path.abspath(main), inner)
        if key in seen or "%" in name:
            continue
        seen.add(key)
        if not os.path.exists(key[0]):
            raise FormatError(main, f"{dataset.name} is assembled from {name}, which is missing")
        with contextlib.ExitStack() as stack:
            file = dataset.file if name == "." else stack.enter_context(open_file(key[0]))
            found = get(file, inner)
            if not isinstance(found, h5py.Dataset):
                raise FormatError(main, f"{dataset.name} is assembled from {inner} in {name}, which is missing")
            if _short(source, found):
                raise FormatError(main, f"{dataset.name} is assembled from {name}, which holds only {found.shape} of it")
            if found.is_virtual:
                _check_sources(found, seen)


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
    """Numeric datasets that could be an image, each object once."""
    found: list[h5py.Dataset] = []

    def visit(_: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and item.ndim >= 2 and item.dtype.kind in "biuf":
            found.append(item)

    with reading(path):
        file.visititems(visit)
    return found


def _listing(arrays: list[h5py.Dataset]) -> str:
    names = [f"{a.name} {a.shape}" for a in arrays[:6]]
    return f"it has {', '.join(names)}{' ...' if len(arrays) > 6 else ''}" if names else ""


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


def create_array(
    temporary: str | os.PathLike[str], shape: tuple[int, ...], dtype: np.dtype, attrs: Mapping[str, Any], group: str
) -> RawFrames | _Nothing:
    """Create a NeXus file whose default plot is the array ``entry/<group>/results/data``; ``attrs`` go on ``entry/<group>``.

    HDF5 only lays the file out, and is closed before the first pixel: it crashes at exit when a disk fills up under it.
    The pixels go where it put them.
    """
    nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    with open(temporary, "wb") as trial:
        # A file that may not grow to its size fails here, as an error, and not inside HDF5.
        trial.truncate(nbytes + (1 << 16))
    # Locked already, by its Output.
    with h5py.File(temporary, "w", locking=False) as file:
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
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        plist.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        space = h5py.h5s.create_simple(shape)
        offset = h5py.h5d.create(results.id, b"data", h5py.h5t.py_create(dtype, logical=True), space, dcpl=plist).get_offset()
    if not nbytes:
        return _Nothing()
    if offset is None:
        raise FormatError(temporary, "HDF5 did not lay its array out")
    lead = int(np.prod(shape[:-2], dtype=np.int64))
    return RawFrames(temporary, offset, (lead, shape[-2], shape[-1]), dtype, writable=True)
