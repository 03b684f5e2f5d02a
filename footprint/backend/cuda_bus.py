"""Bytes across the bus, and events, straight from CuPy's runtime."""

from __future__ import annotations

from typing import Any

import cupy
from cupy.cuda import runtime

from footprint.backend.base import Courier


def marked(stream: Any) -> Any:
    """An event on a stream; whoever waits for it sleeps: threads that spin hold the driver's lock against those that work."""
    event = cupy.cuda.Event(block=True, disable_timing=True)
    event.record(stream)
    return event


def courier(device: int, host: int, up: bool, stream: Any) -> Courier:
    """Copies between bytes from these addresses on, on one stream."""
    ptr, copy = stream.ptr, runtime.memcpyAsync

    def carry(at: int, start: int, nbytes: int) -> Any:
        if up:
            copy(device + start, host + at, nbytes, runtime.memcpyHostToDevice, ptr)
        else:
            copy(host + at, device + start, nbytes, runtime.memcpyDeviceToHost, ptr)
        return marked(stream)

    return carry
