"""Blocks of Dask arrays: what each has beside it, where they are cut, and a filter over them all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from footprint.api._labels import is_labelled
from footprint.dtypes import ACCEPTED
from footprint.errors import ArgumentError, ShapeError, missing_extra
from footprint.plan.slots import Halo
from footprint.units import kind_of

try:
    import dask.array as da
    from dask.array.overlap import ensure_minimum_chunksize
except ModuleNotFoundError as error:
    raise missing_extra("dask", "dask", "footprint.dist.dask") from error


def check_lazy(name: str, array: Any, eager: str, kinds: str = ACCEPTED) -> None:
    """Refuse what is no Dask array of numbers of these kinds and known size; ``eager`` names the verb that takes other arrays."""
    if not isinstance(array, da.Array):
        raise ArgumentError(name, kind_of(array), "a dask.array.Array", f"{eager} takes arrays in memory")
    if array.dtype.kind not in kinds:
        raise ShapeError(name, f"dtype {array.dtype}", f"{'' if 'c' in kinds else 'real '}numbers: float, integer or bool")
    if any(n != n for n in array.shape):
        raise ShapeError(name, f"chunks of unknown size {array.shape}", "known ones", "call compute_chunk_sizes() first")


def apart(thing: Any) -> Any:
    """What is given beside an image with its small arrays copied: a lazy result stays what was asked, whatever becomes of them."""
    if isinstance(thing, list | tuple):
        return type(thing)(map(apart, thing)) if type(thing) in (list, tuple) else thing
    if isinstance(thing, dict):
        return {word: apart(one) for word, one in thing.items()}
    copied = getattr(thing, "clone", None) or getattr(thing, "copy", None)
    return copied() if hasattr(thing, "shape") and callable(copied) and not isinstance(thing, type) else thing


def beside_image(name: str, array: Any, image: Any) -> Any:
    """What lies beside an image, as a Dask array of its shape."""
    if is_labelled(array):
        # NumPy would compute it.
        array = array.data
    if not isinstance(array, da.Array):
        array = np.asarray(array)
        if array.shape == image.shape:
            array = da.from_array(array, chunks=image.chunks)
    if array.shape != image.shape:
        raise ShapeError(name, f"shape {array.shape}", f"the image's {image.shape}", "dask.array.broadcast_to does that")
    return array


def _beside(halo: Halo) -> tuple[int, int]:
    """What a block has beside it; Dask adds what comes from the other end to both sides alike."""
    return (max(halo.lo, halo.hi),) * 2 if halo.wrap else (halo.lo, halo.hi)


def joined(image: Any, halos: list[Halo]) -> Any:
    """The image in chunks that have all that their neighbours need of them; an axis that is no longer than that in one."""
    chunks = []
    for sizes, total, halo in zip(image.chunks, image.shape, halos):
        most = max(*_beside(halo), 1)
        chunks.append((total,) if most >= total else ensure_minimum_chunksize(most, sizes))
    return image.rechunk(tuple(chunks))


def overlapped(block: Callable[..., np.ndarray], image: Any, halos: list[Halo], dtype: str, *beside: Any) -> Any:
    """A filter, block by block: a block has its neighbours' rows beside it, and at the image's ends the filter's own border.

    What lies beside the image is cut as it is.
    """
    image = joined(image, halos)
    depth: dict[int, Any] = {}
    outside: dict[int, str] = {}
    for axis, halo in enumerate(halos):
        # An axis in one chunk has its ends, so that nothing is added there.
        alone = len(image.chunks[axis]) == 1
        depth[axis] = 0 if alone else _beside(halo)[0] if halo.wrap else _beside(halo)
        outside[axis] = "periodic" if halo.wrap and not alone else "none"
    # With ``meta`` given Dask does not try ``block`` on an empty array first.
    meta = np.empty((0,) * image.ndim, dtype)
    arrays = [image, *(one.rechunk(image.chunks) for one in beside)]
    many = len(arrays)
    return da.map_overlap(block, *arrays, depth=[depth] * many, boundary=[outside] * many, meta=meta, trim=True)


def largest(array: Any, halos: list[Halo]) -> tuple[int, ...]:
    """The largest block with what lies beside it."""
    block: list[int] = []
    for sizes, halo, total in zip(joined(array, halos).chunks, halos, array.shape):
        lo, hi = _beside(halo) if len(sizes) > 1 else (0, 0)
        block.append(max(sizes) + lo + hi if halo.wrap else min(max(sizes) + lo + hi, total))
    return tuple(block)
