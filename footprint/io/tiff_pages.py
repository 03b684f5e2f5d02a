"""Opening TIFF files, whose pages are a chain: each says where the next one is."""

from __future__ import annotations

import logging
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

from footprint.errors import FormatError

if TYPE_CHECKING:
    import tifffile

# Damage is told by our errors; the library's own lines on standard error would only repeat it.
logging.getLogger("tifffile").addHandler(logging.NullHandler())

# By the version in the header: where the first offset is; how a page's number of tags and an offset are stored; bytes of a tag.
_FORMS = {42: (4, "H", "I", 12), 43: (8, "Q", "Q", 20)}
# The library takes more for damage, and ends the chain there.
_MOST_TAGS = 4096


def open_tiff(path: str | os.PathLike[str]) -> tifffile.TiffFile:
    """Open a TIFF file; FormatError for a chain of pages without an end, which the library follows until memory is full."""
    import tifffile

    with open(path, "rb") as file:
        if _circles(file):
            raise FormatError(path, "has a list of pages that leads back into itself", "it may be damaged; write it again")
    return tifffile.TiffFile(path)


@contextmanager
def opened(page: Any) -> Iterator[None]:
    """Have the file of a page open: of an image in several files the library closes all but the first."""
    file = page.parent.filehandle
    closed = file.closed
    if closed:
        file.open()
    try:
        yield
    finally:
        if closed:
            file.close()


def _circles(file: BinaryIO) -> bool:
    """Whether following the pages never ends: Brent's way, which remembers one of them, the 1st, 2nd, 4th, 8th ..."""
    start = file.read(16)
    order = "<" if start[:2] == b"II" else ">"
    if len(start) < 16 or (form := _FORMS.get(struct.unpack(order + "H", start[2:4])[0])) is None:
        return False
    where, count, offset, tag = form
    counts, offsets = struct.Struct(order + count), struct.Struct(order + offset)
    at = remembered = offsets.unpack_from(start, where)[0]
    passed, power = 0, 1
    while at:
        file.seek(at)
        found = file.read(counts.size)
        if len(found) < counts.size or (n_tags := counts.unpack(found)[0]) > _MOST_TAGS:
            return False
        file.seek(at + counts.size + n_tags * tag)
        found = file.read(offsets.size)
        if len(found) < offsets.size:
            return False
        at = offsets.unpack(found)[0]
        if at == remembered:
            return True
        passed += 1
        if passed == power:
            remembered, passed, power = at, 0, 2 * power
    return False
