"""Pictures in colour that are TIFF files, of 8 or 16 bits: the face of `Picture`, and how any picture is written as TIFF."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from footprint.io.frames import existing_file, reading
from footprint.io.kinds import begins
from footprint.io.scale import of_dpi, of_tiff, tiff_tags
from footprint.io.tiff_pages import open_tiff

_RGB = 2
"""What TIFF calls it."""
ORIENTATION = 274
"""The tag that says which way is up, in TIFF and in EXIF."""


def is_colour(path: str | os.PathLike[str]) -> bool:
    """Whether a file is one TIFF image in red, green and blue, pixel by pixel, with or without transparency."""
    try:
        if not begins(path, "tiff"):
            return False
        with open_tiff(path) as file:
            return _pages(file) is not None
    except Exception:  # of a parser that is fed damaged bytes; who reads the file as TIFF says what is wrong with it
        return False


def _pages(file: Any) -> Any:
    """The series of the picture, whose reduced copies are left out; None where the file holds anything else."""
    several = [one for one in file.series if not one.keyframe.is_reduced]
    page = file.series[0].keyframe if file.series else None
    if page is None or len(several) != 1 or page.photometric != _RGB or page.planarconfig != 1:
        return None
    series = several[0]
    fits = series.dtype in (np.uint8, np.uint16) and series.shape == (*page.shape[:2], page.samplesperpixel)
    return series if fits and page.samplesperpixel in (3, 4) else None


class ColourTiff:
    """An open picture; see `Picture`.

    Attributes
    ----------
    path, shape, dtype, channels, colours
        As a `Picture` has them.
    info
        Its colour profile, which way is up, and pixels an inch along x and y, where it says so.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        existing_file(path, "a picture")
        with reading(path, "the picture"):
            self._file = open_tiff(path)
            self._series = _pages(self._file)
            page = self._series.keyframe
            profile, turned = page.tags.get("InterColorProfile"), page.tags.get(ORIENTATION)
            scale = of_tiff(self._file, self._series)
        self.shape: tuple[int, int] = (page.shape[0], page.shape[1])
        self.dtype = np.dtype(self._series.dtype).newbyteorder("=")
        self.channels, self.colours = int(page.samplesperpixel), 3
        self.info: dict[str, Any] = {} if profile is None else {"icc_profile": bytes(profile.value)}
        if turned is not None and turned.value in range(1, 9):
            self.info["orientation"] = int(turned.value)
        if scale is not None:
            self.info["dpi"] = scale.dpi
        self._pixels: np.ndarray | None = None

    @property
    def pixels(self) -> np.ndarray:
        """``(n_y, n_x, channels)``."""
        if self._pixels is None:
            found = np.empty((*self.shape, self.channels), self.dtype)
            with reading(self.path, "the picture"):
                self._series.asarray(out=found, maxworkers=1)
            self._pixels = found
        return self._pixels

    def forget(self) -> None:
        """Give the pixels up."""
        self._pixels = None

    def held_bytes(self, shape: tuple[int, ...]) -> int:
        """Bytes of the pixels, of a result of ``shape``, and of a strip, decoded and as it is stored, that may be all there is."""
        each = self.channels * self.dtype.itemsize
        pixels = self.shape[0] * self.shape[1]
        return each * (pixels + shape[0] * shape[1]) + 2 * each * pixels

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def write_tiff(path: str | os.PathLike[str], pixels: np.ndarray, colours: int, info: dict[str, Any], ome: bool = False) -> None:
    """Write the pixels ``(n_y, n_x, channels)`` of a picture; what follows its colours is transparency. ``ome``: with OME-XML."""
    import tifffile

    flat = pixels[..., 0] if pixels.shape[2] == 1 else pixels
    tags = tiff_tags(of_dpi(info), pixels.shape[:2], ome)
    if ome:
        tags["metadata"]["axes"] = "YXS"[: flat.ndim]
    tifffile.imwrite(
        path,
        flat,
        ome=ome,
        photometric="rgb" if colours == 3 else "minisblack",
        planarconfig="contig" if pixels.shape[2] > 1 else None,
        extrasamples=["unassalpha"] if pixels.shape[2] > colours else None,
        iccprofile=info.get("icc_profile"),
        **tags,
        extratags=[(ORIENTATION, "H", 1, info["orientation"], True)] if info.get("orientation", 1) != 1 else [],
    )
