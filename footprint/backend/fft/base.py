"""What an FFT library takes for itself, by the name in ``Limits.fft``; each library is one file beside this one."""

from __future__ import annotations

import importlib

from footprint.spec import ArraySpec, Limits


def fft_library(limits: Limits, src: ArraySpec, dst: ArraySpec, inverse: bool) -> tuple[int, bool]:
    """Bytes the library of this device takes for one transform, and whether that is a bound (True) or its own word."""
    module = importlib.import_module(f"footprint.backend.fft.{limits.fft}")
    return module.library(limits, src, dst, inverse)
