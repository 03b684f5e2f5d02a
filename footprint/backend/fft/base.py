"""Which FFT libraries a device has, and what each takes for itself; each library is one file beside this one."""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import replace
from typing import Any

from footprint.errors import ArgumentError, missing_extra
from footprint.spec import ArraySpec, Limits

# By the kind of device, the usual one first.
_LIBRARIES = {"cpu": ("numpy",), "cuda": ("cufft", "vkfft"), "opencl": ("stockham", "vkfft")}


def with_fft(limits: Limits, name: str) -> Limits:
    """The limits with the FFT library that a user names; "auto" leaves them as they are.

    A library that is named serves all rows, those that our own fused filter would keep on the chip too.

    Raises
    ------
    ArgumentError, ExtraError
        Where the device has no such library, or it is not installed.
    """
    if isinstance(name, str) and name == "auto":
        return limits
    kind = limits.device.partition(":")[0]
    if kind == "null":
        kind = "cpu" if limits.host else "cuda"
    names = _LIBRARIES[kind]
    if not isinstance(name, str) or name not in names:
        raise ArgumentError("fft", repr(name), f"auto or {' or '.join(names)} on {limits.device}")
    if name == "vkfft" and importlib.util.find_spec("pyvkfft") is None and not limits.device.startswith("null"):
        raise missing_extra("pyvkfft", "vkfft", "fft='vkfft'")
    return replace(limits, fft=name, fused=False)


def fft_library(limits: Limits, src: ArraySpec, dst: ArraySpec, inverse: bool) -> tuple[int, bool]:
    """Bytes the library of this device takes for one transform, and whether that is a bound (True) or its own word."""
    module = importlib.import_module(f"footprint.backend.fft.{limits.fft}")
    return module.library(limits, src, dst, inverse)


def fft_scales(limits: Limits) -> bool:
    """Whether this device's library has the factor 1/n of transforms backwards at no cost."""
    return bool(importlib.import_module(f"footprint.backend.fft.{limits.fft}").SCALES)


def transforms(backend: Any, library: str) -> Any:
    """A library's transforms for one bound plan; see `backend.base.Transforms`."""
    return importlib.import_module(f"footprint.backend.fft.{library}").RowFFT(backend)
