"""Frames as a stream is given them: one after another, in host memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from footprint.api._arrays import Array, receive
from footprint.dtypes import COMPLEX
from footprint.errors import ArgumentError, ShapeError
from footprint.units import kind_of


def coming_of(frames: Any) -> Iterator[Any]:
    """The frames, one after another; the letters of a name are none."""
    try:
        if not isinstance(frames, str | bytes):
            return iter(frames)
    except TypeError:
        pass
    fix = "give a generator that yields them one by one"
    raise ArgumentError("frames", kind_of(frames), "a list, a generator or another iterable of arrays", fix)


def on_host_as(frame: Any, name: str) -> Array:
    """A frame, seen where it lies."""
    found = receive(frame, name, COMPLEX)
    if found.device != "cpu":
        raise ArgumentError(name, f"arrays on {found.device}", "arrays in host memory", "call the verb on each frame instead")
    if (kind := np.dtype(found.spec.dtype)).kind == "c":
        raise ShapeError(name, f"dtype {kind}", "real numbers: float, integer or bool", each_alone("convolve", 2))
    return found


def each_alone(verb: str, n_axes: int) -> str:
    """What is done with frames that no stream takes."""
    along = {1: "", 2: "", 3: ", axes=(0, 1)"}.get(n_axes, ", axes=(-2, -1)")
    return f"call the function on each frame, as in (fp.{verb}(frame, mask{along}) for frame in frames)"
