"""What public verbs do with arrays that are more than numbers in memory: Dask's go to lazy forms, xarray's keep their coordinates."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

from footprint.answers import Taker
from footprint.backend.arrays import kind_of_type

Verb = Callable[..., Any]

# Verbs whose results lie where the pixels of their first argument do.
_IN_PLACE = {"convolve", "correlate", "gaussian_filter", "uniform_filter", "sobel", "laplace", "gaussian_laplace", "unsharp_mask"}
_IN_PLACE |= {"median_filter", "rank_filter", "percentile_filter", "minimum_filter", "maximum_filter", "threshold", "ramp_filter"}
_IN_PLACE |= {"paganin", "remove_stripes", "remove_zingers", "untilt", "vertical_shift"}


def taker(name: str) -> Taker:
    """Who takes a call of the public verb ``name``, by the type of its first argument; None where the verb itself does."""

    @functools.lru_cache(64)
    def by(kind: type) -> Verb | None:
        library = kind_of_type(kind)
        if library.later:
            # Only where there is such an array is its library loaded already.
            found: Verb | None = importlib.import_module("footprint.dist.dask").taker(name)
            return found
        if library.labelled and hasattr(kind, "data") and name in _IN_PLACE:
            return functools.partial(_labelled, name)
        return None

    return by


def _labelled(name: str, array: Any, *args: Any, **named: Any) -> Any:
    """A verb of what is in a labelled array, lazily where that is lazy; the result has its labels.

    Where the result is of another size, as by ``mode="full"``, it keeps the names of the axes, and coordinates end.
    """
    result = getattr(importlib.import_module("footprint"), name)(array.data, *args, **named)
    if any(result is one for one in (*args, *named.values())):
        return result
    if result.shape == array.shape:
        return array.copy(data=result)
    if result.ndim != array.ndim:
        return result
    return type(array)(result, dims=array.dims, name=array.name, attrs=array.attrs)
