"""A scan of a few pixels, reconstructed before the job: what libraries and compiled kernels hold is then not the data's."""

from __future__ import annotations

import tempfile
import warnings
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from footprint.api._half import is_half
from footprint.api.axis_by_row import fitted
from footprint.api.reconstruct import plan_reconstruct, reconstruct
from footprint.api.rotation_axis import per_slice, rotation_axis, searches
from footprint.errors import BudgetError, FootprintError
from footprint.io.volume import create_volume
from footprint.kernels.common.few import in_threads

# Of a scan so many times as large that its slices are cut, too.
_LARGE = 8


def warm(source: Any, device: str, job: dict[str, Any], files: Any, cut: bool = False) -> None:
    """Load libraries and compiled kernels with a scan of a few pixels: what is measured after is the data's.

    ``cut``: slices are made in tiles, or in groups of angles, by kernels that whole ones do without.
    """
    with warnings.catch_warnings():
        # What would be said of that scan is not the user's.
        warnings.simplefilter("ignore")
        _warm(source, device, job, files, cut)


def _warm(source: Any, device: str, job: dict[str, Any], files: Any, cut: bool) -> None:
    half = is_half(source, job["half_acquisition"], source.angles)
    few = _Few(source.dtype, source.n_flats, getattr(source, "gain", None) is not None, half)
    settings = _settings(job, few) | {"center": _axis(job, few), "half_acquisition": half, "device": device}
    source.read(slice(0, 1), np.empty((1, 1, source.n_x), np.float32), slice(0, 1))
    slices = reconstruct(few, **settings)
    # The temporary folder is not the job's: where it is full or read-only, the job goes on.
    with suppress(FootprintError, OSError), tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / f"few{Path(files.target).suffix}"
        with create_volume(target, slices.shape, job["out_dtype"], **files.packing) as volume:
            volume.write(slice(0, 2), slices)
    _search(few, job)
    # Kernels that do few pixels in one thread do the data's in all of them, by code of its own.
    with in_threads():
        reconstruct(few, **settings)
        _search(few, job)
    if cut:
        large = _Few(source.dtype, source.n_flats, few.gain is not None, half, _LARGE)
        settings = _settings(job, large) | {"center": _axis(job, large), "half_acquisition": half, "device": device}
        with suppress(FootprintError), in_threads():
            reconstruct(large, memory=_least(large, settings), **settings)


def _least(few: _Few, settings: dict[str, Any]) -> int | None:
    """The smallest budget, at which all that can be cut is."""
    try:
        plan_reconstruct(few, memory=1, **settings)
    except BudgetError as error:
        return error.smallest
    return None


def _settings(job: dict[str, Any], few: _Few) -> dict[str, Any]:
    """Arguments of `reconstruct` that decide which kernels run."""
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
    return settings | {name: np.zeros(few.shape[0]) for name in ("shifts", "axis_shifts") if job[name] is not None}


def _axis(job: dict[str, Any], few: _Few) -> Any:
    """Near the middle, or where half of the field is seen; one for every row where the job has that."""
    center = (18.5 if few.half else 11.5) * few.times
    return np.full(few.shape[1], center) if per_slice(job["center"]) else center


def _search(few: _Few, job: dict[str, Any]) -> None:
    """The search of the axis, and of the tilt."""
    with suppress(FootprintError):
        # The overlap search has the registration's kernel, and wants a whole turn.
        method = searches(job["center"]) or "registration"
        if per_slice(job["center"]) or getattr(job["steps"], "tilt", None) is not None:
            # A line through axes is fitted by a library that takes memory of its own.
            fitted(np.linspace(-1, 1, 4), np.zeros(4), np.full(4, True), 1)
        rotation_axis(few, method="registration" if method == "overlap" else method, i0=job["i0"], log=job["log"])


class _Few:
    """A scan of 9 projections of 2 x 24 pixels: so wide that the same kernels are compiled as for wide ones; or of more of both."""

    def __init__(self, dtype: Any, n_flats: int, gain: bool, half: bool, times: int = 1) -> None:
        self.times, n = times, 9 * times
        self.shape, self.dtype, self.n_flats, self.half = (n, 2, 24 * times), np.dtype(dtype), min(n_flats, 1), half
        self.n_flat_groups, self.angles = self.n_flats, np.linspace(0, 2 * np.pi if half else np.pi, n)
        self.gain = np.ones(n, np.float32) if gain else None

    def host_bytes(self, n_rows: int, dtype: Any = None) -> int:
        """Nothing is staged."""
        return 0

    def read(self, rows: slice, out: Any, angles: slice | None = None) -> None:
        """A bright slope."""
        out[...] = np.repeat([90, 80, 60, 30, 20, 50, 80, 90], 3 * self.times)

    def flat_weights(self) -> Any:
        """One group of flats."""
        n = self.shape[0]
        return np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.float32)

    def flat_means(self, rows: slice) -> Any:
        """The open beam."""
        return np.full((1, len(range(*rows.indices(2))), self.shape[2]), 100, np.float32)

    def dark_mean(self, rows: slice) -> None:
        """None taken."""
