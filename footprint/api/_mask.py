"""The mask of a convolution as its plan meets it: an array as it lies, or a file of which nothing is read before the plan fits."""

from __future__ import annotations

from typing import Any

import numpy as np

from footprint.api._arrays import Array, on_host, receive
from footprint.api._call import Described, Stream
from footprint.backend.arrays import NUMPY, kind_of
from footprint.dtypes import COMPLEX, complex_of, sum_dtype
from footprint.errors import ArgumentError, FormatError
from footprint.plan.faces import Filler
from footprint.plan.slots import Given
from footprint.spec import ArraySpec

# Results are divided by the share of the sum that fell on what is known: where weights cancel, that is noise.
_LEAST = 1e-2
# Weights that Python adds up sooner than NumPy begins to.
_FEW = 64
_NO_SUM = ('a sum, by which nan="interpolate" scales', 'nan="ignore" leaves NaN out of the sums')


def mask_slot(weights: ArraySpec) -> Described:
    """A mask as a plan without data meets it: one that has to be turned or cast, so that a slot holds it."""
    return Described(weights, Given(direct=False))


def weights_of(
    mask: Any, flip: bool, dtype: str, like: Array | None = None, scaled: bool = False, several: bool = False
) -> Array | Stream:
    """The mask in order of correlation, as the plan meets it: what has to be turned or cast, or read, gets a slot there.

    Of ``several`` each is turned, and their order stays.
    Where results are ``scaled`` by the sum of the weights, there is one to scale by.

    Beside an image on a device a mask that lies there, too, is turned and cast there, by its own library. Of a file (anything with
    ``shape``, ``dtype`` and ``read(rows, out)``) nothing is read yet.
    """
    if hasattr(mask, "read") and hasattr(mask, "host_bytes"):
        return file_mask(mask, dtype, flip, scaled)
    seen = receive(mask, "mask", COMPLEX)
    kind = complex_of(sum_dtype(dtype)) if np.dtype(seen.spec.dtype).kind == "c" else sum_dtype(dtype)
    if scaled:
        values = np.asarray(on_host(seen.data))
        if not np.isfinite(values).all():
            fix = "replace them, by 0 where a tap is to count nothing"
            raise ArgumentError("mask", "weights that are NaN or infinite", "finite weights, by whose sum results are scaled", fix)
        if not all(map(has_sum, values if several else [values])):
            raise ArgumentError("mask", "weights whose sum is 0 or close to it", *_NO_SUM)
    if several and flip and len(seen.spec.shape):
        # All axes are turned below, and this one back.
        seen = Array(seen.data[::-1], seen.kind, seen.device)
    if like is not None and seen.device == like.device != "cpu":
        return Array(kind_of(seen.data).in_order(seen.data, flip, kind), seen.kind, seen.device)
    return Array(NUMPY.in_order(np.asarray(on_host(seen.data)), flip, ""), seen.kind, "cpu")


def shape_of(mask: Any) -> tuple[Any, Any]:
    """The shape of a mask that plans are made for, given as that or as the mask itself; and the mask, where it is a file's."""
    if not hasattr(mask, "shape"):
        return mask, None
    return tuple(mask.shape), mask if hasattr(mask, "host_bytes") else None


def file_mask(mask: Any, dtype: str, flip: bool = True, scaled: bool = False) -> Stream:
    """A file's mask: its reader casts to the sums' dtype."""
    spec = ArraySpec(tuple(mask.shape), sum_dtype(dtype))
    source = Filler(lambda region, block: _read_mask(mask, flip, block, scaled))
    beside = lambda block: mask.host_bytes(block.shape[0], block.dtype)
    return Stream(source, spec, beside, equal=getattr(mask, "equal", None))


def held_bytes(mask: Any, dtype: str) -> int:
    """Bytes of a file's mask that is read once and held, and of reading it; 0 for an array."""
    if not hasattr(mask, "host_bytes"):
        return 0
    spec = ArraySpec(tuple(mask.shape), sum_dtype(dtype))
    return int(spec.nbytes + mask.host_bytes(spec.shape[0], spec.dtype))


def has_sum(weights: np.ndarray) -> bool:
    """Whether their sum is more than a share of what they would sum to if none were below 0."""
    if weights.size <= _FEW:
        numbers = weights.ravel().tolist()
        return bool(abs(sum(numbers)) > _LEAST * sum(map(abs, numbers)))
    wide = np.complex128 if weights.dtype.kind == "c" else np.float64
    # A small call feels the method's way to the same sum.
    total = np.add.reduce(weights, None, wide)
    return bool(abs(total) > _LEAST * np.add.reduce(np.abs(weights), None, np.float64))


def _read_mask(mask: Any, flip: bool, block: np.ndarray, scaled: bool = False) -> None:
    """Read a file's mask, all finite, and turn it within its memory."""
    mask.read(slice(0, block.shape[0]), block)
    for row in block:
        if not np.isfinite(row).all():
            raise FormatError(mask.path, "holds weights that are NaN or infinite", "a mask's weights are finite")
    if scaled and not has_sum(block):
        fix = 'nan="interpolate" scales results by it; ' + _NO_SUM[1]
        raise FormatError(mask.path, "holds weights whose sum is 0 or close to it", fix)
    if flip:
        # The first half of the elements changes places with the second.
        flat, at = block.reshape(-1), 0
        half, size = flat.size // 2, flat.size
        while at < half:
            end = min(at + 4096, half)
            low, high = flat[at:end], flat[size - end : size - at][::-1]
            low[...], high[...] = high.copy(), low.copy()
            at = end
