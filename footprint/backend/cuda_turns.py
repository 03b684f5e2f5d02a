"""What jobs ask of CuPy's runtime at every turn: events, rows that cross the bus, and the device that is current."""

from __future__ import annotations

import ctypes
from typing import Any

import cupy
import numpy as np
from cupy.cuda import runtime

from footprint.spec import ArraySpec


def marked() -> Any:
    """An event on the current stream; who waits for it sleeps: threads that spin hold the driver's lock against those that work."""
    event = cupy.cuda.Event(block=True, disable_timing=True)
    event.record()
    return event


def address_of(array: np.ndarray) -> int:
    """Where a C-contiguous array lies: in a third of the time that `numpy.ndarray.ctypes` takes, where it may be written."""
    if array.flags.writeable and array.size:
        return ctypes.addressof(ctypes.c_char.from_buffer(array.data))
    return array.ctypes.data


def in_rows(host: np.ndarray, spec: ArraySpec) -> bool:
    """Whether a block of plain bytes is rows of a host array that lie apart."""
    return host.ndim == 2 and len(spec.shape) == 1 and host.dtype == np.uint8 == np.dtype(spec.dtype) and host.strides[1] == 1


def span(array: np.ndarray) -> int:
    """Bytes from an array's first to its last, with those between rows that lie apart."""
    apart = array.ndim == 2 and not array.flags.c_contiguous
    return (len(array) - 1) * array.strides[0] + array.shape[1] * array.itemsize if apart else array.nbytes


def rows_up(there: int, host: np.ndarray, stream: int) -> None:
    """Rows that lie apart to an address on the device, one after the other, in one transfer."""
    rows, run = host.shape
    runtime.memcpy2DAsync(there, run, host.ctypes.data, host.strides[0], run, rows, runtime.memcpyHostToDevice, stream)


def rows_down(host: np.ndarray, there: int, stream: int) -> None:
    """The other way."""
    rows, run = host.shape
    runtime.memcpy2DAsync(host.ctypes.data, host.strides[0], there, run, run, rows, runtime.memcpyDeviceToHost, stream)


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
