"""The mask of a convolution as its plan meets it: an array as it lies, or a file of which nothing is read before the plan fits."""

from __future__ import annotations

from typing import Any

import numpy as np

from footprint.api._arrays import Array, on_host, receive
from footprint.api._call import Described, Stream
from footprint.backend.arrays import NUMPY, kind_of
from footprint.dtypes import sum_dtype
from footprint.errors import FormatError
from footprint.plan.faces import Filler
from footprint.plan.slots import Given
from footprint.spec import ArraySpec


def mask_slot(weights: ArraySpec) -> Described:
    """A mask as a plan without data meets it: one that has to be turned or cast, so that a slot holds it."""
    return Described(weights, Given(direct=False))


def weights_of(mask: Any, flip: bool, dtype: str, like: Array | None = None) -> Array | Stream:
    """The mask in order of correlation, as the plan meets it: what has to be turned or cast, or read, gets a slot there.

    Beside an image on a device a mask that lies there, too, is turned and cast there, by its own library. Of a file (anything with
    ``shape``, ``dtype`` and ``read(rows, out)``) nothing is read yet.
    """
    if hasattr(mask, "read") and hasattr(mask, "host_bytes"):
        return file_mask(mask, dtype, flip)
    seen = receive(mask, "mask")
    if like is not None and seen.device == like.device != "cpu":
        return Array(kind_of(seen.data).in_order(seen.data, flip, sum_dtype(dtype)), seen.kind, seen.device)
    return Array(NUMPY.in_order(np.asarray(on_host(seen.data)), flip, ""), seen.kind, "cpu")


def file_mask(mask: Any, dtype: str, flip: bool = True) -> Stream:
    """A file's mask: its reader casts to the sums' dtype."""
    spec = ArraySpec(tuple(mask.shape), sum_dtype(dtype))
    source = Filler(lambda region, block: _read_mask(mask, flip, block))
    return Stream(source, spec, lambda block: mask.host_bytes(block.shape[0], block.dtype))


def held_bytes(mask: Any, dtype: str) -> int:
    """Bytes of a file's mask that is read once and held, and of reading it; 0 for an array."""
    if not hasattr(mask, "host_bytes"):
        return 0
    spec = ArraySpec(tuple(mask.shape), sum_dtype(dtype))
    return int(spec.nbytes + mask.host_bytes(spec.shape[0], spec.dtype))


def _read_mask(mask: Any, flip: bool, block: np.ndarray) -> None:
    """Read a file's mask, all finite, and turn it within its memory."""
    mask.read(slice(0, block.shape[0]), block)
    for row in block:
        if not np.isfinite(row).all():
            raise FormatError(mask.path, "holds weights that are NaN or infinite", "a mask's weights are finite")
    if flip:
        # The first half of the elements changes places with the second.
        flat, at = block.reshape(-1), 0
        half, size = flat.size // 2, flat.size
        while at < half:
            end = min(at + 4096, half)
            low, high = flat[at:end], flat[size - end : size - at][::-1]
            low[...], high[...] = high.copy(), low.copy()
            at = end
