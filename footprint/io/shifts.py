"""Files of one number per angle: vertical shifts in pixels, rotation angles in degrees."""

from __future__ import annotations

import math
import os
import re
from array import array
from pathlib import Path

import numpy as np

from footprint.errors import FormatError
from footprint.io import npy
from footprint.io.frames import existing_file, reading
from footprint.io.kinds import begins
from footprint.units import format_bytes

# More projections than any scan has; in words they take less than so many bytes.
_MOST, _LARGEST = 1 << 20, 64 << 20
# Characters of a text taken at a time, and the longest word that may be a number.
_PIECE, _WORD = 1 << 16, 1 << 10


def read_numbers(path: str | os.PathLike[str], what: str) -> np.ndarray:
    """Read one finite number per line from a text or ``.npy`` file.

    ``FILE[a:b]`` takes lines ``a`` to ``b`` (from 0, end-exclusive), for a file that also lists flats and darks;
    ``FILE.h5:/DATASET`` an HDF5 dataset.

    Parameters
    ----------
    path
        Text (numbers apart by line ends, blanks or commas; ``#`` starts a comment) or ``.npy``.
    what
        What the numbers are, for the error sentence.

    Returns
    -------
    numpy.ndarray
        float64, one dimension.

    Raises
    ------
    FormatError
        Missing file, not numbers, several columns, none at all, or NaN or infinite ones.
    """
    name, chosen = str(path), slice(None)
    found = re.fullmatch(r"(.+)\[(-?\d*):(-?\d*)\]", name)
    if found and not Path(name).exists():
        name, bounds = found.group(1), [int(t) if t not in ("", "-") else None for t in found.groups()[1:]]
        chosen = slice(*bounds)
    inside = dataset_in(name)
    file = existing_file(name if inside is None else inside[0], f"a file of {what}")
    if inside is not None:
        return _chosen(_in_dataset(*inside, name, what), path, name, what, chosen)
    if begins(file, "hdf5"):
        raise FormatError(name, "is an HDF5 file", f'name the dataset of its {what} as "{name}:/NAME"')
    if file.stat().st_size > _LARGEST:
        size = format_bytes(file.stat().st_size)
        raise FormatError(name, f"takes {size}, wanted a file of one number per angle ({what}), {format_bytes(_LARGEST)} at most")
    with reading(name, f"its {what}", "wanted text or .npy with one number per angle"):
        if begins(file, "npy"):
            _few(name, math.prod(npy.header(file)[0]), what)
            values = np.load(file, allow_pickle=False)
        else:
            values = _in_words(file, name, what)
        if values.dtype.kind not in "iuf":
            raise FormatError(name, f"holds {values.dtype} values, wanted numbers")
        values = np.asarray(values, np.float64)
    return _chosen(values, path, name, what, chosen)


def dataset_in(name: str) -> tuple[str, str] | None:
    """File and dataset of ``FILE.h5:/DATASET``; None of any other name."""
    file, colon, dataset = name.rpartition(":")
    return (file, dataset) if colon and dataset.startswith("/") and not Path(name).exists() else None


def _in_dataset(file: str, dataset: str, name: str, what: str) -> np.ndarray:
    """The numbers of an HDF5 dataset."""
    from footprint.io.hdf5 import open_dataset
    from footprint.io.stacks import values

    found = open_dataset(file, dataset)
    with found.file, reading(name, f"its {what}", "wanted one number per angle"):
        _few(name, found.size or 0, what)
        return values(name, found, what).reshape(found.shape)


def _chosen(values: np.ndarray, path: str | os.PathLike[str], name: str, what: str, chosen: slice) -> np.ndarray:
    """Some of the numbers, all of which are finite."""
    if values.ndim == 2 and 1 in values.shape:
        values = values.reshape(-1)
    if values.ndim != 1:
        raise FormatError(name, f"holds an array of shape {values.shape}", f"wanted one number per angle ({what})")
    values = values[chosen]
    if values.size == 0:
        raise FormatError(path, f"holds no {what}")
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise FormatError(path, f"{bad.size} of its {what} are NaN or infinite, the first is number {bad[0]}")
    return values


def _few(name: str, count: int, what: str) -> None:
    """Raise FormatError where there are more numbers than projections could be."""
    if count > _MOST:
        raise FormatError(name, f"lists more than {_MOST} numbers, wanted one number per angle ({what})")


def _in_words(file: Path, name: str, what: str) -> np.ndarray:
    """The numbers of a text ``(lines, numbers in each)``, read piece by piece: as words they would take many times as much."""
    found, widths, before = array("d"), set[int](), 0
    rest, comment = "", False
    with open(file, encoding="utf-8") as text:
        while True:
            piece = text.readline(_PIECE)
            ends = not piece or piece.endswith("\n")
            said, hashed, _ = piece.partition("#")
            words = (rest + ("" if comment else said)).replace(",", " ").split()
            comment, rest = not ends and (comment or bool(hashed)), ""
            if words and not (ends or comment or said[-1] == "," or said[-1].isspace()):
                rest = words.pop()
                if len(rest) > _WORD:
                    raise FormatError(name, f"holds a word of more than {_WORD} letters, wanted one number per angle ({what})")
            found.extend(map(float, words))
            _few(name, len(found), what)
            if ends and len(found) > before:
                widths.add(len(found) - before)
                before = len(found)
            if len(widths) > 1:
                raise FormatError(name, f"its lines differ in how many numbers they hold, wanted one of the {what} per line")
            if not piece:
                return np.frombuffer(found, np.float64).reshape(-1, *widths) if found else np.empty(0)


def read_shifts(path: str | os.PathLike[str], n_angles: int) -> np.ndarray:
    """Read vertical shifts in pixels, one per angle.

    Parameters
    ----------
    path
        Text or ``.npy`` file; ``FILE[a:b]`` takes some of its lines.
    n_angles
        How many there must be.

    Returns
    -------
    numpy.ndarray
        float64 ``(n_angles,)``.

    Raises
    ------
    FormatError
        As `read_numbers`, and when the count differs.

    Examples
    --------
    >>> import tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = os.path.join(folder, "shifts.txt")
    ...     _ = open(name, "w").write("0.5 -1 2")
    ...     read_shifts(name, 3)
    array([ 0.5, -1. ,  2. ])
    """
    values = read_numbers(path, "shifts")
    check_count(path, values, n_angles, "shifts")
    return values


def check_count(path: object, values: np.ndarray, n_angles: int, what: str) -> None:
    """Raise FormatError unless there is one value per projection."""
    if len(values) != n_angles:
        fix = f'select its lines as "{path}[a:b]"' if len(values) > n_angles else ""
        raise FormatError(path, f"lists {len(values)} {what} for {n_angles} projections", fix)
