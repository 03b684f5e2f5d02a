"""`njit` of kernels: Numba's, but that code is optimised once; see `footprint.kernels.common.parts`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

parts: Any
try:
    from footprint.kernels.common import parts
except (ImportError, AttributeError):
    # A Numba that has renamed what they lean on: kernels then take twice as long to compile, and do the same.
    parts = None


def njit(function: Any = None, *, cache: bool = False, **options: Any) -> Any:
    """`numba.njit`, whose options it takes. With a signature it is Numba's own."""
    if parts is None or not (function is None or callable(function)):
        return numba.njit(function, cache=cache, **options)

    def decorate(function: Callable[..., Any]) -> Any:
        return parts.kernel(function, cache, options)

    return decorate if function is None else decorate(function)
