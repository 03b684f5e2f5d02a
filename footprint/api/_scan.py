"""What reconstruction and the axis search share: one face for scans, from a file or described by a shape."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from footprint.api._tomo import numbers
from footprint.errors import ArgumentError, FormatError, ShapeError
from footprint.kernels.flatfield.contract import DEAD
from footprint.ops.flatfield import Flatfield
from footprint.plan.builder import Builder
from footprint.plan.plan import Plan
from footprint.plan.slots import Given, Library, Ref
from footprint.spec import ArraySpec
from footprint.units import kind_of

Fill = Callable[[np.ndarray], None]

_OWN = Given(owner="plan")
# Blocks of rows that the reader decodes at a time, the first that fits, where a chunk of the file is taller than a block: a row
# that is kept takes a tenth of one that is worked on, and decoding a chunk costs as much for one row as for all.
AHEAD = (8, 4, 2, 0)
_KEPT = "rows decoded ahead"
# Where there are no flats: each row's ends are taken for the open beam, this share of the row at each.
_BORDER = 32


@dataclass(frozen=True)
class Described:
    """A scan of which only the numbers are known, enough to plan with."""

    shape: tuple[int, int, int]
    dtype: str
    angles: np.ndarray
    n_flats: int
    n_flat_groups: int

    def flat_weights(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As if the first group were taken before and the last after the scan: tables that differ take memory each."""
        n = self.shape[0]
        last = np.full(n, max(self.n_flat_groups - 1, 0), np.int64)
        return np.zeros(n, np.int64), last, np.linspace(0, 1, n, dtype=np.float32)

    def host_bytes(self, n_rows: int, dtype: Any = None) -> int:
        """Bytes that reading holds beside the block: not known, none."""
        return 0


@dataclass(frozen=True)
class Job:
    """Rows ``start`` to ``stop`` of a scan, and how its projections are corrected.

    Attributes
    ----------
    level
        The open beam where there are no flats; None where flats, or the rows' borders, tell.
    ahead
        Blocks of rows that the reader decodes at a time and keeps, where that saves decoding.
    """

    scan: Any
    start: int
    stop: int
    flatfield: Flatfield
    level: float | None
    ahead: int = 0

    @property
    def n_rows(self) -> int:
        """Rows asked for."""
        return self.stop - self.start

    def slots(self, b: Builder, n_angles: int, n_rows: int) -> tuple[Ref, Ref, Ref]:
        """Make the plan's own buffers that `fill` fills: projections, flats and dark with their halo; count the reader's."""
        n_x, dtype = self.scan.shape[2], np.dtype(self.scan.dtype).str
        raw = self.flatfield.raw_spec(n_angles, n_rows, n_x, dtype)
        height, groups = raw.shape[1], self.flatfield.n_groups
        # Means are summed in float64 frame by frame, kept a group, and stacked.
        means = height * n_x * (20 + 8 * groups) if self.scan.n_flats else 0
        # Rows beyond the detector are left out of what is read, so the rest of a block with a halo is not contiguous.
        into = None if sum(self.flatfield.halo) else raw.dtype
        b.library("file reader", self.scan.host_bytes(height, into) + means)
        self._decode_ahead(b, height)
        return (
            b.inp(raw, "projections", _OWN),
            b.inp(ArraySpec((groups, height, n_x)), "flats", _OWN),
            b.inp(ArraySpec((height, n_x)), "dark", _OWN),
        )

    @property
    def decodes(self) -> bool:
        """Whether the scan's chunks are compressed and taller than a row."""
        return hasattr(self.scan, "keep") and self.scan.decodings(1) > 1

    def _decode_ahead(self, b: Builder, height: int) -> None:
        """Count the rows that are kept."""
        if self.ahead and self.decodes and height < self._reach:
            b.library(_KEPT, self.scan.window_bytes(min(self.ahead * height, self._reach)), bound=False)

    @property
    def _reach(self) -> int:
        """Rows that are read at all."""
        return min(self.n_rows + sum(self.flatfield.halo), self.scan.shape[1])

    def decoded_ahead(self, plan: Plan, budget: int | None) -> Plan:
        """The plan with the rest of the budget for rows that are kept, and what decoding costs said."""
        height = plan.inputs[0].spec.shape[1]
        if not self.decodes or height >= self._reach:
            return plan
        row, kept = self.scan.window_bytes(1), self._kept_rows(plan)
        rest = max((budget or 0) - plan.footprint.total, 0) // row
        rows = min(kept + rest, self._reach) if kept or rest > height else 0
        libraries = tuple(one for one in plan.libraries if one.name != _KEPT)
        libraries += (Library(_KEPT, rows * row, False),) if rows else ()
        times = min(self.scan.decodings(max(rows, height)), -(-self._reach // max(rows, height)))
        said = f"the scan is decompressed {times} times, {max(rows, height)} of its rows each: more memory makes it fewer"
        notes = (*plan.notes, said) if times > 1 else plan.notes
        return replace(plan, libraries=libraries, notes=notes)

    def _kept_rows(self, plan: Plan) -> int:
        nbytes = sum(one.nbytes for one in plan.libraries if one.name == _KEPT)
        return nbytes // self.scan.window_bytes(1) if nbytes else 0

    @contextmanager
    def kept(self, plan: Plan) -> Iterator[None]:
        """Let the reader keep the rows that the plan counts."""
        rows = self._kept_rows(plan)
        if not rows:
            yield
            return
        self.scan.keep(rows)
        try:
            yield
        finally:
            self.scan.keep(0)

    def fill(self, start: int, stop: int, frames: list[int] | None = None) -> tuple[Fill, Fill, Fill]:
        """Functions that fill the buffers for rows ``start`` to ``stop`` of the job; above and below the detector there is air."""
        before, after = self.flatfield.halo
        first, last = self.start + start - before, self.start + stop + after
        rows = slice(max(first, 0), min(last, self.scan.shape[1]))
        inside = slice(rows.start - first, rows.stop - first)

        def raw(block: np.ndarray) -> None:
            block[:, : inside.start], block[:, inside.stop :] = 1, 1
            if frames is None:
                self.scan.read(rows, block[:, inside])
                return
            for k, frame in enumerate(frames):
                self.scan.read(rows, block[k : k + 1, inside], slice(frame, frame + 1))

        def flats(block: np.ndarray) -> None:
            block[:] = 1
            if self.scan.n_flats:
                block[:, inside] = self.scan.flat_means(rows)
            elif self.level is not None:
                block[:, inside] = self.level + self._dark(rows)

        def dark(block: np.ndarray) -> None:
            block[:] = 0
            block[inside] = self._dark(rows)

        return raw, flats, dark

    def _dark(self, rows: slice) -> Any:
        found = self.scan.dark_mean(rows)
        return 0 if found is None else found

    def check_flats(self, step: int) -> None:
        """Raise FormatError where no pixel's flat is above its dark; reads ``step`` rows at a time, until one is."""
        if not self.scan.n_flats:
            return
        for at in range(self.start, self.stop, max(step, 1)):
            rows = slice(at, min(at + step, self.stop))
            dark = self._dark(rows)
            if (self.scan.flat_means(rows) - dark > DEAD * np.abs(dark)).any():
                return
        path = getattr(self.scan, "path", "the scan")
        raise FormatError(path, "its flats are nowhere brighter than its darks (all zero?)", "give others with flats=FILE")


def job_of(scan: Any, rows: Any, i0: str | float, shifts: Any = None) -> Job:
    """See a scan's rows as a job, checking every argument."""
    if not hasattr(scan, "angles"):
        raise ArgumentError("scan", kind_of(scan), "an open scan", "open the file first: footprint.open_scan(path)")
    n_angles, n_z, n_x = scan.shape
    if min(scan.shape) < 1:
        raise ShapeError("scan", f"shape {tuple(scan.shape)}", "at least one projection of at least one pixel")
    start, stop = _rows(rows, n_z)
    border, level = _open_beam(i0, np.dtype(scan.dtype), n_x)
    if scan.n_flats:
        lower, upper, weight = scan.flat_weights()
        border, level = 0, None
    else:
        lower = upper = np.zeros(n_angles, np.int64)
        weight = np.zeros(n_angles, np.float32)
    moves = None if shifts is None else numbers("shifts", shifts)
    flatfield = Flatfield(lower, upper, weight, max(int(scan.n_flat_groups), 1), border, moves)
    flatfield.check(n_angles, n_z)
    return Job(scan, start, stop, flatfield, level)


def _rows(rows: Any, n_z: int) -> tuple[int, int]:
    if rows is None:
        return 0, n_z
    try:
        start, stop, step = (rows if isinstance(rows, slice) else slice(*(operator.index(r) for r in rows))).indices(n_z)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError("rows", repr(rows), "a slice or a pair (first, stop)") from None
    if step != 1 or stop <= start:
        raise ArgumentError("rows", rows, f"at least one of the {n_z} rows, without a step")
    return start, stop


def _open_beam(i0: str | float, dtype: np.dtype, n_x: int) -> tuple[int, float | None]:
    """Pixels at both ends of a row that see the open beam, or the open beam's value."""
    if isinstance(i0, str) and i0 == "auto":
        # Floating-point frames without flats have most likely been corrected already; counts have not.
        i0 = 1.0 if dtype.kind == "f" else "border"
    if isinstance(i0, str) and i0 == "border":
        return max(1, n_x // _BORDER), None
    try:
        level = float(i0)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError("i0", repr(i0), "'auto', 'border' or a number above 0") from None
    if not (np.isfinite(level) and level > 0):
        raise ArgumentError("i0", level, "a number above 0, 'border' or 'auto'")
    return 0, level
