"""Footprint's verbs on Dask arrays: lazy in, lazy out, each block planned within the budget given.

Blocks of an image overlap by the mask's halo; slices of a volume are independent. Every task plans for itself, so
``memory`` bounds one task: a worker with ``n`` threads takes at most ``n`` times that.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from footprint.api.convolve import convolve as _convolve
from footprint.api.fbp import fbp as _fbp
from footprint.errors import ArgumentError, ShapeError, missing_extra
from footprint.kernels.borders import border
from footprint.ops.convolve import sum_dtype

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

    Parameters
    ----------
    image : dask.array.Array (n_y, n_x)
        Any chunks at least as large as the mask's halo.
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
        For an unknown boundary or arrays that are not two-dimensional.
    """
    mask = np.asarray(mask)
    if image.ndim != 2 or mask.ndim != 2:
        raise ShapeError("image", f"{image.ndim} dimensions and a mask of {mask.ndim}", "2 and 2")
    name = border(boundary)
    if name != "constant" and name not in _OUTSIDE:
        raise ArgumentError("boundary", repr(boundary), "constant, nearest, reflect or wrap for Dask arrays")
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

    return da.map_overlap(block, image, depth=even, boundary=dict.fromkeys(even, outside), dtype=sum_dtype(image.dtype), trim=True)


def fbp(sinograms: Any, angles: Any, *, memory: Any = None, device: str = "auto", **options: Any) -> Any:
    """Reconstruct a Dask stack of sinograms, lazily; as `footprint.fbp`.

    Parameters
    ----------
    sinograms : dask.array.Array (n_z, n_angles, n_x)
        Chunked along z as it pleases; angles and detector are gathered into one chunk.
    angles, memory, device, **options
        As in `footprint.fbp`; ``memory`` bounds one task.

    Returns
    -------
    dask.array.Array
        (n_z, n_y, n_x) float32, not computed.
    """
    if sinograms.ndim != 3:
        raise ShapeError("sinograms", f"{sinograms.ndim} dimensions", "3: (n_z, n_angles, n_x)")
    whole = sinograms.rechunk({1: -1, 2: -1})
    n_x = whole.shape[2]
    x0, x1, y0, y1 = options.get("roi") or (0, n_x, 0, n_x)

    def block(part: np.ndarray) -> np.ndarray:
        return _fbp(np.ascontiguousarray(part), angles, memory=memory, device=device, **options)

    return whole.map_blocks(block, dtype=np.float32, chunks=(whole.chunks[0], (y1 - y0,), (x1 - x0,)))
