"""Row FFTs by cuFFT in a work area of our own, whose size is read from the handle.

cuFFT neither pads with zeros nor divides by n: rows shorter than the transform are widened into the work area first, and an
inverse transform is followed by one pass that scales. An inverse transform to real numbers destroys its source, as cuFFT's always
does.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from typing import TYPE_CHECKING, Any

from footprint.errors import BackendError
from footprint.kernels.fft.gpu import is_complex
from footprint.spec import ArraySpec, Limits, aligned

if TYPE_CHECKING:
    from footprint.backend.cuda import CudaBackend

SCALES = False
"""Whether a transform backwards comes with its factor 1/n at no cost."""

# cufftType by (real itemsize, inverse), and of complex to complex by complex itemsize
_TYPES = {(4, False): 0x2A, (4, True): 0x2C, (8, False): 0x6A, (8, True): 0x6C}
_COMPLEX = {8: 0x29, 16: 0x69}
_EXECUTE = {0x2A: "cufftExecR2C", 0x2C: "cufftExecC2R", 0x6A: "cufftExecD2Z", 0x6C: "cufftExecZ2D",
            0x29: "cufftExecC2C", 0x69: "cufftExecZ2Z"}  # fmt: skip
# Handles are cheap in memory but slow to make. Kept where no plan uses them; and of one plan, which uses one or two, and others for
# the last part and the last turn of a loop.
_HANDLES, _OWN = 16, 6
_Key = tuple[int, int, int, int]
"""Device, length, rows and cufftType."""


def _shape(src: ArraySpec, dst: ArraySpec, inverse: bool) -> tuple[int, int, int]:
    """Length, rows and cufftType of a transform."""
    if is_complex(src, dst):
        return dst.shape[-1], dst.size // max(dst.shape[-1], 1), _COMPLEX[dst.itemsize]
    real = dst if inverse else src
    n = dst.shape[-1] if inverse else 2 * (dst.shape[-1] - 1)
    return n, real.size // max(real.shape[-1], 1), _TYPES[real.itemsize, inverse]


def _padded(src: ArraySpec, n: int, half: bool, align: int) -> int:
    """Bytes of the rows widened with zeros, 0 where they have the transform's length already, or are half spectra."""
    rows = src.size // max(src.shape[-1], 1)
    return 0 if half or src.shape[-1] == n else aligned(rows * n * src.itemsize, align)


def library(limits: Limits, src: ArraySpec, dst: ArraySpec, inverse: bool) -> tuple[int, bool]:
    """The handle's own word where the device is here; where it is not, four copies of the transform as a bound."""
    n, rows, kind = _shape(src, dst, inverse)
    if n == 0 or rows == 0:
        return 0, False
    padded = _padded(src, n, inverse and not is_complex(src, dst), limits.align)
    if limits.device.startswith("null"):
        return padded + 4 * rows * (n + 2) * (dst if inverse else src).itemsize, True
    return padded + _work(int(limits.device.partition(":")[2] or 0), n, rows, kind), False


@functools.cache
def _load() -> Any:
    """The library CuPy itself uses."""
    try:
        from cuda.pathfinder import load_nvidia_dynamic_lib

        return ctypes.CDLL(load_nvidia_dynamic_lib("cufft").abs_path)
    except ImportError:
        pass
    for name in ("libcufft.so.12", "libcufft.so.11"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise BackendError("cuda", "libcufft is not installed", 'pip install "nvidia-cufft"')


class _Handle:
    """One cuFFT plan without memory of its own."""

    def __init__(self, index: int, n: int, rows: int, kind: int) -> None:
        import cupy

        self.value, self.kind, size = ctypes.c_int(), kind, ctypes.c_size_t()
        length = (ctypes.c_longlong * 1)(n)
        with cupy.cuda.Device(index):
            self._library = _load()
            _check(self._library.cufftCreate(ctypes.byref(self.value)), "cufftCreate")
            _check(self._library.cufftSetAutoAllocation(self.value, 0), "cufftSetAutoAllocation")
            none, one, pitch = None, ctypes.c_longlong(1), ctypes.c_longlong(0)
            code = self._library.cufftMakePlanMany64(
                self.value, 1, length, none, one, pitch, none, one, pitch, kind, ctypes.c_longlong(rows), ctypes.byref(size)
            )
            _check(code, f"a plan of {rows} rows of {n}")
        self.work = int(size.value)

    def __del__(self) -> None:
        if self.value.value:
            self._library.cufftDestroy(self.value)


class _Idle:
    """Handles that no bound plan has, as making one takes milliseconds. One in use has a stream and a work area of its user's."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: list[tuple[_Key, _Handle]] = []

    def take(self, key: _Key) -> _Handle:
        """A handle for the caller alone."""
        with self._lock:
            at = next((i for i, (found, _) in enumerate(self._kept) if found == key), None)
            if at is not None:
                return self._kept.pop(at)[1]
        return _Handle(*key)

    def give(self, key: _Key, handle: _Handle) -> None:
        """Back to the others; the one longest idle goes where there are too many."""
        with self._lock:
            self._kept.append((key, handle))
            gone = self._kept.pop(0) if len(self._kept) > _HANDLES else None
        del gone


_IDLE = _Idle()


@functools.lru_cache(maxsize=256)
def _work(*key: int) -> int:
    """Bytes of the work area of a transform."""
    index, n, rows, kind = key
    handle = _IDLE.take((index, n, rows, kind))
    _IDLE.give((index, n, rows, kind), handle)
    return handle.work


def _check(code: int, what: str) -> None:
    if code:
        raise BackendError("cuda", f"cuFFT returned error {code} for {what}", "give a smaller memory budget")


class RowFFT:
    """Transforms of one bound plan: its handles, and one work area that grows to the largest."""

    def __init__(self, backend: CudaBackend) -> None:
        self.backend = backend
        self._block: Any = None
        self._handles: dict[_Key, _Handle] = {}

    def __call__(self, src: Any, dst: Any, inverse: bool, scaled: bool = True) -> None:
        """Transform the rows of one view into another on the current stream."""
        backend = self.backend
        n, rows, kind = _shape(src.spec, dst.spec, inverse)
        if n == 0 or rows == 0:
            return
        handle, padded = self.prepare(src.spec, dst.spec, inverse)
        if padded:
            wide = backend.view(self._block, 0, ArraySpec((rows, n), src.spec.dtype))
            backend.launch(backend.compile("fft.widen", (src.spec, wide.spec), {}), (src, wide))
            src = wide
        library = _load()
        with backend.inside(0) as stream:
            _check(library.cufftSetStream(handle.value, ctypes.c_void_p(stream)), "cufftSetStream")
            if handle.work:
                _check(library.cufftSetWorkArea(handle.value, ctypes.c_void_p(self._block.ptr + padded)), "cufftSetWorkArea")
            execute = getattr(library, _EXECUTE[kind])
            way = (ctypes.c_int(1 if inverse else -1),) if kind in _COMPLEX.values() else ()
            _check(execute(handle.value, ctypes.c_void_p(src.ptr), ctypes.c_void_p(dst.ptr), *way), _EXECUTE[kind])
        if inverse and scaled:
            scale = backend.compile("fft.scale", (dst.spec,), {"factor": 1 / n})
            backend.launch(scale, (dst,))

    def prepare(self, src: ArraySpec, dst: ArraySpec, inverse: bool, scaled: bool = True) -> tuple[Any, int]:
        """The transform's handle, and bytes of the work area that widened rows take; the area is made large enough."""
        n, rows, kind = _shape(src, dst, inverse)
        if n == 0 or rows == 0:
            return None, 0
        handle = self._handle((self.backend.index, n, rows, kind))
        padded = _padded(src, n, inverse and not is_complex(src, dst), self.backend.limits.align)
        nbytes = padded + handle.work
        if self._block is None or self._block.nbytes < nbytes:
            if self._block is not None:
                # A transform that is under way may still use it.
                self.backend.rest()
                self.backend.free(self._block)
            self._block = None
            self._block = self.backend.alloc(nbytes)
        return handle, padded

    def _handle(self, key: _Key) -> _Handle:
        found = self._handles.get(key)
        if found is None:
            while len(self._handles) >= _OWN:
                oldest = next(iter(self._handles))
                _IDLE.give(oldest, self._handles.pop(oldest))
            found = self._handles[key] = _IDLE.take(key)
        return found

    def release(self) -> None:
        """Give work area and handles back."""
        for key, handle in self._handles.items():
            _IDLE.give(key, handle)
        self._handles = {}
        if self._block is not None:
            self.backend.free(self._block)
        self._block = None
