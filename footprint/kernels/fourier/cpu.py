"""The Fourier method's steps on the CPU.

Samples are added by strips of the grid, every other strip first and then those between, and within a strip angle by angle: sums run
in one order, whatever the threads.
"""

from __future__ import annotations

import numba
import numpy as np
from numba import prange

from footprint.kernels.common.few import TOUCH, few
from footprint.kernels.common.jit import njit
from footprint.kernels.common.pool import each
from footprint.kernels.fourier.contract import BITS, MARGIN, NEAR, STRIP
from footprint.kernels.fourier.cpu_spread import WIDE, add_row
from footprint.kernels.fourier.taps import taps_of
from footprint.kernels.transforms import cpu as transforms

_SPREAD = 500
"""Multiply-adds that take as long as spreading a sample."""
_UNITS = 8
"""Groups of rows that a thread transforms before they meet their gains."""


def gain(spectrum: np.ndarray, response: np.ndarray, table: np.ndarray, work: np.ndarray, *, x0: int, y0: int) -> None:
    """See `footprint.kernels.fourier.contract`."""
    n, threads = len(spectrum), 1 if few(spectrum.size * TOUCH) else len(work)

    def share(t: int) -> None:
        _gain(spectrum.view(np.float32), response, table, work[t], x0, y0, n * t // threads, n * (t + 1) // threads)

    each(share, threads)


def spectra(
    samples: np.ndarray,
    table: np.ndarray,
    response: np.ndarray,
    roots: np.ndarray,
    slots: np.ndarray,
    order: np.ndarray,
    turns: np.ndarray,
    spectrum: np.ndarray,
    work: np.ndarray,
    phases: np.ndarray,
    *,
    mode: str,
    x0: int,
    y0: int,
    radices: tuple[int, ...],
) -> None:
    """See the contract."""
    n, padded = len(samples), 2 * (spectrum.shape[1] - 1)
    tables, numbers = (roots, slots, order, turns), {"padded": padded, "mode": mode, "level": 0.0, "radices": radices}
    ahead, found = transforms.forward_of(samples, *tables, spectrum, work, **numbers), spectrum.view(np.float32)

    def share(base: int, first: int, last: int) -> None:
        # What is transformed is still in the cache when it meets its gains.
        for unit in range(first, last, _UNITS):
            end = min(unit + _UNITS, last)
            ahead(base, unit, end)
            rows = unit * transforms.LANES, min(end * transforms.LANES, n)
            _gain(found, response, table, phases[base // work.shape[1]], x0, y0, *rows)

    transforms.shared(share, work, -(-n // transforms.LANES), n * padded * TOUCH)


def clear(grid: np.ndarray) -> None:
    """See the contract. NumPy does it without the interpreter, and without a kernel that jobs in one part never load."""
    rows, threads = len(grid), 1 if few(grid.size * TOUCH) else numba.get_num_threads()
    each(lambda t: grid[rows * t // threads : rows * (t + 1) // threads].fill(0), threads)


def spread(
    spectrum: np.ndarray,
    lattice: np.ndarray,
    taps: np.ndarray,
    grid: np.ndarray,
    *,
    accuracy: float,
    group: int,
    accumulate: bool,
) -> None:
    """See the contract."""
    count = taps_of(accuracy).count
    cells, samples = (a.view(np.float32).reshape(-1) for a in (grid, spectrum))
    # How many taps and samples at once are lengths of tuples: what is compiled depends on them.
    n_f, together = spectrum.shape[1], (0,) * (group if WIDE else 1)
    threads = 1 if few(spectrum.size * _SPREAD) else numba.get_num_threads()
    given = cells, samples, taps.reshape(-1), lattice, n_f, grid.shape, (0,) * count, together
    each(lambda t: _spread(*given, 0, t, threads, accumulate), threads)
    each(lambda t: _spread(*given, 1, t, threads, accumulate), threads)


def fold(grid: np.ndarray, *, cells: int) -> None:
    """See the contract."""
    _fold(grid, cells // 2)


def turn(grid: np.ndarray, columns: np.ndarray, gains: np.ndarray, lines: np.ndarray) -> None:
    """See the contract."""
    _turn(grid, columns, gains, lines)


def blocks(
    grid: np.ndarray,
    roots: np.ndarray,
    slots: np.ndarray,
    columns: np.ndarray,
    gains: np.ndarray,
    work: np.ndarray,
    *,
    cells: int,
    radices: tuple[int, ...],
) -> None:
    """See the contract."""
    plane, half, across = grid[MARGIN:], cells // 2 + 1, grid.shape[1]
    tables = roots, slots, np.empty(0, np.int64), np.empty(0, np.float32)
    transforms.back(transforms.GRID, plane, plane, tables, (columns, gains), work, (half, 0, across), 2 * across, 0.0, radices)


def pixels(
    grid: np.ndarray,
    roots: np.ndarray,
    slots: np.ndarray,
    order: np.ndarray,
    turns: np.ndarray,
    pixels: np.ndarray,
    out: np.ndarray,
    work: np.ndarray,
    *,
    cells: int,
    radices: tuple[int, ...],
) -> None:
    """See the contract."""
    tables, ends = (roots, slots, order, turns), (np.empty(0, np.int32), pixels)
    shape, pitch = (*out.shape, cells // 2), 2 * grid.shape[1]
    transforms.back(transforms.BLOCKS, grid[MARGIN:], out, tables, ends, work, shape, pitch, 0.0, radices)


def crop(real: np.ndarray, gains: np.ndarray, out: np.ndarray) -> None:
    """See the contract."""
    _crop(real, gains, out)


# Real and imaginary parts go apart: so the loop within a row is made of vectors.
@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _gain(spectrum, response, table, near, x0, y0, first, last):
    n_f = spectrum.shape[1] // 2
    padded, near_re, near_im = 2 * (n_f - 1), near[0], near[1]
    for a in range(first, last):
        cos, nsin = table[a, 0], table[a, 1]
        # Turns are taken modulo 1 first: at 16384 samples the product alone would lose digits.
        turn = ((table[a, 2] + x0 * cos + y0 * nsin) / padded) % 1.0
        sign = np.float32(-1 if cos < 0 else 1)
        step, phase = np.exp(2j * np.pi * turn), 1.0 + 0.0j
        for k in range(NEAR):
            near_re[k], near_im[k] = phase.real, phase.imag
            phase *= step
        far, leap = table[a, 3] + 0.0j, np.exp(2j * np.pi * ((NEAR * turn) % 1.0))
        for k0 in range(0, n_f, NEAR):
            gains = response[k0 : k0 + NEAR]
            row = spectrum[a, 2 * k0 : 2 * (k0 + NEAR)]
            far_re, far_im = np.float32(far.real), np.float32(far.imag)
            for k in range(len(gains)):
                phase_re = far_re * near_re[k] - far_im * near_im[k]
                phase_im = far_re * near_im[k] + far_im * near_re[k]
                re = gains[k].real * phase_re - gains[k].imag * phase_im
                im = gains[k].real * phase_im + gains[k].imag * phase_re
                x, y = row[2 * k], row[2 * k + 1]
                row[2 * k] = x * re - y * im
                row[2 * k + 1] = sign * (x * im + y * re)
            far *= leap


@njit(cache=True, error_model="numpy")
def _reaching(lattice, least):
    """First and last of the angles that advance along x by so much: in between, as directions go from -90 to 90 degrees."""
    first, level, last = 0, np.searchsorted(lattice[:, 1], 0), lattice.shape[0]
    high = level
    while first < high:
        middle = (first + high) // 2
        if lattice[middle, 0] < least:
            first = middle + 1
        else:
            high = middle
    while level < last:
        middle = (level + last) // 2
        if lattice[middle, 0] < least:
            last = middle
        else:
            level = middle + 1
    return first, last


@njit(cache=True, error_model="numpy")
def _strip(grid, spectrum, taps, lattice, n_f, first, lo, hi, cells, count, group):
    """Add the samples whose lowest row is one of ``lo`` to ``hi``."""
    origin, n, size = first[0], lattice.shape[0], len(group)
    a0, a1 = _reaching(lattice, max(((lo << BITS) - origin) // n_f, 0))
    for a in range(a0, a1):
        along_x, along_y, row = lattice[a, 0], lattice[a, 1], lattice[a, 2]
        k0, k1 = 0, n_f
        if along_x > 0:
            k0, k1 = -((origin - (lo << BITS)) // along_x), -((origin - (hi << BITS)) // along_x)
        elif not lo <= origin >> BITS < hi:
            k1 = 0
        # A group of samples belongs to the strip of its first: none is cut in two, and its window reaches no further.
        k0, k1 = -(-max(k0, 0) // size) * size, min(-(-k1 // size) * size, n_f)
        if k0 < k1:
            ahead = 2 * n_f * (lattice[min(a + 1, n - 1), 2] - row)
            add_row(grid, spectrum, taps, first, along_x, along_y, 2 * n_f * row, ahead, k0, k1, cells, count, group)


@njit(cache=True, nogil=True, error_model="numpy")
def _spread(grid, spectrum, taps, lattice, n_f, shape, count, group, colour, thread, threads, accumulate):
    """A thread's share of every other strip."""
    rows, cells = shape
    # The lowest of the taps of frequency 0.
    lowest = (2 - len(count)) << (BITS - 1)
    first = (lowest + (MARGIN << BITS), lowest + ((cells // 2) << BITS))
    strips = -(-rows // STRIP)
    for strip in range(2 * thread + colour, strips, 2 * threads):
        if colour == 0 and not accumulate:
            # It reaches into the next one, whose turn comes later.
            grid[2 * cells * strip * STRIP : 2 * cells * min((strip + 2) * STRIP, rows)] = 0
        _strip(grid, spectrum, taps, lattice, n_f, first, strip * STRIP, (strip + 1) * STRIP, cells, count, group)


@njit(cache=True, nogil=True, error_model="numpy")
def _fold(grid, middle):
    cells = grid.shape[1]
    for j in range(1, MARGIN):
        for v in range(cells):
            mirrored = (cells - v) % cells
            grid[MARGIN + j, mirrored] += np.conj(grid[MARGIN - j, v])
            grid[MARGIN + middle - j, mirrored] += np.conj(grid[MARGIN + middle + j, v])


# A tile of the grid and of the lines it becomes are both a few pages.
_TILE = 64


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _turn(grid, columns, gains, lines):
    n, half = lines.shape
    for tile in prange(-(-half // _TILE)):
        u0, u1 = tile * _TILE, min((tile + 1) * _TILE, half)
        for i0 in range(0, n, _TILE):
            for i in range(i0, min(i0 + _TILE, n)):
                column, factor, line = columns[i], gains[i], lines[i]
                for u in range(u0, u1):
                    line[u] = grid[u, column] * factor
        for i in range(n):
            # Of these two a real transform takes the real part once, where all others stand for two.
            if u0 == 0:
                lines[i, 0] = 2 * lines[i, 0].real
            if u1 == half:
                lines[i, half - 1] = 2 * lines[i, half - 1].real


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _crop(real, gains, out):
    width, cells = out.shape[1], real.shape[1]
    left = width // 2
    for i in prange(out.shape[0]):
        line, target = real[i], out[i]
        for x in range(left):
            target[x] = line[cells - left + x] * gains[x]
        for x in range(width - left):
            target[left + x] = line[x] * gains[left + x]
