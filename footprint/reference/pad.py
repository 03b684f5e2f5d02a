"""Padding, as NumPy does it."""

from __future__ import annotations

from typing import Any

import numpy as np


def pad(array: np.ndarray, pad_width: Any, mode: str = "constant", **options: Any) -> np.ndarray:
    """numpy.pad in the array's own dtype; half precision is computed in float32."""
    array = np.asarray(array)
    kind = array.dtype.newbyteorder("=")
    wide = np.float32 if kind == np.float16 else kind
    return np.pad(array.astype(wide), pad_width, mode=mode, **options).astype(kind)  # type: ignore[call-overload]


def gather(array: np.ndarray, rows_index: np.ndarray, cols_index: np.ndarray) -> np.ndarray:
    """out[..., y, x] = array[..., rows_index[y], cols_index[x]]."""
    return np.asarray(array)[..., np.asarray(rows_index)[:, None], np.asarray(cols_index)[None, :]]
