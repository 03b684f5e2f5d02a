"""Tomography scans of every format with one face: projections, flats and darks read by rows."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from footprint.errors import ArgumentError, FormatError, choose, flag, warn
from footprint.io.angles import resolve, turned
from footprint.io.frames import Group, ScanParts, check_out, files_of, reading, row_range, runs
from footprint.io.reduction import CHOICES, Reduction, saturation_of
from footprint.io.stack import attach, open_parts, open_sinograms


class Scan:
    """A scan on disk; nothing but its description is in memory.

    Attributes
    ----------
    path, name, layout
        The file or folder, the sample's name, and the format that was recognised.
    n_angles, n_z, n_x, shape, dtype
        Size of the projections ``(n_angles, n_z, n_x)`` and their dtype in native byte order.
    angles
        float64 radians, one per projection.
    stored_angles
        The same before ``direction`` and ``angle_offset``, with all whole turns that a file counts.
    pixel_size, distance, energy, field_of_view
        Metres, metres, keV, "Full" or "Half"; None where the file does not say.
    n_flats, n_darks
        How many there are, 0 for none.
    flats_path, darks_path
        Where they are from, for errors; the scan's own where there are none.
    times, flat_times, dark_times
        Frame number at which each projection, flat and dark was taken.
    flat_reduction, dark_reduction
        What many flats, and many darks, are made one by: "mean" or "median".
    current, gain
        The machine's current at each projection, as the file has it, and how bright the beam then is beside that of
        `flat_means`, float32; None where it is not taken.
    saturation
        The raw value from which on pixels are saturated, None for none.
    notes
        What was assumed while reading, each also given as a warning.
    """

    def __init__(
        self,
        parts: ScanParts,
        angles: np.ndarray,
        flat_reduction: str = "mean",
        dark_reduction: str = "mean",
        machine_current: bool | None = None,
        saturation: str | float | None = "auto",
    ) -> None:
        self._parts = parts
        self.flat_reduction = choose("flat_reduction", flat_reduction, CHOICES)
        self.dark_reduction = choose("dark_reduction", dark_reduction, CHOICES)
        self.saturation = saturation_of(saturation, np.dtype(parts.projections.frames.dtype))
        self.current = self.gain = scale = None
        if machine_current is not False and _has_current(parts, bool(machine_current)):
            assert parts.projections.current is not None and parts.flats is not None and parts.flats.current is not None
            self.current, usual = parts.projections.current, float(parts.flats.current.mean())
            self.gain, scale = (self.current / usual).astype(np.float32), usual / parts.flats.current
        self._flats = Reduction(self.flat_reduction, self.saturation, scale)
        self._darks = Reduction(self.dark_reduction)
        self.path, self.name, self.layout = parts.path, parts.name, parts.layout
        frames = parts.projections.frames
        self.n_angles, self.n_z, self.n_x = len(parts.projections.index), frames.shape[1], frames.shape[2]
        self.shape, self.dtype = (self.n_angles, self.n_z, self.n_x), np.dtype(frames.dtype)
        self.angles = self.stored_angles = np.ascontiguousarray(angles, np.float64)
        self.pixel_size, self.energy, self.distance = parts.pixel_size, parts.energy, parts.distance
        self.field_of_view, self.notes = parts.field_of_view, tuple(parts.notes)
        self.times = parts.projections.time
        self.flat_times = parts.flats.time if parts.flats else np.zeros(0)
        self.dark_times = parts.darks.time if parts.darks else np.zeros(0)
        self.n_flats, self.n_darks = len(self.flat_times), len(self.dark_times)
        self.flats_path, self.darks_path = (
            parts.path if group is None or group.frames is frames else group.frames.path for group in (parts.flats, parts.darks)
        )

    def __repr__(self) -> str:
        size = f"{self.n_angles} projections of {self.n_z} x {self.n_x} {self.dtype}"
        return f"<Scan {self.name}: {size}, {self.n_flats} flats, {self.n_darks} darks, {self.layout}>"

    def read(self, rows: slice, out: np.ndarray, angles: slice | None = None) -> None:
        """Fill ``out`` ``(n_angles, n_rows, n_x)`` with rows of the projections, cast to its dtype.

        Parameters
        ----------
        rows
            Detector rows.
        out
            Floating-point, bool, or of a dtype that holds the file's; any strides. Where it is contiguous and of the file's dtype
            nothing is staged.
        angles
            Projections to read, all by default.

        Raises
        ------
        ShapeError
            ``out`` has another shape, or integers that do not hold the file's numbers.
        FormatError
            The file is damaged.
        """
        self._read(self._parts.projections, rows, out, angles)

    def check_headers(self, angles: Any = None) -> None:
        """Raise FormatError where a file of these projections, all by default, is unlike the first: before a run, not in it."""
        projections = self._parts.projections
        check = getattr(projections.frames, "check_headers", None)
        if check is not None:
            check(projections.index if angles is None else projections.index[angles])

    @property
    def array(self) -> np.ndarray | None:
        """All projections as they lie in memory, native NumPy; None where they are in a file, or lie otherwise."""
        return getattr(self._parts.projections.frames, "in_memory", None)

    def files(self) -> list[Path]:
        """All files that projections, flats and darks are read from, and the one that was named."""
        found = {Path(self.path)} if os.path.isfile(self.path) else set()
        for group in (self._parts.projections, self._parts.flats, self._parts.darks):
            found.update(files_of(group.frames) if group is not None else ())
        return sorted(file.absolute() for file in found)

    def projection(self, i: int) -> np.ndarray:
        """Return projection ``i`` ``(n_z, n_x)`` in the scan's dtype."""
        if not -self.n_angles <= i < self.n_angles:
            raise ArgumentError("i", i, f"a projection from 0 to {self.n_angles - 1}")
        i %= self.n_angles
        out = np.empty((1, self.n_z, self.n_x), self.dtype)
        self.read(slice(0, self.n_z), out, slice(i, i + 1))
        return out[0]

    def flats(self, rows: slice | None = None) -> np.ndarray | None:
        """Return rows of all flats ``(n_flats, n_rows, n_x)`` as stored, None where there are none."""
        return self._stack(self._parts.flats, rows)

    def darks(self, rows: slice | None = None) -> np.ndarray | None:
        """Return rows of all darks ``(n_darks, n_rows, n_x)`` as stored, None where there are none."""
        return self._stack(self._parts.darks, rows)

    def flat_means(self, rows: slice | None = None) -> np.ndarray | None:
        """Return the mean, or median, of each group of flats, float32 ``(n_groups, n_rows, n_x)``; None where there are none.

        A group is a run of flats with no projection in between, so flats taken before and after the scan are two. For means frames
        are summed in float64 one at a time, so the memory does not grow with their number; for medians all of a group are held.
        Saturated values are left out, and pixels that have no others are NaN. Where the machine's current is taken, flats are what
        they would be at the mean of their currents.
        """
        group = self._parts.flats
        if group is None:
            return None
        dark = None if self.gain is None else self.dark_mean(rows)
        return np.stack([self._reduced(group, part, rows, self._flats, dark) for part in self._flat_groups()])

    def dark_mean(self, rows: slice | None = None) -> np.ndarray | None:
        """Return the mean, or median, of all darks, float32 ``(n_rows, n_x)``; None where there are none."""
        group = self._parts.darks
        return None if group is None else self._reduced(group, np.arange(len(group.index)), rows, self._darks)

    def means_bytes(self, n_rows: int) -> int:
        """Bytes that `flat_means` and `dark_mean` of ``n_rows`` rows hold, results included: an upper bound."""
        pixels, held = n_rows * self.n_x, 0
        flats = [len(part) for part in self._flat_groups()]
        many = (self._parts.flats, max(flats, default=0), self._flats), (self._parts.darks, self.n_darks, self._darks)
        for group, n_frames, how in many:
            if group is not None:
                held = max(held, how.held(pixels, n_frames, group.frames.dtype.itemsize))
        # Every group's, the stack of them, and one more while it is made.
        return held + 4 * pixels * (2 * len(flats) + 2)

    @property
    def n_flat_groups(self) -> int:
        """How many images `flat_means` returns."""
        return len(self._flat_groups())

    def flat_weights(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return ``lower, upper, weight``, one each a projection, that interpolate `flat_means` linearly in time.

        The flat of projection ``i`` is ``(1 - weight[i]) * means[lower[i]] + weight[i] * means[upper[i]]``;
        the dtypes are int64, int64, float32. Before the first group and after the last, the nearest one counts alone.
        """
        times = np.array([self.flat_times[part].mean() for part in self._flat_groups()])
        if times.size == 0:
            raise FormatError(self.path, "has no flats to interpolate", "give some with flats=FILE")
        upper = np.clip(np.searchsorted(times, self.times, side="right"), 0, len(times) - 1)
        lower = np.maximum(np.searchsorted(times, self.times, side="right") - 1, 0)
        gap = times[upper] - times[lower]
        weight = np.where(gap > 0, (self.times - times[lower]) / np.where(gap > 0, gap, 1), 0)
        return lower, upper, weight.astype(np.float32)

    def host_bytes(self, n_rows: int, dtype: Any = None) -> int:
        """Bytes that reading ``n_rows`` rows of projections, flats and darks holds beside ``out``: an upper bound.

        ``dtype`` is that of a contiguous ``out``: where it is the file's, nothing is staged. None is any other ``out``.
        """
        projections = self._parts.projections.frames
        others = {id(g.frames): g.frames for g in (self._parts.flats, self._parts.darks) if g and g.frames is not projections}
        # Flats and darks are summed in their own dtype. What a library keeps for a file it keeps while it reads the next.
        return projections.host_bytes(n_rows, dtype) + sum(f.host_bytes(n_rows, f.dtype) for f in others.values())

    def decodings(self, n_rows: int) -> int:
        """How often every compressed chunk is decoded where ``n_rows`` rows are read at a time; 1 where none is compressed."""
        read = getattr(self._parts.projections.frames, "decodings", None)
        return read(n_rows) if read else 1

    def decoding(self, n_frames: int, n_rows: int) -> float:
        """Seconds that decompressing ``n_rows`` rows of ``n_frames`` projections is predicted to take."""
        read = getattr(self._parts.projections.frames, "decoding", None)
        return float(read(n_frames, n_rows)) if read else 0.0

    def window_bytes(self, n_rows: int) -> int:
        """Bytes that keeping ``n_rows`` decoded rows of all frames takes; 0 where nothing is decoded twice."""
        frames = self._parts.projections.frames
        return getattr(frames, "window_bytes")(n_rows) if self.decodings(1) > 1 else 0  # noqa: B009

    def keep(self, n_rows: int, last: int = 0) -> None:
        """Decode ``n_rows`` rows of all frames at a time, kept for the reads that follow up to row ``last``; 0 lets them go."""
        keep = getattr(self._parts.projections.frames, "keep", None)
        if keep:
            keep(n_rows, last)

    def close(self) -> None:
        """Close the files."""
        for frames in self._parts.close:
            frames.close()

    def __enter__(self) -> Scan:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _flat_groups(self) -> list[np.ndarray]:
        taken = np.searchsorted(np.sort(self.times), self.flat_times)
        return [np.flatnonzero(taken == n) for n in np.unique(taken)]

    def _read(self, group: Group, rows: slice, out: np.ndarray, which: slice | None = None) -> None:
        r0, r1 = row_range(rows, self.n_z)
        a0, a1 = row_range(which, len(group.index), "angles")
        check_out(out, (a1 - a0, r1 - r0, self.n_x), group.frames.dtype)
        for at, start, stop in runs(group.index[a0:a1]):
            group.frames.read(start, stop, slice(r0, r1), out[at : at + stop - start])

    def _stack(self, group: Group | None, rows: slice | None) -> np.ndarray | None:
        if group is None:
            return None
        r0, r1 = row_range(rows, self.n_z)
        out = np.empty((len(group.index), r1 - r0, self.n_x), group.frames.dtype)
        self._read(group, slice(r0, r1), out)
        return out

    def _reduced(
        self, group: Group, part: np.ndarray, rows: slice | None, how: Reduction, dark: np.ndarray | None = None
    ) -> np.ndarray:
        r0, r1 = row_range(rows, self.n_z)

        def read(number: int, frame: np.ndarray) -> None:
            self._read(group, slice(r0, r1), frame, slice(number, number + 1))

        return how.reduced(read, part, (r1 - r0, self.n_x), group.frames.dtype, dark)


def _has_current(parts: ScanParts, wanted: bool) -> bool:
    """Whether projections and flats have currents that they can be divided by; raises where they are wanted and do not."""
    groups = {"projections": parts.projections, "flats": parts.flats}
    for name, group in groups.items():
        if group is None or group.current is None:
            if not wanted:
                return False
            raise FormatError(parts.path, f"has no machine current of its {name} (control/data)", "give machine_current=False")
        bad = np.flatnonzero(~(np.isfinite(group.current) & (group.current > 0)))
        if bad.size:
            found = f"{bad.size} of its {name} have a machine current that is not above 0, the first is number {bad[0]}"
            if wanted:
                raise FormatError(parts.path, found, "give machine_current=False")
            parts.notes.append(f"{parts.path}: {found}: the machine current is not used")
            return False
    return True


def open_scan(
    path: Any,
    flats: Any = None,
    darks: Any = None,
    angles: str | os.PathLike[str] | np.ndarray | None = None,
    entry: str | None = None,
    *,
    angle_unit: str | None = None,
    sinograms: bool = False,
    flat_reduction: str = "mean",
    dark_reduction: str = "mean",
    machine_current: bool | None = None,
    saturation: str | float | None = "auto",
    direction: str = "clockwise",
    angle_offset: float = 0.0,
) -> Scan:
    """Open a scan: NXtomo and its Diamond and DIAD variants, DXchange, or a plain stack; recognised by content, not by suffix.

    Parameters
    ----------
    path
        HDF5 file; or a stack ``(n_angles, n_z, n_x)``: a TIFF file of many pages, a folder of TIFF files, names with ``*``, a
        ``.npy`` file, a folder of Zarr, or one dataset of an HDF5 file, ``FILE:/DATASET``; or an array in memory, or one that gives
        NumPy arrays when it is sliced (``numpy.memmap``, h5py, Zarr); it is not copied.
    flats, darks
        Files, folders or arrays that replace the scan's own: stacks as above, one frame, or another NXtomo file, whose own are
        taken.
    angles
        A file of one angle per projection (text or ``.npy``; ``FILE[a:b]`` takes lines a to b, from 0, end-exclusive, where it
        lists flats and darks too), or an array. Without it, a scan of another format than NXtomo that has no angles counts as
        180 degrees in equal steps.
    angle_unit : {"deg", "rad"}, optional
        The unit of the angles, whatever the file says. By default files that name no unit are in degrees, and arrays in radians.
    entry
        Which entry of an HDF5 file to read, if it has several.
    sinograms
        The stack is ``(n_z, n_angles, n_x)``; from an HDF5 file a dataset is then read, the only one if none is named.
    flat_reduction, dark_reduction : {"mean", "median"}
        How the flats of a group, and all darks, are combined into one frame. A median ignores a zinger in a few of them, and holds
        the whole group in memory, for the rows that are read at a time.
    machine_current : bool, optional
        Whether projections and flats are divided by the machine's current (or a monitor's counts) at each, ``control/data`` of an
        NXtomo file. By default they are if the file has it for all of them.
    saturation : "auto", "none" or float
        The raw value from which pixels are saturated; they are replaced as dead pixels are. "auto" is the largest number of the
        type for integers of 16 bits and more; with 8 bits and floating-point numbers no value is saturated.
    direction : {"clockwise", "counterclockwise"}
        How the sample turns as angles grow, in a slice whose row 0 is on top. "counterclockwise" changes the sign of the angles,
        and corrects slices that came out mirrored.
    angle_offset : float
        Degrees added to every angle after ``direction`` is applied: slices are turned by as much.

    Returns
    -------
    Scan
        A context manager; close it, or use it in a ``with`` block.

    Raises
    ------
    FormatError
        Missing, damaged or unknown file; no projections; counts or sizes that do not agree; NaN angles.

    Warns
    -----
    UserWarning
        No flats, no darks, angles assumed, or angles that look like radians in a file of degrees.

    Examples
    --------
    >>> import tempfile, os, numpy as np, tifffile
    >>> import footprint as fp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, n in (("scan.tif", 4), ("flats.tif", 2), ("darks.tif", 2)):
    ...         tifffile.imwrite(os.path.join(folder, name), np.ones((n, 3, 5), np.uint16), photometric="minisblack")
    ...     here = lambda name: os.path.join(folder, name)
    ...     with fp.open_scan(here("scan.tif"), here("flats.tif"), here("darks.tif"), angles=np.arange(4) * np.pi / 4) as scan:
    ...         rows = np.empty((scan.n_angles, 2, scan.n_x), np.float32)
    ...         scan.read(slice(1, 3), rows)
    ...         scan
    <Scan scan: 4 projections of 3 x 5 uint16, 2 flats, 2 darks, TIFF>
    """
    own, current = angles is not None, None if machine_current is None else flag("machine_current", machine_current)
    parts = open_sinograms(path) if flag("sinograms", sinograms) else open_parts(path, entry, own, angle_unit)
    try:
        with reading(parts.path):
            attach(parts, flats, darks)
            stored = resolve(parts, angles, angle_unit)
            filed = angle_unit is not None or angles is None or isinstance(angles, (str, os.PathLike))
            radians = turned(stored, direction, angle_offset, filed)
            scan = Scan(parts, radians, flat_reduction, dark_reduction, current, saturation)
            scan.stored_angles = stored
            if scan.n_z == 0 or scan.n_x == 0:
                raise FormatError(parts.path, f"holds empty projections ({scan.n_z} x {scan.n_x})")
    except BaseException:
        for frames in parts.close:
            frames.close()
        raise
    for note in parts.notes:
        warn(note)
    return scan
