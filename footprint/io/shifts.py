"""Files of one number per angle: vertical shifts in pixels, rotation angles in degrees."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np

from footprint.errors import FormatError
from footprint.io import npy
from footprint.io.frames import existing_file, reading
from footprint.io.kinds import begins
from footprint.units import format_bytes

# A million numbers in words take less.
_LARGEST = 64 << 20


def read_numbers(path: str | os.PathLike[str], what: str) -> np.ndarray:
    """Read one finite number per line from a text or ``.npy`` file.

    ``FILE[a:b]`` takes lines ``a`` to ``b`` (from 0, end-exclusive), for a file that also lists flats and darks.

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
    file = existing_file(name, f"a file of {what}")
    if file.stat().st_size > _LARGEST:
        size = format_bytes(file.stat().st_size)
        raise FormatError(name, f"takes {size}, wanted a file of one number per angle ({what}), {format_bytes(_LARGEST)} at most")
    with reading(name, f"its {what}", "wanted text or .npy with one number per angle"):
        if begins(file, "npy"):
            npy.header(file)
            values = np.load(file, allow_pickle=False)
        else:
            lines = [line.partition("#")[0].replace(",", " ").split() for line in file.read_text("utf-8").splitlines()]
            table = [[float(word) for word in line] for line in lines if line]
            if len(table) > 1 and len({len(line) for line in table}) != 1:
                raise FormatError(name, f"its lines hold different counts of numbers, wanted one of the {what} per line")
            values = np.array(table, dtype=np.float64)
        if values.dtype.kind not in "iuf":
            raise FormatError(name, f"holds {values.dtype} values, wanted numbers")
        values = np.asarray(values, np.float64)
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
