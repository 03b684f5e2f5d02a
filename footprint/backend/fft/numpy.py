"""Row FFTs on the CPU by NumPy's pocketfft, which writes into memory it is given (SciPy's cannot), rows shared among threads."""

from __future__ import annotations

from typing import Any

import numpy as np

from footprint.kernels.common.few import few
from footprint.kernels.common.pool import pool
from footprint.spec import ArraySpec, Limits

SCALES = True
"""Whether a transform backwards comes with its factor 1/n at no cost."""


def library(limits: Limits, src: ArraySpec, dst: ArraySpec, inverse: bool) -> tuple[int, bool]:
    """Pocketfft keeps twiddles (at most four real arrays of the length, Bluestein's included) and a row buffer a thread."""
    n = max(src.shape[-1], dst.shape[-1]) * 2
    # A complex number is two real ones, so that this covers complex to complex, too.
    itemsize = np.dtype(dst.dtype if inverse else src.dtype).itemsize
    # Rows that are transformed in place, or padded with zeros, are copied, some at a time.
    copies = limits.threads * _ROWS * n * itemsize if src.shape == dst.shape else 0
    padded = limits.threads * int(np.prod(_padded(src, dst))) * itemsize if _short(src, dst, inverse) else 0
    return (limits.threads * 2 + 4) * n * itemsize + copies + padded + (64 << 10), True


def _short(src: Any, dst: Any, inverse: bool) -> bool:
    """Whether rows are padded with zeros."""
    return not inverse and src.shape[-1] < _length(src, dst)


def _padded(src: Any, dst: Any) -> tuple[int, int]:
    """Rows that a thread pads at a time, and their length."""
    n = _length(src, dst)
    return max(1, min(_PADDED_ROWS, _PADDED_BYTES // (n * np.dtype(src.dtype).itemsize))), n


def _length(src: Any, dst: Any) -> int:
    """Of a transform forwards, to complex numbers or to half of them."""
    both = np.dtype(src.dtype).kind == "c"
    return int(dst.shape[-1] if both else 2 * (dst.shape[-1] - 1))


class RowFFT:
    """Transforms along the last axis, by so many threads."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._pool = pool(threads) if threads > 1 else None
        self._wide: dict[tuple[int, int, str], np.ndarray] = {}

    def prepare(self, src: ArraySpec, dst: ArraySpec, inverse: bool, scaled: bool = True) -> None:
        """Room for rows to be padded in; NumPy's FFT takes its own buffers within each call, and the plan bounds both."""
        if _short(src, dst, inverse):
            shape = (self.threads, *_padded(src, dst))
            self._wide[src.shape[-1], shape[-1], np.dtype(src.dtype).str] = np.zeros(shape, src.dtype)

    def release(self) -> None:
        """Let the room go."""
        self._wide = {}

    def __call__(self, src: np.ndarray, dst: np.ndarray, inverse: bool, scaled: bool = True) -> None:
        """Real ``src`` to half-complex ``dst``, or back, of the real end's length; complex to complex where both are."""
        # NumPy takes twice as long for rows that it has to pad itself.
        wide = None if inverse else self._wide.get((src.shape[-1], _length(src, dst), src.dtype.str))
        rows, out = src.reshape(-1, src.shape[-1]), dst.reshape(-1, dst.shape[-1])
        count = len(rows)
        if self._pool is None or count < 2 * self.threads or few(count * rows.shape[-1] * _WORK):
            _transform(rows, out, inverse, scaled, None if wide is None else wide[0])
            return
        step = -(-count // self.threads)
        jobs = [
            self._pool.submit(_transform, rows[a : a + step], out[a : a + step], inverse, scaled, None if wide is None else wide[i])
            for i, a in enumerate(range(0, count, step))
        ]
        for job in jobs:
            job.result()


# Multiply-adds that take as long as a sample of a row.
_WORK = 400
# Rows at a time: few enough that scaling or copying them finds them in the cache.
_ROWS = 16
# The same of rows that are padded, which smallest budgets have room for.
_PADDED_ROWS, _PADDED_BYTES = 4, 1 << 19


def _transform(src: np.ndarray, dst: np.ndarray, inverse: bool, scaled: bool, wide: np.ndarray | None) -> None:
    if inverse:
        _backward(src, dst, scaled)
    else:
        _forward(src, dst, wide)


def _forward(src: np.ndarray, dst: np.ndarray, wide: np.ndarray | None) -> None:
    n, given, transform = _length(src, dst), src.shape[-1], np.fft.fft if src.dtype.kind == "c" else np.fft.rfft
    step = _ROWS if wide is None else len(wide)
    for a in range(0, len(src), step):
        rows = src[a : a + step]
        if wide is not None:
            wide[: len(rows), :given] = rows
            rows = wide[: len(rows)]
        # With norm=None NumPy casts float32 to float64 and allocates both ends; with "forward" its factor is a float32
        # and it stays in single precision and in the memory given. The factor 1/n is then undone.
        part = transform(rows, n, axis=-1, norm="forward", out=dst[a : a + step])
        np.multiply(part, dst.real.dtype.type(n), out=part)


def _backward(src: np.ndarray, dst: np.ndarray, scaled: bool) -> None:
    transform = np.fft.ifft if dst.dtype.kind == "c" else np.fft.irfft
    for a in range(0, len(src), _ROWS):
        # In place NumPy copies what it reads, so few rows at a time keep that small.
        part = transform(src[a : a + _ROWS], dst.shape[-1], axis=-1, out=dst[a : a + _ROWS])
        if not scaled:
            np.multiply(part, dst.real.dtype.type(dst.shape[-1]), out=part)
