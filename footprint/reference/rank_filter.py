"""Ranks of windows, by sorting every one of them."""

from __future__ import annotations

from typing import Any

import numpy as np

_NUMPY_NAME = {"nearest": "edge", "reflect": "symmetric", "mirror": "reflect", "wrap": "wrap"}


def rank_filter(
    image: np.ndarray,
    rank: int,
    size: tuple[int, ...],
    mode: Any = "reflect",
    cval: float = 0,
    origin: Any = 0,
    footprint: Any = None,
) -> np.ndarray:
    """The rank-th smallest, from 0, of the window round every element, NaN last; origin moves it to smaller indices.

    Of the window only where the footprint is true.
    """
    image = np.asarray(image)
    modes = (mode,) * image.ndim if isinstance(mode, str) else mode
    origins = (origin,) * image.ndim if np.ndim(origin) == 0 else origin
    padded = image
    for axis, (k, name, move) in enumerate(zip(size, modes, origins)):
        widths = [(0, 0)] * image.ndim
        widths[axis] = (k // 2 + move, k - 1 - k // 2 - move)
        if name == "constant":
            padded = np.pad(padded, widths, constant_values=cval)
        else:
            padded = np.pad(padded, widths, mode=_NUMPY_NAME[name])  # type: ignore[call-overload]
    windows = np.lib.stride_tricks.sliding_window_view(padded, size).reshape(*image.shape, -1)
    if footprint is not None:
        windows = windows[..., np.ravel(footprint)]
    # Of floats the bits decide: numpy.sort does not tell -0.0 from 0.0.
    if image.dtype.kind != "f":
        return np.sort(windows, axis=-1)[..., rank]
    order = np.lexsort((~np.signbit(windows), windows), axis=-1)
    return np.take_along_axis(windows, order, -1)[..., rank]
