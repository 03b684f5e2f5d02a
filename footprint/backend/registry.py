"""Devices by name: ``auto``, ``cpu``, ``cuda:1``, ``opencl:0``, ``null``, ``null:h100``."""

from __future__ import annotations

import importlib
import importlib.util
from functools import lru_cache
from types import ModuleType
from typing import Any

from footprint import settings
from footprint.backend.base import Backend
from footprint.errors import ArgumentError, BackendError, missing_extra
from footprint.spec import ArraySpec, Limits

# module, and the package it needs with the extra that brings it
_KINDS: dict[str, tuple[str, str, str]] = {
    "cpu": ("footprint.backend.cpu", "", ""),
    "cuda": ("footprint.backend.cuda", "cupy", "cuda"),
    "opencl": ("footprint.backend.opencl", "pyopencl", "opencl"),
    "null": ("footprint.backend.null", "", ""),
}
_NAMES = "auto, cpu, cuda, cuda:N, opencl, opencl:N, null or null:PROFILE"


def _kind(name: str) -> tuple[ModuleType, str]:
    kind, colon, index = name.partition(":")
    if kind not in _KINDS:
        raise ArgumentError("device", repr(name), _NAMES)
    module, package, extra = _KINDS[kind]
    if package and importlib.util.find_spec(package) is None:
        raise missing_extra(package, extra, f"device {name!r}")
    if colon and not (index if kind == "null" else index.isdecimal()):
        raise ArgumentError("device", repr(name), f"{kind} or {kind}:" + ("PROFILE" if kind == "null" else "N with N a number"))
    return importlib.import_module(module), index


@lru_cache(maxsize=16)
def _open(name: str) -> Backend:
    module, index = _kind(name)
    return module.open_backend(index if name.startswith("null") else int(index or 0))


def choose_device(name: str, like: str | None = None) -> str:
    """Resolve ``auto``: where the arrays are, else the environment's choice, else a CUDA device that is here, else the CPU."""
    if not isinstance(name, str):
        raise ArgumentError("device", repr(name), "a string such as 'auto', 'cpu' or 'cuda:0'")
    if name != "auto":
        return name
    if like is not None:
        return like
    default = settings.default_device()
    if default in ("", "auto"):
        return "cuda" if _cuda_is_here() else "cpu"
    if default.partition(":")[0] not in _KINDS:
        raise ArgumentError("FOOTPRINT_DEVICE", repr(default), _NAMES, "change the environment variable, or name a device")
    return default


def open_backend(name: str) -> Backend:
    """The backend of a device name; opened once a process. What is free *now* is `device_limits`' to say."""
    return _open(name)


def running_backend(name: str) -> Backend:
    """The backend of a device that a plan is to run on; ``null`` would pretend to, and a job that waits for results would hang."""
    if name.partition(":")[0] == "null":
        raise BackendError(name, "it plans and runs nothing", "plan with it, and run on another device")
    return open_backend(name)


def device_limits(name: str) -> Limits:
    """Limits of a device; for ``cpu`` and ``null`` without opening anything."""
    module, index = _kind(name)
    if name.startswith("null"):
        return module.limits(index)
    return module.limits(int(index or 0))


def devices() -> list[tuple[str, str]]:
    """Every kind with each device found, or the sentence that says why there is none."""
    rows: list[tuple[str, str]] = []
    for kind in _KINDS:
        try:
            module, _ = _kind(kind)
            rows.extend((name, "") for name in module.devices())
        except Exception as error:
            rows.append((kind, str(error)))
    return rows


def device_array(array: Any) -> tuple[Any, str]:
    """An array of another library that lives on a device, as its backend's own kind of array, no copy; and that device."""
    module, _ = _kind("cuda")
    return module.receive(array)


def empty_on(device: str, spec: ArraySpec) -> Any:
    """A new array of the device's own kind, for a result the caller keeps."""
    module, index = _kind(device)
    return module.empty(int(index or 0), spec)


@lru_cache(maxsize=1)
def _cuda_is_here() -> bool:
    """Looked up once a process: devices do not come and go."""
    if importlib.util.find_spec("cupy") is None:
        return False
    try:
        return bool(_kind("cuda")[0].devices())
    except Exception:
        return False
