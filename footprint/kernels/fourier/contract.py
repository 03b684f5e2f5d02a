"""Backprojection as the adjoint non-uniform FFT of the filtered polar spectrum: its kernels, its cost, ducc0's memory.

``fourier.coords(table (n_angles, 4) float64, coords (n_angles * n_f, 2) float32, *, padded)`` writes the frequency of every sample,
y first, in radians a pixel.
``fourier.scale(spectrum (n_angles, n_f) complex64, response (n_f,) complex64, table, *, x0, y0)`` multiplies by the gains, the
angle's weight, the half-complex transform's own factor, and the phase that puts the origin on pixel (y0, x0) of the slice.
``fourier.nufft(points (n_angles * n_f,) complex64, coords, grid (n_y, n_x) complex64, *, epsilon)`` is the transform.
``fourier.real(grid, out (n_y, n_x) float32)`` takes the real part, ``fourier.add`` adds it.
"""

from __future__ import annotations

import functools
import importlib.util
import math

from footprint.spec import Limits

EPSILON = 1e-4
"""Relative accuracy of the transform: two orders under what float32 data and linear interpolation leave."""


@functools.cache
def _installed() -> bool:
    return importlib.util.find_spec("ducc0") is not None


def available(limits: Limits) -> bool:
    """Whether the transform's library serves this device and is installed."""
    return limits.host and _installed()


SIGMA = 2.0
"""Largest oversampling the transform may choose: left alone it takes 2.5 where points crowd, and the grid half as much again."""


def library_bytes(n_points: int, n_y: int, n_x: int, threads: int) -> int:
    """Bytes ducc0's nu2u takes at most in single precision: the oversampled grid, the points sorted, the threads' buffers.

    Measured at 5 to 16 bytes a point, the more the denser they lie (tests/memory/test_fourier.py).
    """
    sides = [math.ceil(1.03 * SIGMA * n) + 32 for n in (n_y, n_x)]  # the next length its FFT likes
    return 8 * sides[0] * sides[1] + 16 * n_points + threads * (4 << 20) + (2 << 20)
