"""The range of values of a volume before it is made, from some of its slices."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from footprint.answers import check_keywords
from footprint.api._arrays import Memory, Progress, limits_and_budget, where
from footprint.api._half import is_half, search_of
from footprint.api._scan import job_of
from footprint.api._tomo import angles_of
from footprint.api.axis_by_row import axis_found
from footprint.api.reconstruct import plan_reconstruct, reconstruct
from footprint.api.rotation_axis import searches
from footprint.errors import ArgumentError, BudgetError

# Slices looked at, spread evenly, and pixels kept of all of them.
_SLICES, _KEPT = 5, 1 << 18
# Parts of slices each begin with a pixel that is kept.
_ODD = 1 << 15
PERCENTILES = (0.05, 99.95)


def most_bytes() -> int:
    """Bytes of the pixels that are kept, and of copies of them: joined, and sorted."""
    return 12 * (_KEPT + _ODD)


def value_range(
    scan: Any,
    *,
    percentiles: tuple[float, float] = PERCENTILES,
    center: Any = "auto",
    rows: Any = None,
    i0: str | float = "auto",
    log: bool = True,
    black_frames: str = "exclude",
    memory: Memory = None,
    device: str = "auto",
    fft: str = "auto",
    progress: Progress | None = None,
    **settings: Any,
) -> tuple[float, float]:
    """Percentiles of the values of five slices, spread evenly over the rows: a range for ``reconstruct(out_dtype="uint8")``.

    Parameters
    ----------
    scan : open scan
        See `open_scan`.
    percentiles : (low, high)
        Percent of the pixels below each end. Up to 262,144 pixels are examined, at regular intervals in each slice.
    rows : slice or (first, stop), optional
        Detector rows of the volume.
    center, i0, log, black_frames, device, fft
        As in `reconstruct`; an axis that must be found is found once.
    memory : str, int or float, optional
        The most memory it may take, 3.4 MB of it for the pixels.
    progress : callable, optional
        ``progress(slices_done, slices)``.
    **settings
        As in `reconstruct`.

    Returns
    -------
    low, high : float

    Raises
    ------
    ArgumentError
        Invalid percentiles, or slices with only one value.

    Examples
    --------
    >>> import tempfile, pathlib, footprint as fp
    >>> from footprint.io.phantom import write_scan
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     truth = write_scan(pathlib.Path(folder) / "scan.nx", n_angles=90, n_z=4, n_x=64)
    ...     with fp.open_scan(truth.path) as scan:
    ...         low, high = fp.value_range(scan, center=truth.center)
    ...         volume = fp.reconstruct(scan, center=truth.center, out_dtype="uint8", out_range=(low, high))
    >>> volume.dtype.name, bool(low < high)
    ('uint8', True)
    """
    check_keywords("value_range", settings, tuple(reconstruct.__kwdefaults__ or ()))
    lowest, highest = checked_percentiles(percentiles)
    job = job_of(scan, rows, i0, log=log)
    budget = limits_and_budget(where(device), memory, fft)[1]
    how: dict[str, Any] = settings | {"device": device, "fft": fft, "i0": i0, "log": log}
    half = is_half(scan, settings.get("half_acquisition"), angles_of(scan.angles, scan.shape[0]))
    method = searches(center)
    if method is not None:
        search = search_of(half, scan.shape[2])
        center = axis_found(scan, center, method=method, search=search, i0=i0, log=log, memory=budget)
    how["center"] = center
    rest = None if budget is None else max(budget - most_bytes(), 1)
    try:
        one = plan_reconstruct(scan, rows=(job.start, job.start + 1), written=True, memory=rest, **how)
    except BudgetError as error:
        terms = {**error.terms, "pixels that are kept": most_bytes()}
        more = error.and_more(most_bytes())
        raise BudgetError(budget or 0, terms, error.smallest + most_bytes(), error.what, "", *more) from None
    _, n_y, n_x = one.outputs[0].spec.shape
    count = min(_SLICES, job.n_rows)
    chosen = [job.start + (2 * k + 1) * job.n_rows // (2 * count) for k in range(count)]
    kept = _Kept(max(1, -(-count * n_y * n_x // _KEPT)))
    for k, row in enumerate(chosen):
        with warnings.catch_warnings():
            # The volume's own run says what is to be said.
            warnings.simplefilter("ignore", UserWarning)
            reconstruct(scan, rows=(row, row + 1), out=kept, memory=rest, black_frames=black_frames, **how)
        if progress is not None:
            progress(k + 1, count)
    values = np.concatenate(kept.values)
    if not len(values):
        raise ArgumentError("out_range", "slices without a finite value", "finite values, between which the range is found")
    low, high = np.percentile(values, [lowest, highest])
    if not low < high:
        raise ArgumentError("out_range", f"slices of {low:.6g} everywhere", "values that differ", "give the range as two numbers")
    return float(low), float(high)


def checked_percentiles(percentiles: Any) -> tuple[float, float]:
    """Two of them, the first below the second."""
    try:
        low, high = (float(value) for value in percentiles)
    except (TypeError, ValueError, OverflowError):
        low = high = np.nan
    if not 0 <= low < high <= 100:
        raise ArgumentError("percentiles", repr(percentiles), "two numbers from 0 to 100, the first below the second")
    return low, high


class _Kept:
    """A writer that keeps every ``every``-th pixel that is finite."""

    def __init__(self, every: int) -> None:
        self._every, self.values = every, [np.zeros(0, np.float32)]

    def host_bytes(self, dtype: Any) -> int:
        """What is kept is counted by the caller."""
        return 0

    def write(self, where: Any, block: np.ndarray) -> None:
        """Take pixels."""
        some = block.reshape(-1)[:: self._every]
        self.values.append(some[np.isfinite(some)])
