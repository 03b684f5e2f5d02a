"""What is said of a volume only when it is whole: files are laid out before that, so room for it is kept where the rest is said."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO

from footprint.errors import ArgumentError

# Letters that there is room for: a long sentence. What is read of a file at a time.
_ROOM, _PIECE = 320, 64 << 10


def attributes(attrs: object) -> dict[str, object]:
    """How an output was made, by name; none where nothing is said."""
    if attrs is not None and not isinstance(attrs, Mapping):
        raise ArgumentError("attrs", repr(attrs), "a mapping of names to values")
    return dict(attrs or {})


def room(name: str) -> str:
    """What stands for it until it is told; no two names have the same."""
    return f"{name}: not counted yet".ljust(_ROOM)


def tell(files: Iterable[Path], name: str, text: str) -> None:
    """Put a text, in place, where `room` was kept for it in JSON; files that have one already stay as they are."""
    kept = json.dumps(room(name)).encode()
    while len(said := json.dumps(text).encode()) > len(kept):
        text = text[:-1]
    for path in files:
        with open(path, "rb+") as file:
            at = _find(file, kept)
            if at >= 0:
                file.seek(at)
                # What is left of the room is space behind the text.
                file.write(said.ljust(len(kept)))


def _find(file: IO[bytes], text: bytes) -> int:
    """Where a text is in a file, -1 for nowhere: at the front or behind the image, else anywhere."""
    size = file.seek(0, os.SEEK_END)
    for at in (0, max(size - _PIECE, 0), *range(0, size, _PIECE)):
        file.seek(at)
        found = file.read(_PIECE + len(text)).find(text)
        if found >= 0:
            return at + found
    return -1


def tell_hdf5(path: Path, group: str, texts: Mapping[str, str]) -> None:
    """The same as attributes of a group; the file is on the disk then."""
    import h5py

    from footprint.backend.memory import give_back

    # Locked already, by its Output.
    with h5py.File(path, "r+", locking=False) as file:
        file[group].attrs.update(texts)
    give_back()
    with open(path, "rb+") as written:
        os.fsync(written.fileno())
