"""What jobs ask of CuPy's runtime at every turn: events, and the device that is current."""

from __future__ import annotations

import ctypes
from typing import Any

import cupy
import numpy as np
from cupy.cuda import runtime


def marked(stream: Any) -> Any:
    """An event on a stream; whoever waits for it sleeps: threads that spin hold the driver's lock against those that work."""
    event = cupy.cuda.Event(block=True, disable_timing=True)
    event.record(stream)
    return event


def address_of(array: np.ndarray) -> int:
    """Where a C-contiguous array lies: in a third of the time that `numpy.ndarray.ctypes` takes, where it may be written."""
    if array.flags.writeable and array.size:
        return ctypes.addressof(ctypes.c_char.from_buffer(array.data))
    return array.ctypes.data


class Current:
    """A device current for the calling thread; afterwards the one that was. Yields the handle of its stream."""

    __slots__ = ("_before", "_index")

    def __init__(self, index: int) -> None:
        self._index = index

    def __enter__(self) -> int:
        self._before = runtime.getDevice()
        if self._before != self._index:
            runtime.setDevice(self._index)
        return cupy.cuda.get_current_stream().ptr

    def __exit__(self, *error: object) -> None:
        if self._before != self._index:
            runtime.setDevice(self._before)
