"""The CPU: NumPy arrays, Numba kernels, NumPy's FFT. Kernels read and write the caller's arrays where they lie."""

from __future__ import annotations

import ctypes
import functools
import mmap
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from typing import Any, NamedTuple, final

import numpy as np

from footprint import settings
from footprint.backend import blas, compiling
from footprint.backend.base import Backend, Baked, Callers
from footprint.backend.fft.numpy import RowFFT
from footprint.backend.memory import address_limit, free_host_bytes, resident_bytes, small_pages, threads_that_fit
from footprint.dtypes import put_into
from footprint.errors import BackendError
from footprint.kernels.common.table import cpu_launch
from footprint.spec import ArraySpec, Limits
from footprint.units import format_bytes

# A cache line: rows of different threads never share one.
_ALIGN = 64
# Blocks from this size on are asked for in large pages.
_HUGE = 4 << 20
# Blocks from this size on are worth a look for what compilations left behind.
_MUCH = 64 << 20
_ONE_KERNEL = threading.RLock()


def limits(index: int = 0) -> Limits:
    """Limits of this machine's processor, read without importing Numba; it counts as one device, number 0."""
    if index != 0:
        raise BackendError(f"cpu:{index}", "there is one CPU device", "give cpu, and FOOTPRINT_THREADS to use fewer of its cores")
    return Limits(device="cpu", family="cpu", host=True, align=_ALIGN, free=free_host_bytes(), threads=settings.threads())


def devices() -> list[str]:
    """There is always one."""
    return ["cpu"]


class _Numba(NamedTuple):
    """What is needed of Numba at every call."""

    read: Callable[[], int]
    write: Callable[[int], None]
    most: int
    layer: str
    limited: bool


@functools.cache
def _numba() -> _Numba:
    """Imported at the first run; its compiler is listened to from then on."""
    with settings.short_waits():
        return _load_numba()


def _load_numba() -> _Numba:
    import numba
    from numba.core import event
    from numba.np.ufunc import parallel

    class Listener(event.Listener):  # type: ignore[misc]
        def on_start(self, event: Any) -> None:
            compiling.begins()

        def on_end(self, event: Any) -> None:
            compiling.ends()

    event.register("numba:compile", Listener())
    blas.later()
    # Starts its threads, without which it does not know its layer.
    numba.get_num_threads()
    # What its two functions call when they have checked that threads run: a tenth of their time, which small jobs would feel.
    read = getattr(parallel, "_get_num_threads", numba.get_num_threads)
    write = getattr(parallel, "_set_num_threads", numba.set_num_threads)
    layer = numba.threading_layer()
    return _Numba(read, write, numba.config.NUMBA_NUM_THREADS, layer, address_limit() is not None)  # type: ignore[attr-defined]


class Masked:
    """So many of Numba's threads for the calling thread, for which alone Numba keeps the number; then as many as it had before."""

    __slots__ = ("_before", "_wanted")

    def __init__(self, threads: int) -> None:
        self._wanted = threads

    def __enter__(self) -> None:
        read, write, most, _, limited = _numba()
        if self._wanted > most:
            self._wanted = most
        if limited and self._wanted > 1:
            # OpenMP ends the process where it cannot start a thread, whose stack takes addresses.
            self._wanted = min(self._wanted, 1 + threads_that_fit())
        self._before = read()
        if self._before != self._wanted:
            write(self._wanted)

    def __exit__(self, *error: object) -> None:
        if self._before != self._wanted:
            _numba().write(self._before)


@final
class CpuBackend(Backend):
    """Runs plans on this machine's cores."""

    def __init__(self, index: int = 0) -> None:
        super().__init__()
        self.limits = limits(index)

    def alloc(self, nbytes: int) -> np.ndarray:
        """Whole pages straight from the system, which gives them as they are first touched and has them back at once."""
        if nbytes == 0:
            return np.empty(0, np.uint8)
        if nbytes >= _MUCH:
            compiling.tidy()
        small_pages()
        try:
            block = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            if nbytes >= _HUGE and hasattr(mmap, "MADV_HUGEPAGE"):
                # As NumPy asks for its own: kernels that go down columns find their pages faster.
                with suppress(OSError):
                    block.madvise(mmap.MADV_HUGEPAGE)
            return np.frombuffer(block, np.uint8)
        except (OSError, MemoryError, OverflowError):
            raise BackendError(
                "cpu", f"the system could not provide {format_bytes(nbytes)}", "give a smaller memory budget"
            ) from None

    def free(self, block: np.ndarray) -> None:
        """The block goes when its last view goes."""

    def host(self, nbytes: int) -> np.ndarray:
        """Ordinary memory: nothing is transferred."""
        return self.alloc(nbytes)

    def reaches(self, array: np.ndarray) -> bool:
        """Nothing is transferred."""
        return False

    def pin(self, array: np.ndarray) -> bool:
        """Nothing is transferred."""
        return False

    def unpin(self, address: int) -> None:
        """Nothing is pinned."""

    def view(self, block: np.ndarray, offset: int, spec: ArraySpec) -> np.ndarray:
        """A view of the block."""
        return block[offset : offset + spec.nbytes].view(spec.dtype).reshape(spec.shape)

    def adopt(self, array: np.ndarray, offset: int, spec: ArraySpec) -> np.ndarray:
        """A writable alias, so that a read-only input does not make Numba compile every kernel a second time."""
        if spec.size == 0:
            return np.empty(spec.shape, spec.dtype)
        if offset == 0 and array.flags.writeable:
            if array.shape == spec.shape:
                return array
            # In other axes: a tenth of the time that a window onto its bytes takes, which small jobs feel.
            if array.flags.c_contiguous and array.size == spec.size and array.dtype == spec.dtype:
                return array.reshape(spec.shape)
        window = (ctypes.c_char * spec.nbytes).from_address(array.__array_interface__["data"][0] + offset)
        return np.ndarray(spec.shape, spec.dtype, memoryview(window))

    def write(self, dst: np.ndarray, src: np.ndarray) -> None:
        """Copy, casting and swapping bytes in NumPy's small fixed buffer."""
        put_into(dst, src)

    def read(self, dst: np.ndarray, src: np.ndarray, wait: bool = True) -> None:
        """The same copy the other way."""
        put_into(dst, src)

    def clear(self, dst: np.ndarray) -> None:
        """Zeros."""
        dst.fill(0)

    def lane(self, number: int, threads: int) -> AbstractContextManager[Any]:
        """Calls return when they are done, so there are no queues."""
        return Masked(threads)

    def mark(self) -> None:
        """Nothing to wait for."""

    def after(self, event: Any) -> None:
        """Nothing to wait for."""

    def wait(self, event: Any) -> None:
        """Nothing to wait for."""

    def copy(self, dst: np.ndarray, src: np.ndarray) -> None:
        """The same copy within."""
        put_into(dst, src)

    def compile(self, kernel: str, specs: tuple[ArraySpec, ...], numbers: Mapping[str, Any]) -> Callable[..., None]:
        """The Numba function with its numbers; Numba compiles per dtype at the first call and keeps the code on disk."""
        ready = cpu_launch(kernel, specs, numbers)
        if _numba().layer != "workqueue":
            return ready

        # Without OpenMP and TBB (macOS) Numba ends the process when two threads meet in parallel code.
        def call(*arrays: np.ndarray) -> None:
            with _ONE_KERNEL:
                ready(*arrays)

        return call

    def launch(self, kernel: Callable[..., None], arrays: tuple[np.ndarray, ...]) -> None:
        """Call it."""
        kernel(*arrays)

    def bake(self, kernel: Callable[..., None], arrays: tuple[np.ndarray, ...], callers: Callers) -> Baked:
        """The call, with the caller's arrays put in their places."""
        adopt = self.adopt
        # What lies as the kernel sees it is taken as it is: a comparison instead of a call, which small jobs feel.
        places = [
            (place, key, offset, spec, spec.shape if offset == 0 and spec.size else None) for place, key, offset, spec in callers
        ]

        def run(feeds: Mapping[int, Any], here: None) -> None:
            given = list(arrays)
            for place, key, offset, spec, shape in places:
                array = feeds[key]
                plain = type(array) is np.ndarray and array.shape == shape and array.flags.writeable
                given[place] = array if plain else adopt(array, offset, spec)
            kernel(*given)

        return run if callers else lambda feeds, here: kernel(*arrays)

    def sender(self, dst: Any) -> Callable[[np.ndarray, Any], None]:
        """The plain copy."""
        return lambda src, here: self.write(dst, src)

    def inside(self, threads: int) -> AbstractContextManager[Any]:
        """No queues; Numba's threads."""
        return Masked(threads)

    def transforms(self, limits: Limits) -> RowFFT:
        """NumPy's FFT, rows shared among threads."""
        return RowFFT(limits.threads)

    def sync(self) -> None:
        """Calls return when they are done."""

    def rest(self) -> None:
        """No queues."""

    def used(self) -> int:
        """Resident bytes of this process."""
        return resident_bytes()

    def fault(self, error: BaseException) -> BackendError | None:
        """It has no driver."""
        return None


def open_backend(index: int = 0) -> CpuBackend:
    """The backend of this machine's processor."""
    return CpuBackend(index)
