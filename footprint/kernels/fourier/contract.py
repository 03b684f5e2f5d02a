"""Backprojection as an adjoint non-uniform FFT: spectra of rows, spread onto a grid of the half-plane, transformed, cropped.

Cells of the grid count frequencies: row ``u`` along x, from 0 to half the cells, column ``v + cells / 2`` along y. `MARGIN` rows
before row 0, and as many and some after the last, are for taps that reach beyond the half-plane; ``fourier.fold`` brings them in.

``fourier.gain(spectrum (n, n_f) complex64, response (n_f,), table (n, 4) float64, *, x0, y0)`` multiplies by the gains (float32 or
complex64), the angle's weight, and the phase that puts the origin on pixel (y0, x0); angles of the left half-plane are conjugated.
``fourier.clear(grid)`` fills with zeros.
``fourier.spread(spectrum (n, n_f), lattice (n, 3), taps (W + 1, 16) float32, grid, *, accuracy, group, accumulate)`` sums every
sample's shares, ``group`` samples at once where the device can, and writes, or with ``accumulate`` adds, them. A lattice's rows are
an angle's steps along x, 0 or more, and along y, in 2^-BITS cells, and its number; sorted by direction, -90 to 90 degrees.
``fourier.fold(grid, *, cells)``: margins are conjugates of cells within.
``fourier.turn(grid (cells_x / 2 + 1, cells_y), columns (n,) int32, gains (n,) float32, lines (n, cells_x / 2 + 1))`` takes columns.
``fourier.crop(real (n, cells_x), gains (n_x,) float32, out (n, n_x))`` takes pixels about pixel ``n_x // 2``.

Where lines fit the chip (`footprint.kernels.common.stages`), three steps take the place of these and of the transforms between;
``turns`` are `stages.turns` of as many numbers as a line has:
``fourier.rows(samples (n, n_x) float32, table, turns, response, spectrum, *, mode, x0, y0)``: continue, transform, and ``gain``.
``fourier.columns(grid, turns, *, cells, kept)``: fold, and transform back along y; so many first and last columns are ``kept``.
``fourier.image(grid (cells_x / 2 + 1, cells_y), turns, columns, gains, pixels (n_x,) float32, out (n, n_x))``: turn, back, crop.

So do these on the CPU where `footprint.kernels.transforms` serves the lines, whose tables they are given:
``fourier.spectra(samples, table, response, roots, slots, order, turns, spectrum, *, mode, x0, y0, radices)`` is ``rows``.
``fourier.blocks(grid, roots, slots, columns, gains, *, cells, radices)`` is ``columns`` of a folded grid, and ``turn``: as many
rows as a vector has lanes become a block of ``(n, 2, lanes)`` numbers, for each of ``columns`` real and imaginary parts.
``fourier.pixels(grid, roots, slots, order, turns, pixels, out, *, cells, radices)``: from blocks, back, crop.
"""

from __future__ import annotations

import math

from footprint.kernels.transforms.contract import room
from footprint.spec import ArraySpec, Limits

MARGIN = 8
"""Rows of the grid beyond the half-plane on either side."""
STRIP = 32
"""Rows of the grid that one thread spreads onto at a time; at least a window."""
WINDOW = 8
"""Cells a side of the square that one sample, or a few successive ones, are added to at once."""
BITS = 40
"""Of the fraction of a position on the grid: counted in whole numbers, so that where a sample lies is never rounded."""
NEAR = 64
"""Samples of a row whose phases are multiplied from one table."""


def gain_work(limits: Limits, *specs: ArraySpec, **numbers: object) -> tuple[ArraySpec, ...]:
    """Phases of the samples next to each other, of each thread."""
    return (ArraySpec((limits.threads, 2, NEAR)),)


def spectra_work(
    limits: Limits, samples: ArraySpec, *others: ArraySpec, radices: tuple[int, ...], **numbers: object
) -> tuple[ArraySpec, ...]:
    """Rows side by side, and phases."""
    return room(limits, math.prod(radices), samples.shape[0]), *gain_work(limits)


def blocks_work(limits: Limits, *specs: ArraySpec, cells: int, radices: tuple[int, ...]) -> tuple[ArraySpec, ...]:
    """Rows of the grid side by side."""
    return (room(limits, math.prod(radices), cells // 2 + 1),)


def pixels_work(limits: Limits, *specs: ArraySpec, cells: int, radices: tuple[int, ...]) -> tuple[ArraySpec, ...]:
    """Rows of the image side by side."""
    return (room(limits, math.prod(radices), specs[-1].shape[0]),)
