"""Row FFTs on the CPU by NumPy's pocketfft, which writes into memory it is given (SciPy's cannot), rows shared among threads."""

from __future__ import annotations

import functools
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from footprint.spec import ArraySpec, Limits

SCALES = True
"""Whether a transform backwards comes with its factor 1/n at no cost."""


def library(limits: Limits, src: ArraySpec, dst: ArraySpec, inverse: bool) -> tuple[int, bool]:
    """Pocketfft keeps twiddles (at most four real arrays of the length, Bluestein's included) and a row buffer a thread."""
    n = max(src.shape[-1], dst.shape[-1]) * 2
    # A complex number is two real ones, so that this covers complex to complex, too.
    itemsize = np.dtype(dst.dtype if inverse else src.dtype).itemsize
    # Rows that are transformed in place, or padded with zeros, are copied, some at a time.
    short = not inverse and src.shape[-1] < _length(src, dst)
    copies = limits.threads * _ROWS * n * itemsize if src.shape == dst.shape or short else 0
    return (limits.threads * 2 + 4) * n * itemsize + copies + (64 << 10), True


def _length(src: Any, dst: Any) -> int:
    """Of a transform forwards, to complex numbers or to half of them."""
    both = np.dtype(src.dtype).kind == "c"
    return int(dst.shape[-1] if both else 2 * (dst.shape[-1] - 1))


@functools.cache
def _pool(threads: int) -> ThreadPoolExecutor:
    """Threads that all plans share; they start when they are first needed."""
    return ThreadPoolExecutor(threads)


class RowFFT:
    """Transforms along the last axis, by so many threads."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._pool = _pool(threads) if threads > 1 else None

    def prepare(self, src: ArraySpec, dst: ArraySpec, inverse: bool, scaled: bool = True) -> None:
        """NumPy's FFT takes its buffers within each call; the plan bounds them."""

    def release(self) -> None:
        """Nothing is held."""

    def __call__(self, src: np.ndarray, dst: np.ndarray, inverse: bool, scaled: bool = True) -> None:
        """Real ``src`` to half-complex ``dst``, or back, of the real end's length; complex to complex where both are."""
        transform = functools.partial(_backward, scaled=scaled) if inverse else _forward
        rows, out = src.reshape(-1, src.shape[-1]), dst.reshape(-1, dst.shape[-1])
        count = len(rows)
        if self._pool is None or count < 2 * self.threads:
            transform(rows, out)
            return
        step = -(-count // self.threads)
        jobs = [self._pool.submit(transform, rows[a : a + step], out[a : a + step]) for a in range(0, count, step)]
        for job in jobs:
            job.result()


# Rows at a time: few enough that scaling or copying them finds them in the cache.
_ROWS = 16


def _forward(src: np.ndarray, dst: np.ndarray) -> None:
    n, given, transform = _length(src, dst), src.shape[-1], np.fft.fft if src.dtype.kind == "c" else np.fft.rfft
    # NumPy takes twice as long for rows that it has to pad itself.
    wide = np.zeros((min(_ROWS, len(src)), n), src.dtype) if given < n else None
    for a in range(0, len(src), _ROWS):
        rows = src[a : a + _ROWS]
        if wide is not None:
            wide[: len(rows), :given] = rows
            rows = wide[: len(rows)]
        # With norm=None NumPy casts float32 to float64 and allocates both ends; with "forward" its factor is a float32
        # and it stays in single precision and in the memory given. The factor 1/n is then undone.
        part = transform(rows, n, axis=-1, norm="forward", out=dst[a : a + _ROWS])
        np.multiply(part, dst.real.dtype.type(n), out=part)


def _backward(src: np.ndarray, dst: np.ndarray, scaled: bool) -> None:
    transform = np.fft.ifft if dst.dtype.kind == "c" else np.fft.irfft
    for a in range(0, len(src), _ROWS):
        # In place NumPy copies what it reads, so few rows at a time keep that small.
        part = transform(src[a : a + _ROWS], dst.shape[-1], axis=-1, out=dst[a : a + _ROWS])
        if not scaled:
            np.multiply(part, dst.real.dtype.type(dst.shape[-1]), out=part)
