"""NVIDIA's own count of device memory, through the library its driver installs; 0 or None where that is missing."""

from __future__ import annotations

import ctypes
import functools
import os
from typing import Any

# what a process's count reads where the driver may not tell (in some containers)
_UNKNOWN = (1 << 64) - 1


class _Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class _Process(ctypes.Structure):
    _fields_ = [
        ("pid", ctypes.c_uint),
        ("used", ctypes.c_ulonglong),
        ("instance", ctypes.c_uint),
        ("compute", ctypes.c_uint),
    ]


@functools.cache
def _library() -> Any:
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    return library if library.nvmlInit_v2() == 0 else None


def _handle(bus: str) -> ctypes.c_void_p | None:
    library, handle = _library(), ctypes.c_void_p()
    if library is None or library.nvmlDeviceGetHandleByPciBusId_v2(bus.encode(), ctypes.byref(handle)):
        return None
    return handle


def used(bus: str) -> int:
    """Bytes in use on the device of that PCI address, by everybody."""
    handle, memory = _handle(bus), _Memory()
    if handle is None or _library().nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)):
        return 0
    return int(memory.used)


def used_by_process(bus: str) -> int | None:
    """Bytes this process holds on it, its context included."""
    handle, count = _handle(bus), ctypes.c_uint(64)
    if handle is None or not hasattr(_library(), "nvmlDeviceGetComputeRunningProcesses_v3"):
        return None
    rows = (_Process * 64)()
    if _library().nvmlDeviceGetComputeRunningProcesses_v3(handle, ctypes.byref(count), rows):
        return None
    mine = [int(row.used) for row in rows[: count.value] if row.pid == os.getpid() and row.used != _UNKNOWN]
    return sum(mine) if mine else None
