"""What public verbs do with arrays that are more than numbers in memory: Dask's go to lazy forms, xarray's keep their coordinates,
and what lies beside them goes by the names of its axes.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from footprint.answers import Taker, Words
from footprint.api import _labels
from footprint.backend.arrays import kind_of, kind_of_type

Verb = Callable[..., Any]

# Verbs whose results lie where the pixels of their first argument do.
_IN_PLACE = {"convolve", "correlate", "gaussian_filter", "uniform_filter", "sobel", "laplace", "gaussian_laplace", "unsharp_mask"}
_IN_PLACE |= {"median_filter", "rank_filter", "percentile_filter", "minimum_filter", "maximum_filter", "threshold", "ramp_filter"}
_IN_PLACE |= {"paganin", "remove_stripes", "remove_zingers", "untilt", "vertical_shift"}

# Verbs that give arrays, or nothing, and whose calls are made again sooner by NumPy's and CuPy's arrays than by others.
_SEEN = _IN_PLACE | {"backproject", "fbp", "label", "muladd", "pad", "sigma_clip"}

# What lies pixel for pixel beside the first argument, and windows that are moved over it.
_SIDES = ("masked", "weight")
_SKY = ("mask", "weight", "background", "noise")
_BESIDE: dict[str, tuple[str, ...]] = {"convolve": _SIDES, "correlate": _SIDES, "plan_convolve": _SIDES, "plan_correlate": _SIDES}
_BESIDE |= {"measure": ("labels",), "apertures": _SKY, "measure_at": _SKY, "find_sources": _SKY, "background": _SKY[:2]}
_RANKS = ("median_filter", "rank_filter", "percentile_filter", "minimum_filter", "maximum_filter")
_WINDOWS = dict.fromkeys(("convolve", "correlate", "plan_convolve", "plan_correlate"), "mask")
_WINDOWS |= {"find_sources": "matched_filter"} | dict.fromkeys((*_RANKS, *(f"plan_{name}" for name in _RANKS)), "footprint")

# Where a mask is among the arguments, and what it is called there.
_MASKS = {"convolve": (1, "mask"), "correlate": (1, "mask"), "plan_convolve": (1, "mask"), "plan_correlate": (1, "mask")}
_MASKS |= {"stream": (2, "mask"), "convolve_rows": (3, "mask"), "convolve_frames": (3, "mask")}
_MASKS |= {"plan_convolve_rows": (1, "mask_shape"), "plan_convolve_frames": (1, "mask_shape")}


def words(name: str) -> Words | None:
    """How the public verb ``name`` comes to a mask by name or in a file; None where it takes none."""
    if name not in _MASKS:
        return None
    return Words(*_MASKS[name], functools.partial(_mask, name))


def _mask(name: str, word: Any, first: Any, named: dict[str, Any]) -> AbstractContextManager[Any]:
    # Not before there is a name: files have their own libraries.
    called = importlib.import_module("footprint.io.named_mask").mask_called
    if _MASKS[name][1] == "mask_shape" or name in ("stream", "convolve_rows", "convolve_frames"):
        opened: AbstractContextManager[Any] = called(word, 2, held=name == "stream")
        return opened
    try:
        shape = tuple(first) if name.startswith("plan_") else tuple(np.shape(first))
    except (TypeError, ValueError):
        # Uneven rows, or no shape: the verb says so.
        shape = (0, 0)
    count, whole = mask_axes(named.get("axes"), shape)
    return called(word, count, named.get("masks", "one"), whole=whole)


def mask_axes(axes: Any, shape: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    """Of a mask by name, as many axes as an image is filtered along, and the image's shape where nobody says along which.

    What else is wrong with them the verb says.
    """
    count = len(shape) if axes is None else len(axes) if hasattr(axes, "__len__") else 1
    return min(max(count, 1), 3), shape if axes is None else ()


def taker(name: str) -> Taker:
    """Who takes a call of the public verb ``name``, by the type of its first argument; None where the verb itself does."""

    @functools.lru_cache(64)
    def by(kind: type) -> Verb | None:
        library = kind_of_type(kind)
        if library.later:
            # Only where there is such an array is its library loaded already.
            found: Verb | None = importlib.import_module("footprint.dist.dask").taker(name)
            return found
        if library.labelled and hasattr(kind, "data"):
            if name in _IN_PLACE:
                return functools.partial(_labelled, name)
            if name.startswith("plan_"):
                return functools.partial(_planned, name)
            if name in _BESIDE:
                return functools.partial(_numbers, name)
        if library.seen and name in _SEEN:
            return functools.partial(_seen, name)
        return None

    return by


def _lined_up(name: str, array: Any, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The other arguments of a verb of a labelled array: axes by number, and what has labels in the order of its axes."""
    known = getattr(importlib.import_module("footprint"), name).__wrapped__.__code__.co_varnames[1:]
    by_number = lambda word, one: _labels.positions(array.dims, one, word) if word in ("axes", "axis") else one
    args = (*(by_number(word, one) for word, one in zip(known, args)), *args[len(known) :])
    named = {word: by_number(word, one) for word, one in named.items()}
    if not any(map(_labels.is_labelled, (*args, *named.values()))):
        return args, named
    called = dict(zip(known, args)) | named

    def seen(word: str, one: Any) -> Any:
        if word in _BESIDE.get(name, ()):
            return _labels.beside(array, one, word)
        if word == _WINDOWS.get(name):
            return _labels.window(array, one, word, called.get("axes"), called.get("masks", "one"))
        return one

    lined = tuple(seen(word, one) for word, one in zip(known, args))
    return (*lined, *args[len(lined) :]), {word: seen(word, one) for word, one in named.items()}


def _seen(name: str, array: Any, *args: Any, **named: Any) -> Any:
    """A verb of an array whose memory NumPy's or CuPy's shows, as that of others given with it; what it gives is in its kind again.

    NotImplemented where one of them cannot be shown.
    """
    kind, views = kind_of(array), []
    for one in (array, *args, *named.values()):
        # Dtypes are of the library, too.
        if one is array or (kind_of(one) is kind and hasattr(one, "shape")):
            shown = kind.view(one)
            if shown is None:
                return NotImplemented
            views.append((one, shown))
    view = lambda one: next((shown for other, shown in views if other is one), one)

    def back(found: Any) -> Any:
        if isinstance(found, tuple):
            return tuple(map(back, found))
        mine = next((one for one, shown in views if shown is found), None)
        if mine is not None:
            kind.written(mine)
            return mine
        # An ``out`` of another kind is the caller's already.
        made = type(found) is type(views[0][1]) and all(found is not one for one in (*args, *named.values()))
        return kind.back(found) if made else found

    verb = getattr(importlib.import_module("footprint"), name)
    return back(verb(*map(view, (array, *args)), **{word: view(one) for word, one in named.items()}))


def _numbers(name: str, array: Any, *args: Any, **named: Any) -> Any:
    """A verb of what is in a labelled array."""
    args, named = _lined_up(name, array, args, named)
    return getattr(importlib.import_module("footprint"), name)(array.data, *args, **named)


def _planned(name: str, array: Any, *args: Any, **named: Any) -> Any:
    """The plan of a verb of what is in a labelled array, where that is lazy; of others the plan asks for the shape."""
    if kind_of(array.data).later:
        return _numbers(name, array, *args, **named)
    return getattr(importlib.import_module("footprint"), name).__wrapped__(array, *args, **named)


def _labelled(name: str, array: Any, *args: Any, **named: Any) -> Any:
    """A verb of what is in a labelled array, lazily where that is lazy; the result has its labels.

    Where the result is of another size, as by ``mode="full"``, it keeps the names of the axes, and coordinates end.
    """
    result = _numbers(name, array, *args, **named)
    if any(result is one for one in (*args, *named.values())):
        return result
    if result.shape == array.shape:
        return array.copy(data=result)
    if result.ndim != array.ndim:
        return result
    return type(array)(result, dims=array.dims, name=array.name, attrs=array.attrs)
