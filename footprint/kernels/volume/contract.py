"""Direct correlation of a volume with a mask of three dimensions.

``launch("volume", image, weights, out, z0=, y0=, x0=, border_z=, border_y=, border_x=, cval=)`` computes, for all of ``out``::

    out[z, y, x] = sum over k, i, j of weights[k, i, j] * image[z + z0 + k, y + y0 + i, x + x0 + j]

with the borders, dtypes and levels of sums of the kernel ``convolve``; the image has the dtype of the sums. Slabs of planes with
their halo (``border_z="none"``) equal the whole to the last bit.
"""

from __future__ import annotations

import numpy as np

from footprint.kernels.convolve.contract import BLOCK, ROWS, SPAN
from footprint.spec import ArraySpec, Limits


def volume_work(limits: Limits, image: ArraySpec, weights: ArraySpec, out: ArraySpec, **_: object) -> tuple[ArraySpec, ...]:
    """For each thread one plane of the source of a block that reaches beyond an edge, its outputs, and a group's sums."""
    size = (ROWS + weights.shape[1] - 1) * (BLOCK + SPAN) + 3 * ROWS * BLOCK
    grain = limits.align // np.dtype(out.dtype).itemsize
    return (ArraySpec((limits.threads, -(-size // grain) * grain), out.dtype),)
