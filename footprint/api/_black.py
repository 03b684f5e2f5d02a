"""Projections without light, as when a shutter closed or the beam was lost: found in the first rows that are read, and left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from footprint.api._counts import PixelCounts
from footprint.errors import ArgumentError, choose, flag, warn
from footprint.kernels.dropouts.contract import LONGEST
from footprint.plan.faces import Region
from footprint.units import counted

# A frame is black where a row of it has less than these shares of the open beam, and of the same row in most other frames.
_OPEN, _USUAL = 0.01, 0.05
# Of a row every so many pixels are looked at; frames are read so many at a time.
_EVERY, _GROUP = 16, 32
# Share of a row without light beyond which single pixels are not counted.
_MASKED = 0.2
# Pixels that are counted at a time: what that takes is not planned.
_COUNTED = 1 << 14
CHOICES = ("exclude", "keep")


class BlackFrames(Exception):
    """Frames are black in this row: the job is to be planned without them."""

    def __init__(self, row: int) -> None:
        self.row = row


def is_watched(choice: str, log: bool) -> bool:
    """Whether black frames are looked for: not in line integrals, nor where the user keeps them."""
    return choose("black_frames", choice, CHOICES) == "exclude" and flag("log", log)


class Watch:
    """Looks at the blocks of the first rows that are read.

    Parameters
    ----------
    scan
        An open scan.
    first
        Detector row that regions are counted from.
    frames
        Whether black frames end the job.
    log
        Whether projections have yet to become line integrals.
    """

    def __init__(self, scan: Any, first: int, frames: bool, log: bool) -> None:
        self._scan, self._first, self._frames, self._log = scan, first, frames, log
        self._dropouts = self._pixels = self._row = 0
        # Values that are not finite numbers, and rows that have no other.
        self._unknown = self._lost = 0
        self._seen: set[int] = set()

    def __call__(self, region: Region, block: np.ndarray) -> None:
        """Raise BlackFrames where some of a block are; nothing is written yet when its rows are the first. Count other flaws."""
        first = region[0].start or 0
        if region[1].start or not block.size or first in self._seen:
            # Tiles of a slice read the same frames one after another.
            return
        self._seen.add(first)
        middle = block.shape[1] // 2
        self._row = self._first + middle
        if self._frames:
            light = block[:, middle, ::_EVERY].mean(axis=1, dtype=np.float64)
            if _are_black(self._scan, self._row, light).any():
                raise BlackFrames(self._row)
        self._count(block[:, middle])

    def _count(self, lines: np.ndarray) -> None:
        """Count, some frames at a time: NaN and infinities; short runs of pixels without light, or of zeros in line integrals."""
        here = slice(self._row, self._row + 1)
        dark = self._scan.dark_mean(here) if self._log else None
        flats = self._scan.flat_means(here) if self._log and self._scan.n_flats else None
        shade = 0.0 if dark is None else dark[0]
        lit = True if flats is None else flats.min(axis=0)[0] > shade
        group = max(1, _COUNTED // max(lines.shape[1], 1))
        for start in range(0, len(lines), group):
            part = lines[start : start + group]
            if part.dtype.kind == "f":
                unknown = ~np.isfinite(part)
                self._unknown += int(unknown.sum())
                self._lost += int(unknown.all(axis=1).sum())
            dead = np.zeros((len(part), part.shape[1] + 2), bool)
            np.logical_and(part <= shade if self._log else part == 0, lit, out=dead[:, 1:-1])
            # A frame that is dark or masked as a whole has no dropouts.
            dead[dead.mean(axis=1) > _MASKED] = False
            first = np.nonzero(dead[:, 1:] & ~dead[:, :-1])[1]
            last = np.nonzero(dead[:, :-1] & ~dead[:, 1:])[1]
            short = (last - first <= LONGEST) & (first > 0) & (last < part.shape[1])
            self._dropouts += int((last - first)[short].sum())
            self._pixels += part.size

    def say(self, path: str) -> None:
        """Warn of what was counted."""
        if self._dropouts:
            found = f"{self._dropouts} of {self._pixels} in row {self._row}, and in others alike"
            what = f"{path} has dropouts, pixels without light among others: {found}; they are replaced from their neighbours"
            warn(what)
        if self._unknown:
            found = f"{self._unknown} of {self._pixels} in row {self._row}, and perhaps in others"
            what = f"{path} has values that are NaN or infinite: {found}; they are replaced from their neighbours along the row"
            if self._lost:
                what += f", but {counted(self._lost, 'projections')} without any other there must count as air"
            warn(what)


def look_now(scan: Any, row: int) -> None:
    """Raise BlackFrames where a scan has some, by reading a row of all frames."""
    if len(black_frames(scan, row)):
        raise BlackFrames(row)


def black_frames(scan: Any, row: int) -> np.ndarray:
    """Numbers of the frames that are black in a row; reads that row of all."""
    n_angles, _, n_x = scan.shape
    light, block = np.empty(n_angles), np.empty((_GROUP, 1, n_x), np.float32)
    for start in range(0, n_angles, _GROUP):
        part = block[: min(_GROUP, n_angles - start)]
        scan.read(slice(row, row + 1), part, slice(start, start + len(part)))
        light[start : start + len(part)] = part[:, 0, ::_EVERY].mean(axis=1, dtype=np.float64)
    return np.flatnonzero(_are_black(scan, row, light))


def _are_black(scan: Any, row: int, light: np.ndarray) -> np.ndarray:
    """Whether frames of such a mean in a row are; NaN is none of our business."""
    here = slice(row, row + 1)
    dark = scan.dark_mean(here)
    shade = 0.0 if dark is None else float(np.mean(dark[:, ::_EVERY]))
    light = light - shade
    usual = float(np.nanmedian(light)) if np.isfinite(light).any() else 0.0
    flats = scan.flat_means(here) if scan.n_flats else None
    beam = float(np.max(light))
    if flats is not None:
        # Pixels that are saturated in every flat are NaN.
        means = [float(np.mean(row[np.isfinite(row)])) for row in flats[:, 0, ::_EVERY] if np.isfinite(row).any()]
        beam = max(means, default=0.0) - shade
    return np.asarray(light < min(_OPEN * beam, _USUAL * usual)) & (usual > 0)


def with_light(scan: Any, row: int, shifts: Any, axis_shifts: Any) -> tuple[Any, Any, Any]:
    """The scan without its black frames, and the tables of the others."""
    found = black_frames(scan, row)
    if not len(found):
        return scan, shifts, axis_shifts
    left = Without(scan, found)
    them = "it" if len(found) == 1 else "them"
    warn(f"{getattr(scan, 'path', 'the scan')}: {left}; give black_frames=keep to include {them}")
    return left, left.of(shifts), left.of(axis_shifts)


def counted_with(scan: Any, on_counts: Callable[[PixelCounts], None] | None) -> Callable[[PixelCounts], None] | None:
    """What is called with the counts of a scan, told of the frames that were left out of it, too."""
    if on_counts is None or not isinstance(scan, Without):
        return on_counts
    return lambda counts: on_counts(replace(counts, black=len(scan.left_out), left_out=str(scan)))


class Without:
    """A scan without some of its frames, with the face of the scan.

    Parameters
    ----------
    scan
        An open scan.
    frames
        Numbers of the projections left out.
    """

    def __init__(self, scan: Any, frames: np.ndarray) -> None:
        self._scan, self.left_out = scan, frames
        self.kept = np.setdiff1d(np.arange(scan.shape[0]), frames)
        if not len(self.kept):
            raise ArgumentError("scan", "black frames only", "projections with light")
        self.n_angles = len(self.kept)
        self.shape = (self.n_angles, *scan.shape[1:])
        self.angles = np.asarray(scan.angles)[self.kept]
        self.gain = self.of(getattr(scan, "gain", None))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._scan, name)

    def flat_weights(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Those of the frames kept."""
        lower, upper, weight = self._scan.flat_weights()
        return lower[self.kept], upper[self.kept], weight[self.kept]

    def read(self, rows: slice, out: np.ndarray, angles: slice | None = None) -> None:
        """Fill ``out`` with the frames kept, run by run."""
        index = self.kept[slice(None) if angles is None else angles]
        ends = np.flatnonzero(np.diff(index) != 1) + 1
        for a, b in zip(np.r_[0, ends], np.r_[ends, len(index)]):
            self._scan.read(rows, out[a:b], slice(int(index[a]), int(index[b - 1]) + 1))

    def of(self, table: Any) -> Any:
        """Of a table with a value a projection, those of the frames kept."""
        return None if table is None else np.asarray(table)[self.kept]

    def __str__(self) -> str:
        numbers = ", ".join(map(str, self.left_out[:6])) + (" ..." if len(self.left_out) > 6 else "")
        found = f"{counted(len(self.left_out), 'black projections')} ({numbers}) of {self._scan.shape[0]:,}"
        return f"{found} {'is' if len(self.left_out) == 1 else 'are'} left out"
