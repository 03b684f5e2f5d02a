"""FBP by the Fourier method: filtered polar spectra, spread onto a grid of frequencies, and one transform a slice."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from footprint.errors import ArgumentError
from footprint.kernels.common.stages import stages, turns
from footprint.kernels.fourier.contract import BITS, MARGIN, WINDOW
from footprint.kernels.fourier.taps import Taps, taps_of
from footprint.kernels.ramp_filter import lines
from footprint.kernels.ramp_filter.fused import fused
from footprint.kernels.transforms.contract import halves, whole
from footprint.ops.backproject import Geometry, slid, slides
from footprint.ops.filters import fast_length
from footprint.ops.ramp_filter import RampFilter
from footprint.plan.builder import Builder
from footprint.plan.slots import Place, Ref

# Spectra, and lines of the grid, that are worked on at once: of a size that caches hold, and enough for all cores of a device.
_BATCH_BYTES, _BATCH_CORE = 8 << 20, 256 << 10
# More cells for a region, or a tile, that is smaller than the detector: a period away taps see the object beside it, where beside a
# whole slice is little. Without, 24 of 96 rows missed an accuracy of 1e-5 by up to 29 %; with it they err as the whole does.
_BESIDE = 1.05
# And more still where what was seen is so many times wider than the slice, as about an axis near the detector's edge or off it:
# there a whole slice has much beside it, and missed an accuracy of 1e-5 by up to 80 %.
_PART, _FAR_BESIDE = 1.45, 1.1
# Detectors that a padded row may be long.
_FARTHEST = 64
_TABLES = ("roots", "slots", "places", "turns")


def least_length(geometry: Geometry) -> int:
    """The shortest padded row whose periods do not reach into the region: with a far axis, corners lie beyond twice the row."""
    low, high = geometry.reach
    return math.ceil(max(geometry.n_x - low, high)) + 2


def check_reach(geometry: Geometry) -> None:
    """Refuse a region that lies so far from the detector that rows would have to be padded without end."""
    most = _FARTHEST * geometry.n_x
    if least_length(geometry) > most:
        low, high = geometry.reach
        found, wanted = f"pixels that fall on {low:.6g} to {high:.6g}", f"at most {most} pixels from the detector's ends"
        raise ArgumentError("center, roi or axis_shifts", found, f"{wanted} by the Fourier method", "give method='direct'")


@dataclass(frozen=True)
class Grid:
    """Cells along x and y for an image of ``(n_y, n_x)`` pixels and rows of ``detector`` samples, ``padded`` to more.

    ``seen`` is the width of the square about the axis that holds all that was seen.
    """

    n_y: int
    n_x: int
    detector: int
    seen: int
    padded: int
    taps: Taps

    @cached_property
    def cells_x(self) -> int:
        """Along x, of the full plane."""
        return _cells(self.n_x, self._sigma(self.n_x))

    @cached_property
    def cells_y(self) -> int:
        """Along y."""
        return _cells(self.n_y, self._sigma(self.n_y), beside=True)

    def _sigma(self, n: int) -> float:
        if _PART * n < self.seen:
            return self.taps.sigma * _FAR_BESIDE
        return self.taps.sigma * (_BESIDE if n < self.detector else 1.0)

    @property
    def half(self) -> int:
        """Rows of the half-plane."""
        return self.cells_x // 2 + 1

    @property
    def rows(self) -> int:
        """Rows of the slot: margins, and what the last window reaches beyond."""
        return self.half + 2 * MARGIN + WINDOW

    @property
    def group(self) -> int:
        """How many successive samples surely fit one window; those less than a cell apart count as a cell apart."""
        step = max(self.cells_x, self.cells_y) / self.padded
        return 1 + int((WINDOW - self.taps.count) / max(step, 1.0))

    def lattice(self, cos: np.ndarray, nsin: np.ndarray, together: int) -> np.ndarray:
        """``(n, 3)`` int64: steps of every angle along x and y in 2^-BITS cells, and its number in its group of ``together``.

        Each group is sorted by direction. Steps along x are 0 or more: angles of the left half-plane are turned by half a turn,
        their samples conjugated.
        """
        turn = np.where(cos < 0, -1.0, 1.0)
        steps = [turn * part * cells / self.padded * 2.0**BITS for part, cells in ((cos, self.cells_x), (nsin, self.cells_y))]
        along_x, along_y = (np.rint(part).astype(np.int64) for part in steps)
        order = np.lexsort((np.arctan2(along_y, along_x), np.arange(len(cos)) // together))
        return np.stack([along_x[order], along_y[order], order % together], axis=1)

    def table(self) -> np.ndarray:
        """The taps' coefficients twice beside each other: lanes 0 to 7 are taps along y, 8 to 15 along x, unused ones 0."""
        own = self.taps.coefficients()
        found = np.zeros((len(own), 2 * WINDOW), np.float32)
        found[:, : own.shape[1]] = found[:, WINDOW : WINDOW + own.shape[1]] = own
        return found

    def columns(self, left: float) -> tuple[np.ndarray, np.ndarray]:
        """Of every row of the image, the column its transform lies in, and its gain: columns begin at the lowest frequency.

        ``left`` is what transforms left to be multiplied by.
        """
        y = np.arange(self.n_y) - self.n_y // 2
        gains = self._along_y * np.where(y % 2 == 0, 1, -1) * (left * self.cells_y)
        return (y % self.cells_y).astype(np.int32), gains.astype(np.float32)

    def pixels(self, left: float) -> np.ndarray:
        """Gains along a row of the image."""
        return (self._along_x * (left * self.cells_x)).astype(np.float32)

    @cached_property
    def _along_y(self) -> np.ndarray:
        return self.taps.gains(self.n_y, self.cells_y)

    @cached_property
    def _along_x(self) -> np.ndarray:
        return self.taps.gains(self.n_x, self.cells_x)


def _batch(b: Builder, rows: int, length: int) -> int:
    """How many of so many rows of complex numbers are worked on at once."""
    return max(1, min(rows, (_BATCH_BYTES + _BATCH_CORE * b.limits.cores) // (8 * length)))


def _own(b: Builder, numbers: int) -> tuple[int, ...] | None:
    """Radices of lines of so many complex numbers where transforms of our own serve them on a CPU."""
    return lines.factors(2 * numbers) if b.limits.family == "cpu" and b.limits.fused else None


def _cells(n: int, sigma: float, beside: bool = False) -> int:
    """An even number that transforms are fast for; not so few that a window at the one end meets the other.

    Rows ``beside`` each other whose length is a multiple of a page would meet in the same few lines of the cache.
    """
    found = max(4 * WINDOW, 2 * fast_length(math.ceil(sigma * n / 2)))
    while beside and found > 512 and not 256 <= 8 * found % 4096 <= 3840:
        found = 2 * fast_length(found // 2 + 1)
    return found


@dataclass(frozen=True)
class FourierBackproject:
    """Filter and backproject sinograms; the source is the central slice theorem, with the filter as the polar weight.

    Attributes
    ----------
    linear
        Weaken high frequencies as linear interpolation between samples does.
    """

    geometry: Geometry
    ramp: RampFilter
    scale: float = 1.0
    accuracy: float = 1e-4
    linear: bool = True

    @cached_property
    def gains(self) -> np.ndarray:
        """Of every frequency of a padded row, with its share of the transform: all but the first and the last stand for two."""
        gains = self.ramp.gains(self.geometry.n_x, least_length(self.geometry)).astype(np.complex128)
        padded = 2 * (len(gains) - 1)
        gains[[0, -1]] /= 2
        if self.linear:
            gains *= np.sinc(np.arange(len(gains)) / padded) ** 2
        return gains / padded

    @cached_property
    def _turned(self) -> dict[tuple[int, ...], tuple[np.ndarray, ...]]:
        """Tables of transforms whose lengths no way of cutting a job changes, so that trying many of them makes these once."""
        return {}

    def _halves(self, radices: tuple[int, ...]) -> tuple[np.ndarray, ...]:
        if radices not in self._turned:
            self._turned[radices] = halves(radices)
        return self._turned[radices]

    @cached_property
    def grid(self) -> Grid:
        """Sizes of the grid."""
        return self._grid(self.geometry.shape[0])

    def _grid(self, n_y: int) -> Grid:
        """Sizes of the grid for so many rows of a slice: for few of them frequencies along y may lie far apart."""
        n_x, detector = self.geometry.shape[1], self.geometry.n_x
        first, last = self.geometry.field
        return Grid(n_y, n_x, detector, last - first, 2 * (len(self.gains) - 1), taps_of(self.accuracy))

    def record(self, b: Builder, sino: Ref, out: Ref) -> None:
        """Record a loop over the slices of float32 ``sino`` ``(n_z, n_angles, n_x)``, which is left as it is.

        Where the job is cut along the angles, each part adds its own to the grid, and the last transforms it. Where it is cut along
        the rows of a slice, all samples are spread onto a grid for each tile.
        """
        n_z, n_a, _ = sino.spec.shape
        grid, n_f = self._grid(b.at_a_time("y") or self.geometry.shape[0]), len(self.gains)
        table = b.const(self.geometry.table(self.scale), "geometry", axes="a.", of=sino)
        cos, nsin = self.geometry.table().T[:2]
        lattice = b.const(grid.lattice(cos, nsin, n_a), "lattice", axes="a.", of=sino)
        shape = (grid.rows, grid.cells_y)
        cells = b.held(out, (n_z, *shape), "complex64", "grid", along="z") if b.summing else None
        moves = slides(b, self.geometry.slice_shifts, self.geometry.first, sino)
        with b.repeat(sino) as z:
            own = table if moves is None else slid(b, table, moves.row(z))
            plane = b.scratch(shape, "complex64", "grid") if cells is None else cells.row(z)
            spectrum = b.scratch((n_a, n_f), "complex64", "spectrum").like_rows(table)
            self._spectra(b, sino.row(z), own, spectrum, b.first(out, "y") + grid.n_y // 2)
            if b.summing:
                with b.only("first"):
                    b.launch("fourier.clear", plane)
            taps, accuracy = b.const(grid.table(), "taps"), float(self.accuracy)
            how = {"accuracy": accuracy, "group": grid.group, "accumulate": b.summing}
            b.launch("fourier.spread", spectrum, lattice, taps, plane, **how)
            with b.only("last"):
                self._image(b, grid, plane, out.row(z))

    def _spectra(self, b: Builder, rows: Ref, table: Ref, spectrum: Ref, y0: int | Place) -> None:
        """Transform and filter the rows of a slice; ``y0`` is the row of the region that is to be the grid's origin."""
        n_a, n_f = spectrum.spec.shape
        x0 = self.geometry.shape[1] // 2
        gains = self.gains.astype(np.complex64)
        response = b.const(gains if np.any(gains.imag) else gains.real, "filter")
        if fused(b.limits, self.geometry.n_x, 2 * (n_f - 1)) is not None:
            table_of = b.const(turns(n_f - 1), "turns of a row")
            mode = self.ramp.padding
            b.launch("fourier.rows", rows, table, table_of, response, spectrum, mode=mode, x0=x0, y0=y0)
            return
        radices = _own(b, n_f - 1)
        if radices is not None:
            given = [b.const(part, f"{name} of a row") for name, part in zip(_TABLES, self._halves(radices))]
            how: dict[str, Any] = {"mode": self.ramp.padding, "x0": x0, "y0": y0, "radices": radices}
            b.launch("fourier.spectra", rows, table, response, *given, spectrum, **how)
            return
        batch = _batch(b, n_a, n_f)
        with b.repeat(rows, batch) as loop:
            part, own = rows.window(loop, batch), spectrum.window(loop, batch)
            wide = b.scratch((batch, 2 * (n_f - 1)), name="padded rows").like_rows(part)
            self.ramp.forward(b, part, wide, own)
            b.launch("fourier.gain", own, response, table.window(loop, batch), x0=x0, y0=y0)

    def _image(self, b: Builder, grid: Grid, plane: Ref, out: Ref) -> None:
        """Transform the grid and take the slice out, some rows at a time."""
        if stages(b.limits, grid.cells_y) is not None and stages(b.limits, grid.cells_x // 2) is not None:
            self._at_once(b, grid, plane, out)
            return
        b.launch("fourier.fold", plane, cells=grid.cells_x)
        radices = _own(b, grid.cells_y), _own(b, grid.cells_x // 2)
        if radices[0] is not None and radices[1] is not None:
            self._in_blocks(b, grid, plane, out, radices[0], radices[1])
            return
        half = plane[MARGIN : MARGIN + grid.half]
        batch = _batch(b, grid.half, grid.cells_y)
        with b.repeat(half, batch) as loop:
            part = half.window(loop, batch)
            left = b.fft(part, part, inverse=True, scaled=False)
        columns, gains = grid.columns(left)
        places, down = b.const(columns, "columns"), b.const(gains, "gains along y")
        batch = _batch(b, grid.n_y, grid.half)
        with b.repeat(out, batch) as loop:
            part = out.window(loop, batch)
            lines = b.scratch((batch, grid.half), "complex64", "lines").like_rows(part)
            real = b.scratch((batch, grid.cells_x), name="lines of the image").like_rows(part)
            b.launch("fourier.turn", half, places.window(loop, batch), down.window(loop, batch), lines)
            left = b.fft(lines, real, inverse=True, scaled=False)
            b.launch("fourier.crop", real, b.const(grid.pixels(left), "gains along x"), part)

    def _in_blocks(self, b: Builder, grid: Grid, plane: Ref, out: Ref, down: tuple[int, ...], across: tuple[int, ...]) -> None:
        """The same on a CPU whose own transforms serve both directions."""
        columns, gains = grid.columns(1 / grid.cells_y)
        given = [b.const(part, f"{name} along y") for name, part in zip(_TABLES, whole(down))]
        kept = b.const(columns, "columns"), b.const(gains, "gains along y")
        b.launch("fourier.blocks", plane, *given, *kept, cells=grid.cells_x, radices=down)
        given = [b.const(part, f"{name} along x") for name, part in zip(_TABLES, self._halves(across))]
        pixels = b.const(grid.pixels(1 / grid.cells_x), "gains along x")
        b.launch("fourier.pixels", plane, *given, pixels, out, cells=grid.cells_x, radices=across)

    def _at_once(self, b: Builder, grid: Grid, plane: Ref, out: Ref) -> None:
        """The same where lines of both directions fit the chip: two launches."""
        kept = (grid.n_y - grid.n_y // 2, grid.n_y // 2)
        b.launch("fourier.columns", plane, b.const(turns(grid.cells_y), "turns along y"), cells=grid.cells_x, kept=kept)
        columns, gains = grid.columns(1 / grid.cells_y)
        tables = (
            b.const(columns, "columns"),
            b.const(gains, "gains along y"),
            b.const(grid.pixels(1 / grid.cells_x), "gains along x"),
        )
        half, around = plane[MARGIN : MARGIN + grid.half], b.const(turns(grid.cells_x // 2), "turns along x")
        b.launch("fourier.image", half, around, *tables, out)
