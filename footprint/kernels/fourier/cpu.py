"""The Fourier method's steps on the CPU: phases by recurrence, the transform by ducc0."""

from __future__ import annotations

import numba
import numpy as np
from numba import njit, prange

from footprint.kernels.fourier.contract import SIGMA


def coords(table: np.ndarray, where: np.ndarray, *, padded: int) -> None:
    """Frequencies of every sample, y first."""
    _coords(table, where, padded)


def scale(spectrum: np.ndarray, response: np.ndarray, table: np.ndarray, *, x0: int, y0: int) -> None:
    """Gains, weights and phases, in place."""
    _scale(spectrum, response, table, x0, y0)


def nufft(points: np.ndarray, where: np.ndarray, grid: np.ndarray, *, epsilon: float) -> None:
    """The adjoint non-uniform FFT: grid[k] = sum of points exp(i k where), k from -n // 2."""
    import ducc0

    threads = numba.get_num_threads()
    ducc0.nufft.nu2u(points=points, coord=where, forward=False, epsilon=epsilon, nthreads=threads, out=grid, sigma_max=SIGMA)


def real(grid: np.ndarray, out: np.ndarray) -> None:
    """The real part."""
    out[...] = grid.real


def add(grid: np.ndarray, out: np.ndarray) -> None:
    """Add the real part."""
    np.add(out, grid.real, out=out)


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _coords(table, where, padded):
    n_f = where.shape[0] // table.shape[0]
    for a in prange(table.shape[0]):
        for f in range(n_f):
            w = 2 * np.pi * f / padded
            where[a * n_f + f, 0] = w * table[a, 1]
            where[a * n_f + f, 1] = w * table[a, 0]


# Steps of the phase's recurrence between two exact values: float64 keeps it to 1e-14 over so few.
_RESET = 64


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _scale(spectrum, response, table, x0, y0):
    n_a, n_f = spectrum.shape
    padded = 2 * (n_f - 1)
    for a in prange(n_a):
        h = table[a, 2] + x0 * table[a, 0] + y0 * table[a, 1]
        step = np.exp(2j * np.pi * h / padded)
        phase = 1.0 + 0.0j
        for f in range(n_f):
            if f % _RESET == 0:
                # The turn is taken modulo 1 first: at 16384 samples the product alone would lose digits.
                turn = (h * f / padded) % 1.0
                phase = np.exp(2j * np.pi * turn)
            gain = table[a, 3] * (1.0 if f == 0 or f == n_f - 1 else 2.0) / padded
            spectrum[a, f] = np.complex64(spectrum[a, f] * response[f] * (gain * phase))
            phase *= step
