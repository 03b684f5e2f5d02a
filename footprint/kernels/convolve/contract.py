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
LINE_GROUP = 10
"""The same as GROUP, for masks of a single row: so many chains."""
TOGETHER = 8
"""Blocks that a few taps go by before the next ones do: as many as stay near."""
LINE_HELD = 8
"""The same as TOGETHER, for masks of a single row of so many taps that their sums have totals."""
BLOCKS = (1 + 2 * TOGETHER) * ROWS * BLOCK
"""Elements of a thread's workspace for a block of outputs, and for a group's sums of so many and what their totals lost."""
STEP = 128
"""Most outputs in LINE_ROWS vectors."""
LINE_ROOM = (1 + 2 * LINE_HELD) * STEP
"""Elements behind such a piece, for a block of outputs, and for sums of so many and what their totals lost."""
LINE_DIRECT = 12
"""Fewest blocks of a row that are summed where the row lies, if others are from copies: the ends of shorter rows take longer."""
LINE = 4096
"""Outputs of one piece of a row."""
TALL = 40
"""Most weights of a mask of one column that are summed where the image lies: more are from a copy of a strip of it."""
TALL_STRIP, TALL_ROWS = 2 * BLOCK, (128, 2048)
"""Columns of such a strip, and rows of outputs that it serves: as many as the mask has, but so many at least and at most."""
TALL_HELD, TALL_ROUND = 128, 2 * CHAIN
"""Rows of a block's sums that are held at once, and most weights that go by before they are added up."""
THIN, THIN_LONG, THIN_ROOM = (32, BLOCK - 1), (128, 512), 1 << 16
"""Most columns of an image of which lines are made, and of one that has the longest lines; outputs of a line at least and at most,
and elements that some lines have."""
THIN_PLANE = 512
"""Most outputs of a plane where lines go through planes: columns of larger ones lie too far apart."""
UNROLLED = 63
"""Largest mask, along either axis, that one tile of a GPU serves; a mask of one row is bound by memory only."""
STORED = ("bool", "int8", "uint8", "int16", "uint16")
"""What is read as it is stored where sums are float32, which holds all its values."""
STORED_TAPS = 4096
"""Most weights of an image's mask for which that pays: a thread keeps the rows they need."""


def piece(mask: tuple[int, ...]) -> tuple[int, int]:
    """Rows and columns that a GPU takes at once of a mask larger than a tile: little beside what a narrow, or a flat one has."""
    tall, wide = mask[-2:]
    if math.prod(mask[:-1]) == 1:
        return 1, 256
    if wide <= 8:
        return (64, 4) if wide <= 4 else (32, 8)
    if tall <= 8:
        return (4, 48) if tall <= 4 else (8, 32)
    return 16, 16


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


def thin_axis(made: tuple[int, int, int]) -> int:
    """Which axis of a thin volume's outputs lines go along: 1, down rows, if those are as many as vectors want; else the longer."""
    return 0 if made[0] > made[1] and made[1] < THIN_LONG[0] // 2 else 1


def is_thin(taps: tuple[int, int, int], made: tuple[int, int, int]) -> bool:
    """Whether lines are made of the columns of an image or volume with outputs so ``made``, if it is long enough."""
    along = thin_axis(made)
    return (along == 1 or made[1] * made[2] <= THIN_PLANE) and _has_room(taps, made, along)


def thin_places(taps: tuple[int, int, int], made: tuple[int, int, int], along: int) -> tuple[int, int]:
    """Outputs of a line, and rows (of lines down rows, planes) that are made of one copy."""
    (need, deep), (outputs, others), slot = _turned(taps, along), _turned(made, along), made[2] + taps[2] - 1
    longest = min(THIN_LONG[1], -(-max(outputs, 1) // THIN_LONG[0]) * THIN_LONG[0])
    while True:
        most = THIN_ROOM // (slot * (longest + need - 1)) - (deep - 1)
        if most >= min(others, 4) or longest == THIN_LONG[0]:
            return longest, max(1, min(most, others))
        longest = max(THIN_LONG[0], longest // 2 // THIN_LONG[0] * THIN_LONG[0])


def thin_room(taps: tuple[int, int, int], made: tuple[int, int, int]) -> int:
    """Elements of a thread's workspace for lines, their sums, a group's and what totals lost; no part of an image needs more."""
    size, (planes, rows, columns) = 0, made
    for along in (0, 1):
        if _has_room(taps, made, along) and (along == 1 or planes > 1):
            (need, deep), few = _turned(taps, along), THIN_LONG[0] // 2
            # As `thin_axis` has it, down few rows only where planes are fewer, and through planes only where rows are.
            others = planes if along == 1 and rows >= few else min(planes, rows, few)
            longest = min(THIN_LONG[1], -(-made[along] // THIN_LONG[0]) * THIN_LONG[0])
            every = (others + deep - 1) * (columns + taps[2] - 1) * (longest + need - 1)
            size = max(size, max(_least_lines(taps, columns, along), min(every, THIN_ROOM)) + (columns + 2) * longest)
    return size


def _turned(sizes: tuple[int, int, int], along: int) -> tuple[int, int]:
    """Of planes and rows first that which lines go along."""
    return sizes[along], sizes[1 - along]


def _least_lines(taps: tuple[int, int, int], columns: int, along: int) -> int:
    """Elements of the fewest and shortest lines that a row of outputs is made of."""
    need, deep = _turned(taps, along)
    return (THIN_LONG[0] + need - 1) * deep * (columns + taps[2] - 1)


def _has_room(taps: tuple[int, int, int], made: tuple[int, int, int], along: int) -> bool:
    """Whether a cache can hold these; wider lines take so much room that small budgets would not do."""
    columns = made[2]
    return 0 < columns <= THIN[made[along] >= THIN_LONG[1]] and _least_lines(taps, columns, along) <= 2 * THIN_ROOM


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
    (height, width), (rows, columns) = weights.shape, out.shape
    line = line_piece(out.shape[1]) + width - 1 + LINE_ROOM
    size = line if height == 1 else (ROWS + height - 1) * (BLOCK + SPAN) + BLOCKS
    if in_strips(image.dtype, out.dtype, (height, width)):
        strip, tall = tall_places(height, *out.shape)
        size = (tall + height + ROWS - 2) * strip + 2 * TALL_HELD * BLOCK
    elif height > 1 and np.dtype(image.dtype) != np.dtype(out.dtype):
        size = stored_rows(height) * (stored_strip(out.shape[1]) + width - 1) + BLOCKS
    size = max(size, thin_room((1, height, width), (1, rows, columns)))
    grain = limits.align // np.dtype(out.dtype).itemsize
    return (ArraySpec((limits.threads, -(-size // grain) * grain), out.dtype),)
