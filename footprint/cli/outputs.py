"""Names of a job's outputs, checked before the work: no two alike, none an input, a picture's ending in .png."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from footprint.cli.inputs import watch
from footprint.errors import ArgumentError
from footprint.io.kinds import called
from footprint.io.output import check_output


def check_names(inputs: Sequence[str], outputs: Mapping[str, str | None]) -> None:
    """Raise ArgumentError where one file would be written over another of the same job, --overwrite or not.

    Inputs are watched from now on, see `footprint.cli.inputs`.

    Parameters
    ----------
    inputs
        Files the job reads; ``FILE:/DATASET`` and ``FILE[...]`` are ``FILE``.
    outputs
        Option -> file, None where it is not given.
    """
    files = list(map(_file_of, inputs))
    watch(files)
    taken = {os.path.realpath(name): "is read by this job" for name in files}
    for option, name in outputs.items():
        if name is None:
            continue
        place = os.path.realpath(name)
        if place in taken:
            raise ArgumentError(f"--{option}", f"{name}, which {taken[place]}", "another name")
        taken[place] = f"is written by --{option}"


def _file_of(name: str) -> str:
    """The file of an input's name, without dataset, extension or lines."""
    return name if os.path.exists(name) else re.sub(r"\[[^\]]*\]$", "", name.partition(":/")[0])


@contextmanager
def under_option(option: str) -> Iterator[None]:
    """Name the option in a check's error, where a job has several outputs."""
    try:
        yield
    except ArgumentError as error:
        raise ArgumentError(f"--{option}", error.got, error.wanted, error.fix) from error


def check_png(path: str | None, overwrite: bool) -> None:
    """Raise where a picture could not be written, or its name promises another format."""
    if path is None:
        return
    if not called(path, "png"):
        raise ArgumentError("png", repr(path), "a name ending in .png")
    check_output(path, overwrite)


def check_html(path: str | None, overwrite: bool) -> None:
    """Raise where a report could not be written, or its name promises another format."""
    if path is None:
        return
    if not called(path, "html"):
        raise ArgumentError("report", repr(path), "a name ending in .html")
    check_output(path, overwrite)


def written_slice(target: str, written: Any, index: int, name: str) -> Any:
    """Open one slice of a volume that is written and not yet called ``target``; ``name`` is its file's in a folder."""
    from footprint.io.image import open_image
    from footprint.io.packing import volume_kind

    kind = volume_kind(target)
    if kind == "folder" and not name.endswith(".jp2"):
        return open_image(written / name)
    if kind == "folder":
        from footprint.io.image import Image
        from footprint.io.jp2 import Jp2Slice

        return Image(name, Jp2Slice(written / name), 0)
    if kind == "tiff":
        return open_image(written, index)
    if kind == "zarr":
        from footprint.io.image import Image
        from footprint.io.zarr_chunks import Chunks

        return Image(str(written), Chunks(written / "0", index), 0)
    return open_image(f"{written}:/entry/reconstruction/results/data", index)
