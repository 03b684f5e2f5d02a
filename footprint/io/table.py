"""Files of a row of numbers, or of rows of them, that are read whole."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from footprint.errors import FormatError
from footprint.io import npy
from footprint.io.frames import existing_file, reading
from footprint.io.hdf5 import open_dataset
from footprint.io.image import open_image
from footprint.io.kinds import begins


def read_table(path: str | os.PathLike[str], what: str) -> np.ndarray:
    """Read an array of one or two dimensions: ``.npy``, HDF5 dataset ``FILE:/DATASET``, or any image that `open_image` reads.

    Parameters
    ----------
    path
        The file.
    what
        What the numbers are, for the error sentence.

    Returns
    -------
    numpy.ndarray
        As it is stored.

    Raises
    ------
    FormatError
        Missing or damaged file, or another shape.
    """
    name = str(path)
    file, colon, dataset = name.rpartition(":")
    if colon and dataset.startswith("/") and not Path(name).exists():
        array = open_dataset(str(existing_file(file, f"a file of {what}")), dataset)
        with array.file, reading(name, what):
            if array.ndim == 1:
                return np.asarray(array[()])
    elif Path(name).is_file() and begins(existing_file(name), "npy"):
        shape, _, _ = npy.header(name)
        if len(shape) not in (1, 2):
            raise FormatError(name, f"holds an array of shape {shape}", f"wanted {what}, a row of numbers or several")
        with reading(name, what):
            return np.load(name, allow_pickle=False)
    with open_image(name) as image:
        return image.array()
