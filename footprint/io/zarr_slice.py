"""One slice of a volume that was written as OME-Zarr, read back for a picture."""

from __future__ import annotations

import os
from pathlib import Path

from footprint.io.image import Image
from footprint.io.zarr_chunks import Chunks


def open_slice(folder: str | os.PathLike[str], index: int) -> Image:
    """Open one slice of such a volume."""
    return Image(str(folder), Chunks(Path(folder) / "0", index), 0)
