"""What lies beside an image that is filtered: which pixels are left out, and how much each counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from footprint.api._arrays import Array, described, on_host, receive
from footprint.api._call import Described, Face, Stream
from footprint.api._image import see
from footprint.errors import FormatError, ShapeError
from footprint.plan.slots import Given

Beside = tuple[Any, Any]
"""What is masked and what weighs how much, as the user gave it; None where he did not."""
BESIDE = ("masked", "weight")
ALONE: Beside = (None, None)


def given_beside(masked: Any, weight: Any) -> Beside:
    """What lies beside an image; where `numpy.ma` says that nothing is masked, no mask does."""
    return (None if masked is np.False_ else masked), weight


def is_given(beside: Beside) -> bool:
    """Whether there is any of it."""
    masked, weight = beside
    return masked is not None or weight is not None


def arrays_beside(beside: Beside, shape: tuple[int, ...], of: str = "image") -> dict[str, Array]:
    """Arrays of an image's shape, by name."""
    found = {name: receive(one, name) for name, one in zip(BESIDE, beside) if one is not None}
    for name, one in found.items():
        if one.spec.shape != shape:
            fix = "numpy.broadcast_to does that without a copy"
            raise ShapeError(name, f"shape {one.spec.shape}", f"the {of}'s {shape}", fix)
    return found


def rows_beside(beside: Beside, shape: tuple[int, ...]) -> list[Face]:
    """Arrays, open images, which are read by rows, or the dtypes of arrays alone."""
    found: list[Face] = []
    for name, one in zip(BESIDE, beside):
        if one is None:
            continue
        if isinstance(one, str | type | np.dtype):
            found.append(foretold(name, one, shape))
            continue
        face = see(one, name).face
        if face.spec.shape != shape:
            if isinstance(face, Stream) and hasattr(one, "path"):
                raise FormatError(one.path, f"has the shape {face.spec.shape}", f"{name} is of the image's, {shape}")
            raise ShapeError(name, f"shape {face.spec.shape}", f"the image's {shape}")
        found.append(face)
    return found


def foretold(name: str, kind: Any, shape: tuple[int, ...], order: tuple[int, ...] | None = None) -> Described:
    """An array of an image's shape, its axes in that order, as its plan meets it, by the dtype alone."""
    # NumPy's classes of numbers have a ``dtype`` that is none.
    dtype = kind if isinstance(kind, type) else getattr(kind, "dtype", kind)
    spec, meets = described(shape, dtype, name, of_dtype=name)
    return Described(spec, meets if order is None else Given(direct=False, order=order))


def held_beside(faces: list[Face]) -> int:
    """Bytes of what comes from files and is held for many frames, and of reading it."""
    files = [one for one in faces if isinstance(one, Stream)]
    return sum(one.spec.nbytes + (one.given.beside(one.spec) if one.given.beside is not None else 0) for one in files)


def held(face: Face) -> Face:
    """The same of what is held in memory."""
    return Described(face.spec, Given()) if isinstance(face, Stream) else face


def values_of(face: Face) -> np.ndarray:
    """An array on the host as it lies; what comes from a file is read."""
    if not isinstance(face, Stream):
        return np.asarray(on_host(face.data))
    values = np.empty(face.spec.shape, face.spec.dtype)
    face.data.fill(tuple(slice(0, n) for n in values.shape), values)
    return values
