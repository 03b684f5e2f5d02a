"""What HDF5 needs before it can read a dataset: filters that come as plugins, and the sources of virtual ones.

Every source is looked for, since HDF5 reads fill values, silently, where one is missing.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import re
from typing import Any

import h5py

from footprint.errors import FormatError
from footprint.io.hdf5 import get, open_file

# Filters below this number are HDF5's own; the others come with hdf5plugin.
_FIRST_PLUGIN_FILTER = 256
# Virtual datasets of virtual datasets: HDF5 follows them by recursion, to the end of its stack and the process's.
_DEPTH = 16

# What HDF5 takes for every file that it keeps open; and of a chunk it has what is stored, what is decoded, and a filter's own.
_OPEN, _COPIES = 1 << 19, 3

# Datasets by their file and name, and the bytes of a chunk of theirs.
_Seen = dict[tuple[str, str], int]
_Above = tuple[h5py.Dataset, ...]


def use_plugins(dataset: h5py.Dataset) -> tuple[int, int]:
    """Register hdf5plugin's filters where a dataset needs them, and refuse virtual datasets whose sources are missing.

    Returns what `check_sources` does of a virtual one, 0 for any other.
    """
    held = 0, 0
    if dataset.is_virtual:
        held, needs = check_sources(dataset), True
    else:
        plist = dataset.id.get_create_plist()
        needs = any(plist.get_filter(i)[0] >= _FIRST_PLUGIN_FILTER for i in range(plist.get_nfilters()))
    if needs:
        import hdf5plugin  # noqa: F401  # importing it registers the filters
    return held


def check_sources(dataset: h5py.Dataset) -> tuple[int, int]:
    """Refuse a virtual dataset whose sources are missing or short, or that is assembled from itself.

    Returns the bytes that HDF5 takes to read it, as all sources stay open, and those of the largest chunk of any.
    """
    seen: _Seen = {}
    _check(dataset, seen, ())
    chunk = max(seen.values(), default=0)
    return _OPEN * len({place for place, _ in seen}) + _COPIES * chunk, chunk


def sources_of(dataset: h5py.Dataset) -> list[str]:
    """Files that a virtual dataset is assembled from."""
    seen: _Seen = {}
    _check(dataset, seen, ())
    return sorted({place for place, _ in seen})


def _check(dataset: h5py.Dataset, seen: _Seen, above: _Above) -> None:
    main = dataset.file.filename
    if dataset in above:
        raise FormatError(main, f"{dataset.name} is assembled from itself", "write it again from its true sources")
    if len(above) == _DEPTH:
        raise FormatError(main, f"{above[0].name} is assembled from virtual datasets more than {_DEPTH} deep", "copy it into one")
    for source in dataset.virtual_sources():
        names = (source.file_name, source.dset_name)
        # A pattern stands for as many sources as there are.
        many = any("%b" in name.replace("%%", "") for name in names)
        for block in itertools.count() if many else range(1):
            name, inner = (_filled_in(one, block) for one in names)
            if not _there(dataset, None if many else source, name, inner, seen, above):
                break


def _filled_in(pattern: str, block: int) -> str:
    return re.sub("%[%b]", lambda found: "%" if found[0] == "%%" else str(block), pattern)


def _there(dataset: h5py.Dataset, source: Any, name: str, inner: str, seen: _Seen, above: _Above) -> bool:
    """Check one source; False where one of a pattern, whose ``source`` is None, is not there."""
    main = os.path.abspath(dataset.file.filename)
    place = main if name == "." else os.path.normpath(os.path.join(os.path.dirname(main), name))
    if not os.path.exists(place):
        if source is None:
            return False
        raise FormatError(main, f"{dataset.name} is assembled from {name}, which is missing")
    with contextlib.ExitStack() as stack:
        file = dataset.file if name == "." else stack.enter_context(open_file(place))
        found = get(file, inner)
        if not isinstance(found, h5py.Dataset):
            if source is None:
                return False
            raise FormatError(main, f"{dataset.name} is assembled from {inner} in {name}, which is missing")
        if source is not None and _short(source, found):
            raise FormatError(main, f"{dataset.name} is assembled from {name}, which holds only {found.shape} of it")
        if found.is_virtual and (found in (*above, dataset) or (place, inner) not in seen):
            _check(found, seen, (*above, dataset))
        seen[place, inner] = math.prod(found.chunks or (0,)) * found.dtype.itemsize
    return True


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
