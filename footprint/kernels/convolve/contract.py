"""Direct correlation of an image with a mask: tiles and workspace of the kernel ``convolve``.

``launch("convolve", image, weights, out, y0=, x0=, border_y=, border_x=, cval=)`` computes, for all of ``out``::

    out[y, x] = sum over i, j of weights[i, j] * image[y + y0 + i, x + x0 + j]

where ``image`` is continued beyond its edges as the two borders say (names of ``borders.BORDERS``, or "none" for an
axis whose halo is part of the array). All three are 2-D; ``weights`` are in order of correlation and of the sum's
dtype, which is also ``image``'s and ``out``'s. Blocks of rows with their halo (``border_y="none"``) equal the whole
to the last bit: every output is summed in the same order wherever it lies.
"""

from __future__ import annotations

from footprint.spec import ArraySpec, Limits

WIDTH = 256
"""Outputs a tile is wide; a multiple of every vector length."""
ROWS = 8
"""Rows of outputs that are summed together, in registers."""
GROUPS = 8
"""Groups of ROWS a tile is high."""
SPAN = 32
"""Tap columns that one tile's halo serves; wider masks go through several tiles."""
TAP_ROWS = 13
"""Most tap rows whose weights are held in registers at once; taller masks are split evenly."""
LINE = 4096
"""Outputs of one piece of a row where the mask is a single row."""
STEP = 64
"""Pieces of a row are computed in whole multiples of this."""
LINE_TAPS = 32
"""Most taps of a single-row mask that are unrolled at once."""


def split(n: int, most: int) -> tuple[int, ...]:
    """Cut ``n`` into the fewest parts of at most ``most``, as equal as can be: at most two different lengths."""
    parts = max(1, -(-n // most))
    short, longer = divmod(n, parts)
    return (short + 1,) * longer + (short,) * (parts - longer)


def groups(mask_shape: tuple[int, int]) -> int:
    """Row groups of a tile: only as many as let all of the mask's columns be served from one tile."""
    return GROUPS if mask_shape[1] <= SPAN else 1


def convolve_work(limits: Limits, image: ArraySpec, weights: ArraySpec, out: ArraySpec, **_: object) -> tuple[ArraySpec, ...]:
    """A tile of the image with its halo, and sums, for each thread."""
    height, width = weights.shape
    if height == 1:
        piece = min(LINE, -(-max(out.shape[1], 1) // STEP) * STEP)
        return (
            ArraySpec((limits.threads, piece + width - 1), out.dtype),
            ArraySpec((limits.threads, piece), out.dtype),
        )
    rows = ROWS * groups((height, width)) + height - 1
    return (
        ArraySpec((limits.threads, rows * (WIDTH + SPAN - 1)), out.dtype),
        ArraySpec((limits.threads, ROWS * WIDTH), out.dtype),
    )
