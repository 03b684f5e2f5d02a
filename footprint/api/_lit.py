"""Whether flats are brighter than darks anywhere, and what to say where they are not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from footprint.errors import FormatError
from footprint.kernels.flat.contract import DEAD

if TYPE_CHECKING:
    from footprint.api._scan import ScanJob

# Share of the flats' pixels that may be NaN, saturated ones among them, where none is good.
_NAN = 0.05


def check_flats(job: ScanJob, step: int) -> None:
    """Raise FormatError where no pixel's flat is above its dark; reads ``step`` rows at a time, until one is."""
    scan, shade, dull = job.scan, 0.0, 0.0
    if not scan.n_flats:
        return
    for at in range(job.start, job.stop, max(step, 1)):
        rows = slice(at, min(at + step, job.stop))
        dark, flats = scan.dark_mean(rows), scan.flat_means(rows)
        dark = 0 if dark is None else dark
        if (flats - dark > DEAD * np.abs(dark)).any():
            return
        shade, dull = max(shade, float(np.isnan(dark).mean())), max(dull, float(np.isnan(flats).mean()))
    raise _refusal(job, shade, dull)


def _refusal(job: ScanJob, shade: float, dull: float) -> FormatError:
    """Why no flat is above its dark, where so many of both, at most, are NaN."""
    path = getattr(job.scan, "path", "the scan")
    flats, darks = (getattr(job.scan, name, path) for name in ("flats_path", "darks_path"))
    theirs = "its darks" if darks == flats else f"the darks of {darks}"
    if shade > _NAN:
        found = "its darks are NaN" if shade == 1 else f"its darks are NaN wherever flats{_of(flats, darks)} are brighter"
        return FormatError(darks, found, "give others with darks=FILE")
    if dull > _NAN:
        where = "" if dull == 1 else f" wherever they are brighter than {theirs}"
        if not math.isfinite(job.flat.ceiling) or _unknown(job.scan, job.start):
            return FormatError(flats, f"its flats are NaN{where}", "give others with flats=FILE")
        found = f"its flats are saturated ({job.flat.ceiling:g} and more) wherever they are brighter than {theirs}"
        return FormatError(flats, found, "give saturation='none' to take them as they are, or another number")
    return FormatError(flats, f"its flats are nowhere brighter than {theirs} (all zero?)", "give others with flats=FILE")


def _of(path: Any, other: Any) -> str:
    return "" if path == other else f" of {path}"


def _unknown(scan: Any, row: int) -> bool:
    """Whether flats are NaN as they are stored, in a row: where they are saturated only their means are."""
    stored = getattr(scan, "flats", None)
    if not callable(stored):
        return False
    row *= getattr(scan, "binning", 1)
    return float(np.isnan(stored(slice(row, row + 1))).mean()) > _NAN
