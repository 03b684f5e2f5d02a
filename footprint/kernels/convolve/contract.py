"""Direct correlation of an image with a mask: tiles and workspace of the kernel ``convolve``.

``launch("convolve", image, weights, out, y0=, x0=, border_y=, border_x=, cval=)`` computes, for all of ``out``::

    out[y, x] = sum over i, j of weights[i, j] * image[y + y0 + i, x + x0 + j]

where ``image`` is continued beyond its edges as the two borders say (names of ``borders.BORDERS``, or "none" for an
axis whose halo is part of the array). All three are 2-D; ``weights`` are in order of correlation and of the sum's
dtype, which is also ``image``'s and ``out``'s. Blocks of rows with their halo (``border_y="none"``) equal the whole
to the last bit: every output is summed in the same order wherever it lies.
"""

from __future__ import annotations

import numpy as np

from footprint.spec import ArraySpec, Limits

ROWS = 4
"""Rows of outputs that are summed together, in registers."""
BLOCK = 64
"""Most outputs of such a row."""
SPAN = 32
"""Tap columns that go by before sums are added up."""
TAP_ROWS = 5
"""Most tap rows that go by together. Taller masks are split evenly; one or two rows alone would load too often."""
STRIP = 2048
"""Columns a thread goes down by, so that the rows a mask needs again are still near."""
LINE_ROWS = 8
"""Vectors of outputs that are summed together where the mask is a single row."""
LINE_TAPS = 4
"""Most vectors of its taps that go by together."""
STEP = 128
"""Most outputs in LINE_ROWS vectors."""
LINE = 4096
"""Outputs of one piece of a row."""


def line_piece(columns: int) -> int:
    """Outputs of a piece where a row has so many."""
    return min(LINE, -(-max(columns, 1) // STEP) * STEP)


def convolve_work(limits: Limits, image: ArraySpec, weights: ArraySpec, out: ArraySpec, **_: object) -> tuple[ArraySpec, ...]:
    """For each thread the source of a block that reaches beyond an edge, and its outputs."""
    height, width = weights.shape
    size = line_piece(out.shape[1]) + width - 1 + STEP if height == 1 else (ROWS + height - 1) * (BLOCK + SPAN) + ROWS * BLOCK
    line = limits.align // np.dtype(out.dtype).itemsize
    return (ArraySpec((limits.threads, -(-size // line) * line), out.dtype),)
