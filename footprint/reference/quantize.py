"""Numbers as whole ones of 8 or 16 bits."""

import numpy as np


def quantize(values: np.ndarray, low: float, high: float, dtype: str) -> np.ndarray:
    """Shares of ``low`` .. ``high`` of the dtype's largest number, clipped, rounded to even; NaN is 0."""
    most = float(np.iinfo(dtype).max)
    share = (np.asarray(values, np.float64) - low) * (most / (high - low))
    return np.rint(np.clip(np.where(np.isnan(share), 0, share), 0, most)).astype(dtype)
