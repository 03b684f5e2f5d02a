"""`njit` of kernels: Numba's, but that code is optimised once (`footprint.kernels.common.parts`), and loaded alone (`kept`)."""

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


def njit(function: Any = None, *, cache: bool = False, borrows: bool = False, **options: Any) -> Any:
    """`numba.njit`, whose options it takes. With a signature it is Numba's own.

    A function that ``borrows`` its arrays makes none, and gives none back: nobody counts who holds them, which takes most of the
    time of small functions that hand arrays on for every object there is.
    """
    # Said of each: else what is called would do as its first caller does.
    options["_nrt"] = not borrows
    if parts is None or not (function is None or callable(function)):
        return numba.njit(function, cache=cache, **options)

    def decorate(function: Callable[..., Any]) -> Any:
        return parts.kernel(function, cache, options)

    return decorate if function is None else decorate(function)


def plain(function: Any = None, *, cache: bool = False, **options: Any) -> Any:
    """`numba.njit` itself, which optimises every function alone; what is on disk is loaded as fast as ours."""

    def decorate(function: Callable[..., Any]) -> Any:
        made = numba.njit(cache=cache and parts is None, **options)(function)
        # Numba may be told to compile nothing.
        if cache and parts is not None and hasattr(made, "enable_caching"):
            made._cache = parts.Kept(function)
        return made

    return decorate if function is None else decorate(function)
