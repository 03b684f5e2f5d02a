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

WIDTH = 256
"""Outputs a tile is wide; a multiple of every block of vectors."""
ROWS = 8
"""Rows of outputs that are summed together, in registers; in a signal, vectors."""
GROUPS = 8
"""Groups of ROWS a tile is high."""
SPAN = 32
"""Tap columns that one tile's halo serves; wider masks go through several tiles."""
PITCH = WIDTH + SPAN
"""Elements from row to row of a tile."""
TAP_ROWS = 5
"""Most tap rows that go by together; taller masks are split evenly, so that fewer than three are rare: they load too often."""
LINE = 4096
"""Outputs of one piece of a row where the mask is a single row."""
STEP = 128
"""Outputs of a row that are summed together where vectors are longest; pieces are whole multiples."""
LINE_ROWS = 4
"""Most vectors of taps of a single-row mask that go by together."""


def split(n: int, most: int) -> tuple[int, ...]:
    """Cut ``n`` into the fewest parts of at most ``most``, as equal as can be: at most two different lengths."""
    parts = max(1, -(-n // most))
    short, longer = divmod(n, parts)
    return (short + 1,) * longer + (short,) * (parts - longer)


def line_piece(columns: int) -> int:
    """Outputs of a piece where a row has so many."""
    return min(LINE, -(-max(columns, 1) // STEP) * STEP)


def convolve_work(limits: Limits, image: ArraySpec, weights: ArraySpec, out: ArraySpec, **_: object) -> tuple[ArraySpec, ...]:
    """For each thread a tile of the image with its halo, and a block of outputs for the edges."""
    height, width = weights.shape
    if height == 1:
        size = line_piece(out.shape[1]) + width - 1 + STEP
    else:
        size = (ROWS * GROUPS + height - 1) * PITCH + ROWS * WIDTH
    line = limits.align // np.dtype(out.dtype).itemsize
    return (ArraySpec((limits.threads, -(-size // line) * line), out.dtype),)
