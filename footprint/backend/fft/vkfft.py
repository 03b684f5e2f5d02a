"""Row FFTs by VkFFT, through pyvkfft: in place on lines of n + 2 real numbers, which are the half spectrum's n / 2 + 1.

A kernel of our own widens (or crops) rows to lines. On CUDA the spectrum's memory is the lines'; VkFFT's OpenCL takes buffers and
no shared virtual memory, so lines go through one there. An inverse transform may destroy its source.

Limits: real numbers to half spectra and back, float32 and float64, even lengths, fewer than 2^31 numbers at once. What VkFFT takes
for itself (a copy of the lines where one is too long for the chip, tables, code) it allocates when a transform is made; it is
bounded here, not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np

from footprint.errors import ArgumentError, BackendError
from footprint.kernels.fft.gpu import is_complex
from footprint.spec import ArraySpec, Limits

SCALES = True
"""Whether a transform backwards comes with its factor 1/n at no cost."""
# Transforms kept: the batch of a program, and its shorter last one.
_KEPT = 2
# Code and tables of one transform: bytes, and lines of one row; above all that was measured.
_CODE, _TABLES = 1 << 20, 8


def _lines(src: ArraySpec, dst: ArraySpec, inverse: bool) -> ArraySpec:
    """The real rows as lines in place of the spectrum; without elements where there is nothing to do."""
    real, half = (dst, src) if inverse else (src, dst)
    n = dst.shape[-1] if inverse else 2 * (half.shape[-1] - 1)
    rows = half.size // max(half.shape[-1], 1)
    return ArraySpec((rows, n + 2 if n else 0), real.dtype)


def library(limits: Limits, src: ArraySpec, dst: ArraySpec, inverse: bool) -> tuple[int, bool]:
    """A bound: a copy of the lines for each transform kept, and one more where they go through a buffer."""
    if is_complex(src, dst):
        raise ArgumentError("fft", "'vkfft'", "a library that transforms complex numbers to complex ones", "leave fft='auto'")
    lines = _lines(src, dst, inverse)
    if lines.size == 0:
        return 0, True
    copies = _KEPT + (1 if limits.device.startswith("opencl") else 0)
    return copies * lines.nbytes + _KEPT * (_CODE + _TABLES * lines.shape[1] * lines.itemsize), True


class RowFFT:
    """Transforms of a bound plan by shape, each with VkFFT's own memory, and the buffer of lines."""

    def __init__(self, backend: Any) -> None:
        self._access: _Cuda | _OpenCl = (_OpenCl if hasattr(backend, "queue") else _Cuda)(backend)
        self._backend = backend
        self._made: dict[Any, Any] = {}

    def __call__(self, src: Any, dst: Any, inverse: bool, scaled: bool = True) -> None:
        """Transform the rows of one view into another."""
        spec = _lines(src.spec, dst.spec, inverse)
        if spec.size == 0:
            return
        transform = self.prepare(src.spec, dst.spec, inverse, scaled)
        spectrum = (src if inverse else dst)._replace(spec=spec)
        lines = self._access.lines(spectrum)
        if inverse:
            if lines is not spectrum:
                self._copy(spectrum, lines)
            with self._access.turn():
                transform.ifft(self._access.array(lines))
            self._copy(lines, dst)
        else:
            self._copy(src, lines)
            with self._access.turn():
                transform.fft(self._access.array(lines))
            if lines is not spectrum:
                self._copy(lines, spectrum)

    def prepare(self, src: ArraySpec, dst: ArraySpec, inverse: bool, scaled: bool = True) -> Any:
        """The transform of these shapes, made now if it is not kept; and the buffer it needs."""
        spec = _lines(src, dst, inverse)
        if spec.size == 0:
            return None
        if spec.size >= 1 << 31:
            problem = f"VkFFT counts in 31 bits, and {spec.shape[0]} rows of {spec.shape[1] - 2} are more"
            raise BackendError(self._backend.limits.device, problem, "give a smaller memory budget")
        self._access.room(spec)
        norm = int(scaled)
        key = (spec, norm, self._access.stream())
        if key in self._made:
            self._made[key] = self._made.pop(key)
        else:
            while len(self._made) >= _KEPT:
                self._made.pop(next(iter(self._made)))
            self._made[key] = self._access.make(spec, norm)
        return self._made[key]

    def _copy(self, src: Any, dst: Any) -> None:
        """Rows into longer ones with zeros after them, or the first part of rows into shorter ones."""
        specs = tuple(ArraySpec((v.spec.size // v.spec.shape[-1], v.spec.shape[-1]), v.spec.dtype) for v in (src, dst))
        self._backend.launch(self._backend.compile("fft.widen", specs, {}), (src, dst))

    def release(self) -> None:
        """Give all memory back."""
        self._made.clear()
        self._access.release()


class _Cuda:
    """Lines in place of the spectrum; a transform belongs to the stream it was made on."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    def room(self, spec: ArraySpec) -> None:
        """Nothing is needed."""

    def stream(self) -> int:
        """The caller's stream."""
        import cupy

        return int(cupy.cuda.get_current_stream().ptr)

    def turn(self) -> AbstractContextManager[Any]:
        """It is in the caller's stream already."""
        return nullcontext()

    def make(self, spec: ArraySpec, norm: int) -> Any:
        from pyvkfft.cuda import VkFFTApp

        return VkFFTApp(spec.shape, np.dtype(spec.dtype), ndim=1, inplace=True, r2c=True, norm=norm, stream=self.stream())

    def lines(self, spectrum: Any) -> Any:
        return spectrum

    def array(self, lines: Any) -> Any:
        """The lines as CuPy sees them."""
        import cupy

        memory = cupy.cuda.UnownedMemory(lines.ptr, lines.spec.nbytes, self, self._backend.index)
        return cupy.ndarray(lines.spec.shape, lines.spec.dtype, cupy.cuda.MemoryPointer(memory, 0))

    def release(self) -> None:
        """Nothing is held."""


class _OpenCl:
    """Lines in a buffer of their own."""

    def __init__(self, backend: Any) -> None:
        self._backend, self._block, self.size = backend, None, 0
        self._queue = backend.queue

    def room(self, spec: ArraySpec) -> None:
        """A buffer large enough."""
        if spec.nbytes > self.size:
            self.release()
            self._block, self.size = self._backend.buffer(spec.nbytes), spec.nbytes

    def stream(self) -> int:
        """All transforms are in one queue: to make one for every lane's would take .3 s each."""
        return 0

    @contextmanager
    def turn(self) -> Iterator[None]:
        """The transforms' queue waits for what the calling thread's holds, and that for the transform."""
        import pyopencl as cl

        mine, theirs = self._backend.queue, self._queue
        if mine.int_ptr == theirs.int_ptr:
            yield
            return
        for first, then, inside in ((mine, theirs, True), (theirs, mine, False)):
            event = cl.enqueue_marker(first)
            first.flush()
            cl.enqueue_barrier(then, wait_for=[event])
            if inside:
                yield

    def make(self, spec: ArraySpec, norm: int) -> Any:
        from pyvkfft.opencl import VkFFTApp

        return VkFFTApp(spec.shape, np.dtype(spec.dtype), self._queue, ndim=1, inplace=True, r2c=True, norm=norm)

    def lines(self, spectrum: Any) -> Any:
        return spectrum._replace(memory=self._block)

    def array(self, lines: Any) -> Any:
        """The lines as PyOpenCL's arrays."""
        from pyopencl.array import Array

        return Array(self._queue, lines.spec.shape, np.dtype(lines.spec.dtype), data=self._block)

    def release(self) -> None:
        """Give the buffer back."""
        block, self._block, size, self.size = self._block, None, self.size, 0
        if block is not None:
            self._backend.give(block, size)
