"""Which format a file's name promises: the one table of suffixes. What is read is told by what it begins with, see its format."""

from __future__ import annotations

import os
from pathlib import Path

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
    "video": (".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".mpg", ".mpeg", ".ts", ".ogv", ".wmv", ".gif"),
}


def suffixes(*kinds: str) -> tuple[str, ...]:
    """Those of files of these kinds, in small letters."""
    return tuple(suffix for kind in kinds for suffix in _SUFFIXES[kind])


def called(path: str | os.PathLike[str], *kinds: str) -> str | None:
    """Which of these kinds a file is called; None for another."""
    suffix = Path(path).suffix.lower()
    return next((kind for kind in kinds if suffix in _SUFFIXES[kind]), None)
