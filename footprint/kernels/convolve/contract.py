"""Direct correlation of an image with a mask: tiles and workspace of the kernel ``convolve``.

``launch("convolve", image, weights, out, y0=, x0=, border_y=, border_x=, cval=)`` computes, for all of ``out``::

    out[y, x] = sum over i, j of weights[i, j] * image[y + y0 + i, x + x0 + j]

where ``image`` is continued beyond its edges as the two borders say (names of ``borders.BORDERS``, or "none" for an
axis whose halo is part of the array). All three are 2-D; ``weights`` are in order of correlation and of the sum's
dtype, which is also ``out``'s, and ``image``'s but for those that `read_as` names. Blocks of rows with their halo
(``border_y="none"``) equal the whole to the last bit: every output is summed in the same order wherever it lies.

Sums have levels, on every device, so that float32 keeps its digits under masks of any size: a chain of at most about 50
products; some chains; and the total, from which what is rounded away is kept beside it and added at the end. A chain of n
equal numbers loses up to n / 3 units of 2^-24, the worst of images; so all together lose about 1e-6 of the sum of |w| |x|.
"""

from __future__ import annotations

import math

import numpy as np

from footprint.spec import ArraySpec, Limits

ROWS = 4
"""Rows of outputs that are summed together, in registers."""
UNIT_ROWS = 16
"""Rows that a thread takes at a time: of so many, what lies at the ends is summed together."""
BLOCK = 64
"""Most outputs of such a row."""
SPAN = 32
"""Tap columns that go by before sums are added up."""
CHAIN = 52
"""Most products that are summed in one chain."""
GROUP = 4
"""Sums of so many spans and tap rows are added up before they are added to the total, which keeps what is rounded away."""
TAP_ROWS = 5
"""Most tap rows that go by together. Taller masks are split evenly; one or two rows alone would load too often."""
STRIP = 2048
"""Columns a thread goes down by, so that the rows a mask needs again are still near."""
LINE_ROWS = 8
"""Vectors of outputs that are summed together where the mask is a single row."""
LINE_GROUP = 2
"""The same as GROUP, for masks of a single row: so many passes of taps, of several chains each."""
TOGETHER = 8
"""Blocks that a few taps go by before the next ones do: as many as stay near."""
LINE_TOGETHER, LINE_HELD = 16, 8
"""The same as TOGETHER, for masks of a single row: of few passes of taps, and of so many that their sums have totals."""
BLOCKS = (1 + 2 * TOGETHER) * ROWS * BLOCK
"""Elements of a thread's workspace for a block of outputs, and for a group's sums of so many and what their totals lost."""
STEP = 128
"""Most outputs in LINE_ROWS vectors."""
LINE_ROOM = (1 + 2 * LINE_HELD) * STEP
"""Elements behind such a piece, for a block of outputs, and for sums of so many and what their totals lost."""
LINE = 4096
"""Outputs of one piece of a row."""
TALL = 40
"""Most weights of a mask of one column that are summed where the image lies: more are from a copy of a strip of it."""
TALL_STRIP, TALL_ROWS = 2 * BLOCK, (128, 2048)
"""Columns of such a strip, and rows of outputs that it serves: as many as the mask has, but so many at least and at most."""
TALL_HELD, TALL_ROUND = 128, 2 * CHAIN
"""Rows of a block's sums that are held at once, and most weights that go by before they are added up."""
STORED = ("bool", "int8", "uint8", "int16", "uint16")
"""What is read as it is stored where sums are float32, which holds all its values."""
STORED_TAPS = 4096
"""Most weights of an image's mask for which that pays: a thread keeps the rows they need."""


def read_as(dtype: str, sums: str, taps: tuple[int, ...]) -> str:
    """The dtype that the kernel reads an image in: as it is stored, or that of the sums."""
    return stored_as(dtype, sums) if min(taps) == 1 or math.prod(taps) <= STORED_TAPS else sums


def stored_as(dtype: str, sums: str) -> str:
    """The dtype of an image in the machine's byte order where sums hold all its values, else that of the sums."""
    stored = np.dtype(dtype).newbyteorder("=")
    return stored.str if stored.name in STORED and np.dtype(sums) == np.float32 else sums


def stored_rows(height: int) -> int:
    """Rows of a converted strip: what a group of outputs needs, and as many again before they are moved up."""
    return ROWS + height - 1 + max(height, 32)


def stored_strip(columns: int) -> int:
    """Columns of outputs of a converted strip."""
    return min(STRIP, -(-max(columns, 1) // BLOCK) * BLOCK)


def in_strips(image: str, out: str, mask: tuple[int, ...]) -> bool:
    """Whether the mask is a column of so many weights that strips of the image are copied first."""
    return mask[1] == 1 and mask[0] > TALL and np.dtype(image) == np.dtype(out)


def unit_rows(columns: int, width: int, rows: int, block: int) -> int:
    """Rows of a thread's unit: where rows of outputs are short, as many groups of ``rows`` as lie side by side in a block."""
    abreast = block // (columns + width - 1) if 0 < columns <= block + 1 - width else 0
    return max(UNIT_ROWS, abreast * rows)


def tall_places(height: int, rows: int, columns: int) -> tuple[int, int]:
    """Of such strips the columns, in whole blocks, and the rows of outputs, in whole groups."""
    tall = min(max(height, TALL_ROWS[0]), TALL_ROWS[1], max(rows, 1))
    return min(TALL_STRIP, -(-max(columns, 1) // BLOCK) * BLOCK), -(-tall // ROWS) * ROWS


def line_piece(columns: int) -> int:
    """Outputs of a piece where a row has so many."""
    return min(LINE, -(-max(columns, 1) // STEP) * STEP)


def row_pieces(columns: int, piece: int) -> int:
    """How many a row is made in: one more than it has, as the first is shorter where the others begin with a vector."""
    return (columns + piece - 1) // piece + (columns > piece)


def convolve_work(limits: Limits, image: ArraySpec, weights: ArraySpec, out: ArraySpec, **_: object) -> tuple[ArraySpec, ...]:
    """For each thread the source of a block that reaches beyond an edge, its outputs, a group's sums and what totals lost.

    Of an image that is read as it is stored, the source is a strip of its rows; under a tall column a strip of columns.
    """
    height, width = weights.shape
    line = line_piece(out.shape[1]) + width - 1 + LINE_ROOM
    size = line if height == 1 else (ROWS + height - 1) * (BLOCK + SPAN) + BLOCKS
    if in_strips(image.dtype, out.dtype, (height, width)):
        strip, tall = tall_places(height, *out.shape)
        size = (tall + height + ROWS - 2) * strip + 2 * TALL_HELD * BLOCK
    elif height > 1 and np.dtype(image.dtype) != np.dtype(out.dtype):
        size = stored_rows(height) * (stored_strip(out.shape[1]) + width - 1) + BLOCKS
    grain = limits.align // np.dtype(out.dtype).itemsize
    return (ArraySpec((limits.threads, -(-size // grain) * grain), out.dtype),)
