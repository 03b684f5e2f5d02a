"""Host memory that an OpenCL device reaches by itself: the driver's own, and arrays whose pages it holds on to for a while."""

from __future__ import annotations

import ctypes
import threading
import weakref
from typing import Any

import numpy as np
import pyopencl as cl

_BOTH: Any = cl.map_flags.READ | cl.map_flags.WRITE


class Pinned:
    """By address; what is mapped stays mapped, so that it is plain memory to the host and pinned to the driver.

    Parameters
    ----------
    context, queue
        Of the device.
    """

    def __init__(self, context: Any, queue: Any) -> None:
        self._context, self._queue, self._lock = context, queue, threading.Lock()
        # Where they end, by where they start; and what holds those that are the caller's.
        self._stops: dict[int, int] = {}
        self._held: dict[int, tuple[Any, Any]] = {}

    def __len__(self) -> int:
        return len(self._stops)

    @property
    def taken(self) -> int:
        """Bytes of callers' arrays."""
        with self._lock:
            return sum(self._stops[start] - start for start in self._held)

    def new(self, nbytes: int) -> np.ndarray:
        """The driver's own memory, mapped for good."""
        held = cl.Buffer(self._context, cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR, nbytes)
        memory = self._mapped(held, nbytes)
        start = memory.ctypes.data
        with self._lock:
            self._stops[start] = start + nbytes
        # The addresses may be another's as soon as this memory has been given back.
        weakref.finalize(memory, self._stops.pop, start, None)
        return memory

    def take(self, array: np.ndarray) -> bool:
        """Pin a caller's array where it lies; False where the driver would have its bytes elsewhere.

        NVIDIA's pins what it is to use and to show to the host at once. Nothing here keeps the array: whoever pins it sees it go.
        """
        start, nbytes = array.ctypes.data, array.nbytes
        memory: Any = (ctypes.c_char * nbytes).from_address(start)
        window = np.frombuffer(memory, np.uint8)
        try:
            held = cl.Buffer(self._context, cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR, hostbuf=window)
            mapped = self._mapped(held, nbytes)
        except (cl.Error, MemoryError):
            return False
        if mapped.ctypes.data != start:
            self._unmap(held, mapped)
            return False
        with self._lock:
            self._stops[start], self._held[start] = start + nbytes, (held, mapped)
        return True

    def let_go(self, address: int) -> None:
        """Unpin an array; nothing of it is on its way."""
        with self._lock:
            self._stops.pop(address, None)
            held = self._held.pop(address, None)
        if held is not None:
            self._unmap(*held)

    def reaches(self, array: np.ndarray) -> bool:
        """Whether all of an array, which lies in one piece, is such memory."""
        if not self._stops or not array.flags.c_contiguous:
            return False
        address = array.ctypes.data
        with self._lock:
            return any(start <= address and address + array.nbytes <= stop for start, stop in self._stops.items())

    def _mapped(self, held: Any, nbytes: int) -> np.ndarray:
        found: Any = cl.enqueue_map_buffer(self._queue, held, _BOTH, 0, (nbytes,), np.uint8)
        return found[0]

    def _unmap(self, held: Any, mapped: np.ndarray) -> None:
        base: Any = mapped.base
        try:
            base.release(self._queue).wait()
            held.release()
        except cl.Error:
            # A driver that is gone has let it go.
            return
