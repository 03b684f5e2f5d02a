"""A scan with fewer projections, larger pixels, or left for right, with the face of a scan."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from footprint.api._scan import job_of, means_bytes
from footprint.dtypes import put_into
from footprint.errors import ArgumentError, flag

# What a reader says and does about rows of the file, a binned row being several of them.
_BY_ROWS = ("keep", "decodings", "window_bytes")


def select(
    scan: Any, *, exclude: Iterable[int] | None = None, every: int = 1, start: int = 0, binning: int = 1, flip: bool = False
) -> Any:
    """Select projections of a scan, average its pixels in squares, or reverse its columns; nothing is read.

    The result can be used wherever a scan can: `reconstruct`, `rotation_axis`, `try_axes`, `value_range`, and their plans.

    Parameters
    ----------
    scan : open scan
        See `open_scan`.
    exclude : whole numbers, optional
        Projections to leave out, counted from 0; their neighbours in angle get more weight.
    every, start : int
        Take every ``every``-th of the remaining projections, beginning with number ``start``, counted from 0: ``every=2, start=1``
        takes the odd ones.
    binning : int
        Average squares of this many pixels a side in projections, flats and darks; rows and columns that do not fill a square are
        left out. The pixel size is multiplied by it.
    flip : bool
        Reverse the detector columns, after binning. With a parallel beam these are the rays half a turn later, so slices are turned
        by 180 degrees about the axis.

    Returns
    -------
    Selected
        Has ``kept``, the numbers of its projections; ``own_axis(c)`` and ``detector_axis(c)``, which convert an axis in pixels of
        the detector as it is stored to its own pixels and back: (c + 1/2) / binning - 1/2, and n - 1 - c of that after a flip;
        ``of(table)``, which selects the projections' values from a table of all.

    Raises
    ------
    ArgumentError
        If nothing would be left, or the scan does not have the projections named.

    Examples
    --------
    >>> import tempfile, pathlib, footprint as fp
    >>> from footprint.io.phantom import write_scan
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     truth = write_scan(pathlib.Path(folder) / "scan.nx", n_angles=90, n_z=4, n_x=64)
    ...     with fp.open_scan(truth.path) as scan:
    ...         half = fp.select(scan, binning=2, exclude=[3, 4])
    ...         volume = fp.reconstruct(half, center=half.own_axis(truth.center))
    >>> half.shape, volume.shape
    ((88, 2, 32), (2, 32, 32))
    """
    if not hasattr(scan, "angles"):
        job_of(scan, None, "auto")
    n_angles, n_z, n_x = scan.shape
    step, size, begin = _whole("every", every), _whole("binning", binning), _whole("start", start, 0)
    if size > min(n_z, n_x):
        raise ArgumentError("binning", size, f"at most the {n_z} rows and {n_x} columns of the detector")
    left_out = np.unique(_frames(exclude, n_angles))
    kept = np.setdiff1d(np.arange(n_angles), left_out)[begin::step]
    if not len(kept) and begin:
        raise ArgumentError("start", begin, f"one of the {n_angles - len(left_out)} projections that are left, counted from 0")
    if not len(kept):
        raise ArgumentError("exclude", f"all {n_angles} projections", "at least one that is left")
    return Selected(scan, kept, size, flag("flip", flip))


def _whole(name: str, value: Any, least: int = 1) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise ArgumentError(name, repr(value), "a whole number above 0" if least else "a whole number, 0 or more")
    return number


def _frames(exclude: Any, n_angles: int) -> np.ndarray:
    wanted = f"numbers of projections, from 0 to {n_angles - 1}"
    try:
        found = np.array([operator.index(i) for i in (exclude if exclude is not None else ())], np.int64)
    except (TypeError, OverflowError):
        raise ArgumentError("exclude", repr(exclude), wanted) from None
    outside = found[(found < 0) | (found >= n_angles)]
    if len(outside):
        raise ArgumentError("exclude", int(outside[0]), wanted)
    return found


class Selected:
    """See `select`; ``whole`` is the shape of the scan it is taken of."""

    def __init__(self, scan: Any, kept: np.ndarray, binning: int, flip: bool) -> None:
        self._scan, self.kept, self.binning, self.flip = scan, kept, binning, flip
        _, n_z, n_x = scan.shape
        self.n_angles, self.n_z, self.n_x = len(kept), n_z // binning, n_x // binning
        self.shape, self.whole = (self.n_angles, self.n_z, self.n_x), tuple(scan.shape)
        self.counted = np.dtype(getattr(scan, "counted", scan.dtype))
        self.dtype = np.dtype(scan.dtype if binning == 1 else np.float32)
        self.angles, self.gain = np.asarray(scan.angles)[kept], self.of(getattr(scan, "gain", None))
        size = getattr(scan, "pixel_size", None)
        self.pixel_size = None if size is None else size * binning

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._scan, name)
        if name in _BY_ROWS:
            return lambda *rows: value(*(n * self.binning for n in rows))
        if name == "decoding":
            return lambda n_frames, n_rows: value(n_frames, n_rows * self.binning)
        return value

    # -- positions -----------------------------------------------------------------------------------------------------
    def own_axis(self, center: float) -> float:
        """An axis on the detector as it is stored, in pixels of this scan."""
        found = (center + 0.5) / self.binning - 0.5
        return self.n_x - 1 - found if self.flip else found

    def detector_axis(self, center: float) -> float:
        """The way back."""
        found = self.n_x - 1 - center if self.flip else center
        return (found + 0.5) * self.binning - 0.5

    def of(self, table: Any) -> Any:
        """Of a table with a value a projection, those of the projections taken."""
        return None if table is None else np.asarray(table)[self.kept]

    # -- reading -------------------------------------------------------------------------------------------------------
    def flat_weights(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Those of the projections taken."""
        lower, upper, weight = self._scan.flat_weights()
        return lower[self.kept], upper[self.kept], weight[self.kept]

    def host_bytes(self, n_rows: int, dtype: Any = None) -> int:
        """What the scan takes, and where pixels are averaged a frame of it."""
        size = self.binning
        if size == 1:
            # Numbers are put in reverse order where they lie, a row at a time.
            return int(self._scan.host_bytes(n_rows, dtype)) + 8 * self.n_x * self.flip
        rows, n_x = n_rows * size, self._scan.shape[2]
        frame = rows * n_x * np.dtype(self._scan.dtype).itemsize
        return int(self._scan.host_bytes(rows, self._scan.dtype)) + frame + (10 + 4 * size) * n_rows * self.n_x

    def means_bytes(self, n_rows: int) -> int:
        """What the scan takes, and where pixels are averaged their sums and means."""
        size = self.binning
        averaged = (9 + 4 * size) * n_rows * self.n_x * (int(self._scan.n_flat_groups) + 1) if size > 1 else 0
        return means_bytes(self._scan, n_rows * self.binning) + averaged

    def read(self, rows: slice, out: np.ndarray, angles: slice | None = None) -> None:
        """Fill ``out`` with the projections taken, run by run where their pixels stay as they are."""
        index = self.kept[slice(None) if angles is None else angles]
        if self.binning > 1:
            here = self._rows(rows)
            frame = np.empty((1, here.stop - here.start, self._scan.shape[2]), self._scan.dtype)
            for i, projection in enumerate(index):
                self._scan.read(here, frame, slice(int(projection), int(projection) + 1))
                put_into(out[i], self._binned(frame, getattr(self._scan, "saturation", None))[0])
            return
        ends = np.flatnonzero(np.diff(index) != 1) + 1
        for a, b in zip(np.r_[0, ends], np.r_[ends, len(index)]):
            if b > a:
                self._scan.read(rows, out[a:b], slice(int(index[a]), int(index[b - 1]) + 1))
        if self.flip:
            for line in out.reshape(-1, self.n_x) if out.flags.c_contiguous else (row for frame in out for row in frame):
                line[:] = line[::-1].copy()

    def check_headers(self, angles: Any = None) -> None:
        """Those of the projections taken: one that is left out may be damaged."""
        check = getattr(self._scan, "check_headers", None)
        if check is not None:
            check(self.kept if angles is None else self.kept[angles])

    def flat_means(self, rows: slice) -> Any:
        """Means of flats."""
        return self._binned(self._scan.flat_means(self._rows(rows)))

    def dark_mean(self, rows: slice) -> Any:
        """Mean of darks."""
        found = self._scan.dark_mean(self._rows(rows))
        return None if found is None else self._binned(found[None])[0]

    def _rows(self, rows: slice) -> slice:
        return slice(rows.start * self.binning, rows.stop * self.binning)

    def _binned(self, frames: Any, level: float | None = None) -> Any:
        """Frames of this scan's pixels, of rows that are whole; one is saturated where any of its square is, from ``level`` on."""
        if frames is None:
            return None
        size, wide = self.binning, self.n_x * self.binning
        found = frames
        if size > 1:
            # Down first, where neighbours in memory are added, and then a share of the sums across.
            down = np.add(frames[:, ::size, :wide], frames[:, 1::size, :wide], dtype=np.float32)
            for i in range(2, size):
                down += frames[:, i::size, :wide]
            found = down[..., ::size] + down[..., 1::size]
            for j in range(2, size):
                found += down[..., j::size]
            found /= size * size
            # NaN may be the largest.
            if level is not None and not frames.max() < level:
                full = np.zeros(found.shape, bool)
                for i, j in np.ndindex(size, size):
                    full |= frames[:, i::size, j:wide:size] >= level
                np.copyto(found, level, where=full)
        return found[..., ::-1] if self.flip else found
