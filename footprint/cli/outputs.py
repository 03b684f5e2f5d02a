"""Names of a job's outputs, checked before the work: no two alike, none an input, a picture's ending in .png."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from footprint.cli.inputs import watch
from footprint.errors import ArgumentError
from footprint.io.formats import is_stored
from footprint.io.kinds import called
from footprint.io.output import check_output


def check_names(inputs: Sequence[str], outputs: Mapping[str, str | None], frames: Sequence[str] = ()) -> None:
    """Raise ArgumentError where one file would be written over another of the same job, --overwrite or not, or be taken for input.

    Inputs are watched from now on, see `footprint.cli.inputs`.

    Parameters
    ----------
    inputs
        Files the job reads; ``FILE:/DATASET`` and ``FILE[...]`` are ``FILE``.
    outputs
        Option -> file, None where it is not given.
    frames
        Kinds of files that the job takes for frames where an input is a folder of them.
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
        for read in inputs:
            if _joins(name, read, frames):
                found = f"{name}, which would be one more frame of {read} in the next run"
                raise ArgumentError(f"--{option}", found, "a file that is not among the frames", "write it to another folder")


def _joins(name: str, read: str, frames: Sequence[str]) -> bool:
    """Whether an output would be read with a folder of frames, or with files named by ``*``; a Zarr's files are no frames."""
    file = Path(name)
    if file.name.startswith(".") or not called(file, *frames):
        return False
    # Where it is written through a link, the link has its name in the folder.
    places = [file.parent.resolve() / file.name, Path(os.path.realpath(name))]
    folder = Path(read)
    if folder.is_dir():
        return not is_stored(read) and folder.resolve() in [place.parent for place in places]
    if folder.exists() or not any(sign in read for sign in "*?["):
        return False
    return any(place.match(os.path.abspath(read)) for place in places)


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
