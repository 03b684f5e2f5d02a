"""A scan of a few pixels, reconstructed before the job: what libraries and compiled kernels hold is then not the data's."""

from __future__ import annotations

import tempfile
import warnings
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from footprint.api.axis_by_row import fitted
from footprint.api.muladd import muladd
from footprint.api.reconstruct import reconstruct
from footprint.api.remove_zingers import remove_zingers
from footprint.api.rotation_axis import per_slice, rotation_axis, searches
from footprint.api.vertical_shift import vertical_shift
from footprint.errors import FootprintError
from footprint.io.volume import create_volume
from footprint.kernels.common.few import SMALL, TOUCH

# Pixels whose medians are found by all threads, as those of the smallest window take some sixteen comparisons each.
_MEDIANS = SMALL // 8 + 1


def warm(source: Any, device: str, job: dict[str, Any], files: Any) -> None:
    """Load libraries and compiled kernels with a scan of a few pixels: what is measured after is the data's."""
    with warnings.catch_warnings():
        # What would be said of that scan is not the user's.
        warnings.simplefilter("ignore")
        _warm(source, device, job, files)


def _warm(source: Any, device: str, job: dict[str, Any], files: Any) -> None:
    few = _Few(source.dtype, source.n_flats, getattr(source, "gain", None) is not None)
    names = ("filter", "padding", "method", "interpolation", "accuracy", "cutoff", "circle", "i0", "log", "fft", "steps")
    settings = {name: job[name] for name in (*names, "out_dtype", "out_range")}
    if job["iterations"] is not None:
        settings |= {"iterations": 1, "weight": job["weight"], "nonnegative": job["nonnegative"]}
    tilt = getattr(job["steps"], "tilt", None)
    if tilt is not None:
        # It is made for a detector.
        settings["steps"] = replace(job["steps"], tilt=replace(tilt, rows=few.shape[1], columns=few.shape[2]))
    level = getattr(job["steps"], "normalization", None)
    if level is not None:
        settings["steps"] = replace(settings["steps"], normalization=level.of(few.shape[0], few.shape[2]))
    center = np.full(few.shape[1], 11.5) if per_slice(job["center"]) else 11.5
    settings |= {name: np.zeros(few.shape[0]) for name in ("shifts", "axis_shifts") if job[name] is not None}
    source.read(slice(0, 1), np.empty((1, 1, source.n_x), np.float32), slice(0, 1))
    # What more pixels than those of a few are handed to all threads by.
    many = np.zeros((1, 1, SMALL // TOUCH + 1), np.float32)
    if getattr(job["steps"], "unsharp", None) is not None:
        muladd(many, many.copy(), device=device)
    zingers = getattr(job["steps"], "zingers", None)
    if zingers is not None:
        remove_zingers(np.zeros((1, 1, _MEDIANS), np.float32), zingers.threshold, size=zingers.size, device=device)
    if job["shifts"] is not None:
        vertical_shift(many, [0.0], device=device)
    slices = reconstruct(few, center=center, device=device, **settings)
    # The temporary folder is not the job's: where it is full or read-only, the job goes on.
    with suppress(FootprintError, OSError), tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / f"few{Path(files.target).suffix}"
        with create_volume(target, slices.shape, job["out_dtype"], **files.packing) as volume:
            volume.write(slice(0, 2), slices)
    with suppress(FootprintError):
        # The overlap search has the registration's kernel, and wants a whole turn.
        method = searches(job["center"]) or "registration"
        if per_slice(job["center"]) or tilt is not None:
            # A line through axes is fitted by a library that takes memory of its own.
            fitted(np.linspace(-1, 1, 4), np.zeros(4), np.full(4, True), 1)
        rotation_axis(few, method="registration" if method == "overlap" else method, i0=job["i0"], log=job["log"])


class _Few:
    """A scan of 9 projections of 2 x 24 pixels: so wide that the same kernels are compiled as for wide ones."""

    def __init__(self, dtype: Any, n_flats: int, gain: bool) -> None:
        self.shape, self.dtype, self.n_flats = (9, 2, 24), np.dtype(dtype), min(n_flats, 1)
        self.n_flat_groups, self.angles = self.n_flats, np.linspace(0, np.pi, 9)
        self.gain = np.ones(9, np.float32) if gain else None

    def host_bytes(self, n_rows: int, dtype: Any = None) -> int:
        """Nothing is staged."""
        return 0

    def read(self, rows: slice, out: Any, angles: slice | None = None) -> None:
        """A bright slope."""
        out[...] = np.repeat([90, 80, 60, 30, 20, 50, 80, 90], 3)

    def flat_weights(self) -> Any:
        """One group of flats."""
        return np.zeros(9, np.int64), np.zeros(9, np.int64), np.zeros(9, np.float32)

    def flat_means(self, rows: slice) -> Any:
        """The open beam."""
        return np.full((1, len(range(*rows.indices(2))), 24), 100, np.float32)

    def dark_mean(self, rows: slice) -> None:
        """None taken."""
