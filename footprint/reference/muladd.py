"""In-place multiply-add of regions, as NumPy writes it."""

from __future__ import annotations

from typing import Any

import numpy as np


def muladd(dst: np.ndarray, other: np.ndarray, a: float, b: float, dst_region: Any = ..., other_region: Any = ...) -> np.ndarray:
    """Return ``dst`` in float64 with dst[R] = a dst[R] + b other[S]; a = 0 does not read dst."""
    out = np.array(dst, np.float64)
    scaled = b * np.asarray(other, np.float64)[other_region]
    out[dst_region] = scaled if a == 0 else a * out[dst_region] + scaled
    return out
