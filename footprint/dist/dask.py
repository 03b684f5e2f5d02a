"""Footprint's verbs on Dask arrays: lazy in, lazy out, each block planned within the budget given.

Blocks of an image overlap by the mask's halo; slices of a volume are independent. Every task plans for itself, so
``memory`` bounds one task: a worker with ``n`` threads takes at most ``n`` times that.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from footprint.api.convolve import convolve as _convolve
from footprint.api.convolve import plan_convolve
from footprint.api.fbp import fbp as _fbp
from footprint.api.fbp import plan_fbp
from footprint.dtypes import ACCEPTED
from footprint.errors import ArgumentError, ShapeError, missing_extra
from footprint.kernels.common.borders import border
from footprint.dtypes import sum_dtype
from footprint.units import kind_of

try:
    import dask.array as da
except ModuleNotFoundError as error:
    raise missing_extra("dask", "dask", "footprint.dist.dask") from error

# Our names of what lies outside, as Dask's overlap calls the same thing.
_OUTSIDE = {"nearest": "nearest", "reflect": "reflect", "wrap": "periodic"}


def convolve(
    image: Any, mask: Any, *, boundary: str = "constant", cval: float = 0.0, memory: Any = None, device: str = "auto"
) -> Any:
    """Convolve a Dask image with a mask, same size; as `footprint.convolve`, lazily, block by block with the mask's halo.

    Large masks go by transforms of tiles on the CPU, as each block's shape decides; blocks then differ from the whole by rounding.

    Parameters
    ----------
    image : dask.array.Array (n_y, n_x)
        Any chunks of known size; Dask joins those smaller than the mask's halo.
    mask : array (k_y, k_x)
        In memory.
    boundary : {"constant", "nearest", "reflect", "wrap"}
        What lies outside; "mirror" is not known to Dask's overlap.
    cval, memory, device
        As in `footprint.convolve`; ``memory`` bounds one task.

    Returns
    -------
    dask.array.Array
        Not computed.

    Raises
    ------
    ArgumentError, ShapeError
        For an unknown boundary, a mask that is empty, or arrays that are not two-dimensional, real and of known size. What only
        the worker can know (the device, the budget) is refused there.
    """
    mask = np.asarray(mask)
    _check_lazy("image", image, "footprint.convolve")
    if image.ndim != 2 or mask.ndim != 2:
        raise ShapeError("image", f"{image.ndim} dimensions and a mask of {mask.ndim}", "2 and 2")
    name = border(boundary)
    if name != "constant" and name not in _OUTSIDE:
        raise ArgumentError("boundary", repr(boundary), "constant, nearest, reflect or wrap for Dask arrays")
    # All that is wrong with shapes, dtypes and numbers shows here and not in a worker; no device is needed for it.
    plan_convolve(image.shape, mask.shape, dtype=image.dtype, boundary=boundary, cval=cval, device="null")
    if image.size == 0:
        # Dask overlaps no array that is smaller than its halo.
        return image.astype(sum_dtype(image.dtype))
    # Output y reads rows y + c - k + 1 to y + c with c = (k - 1) // 2.
    depth = {axis: (k - 1 - (k - 1) // 2, (k - 1) // 2) for axis, k in enumerate(mask.shape)}
    # Dask pads only evenly where a border is not "none"; the larger side serves both and is cut off again.
    even = {axis: max(sides) for axis, sides in depth.items()}
    outside: Any = cval if name == "constant" else _OUTSIDE[name]

    if name == "constant":
        # An integer image could not hold every cval around it.
        image = image.astype(sum_dtype(image.dtype))

    def block(part: np.ndarray) -> np.ndarray:
        return _convolve(part, mask, memory=memory, device=device)

    # With ``meta`` given Dask does not try ``block`` on an empty array first.
    meta = np.empty((0, 0), sum_dtype(image.dtype))
    return da.map_overlap(block, image, depth=even, boundary=dict.fromkeys(even, outside), meta=meta, trim=True)


def fbp(sinograms: Any, angles: Any, *, memory: Any = None, device: str = "auto", **options: Any) -> Any:
    """Reconstruct a Dask stack of sinograms, lazily; as `footprint.fbp`.

    Parameters
    ----------
    sinograms : dask.array.Array (n_z, n_angles, n_x)
        Chunked along z as it pleases; angles and detector are gathered into one chunk.
    angles, memory, device, **options
        As in `footprint.fbp`, without ``out`` and ``progress``; ``memory`` bounds one task.

    Returns
    -------
    dask.array.Array
        (n_z, n_y, n_x) float32, not computed.

    Raises
    ------
    ArgumentError, ShapeError
        As `footprint.fbp` does, and for sinograms that are no three-dimensional Dask array of known size. What only the worker can
        know (the device, the budget) is refused there.
    """
    _check_lazy("sinograms", sinograms, "footprint.fbp")
    for name in ("out", "progress"):
        given = options.pop(name, None)
        if given is not None:
            raise ArgumentError(name, kind_of(given), "None, as nothing runs yet", "store or watch the Dask array")
    if sinograms.ndim != 3:
        raise ShapeError("sinograms", f"{sinograms.ndim} dimensions", "3: (n_z, n_angles, n_x)")
    # As for an image: wrong arguments show here, and the plan knows the size of a slice.
    plan = plan_fbp(sinograms.shape, angles, dtype=sinograms.dtype, device="null", **options)
    n_y, n_x = plan.outputs[0].spec.shape[1:]
    whole = sinograms.rechunk({1: -1, 2: -1})

    def block(part: np.ndarray) -> np.ndarray:
        return _fbp(np.ascontiguousarray(part), angles, memory=memory, device=device, **options)

    return whole.map_blocks(block, meta=np.empty((0, 0, 0), np.float32), chunks=(whole.chunks[0], (n_y,), (n_x,)))


def _check_lazy(name: str, array: Any, eager: str) -> None:
    if not isinstance(array, da.Array):
        raise ArgumentError(name, kind_of(array), "a dask.array.Array", f"{eager} takes arrays in memory")
    if array.dtype.kind not in ACCEPTED:
        raise ShapeError(name, f"dtype {array.dtype}", "real numbers: float, integer or bool")
    if any(n != n for n in array.shape):
        raise ShapeError(name, f"chunks of unknown size {array.shape}", "known ones", "call compute_chunk_sizes() first")
