"""The row filter that never leaves the chip: which rows fit, and the tables it reads.

``launch("ramp_filter.fused", rows, filtered, twiddle, gains, padded=, mode=)`` filters float32 ``(n, n_x)`` and needs no work
memory, where ``fused(limits, n_x, padded)`` is not None; ``twiddle, gains = tables(response)`` are constants of the plan.
"""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.stages import Stages, stages, turns
from footprint.spec import Limits


def fused(limits: Limits, n_x: int, padded: int) -> Stages | None:
    """How rows of ``n_x`` extended to ``padded`` are filtered on the chip, or None where they must go through memory."""
    return None if padded % 2 or n_x > padded else stages(limits, padded // 2)


def tables(response: np.ndarray, padded: int) -> tuple[np.ndarray, np.ndarray]:
    """Turns ``(padded / 2,)`` complex64 and gains ``(padded / 2, 2)`` of the half-complex ``response`` ``(padded / 2 + 1,)``.

    A gain is ``(H_k + conj H_(M-k), H_k - conj H_(M-k)) / 4 M`` with M = padded / 2, the transform's scale included;
    real where H is.
    """
    half = padded // 2
    h = np.asarray(response, np.complex128).copy()
    h[[0, -1]] = h[[0, -1]].real
    mirrored = np.conj(h[::-1])
    pair = np.stack([h + mirrored, h - mirrored], axis=1)[:half] / (4 * half)
    gains = pair.astype(np.complex64) if np.any(pair.imag) else pair.real.astype(np.float32)
    return turns(half), np.ascontiguousarray(gains)
