"""What reconstruction and the axis search share: one face for scans, from a file or described by a shape."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from footprint.api._arrays import Array, described
from footprint.api._call import Face, Stream
from footprint.api._counts import Tally
from footprint.api._lit import check_flats
from footprint.api._tomo import angles_of, numbers
from footprint.dtypes import read_dtype
from footprint.errors import ArgumentError, ShapeError, flag, warn
from footprint.ops.base import Table
from footprint.ops.flatfield import Flat, check_shifts
from footprint.plan.faces import Filler, Region
from footprint.plan.plan import Plan
from footprint.plan.slots import Cut, Library, Reach
from footprint.spec import ArraySpec
from footprint.units import counted, kind_of

# Blocks of rows that the reader decodes at a time, the first that fits, where a chunk of the file is taller than a block: a row
# that is kept takes a tenth of one that is worked on, and decoding a chunk costs as much for one row as for all. Parts of a slice
# share even one.
AHEAD = (8, 4, 2, 0, 1)
_KEPT = "rows decoded ahead"
# Where there are no flats: each row's ends are taken for the open beam, this share of the row at each.
_BORDER = 32
# Share of a row that may be at or below 0 in projections that are not yet line integrals.
_NEGATIVE = 0.05
# Transmissions above this are brighter than the open beam by more than noise.
_BRIGHT = 2.0


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


def scan_of(scan: Any, angles: Any, dtype: Any, n_flat_groups: Any) -> Any:
    """An open scan as it is, or the scan that a shape describes."""
    if hasattr(scan, "shape"):
        return scan
    spec, _ = described(scan, dtype, "scan")
    if len(spec.shape) != 3:
        raise ShapeError("scan", f"shape {spec.shape}", "(n_angles, n_z, n_x)")
    if not isinstance(n_flat_groups, int | np.integer) or n_flat_groups < 0:
        raise ArgumentError("n_flat_groups", repr(n_flat_groups), "a whole number, 0 or more")
    n_a, n_z, n_x = spec.shape
    groups = int(n_flat_groups)
    return Described((n_a, n_z, n_x), spec.dtype, angles_of(angles, n_a), min(groups, 1), groups)


@dataclass(frozen=True)
class ScanJob:
    """Rows ``start`` to ``stop`` of a scan, and how its projections are corrected.

    Attributes
    ----------
    flat
        How they are divided by the open beam.
    shifts
        Pixels each projection is shifted along z, if any.
    level
        The open beam where there are no flats; None where flats, or the rows' borders, tell.
    log
        Whether projections have yet to become line integrals.
    """

    scan: Any
    start: int
    stop: int
    flat: Flat
    shifts: Table | None
    level: float | None
    log: bool = True

    @property
    def n_rows(self) -> int:
        """Rows asked for."""
        return self.stop - self.start

    @property
    def n_groups(self) -> int:
        """Means of flats."""
        return max(int(self.scan.n_flat_groups), 1)

    def specs(self, first: int, last: int, frames: Sequence[int] | None = None) -> dict[str, ArraySpec]:
        """Of projections, flats and dark between two detector rows."""
        n_angles, _, n_x = self.scan.shape
        count, height = n_angles if frames is None else len(frames), last - first
        return {
            "projections": ArraySpec((count, height, n_x), read_dtype(self.scan.dtype), "azx"),
            "flats": ArraySpec((self.n_groups, height, n_x), "float32", ".zx"),
            "dark": ArraySpec((height, n_x), "float32", "zx"),
        }

    def streams(
        self,
        first: int,
        last: int,
        frames: Sequence[int] | None = None,
        watch: Callable[[Region, np.ndarray], None] | None = None,
        tally: Tally | None = None,
    ) -> dict[str, Face]:
        """Sources of the same, blocks filled as they are asked for; ``watch`` is shown those of projections, ``tally`` all.

        Projections that lie in memory are taken from there, and shown to nobody.
        """
        specs = self.specs(first, last, frames)

        def raw(region: Region, block: np.ndarray) -> None:
            angles, rows = region[0], _moved(region[1], first)
            if frames is None:
                self.scan.read(rows, block, angles)
                if watch is not None:
                    watch(region, block)
                if tally is not None:
                    tally.projections(region, block)
                return
            for k, frame in enumerate(frames[angles]):
                self.scan.read(rows, block[k : k + 1], slice(frame, frame + 1))

        def flats(region: Region, block: np.ndarray) -> None:
            rows = _moved(region[1], first)
            if self.scan.n_flats:
                block[:] = self.scan.flat_means(rows)
                if tally is not None:
                    tally.flats(region, block, lambda: self._dark(rows))
            else:
                block[:] = 1 if self.level is None else self.level + self._dark(rows)

        def dark(region: Region, block: np.ndarray) -> None:
            block[:] = self._dark(_moved(region[0], first))

        array = getattr(self.scan, "array", None)
        # A scan that is described is an array that is not there yet.
        stored = array is None and not isinstance(self.scan, Described)
        return {
            "projections": Stream(Filler(raw), specs["projections"], self._beside, decoding=self._decoding, stored=stored)
            if array is None or frames is not None or array.dtype != np.dtype(specs["projections"].dtype)
            else Array(array[:, first:last], "numpy", "cpu"),
            "flats": Stream(Filler(flats), specs["flats"], stored=stored),
            "dark": Stream(Filler(dark), specs["dark"], stored=stored),
        }

    def _beside(self, block: ArraySpec) -> int:
        """Bytes that reading so many rows takes, flats and darks included: the libraries keep what they hold for a file."""
        height = block.shape[1]
        return int(self.scan.host_bytes(height, block.dtype)) + means_bytes(self.scan, height)

    # -- compressed scans ----------------------------------------------------------------------------------------------
    def _decoding(self, shape: tuple[int, ...]) -> float:
        """Seconds to decompress a block of rows; chunks that are taller are decompressed whole for it."""
        read = getattr(self.scan, "decoding", None)
        return 0.0 if read is None else float(read(*shape[:2]))

    @property
    def decodes(self) -> bool:
        """Whether the scan's chunks are compressed and taller than a row."""
        return hasattr(self.scan, "keep") and self.scan.decodings(1) > 1

    def ahead(self, blocks: int, reach: Reach, height: int, cuts: Sequence[Cut]) -> Library | None:
        """So many blocks of rows that are kept, where parts need their ``reach`` of ``height`` rows; None where none are."""
        block = next((reach.most(min(cut.size, cut.total), height) for cut in cuts if cut.axis == "z"), height)
        if not blocks or block >= height:
            return None
        return Library(_KEPT, int(self.scan.window_bytes(min(blocks * block, height))), False)

    def decoded_ahead(self, plan: Plan, budget: int | None, reach: int) -> Plan:
        """The plan with the rest of the budget for rows that are kept, and what decoding costs said."""
        height = plan.inputs[0].nominal(plan.cuts)[1]
        if not self.decodes or height >= reach:
            return plan
        row, kept = self.scan.window_bytes(1), self._kept_rows(plan)
        rest = max((budget or 0) - plan.footprint.total, 0) // row
        rows = min(kept + rest, reach) if kept or rest > height else 0
        libraries = tuple(one for one in plan.libraries if one.name != _KEPT)
        libraries += (Library(_KEPT, rows * row, False),) if rows else ()
        window = rows or height
        times = min(self.scan.decodings(window), -(-reach // window))
        # Parts of a slice read its rows once each, of a group of angles only those: what is kept is decoded once for all of them.
        again = math.prod(cut.count for cut in plan.cuts if cut.axis not in "az")
        frames, whole = plan.inputs[0].nominal(plan.cuts)[0], self.scan.shape[0]
        spared = self._decoding((frames, height)) * (whole / frames) * (reach / height) * again if rows else 0.0
        spared -= times * self._decoding((whole, reach)) if rows else 0.0
        times *= 1 if rows else again
        said = f"the scan is decompressed {times} times, {window} rows at a time; more memory reduces that"
        notes = (*plan.notes, said) if times > 1 else plan.notes
        seconds = tuple((lane, max(t - spared, 0.0) if lane == "read" else t) for lane, t in plan.seconds)
        return replace(plan, libraries=libraries, notes=notes, seconds=seconds)

    def _kept_rows(self, plan: Plan) -> int:
        nbytes = sum(one.nbytes for one in plan.libraries if one.name == _KEPT)
        return nbytes // self.scan.window_bytes(1) if nbytes else 0

    @contextmanager
    def kept(self, plan: Plan, last: int) -> Iterator[None]:
        """Let the reader keep the rows that the plan counts, of all to detector row ``last``."""
        rows = self._kept_rows(plan)
        if not rows:
            yield
            return
        self.scan.keep(rows, last)
        try:
            yield
        finally:
            self.scan.keep(0)

    def _dark(self, rows: slice) -> Any:
        found = self.scan.dark_mean(rows)
        return 0 if found is None else found

    def check_flats(self, step: int) -> None:
        """Raise FormatError where no pixel's flat is above its dark; reads ``step`` rows at a time, until one is."""
        check_flats(self, step)


def means_bytes(scan: Any, n_rows: int) -> int:
    """Bytes that making one flat of each group, and one dark, of so many rows takes."""
    if not scan.n_flats:
        return 0
    if hasattr(scan, "means_bytes"):
        return int(scan.means_bytes(n_rows))
    # Means are summed in float64 frame by frame, kept a group, and stacked.
    return n_rows * int(scan.shape[2]) * (20 + 8 * max(int(scan.n_flat_groups), 1))


class _LineIntegrals:
    """A scan whose projections are line integrals already: no flats and no darks are asked for."""

    n_flats = n_flat_groups = 0
    gain = saturation = None

    def __init__(self, scan: Any) -> None:
        self._scan = scan

    def __getattr__(self, name: str) -> Any:
        return getattr(self._scan, name)

    def dark_mean(self, rows: slice) -> None:
        """None taken."""


def say_of_logarithms(scan: Any, log: bool, i0: str | float) -> None:
    """Warn where projections that are to be made line integrals look as if they were, and of flats that are not used."""
    darks = getattr(scan, "n_darks", 0)
    if not log and (scan.n_flats or darks):
        found = f"{counted(scan.n_flats, 'flats')} and {counted(darks, 'darks')}"
        warn(f"log=False treats the projections as line integrals: the scan's {found} are not used")
    if i0 != "auto" and (scan.n_flats or not log):
        why = "the scan has flats, which give the open beam" if log else "projections are line integrals"
        warn(f"i0={i0!r} is not used: {why}")
    if not log or scan.n_flats or i0 != "auto" or np.dtype(getattr(scan, "counted", scan.dtype)).kind != "f":
        return
    _, n_z, n_x = scan.shape
    row = np.empty((1, 1, n_x), np.float32)
    scan.read(slice(n_z // 2, n_z // 2 + 1), row, slice(0, 1))
    share = float(np.mean(row <= 0))
    if share > _NEGATIVE:
        found = f"{share:.0%} of the middle row of the first projection are not above 0, as transmissions are"
        warn(f"{found}: if the projections are line integrals already, give log=False")
    elif float(np.mean(row > _BRIGHT)) > 0.5:
        median = f"the middle row of the first projection has a median of {float(np.median(row)):.4g}"
        found = f"{median}, where transmissions are below 1"
        warn(f"{found}: if these are counts, give i0='border' or the open beam's counts; if they are line integrals, log=False")


def pixel_size_of(scan: Any, given: float | str | None) -> float | None:
    """The length that a result is divided by: as given, or for "auto" the scan's own in centimetres, None where it has none."""
    metres = getattr(scan, "pixel_size", None)
    if not isinstance(given, str):
        _check_unit(given, metres)
        return given
    if given != "auto":
        raise ArgumentError("pixel_size", repr(given), "a length above 0, 'auto' or None")
    return None if metres is None else 100 * float(metres)


def _check_unit(given: float | None, metres: float | None) -> None:
    """Warn where a length is the scan's own, but in metres, millimetres or micrometres."""
    if metres is None or not isinstance(given, int | float | np.number) or not given > 0:
        return
    for unit, factor in (("metres", 1.0), ("millimetres", 1e3), ("micrometres", 1e6)):
        if abs(given - factor * metres) <= 0.01 * factor * metres:
            right = f"the scan's own pixels are of {100 * metres:g} cm (pixel_size='auto')"
            warn(f"a pixel_size of {given:g} counts centimetres, and may be in {unit}: {right}")


class Taken(NamedTuple):
    """What is taken of a scan, and as what, as it was given: arguments of `reconstruct`."""

    rows: Any = None
    i0: str | float = "auto"
    shifts: Any = None
    log: bool = True

    def job(self, scan: Any) -> ScanJob:
        """The job, every argument checked."""
        return job_of(scan, *self)


def job_of(scan: Any, rows: Any, i0: str | float, shifts: Any = None, log: bool = True) -> ScanJob:
    """See a scan's rows as a job, checking every argument."""
    if not hasattr(scan, "angles"):
        raise ArgumentError("scan", kind_of(scan), "an open scan", "open the file first: footprint.open_scan(path)")
    scan = scan if flag("log", log) else _LineIntegrals(scan)
    n_angles, n_z, n_x = scan.shape
    if min(scan.shape) < 1:
        raise ShapeError("scan", f"shape {tuple(scan.shape)}", "at least one projection of at least one pixel")
    start, stop = _rows(rows, n_z)
    border, level = _open_beam(i0, np.dtype(getattr(scan, "counted", scan.dtype)), n_x) if log else (0, 1.0)
    if scan.n_flats:
        lower, upper, weight = scan.flat_weights()
        border, level = 0, None
    else:
        lower = upper = np.zeros(n_angles, np.int64)
        weight = np.zeros(n_angles, np.float32)
    moves = None if shifts is None else Table(numbers("shifts", shifts))
    if moves is not None:
        check_shifts(moves.array, n_angles, n_z)
    gain, ceiling = (getattr(scan, name, None) for name in ("gain", "saturation"))
    beam = None if gain is None or not scan.n_flats else Table(gain, np.float32)
    groups = Table(lower, np.int64), Table(upper, np.int64), Table(weight, np.float32)
    flat = Flat(*groups, border, beam, np.inf if ceiling is None else float(ceiling))
    return ScanJob(scan, start, stop, flat, moves, level, log)


def _moved(rows: slice, by: int) -> slice:
    return slice(rows.start + by, rows.stop + by)


def _rows(rows: Any, n_z: int) -> tuple[int, int]:
    if rows is None:
        return 0, n_z
    try:
        start, stop, step = (rows if isinstance(rows, slice) else slice(*(operator.index(r) for r in rows))).indices(n_z)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError("rows", repr(rows), "a slice or a pair (first, stop)") from None
    if step != 1 or stop <= start:
        raise ArgumentError("rows", rows, f"at least one of the {n_z} rows, without a step")
    if not isinstance(rows, slice) and operator.index(rows[1]) > n_z:
        raise ArgumentError("rows", rows, f"a pair (first, stop) of the {n_z} rows", f"stop is {n_z} at most")
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
