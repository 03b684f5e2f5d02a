"""Formats by name: which one a file's name promises, and what a file of it begins with. Who reads it is in ``formats.py``."""

from __future__ import annotations

import os
import re
from pathlib import Path

from footprint.errors import ArgumentError
from footprint.units import kind_of

_SUFFIXES = {
    "fits": (".fits", ".fit", ".fts"),
    "tiff": (".tif", ".tiff"),
    "npy": (".npy",),
    "hdf5": (".h5", ".hdf5"),
    "nexus": (".hdf", ".nx", ".nxs"),
    "zarr": (".zarr",),
    "jp2": (".jp2",),
    "png": (".png",),
    "jpeg": (".jpg", ".jpeg"),
    "bmp": (".bmp",),
    "ecsv": (".ecsv",),
    "votable": (".vot", ".votable", ".xml"),
    "csv": (".csv",),
    "parquet": (".parquet",),
    "regions": (".reg",),
    "html": (".html", ".htm"),
    "video": (".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".mpg", ".mpeg", ".ts", ".ogv", ".wmv", ".gif"),
}
# HDF5 may begin later, see ``hdf5.py``; a folder of Zarr is known by its files.
_STARTS = {
    "npy": (b"\x93NUMPY",),
    "tiff": (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"),
    "fits": (b"SIMPLE",),
    "hdf5": (b"\x89HDF\r\n\x1a\n",),
    "jp2": (b"\0\0\0\x0cjP  ",),
}


def checked(path: object) -> str:
    """The name of a file; ArgumentError for what is none."""
    if not isinstance(path, str | os.PathLike):
        raise ArgumentError("path", kind_of(path), "the name of a file")
    return os.fspath(path)


def bracketed(path: str | os.PathLike[str]) -> tuple[str, int | str | None]:
    """A file's name, and the extension in brackets behind it, None without: a file that is there has its name as it is."""
    name = checked(path)
    found = None if Path(name).exists() else re.fullmatch(r"(.+)\[([^][/]+)\]", name)
    if found is None:
        return name, None
    name, word = found.groups()
    return name, int(word) if word.isdecimal() else word


def suffixes(*kinds: str) -> tuple[str, ...]:
    """Those of files of these kinds, in small letters."""
    return tuple(suffix for kind in kinds for suffix in _SUFFIXES[kind])


def called(path: str | os.PathLike[str], *kinds: str) -> str | None:
    """Which of these kinds a file is called; None for another."""
    checked(path)
    suffix = Path(path).suffix.lower()
    return next((kind for kind in kinds if suffix in _SUFFIXES[kind]), None)


def begins(path: str | os.PathLike[str], kind: str) -> bool:
    """Whether a file starts as one of this kind does."""
    with open(path, "rb") as file:
        return file.read(8).startswith(_STARTS[kind])
