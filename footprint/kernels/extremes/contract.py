"""The least or largest value of the box around every pixel: what the kernel ``extremes`` computes, on the CPU, and its workspace.

``launch("extremes", image, out, tall=, wide=, largest=, y0=, x0=, border_y=, border_x=, cval=)`` computes what ``rank_filter`` does
for the first or the last rank (``footprint.kernels.rank_filter.contract``), to the bit, for boxes of any size. Which size, which
extreme, and of 4 and 8 bytes whether values are floats are data: what is compiled serves all values of as many bytes.
"""

from __future__ import annotations

from footprint.kernels.rank_filter.contract import MOST, VECTOR
from footprint.spec import ArraySpec, Limits

STRIP = 4096
"""Bytes of a line of results, unless a box is wider; in shorter ones every row is another page, and takes twice as long."""
SLACK = 8
"""Vectors before a line and behind it that are read or written in vain: one a doubling within a vector, and one more."""

SMALL = 25
"""Pixels of the largest box whose comparisons are written out, as `rank_filter` reads rows where they lie for them.

Of 2048 x 2048 and 300 x 300 in two threads 3 x 3 then takes 0.4 to 0.8 of the time, 5 x 5 0.6 to 1.07, and 3 x 9 1.03 to 1.44.
"""


def takes(limits: Limits, tall: int, wide: int, rank: int) -> bool:
    """Whether this kernel finds a rank of all of a box."""
    return limits.family == "cpu" and (tall * wide > SMALL or max(tall, wide) > MOST) and rank in (0, tall * wide - 1)


def seen(first: int, size: int, border: str) -> str:
    """A border beyond which a box sees the same, of which lines and ends are all alike where there is one.

    What is mirrored is in a box that reaches as far on as back.
    """
    more = abs(2 * first + size - 1)
    return "nearest" if (border == "reflect" and more <= 1) or (border == "mirror" and more == 0) else border


def doublings(size: int) -> int:
    """How often a value becomes one of twice as many, until two of them, which may overlap, are of ``size``."""
    return size.bit_length() - 1


def operations(tall: int, wide: int) -> int:
    """Vector operations a pixel: doublings along lines; down, those from a block's end, from the next one's start, and of both."""
    return 2 * doublings(wide) + 2 + (4 if tall > 1 else 0)


def strip(width: int, wide: int, itemsize: int) -> int:
    """Results of a line that are made at once at most, in whole vectors: no fewer than a box is wide, which is read beside them."""
    lanes = VECTOR // itemsize
    return -(-min(max(STRIP // itemsize, wide), max(width, 1)) // lanes) * lanes


def pitch(columns: int, itemsize: int) -> int:
    """Elements from a kept line to the next, an odd number of vectors: what lies powers of two apart shares places of a cache."""
    lanes = VECTOR // itemsize
    return columns + (1 - columns // lanes % 2) * lanes


def blocks(shape: tuple[int, ...], wide: int, itemsize: int, threads: int) -> tuple[int, int, int]:
    """Rows of the tallest block of such a result, lines across, and blocks down at least, so that every thread has one."""
    planes, height, width = shape
    across = -(-width // strip(width, wide, itemsize))
    down = max(1, min(-(-threads // max(planes * across, 1)), height))
    return max(1, -(-height // down)), across, down


def line(columns: int, wide: int, itemsize: int) -> int:
    """Elements of a line with what its last box needs, and with what is read and written in vain."""
    lanes = VECTOR // itemsize
    return columns + -(-(wide - 1) // lanes) * lanes + 2 * SLACK * lanes


def extremes_work(limits: Limits, image: ArraySpec, out: ArraySpec, *, tall: int, wide: int, **_: object) -> tuple[ArraySpec, ...]:
    """For each thread a line, what is found since a block's start, and a block's lines: as many as a box has, or as rows."""
    columns, rows = strip(out.shape[2], wide, out.itemsize), blocks(out.shape, wide, out.itemsize, limits.threads)[0]
    size = line(columns, wide, out.itemsize) + (1 + min(tall, rows)) * pitch(columns, out.itemsize)
    return (ArraySpec((limits.threads, size), f"i{out.itemsize}"),)
