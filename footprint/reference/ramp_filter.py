"""Row filter of filtered backprojection, in plain float64: extend each row, multiply its spectrum, crop."""

import numpy as np


def ramp_filter(sinogram: np.ndarray, response: np.ndarray, padding: str = "constant") -> np.ndarray:
    """Filter the rows of ``(..., n_x)``; ``response`` holds the P // 2 + 1 gains of the padded (even) length P."""
    rows = np.asarray(sinogram, np.float64)
    n_x, padded = rows.shape[-1], 2 * (len(response) - 1)
    before = (padded - n_x) // 2
    width = [(0, 0)] * (rows.ndim - 1) + [(before, padded - n_x - before)]
    wide = np.pad(rows, width, mode=padding)  # type: ignore[call-overload]
    return np.fft.irfft(np.fft.rfft(wide) * response, padded)[..., before : before + n_x]
