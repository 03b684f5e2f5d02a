"""Devices by name: ``auto``, ``cpu``, ``cuda:1``, ``opencl:0``, ``null``, ``null:h100``."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from functools import lru_cache
from types import ModuleType
from typing import Any

from footprint import settings
from footprint.backend import process
from footprint.backend.base import Backend
from footprint.backend.device import NAMES, Device, parse
from footprint.errors import ArgumentError, BackendError, missing_extra
from footprint.spec import ArraySpec, Limits

# module, and the package it needs with the extra that brings it
_KINDS: dict[str, tuple[str, str, str]] = {
    "cpu": ("footprint.backend.cpu", "", ""),
    "cuda": ("footprint.backend.cuda", "cupy", "cuda"),
    "opencl": ("footprint.backend.opencl", "pyopencl", "opencl"),
    "null": ("footprint.backend.null", "", ""),
}


@lru_cache(maxsize=64)
def _kind(name: str) -> tuple[ModuleType, int | str]:
    device = parse(name)
    module, package, extra = _KINDS[device.kind]
    if package and importlib.util.find_spec(package) is None:
        raise missing_extra(package, extra, f"device {name!r}")
    return importlib.import_module(module), device.profile if device.kind == "null" else device.number


@lru_cache(maxsize=16)
def _open(module: ModuleType, index: int | str) -> Backend:
    return module.open_backend(index)


def choose_device(name: str | Sequence[str], like: str | None = None) -> Device:
    """Resolve ``auto``: where the arrays are, else the environment's choice, else a CUDA device that is here, else the CPU.

    ``cuda:*`` is every device of the kind; a list is several devices, which share the parts of one job, each named once. What is a
    `Device` already is taken as it is.
    """
    if isinstance(name, Device):
        return name
    if isinstance(name, list | tuple) and name and all(isinstance(one, str) for one in name):
        return _different(parse(",".join(one for some in name for one in choose_device(some, like).split(","))))
    if not isinstance(name, str):
        raise ArgumentError("device", repr(name), "a string such as 'auto', 'cpu' or 'cuda:0', or a list of them")
    if name.endswith(":*"):
        return parse(",".join(_kind(name[:-2])[0].devices()))
    if name != "auto":
        return _different(parse(name))
    if like is not None:
        return parse(like)
    default = settings.default_device()
    if default in ("", "auto"):
        return parse("cuda" if _cuda_is_here() else "cpu")
    if default.partition(":")[0] not in _KINDS:
        raise ArgumentError("FOOTPRINT_DEVICE", repr(default), NAMES, "change the environment variable, or name a device")
    return parse(default)


def _different(device: Device) -> Device:
    """Devices that are in a list once: each takes the memory of a plan, and two plans on one device are no faster than one."""
    seen: set[tuple[str, int, str]] = set()
    for one in device.each if len(device.each) > 1 else ():
        if (one.kind, one.number, one.profile) in seen:
            raise ArgumentError("device", f"{str(device)!r}, which names {str(one)!r} twice", "every device once")
        seen.add((one.kind, one.number, one.profile))
    return device


def open_backend(name: str) -> Backend:
    """The backend of a device name; opened once a process. What is free *now* is `device_limits`' to say."""
    return _open(*_kind(name))


def running_backend(name: str) -> Backend:
    """The backend of a device that a plan is to run on; ``null`` would pretend to, and a job that waits for results would hang.

    Raises
    ------
    BackendError
        For ``null``; and in a process that was forked after its parent had opened a device.
    """
    if name.startswith("null"):
        raise BackendError(name, "it only plans, and runs nothing", "plan with it, and run on another device")
    process.check(name)
    return open_backend(name)


def device_limits(name: str) -> Limits:
    """Limits of a device; for ``cpu`` and ``null`` without opening anything."""
    module, index = _kind(parse(name).each[0])
    return module.limits(index)


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
    return module.empty(index, spec)


def placed_on(device: str, array: Any) -> Any | None:
    """A copy of a host array that lives on a device, of its own kind; None where there is no such kind."""
    module, index = _kind(device)
    place = getattr(module, "placed", None)
    return place(index, array) if place is not None else None


@lru_cache(maxsize=1)
def _cuda_is_here() -> bool:
    """Looked up once a process: devices do not come and go."""
    if importlib.util.find_spec("cupy") is None:
        return False
    try:
        return bool(_kind("cuda")[0].devices())
    except Exception:
        return False
