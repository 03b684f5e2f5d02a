"""Sums across, then down planes, of float32, as products of matrices of halves: where `Limits.halves` says that units make them.

``launch("matrix", image, tall, wide, out, taps=, powers=, y0=, x0=, border_y=, border_x=, first_y=, first_x=)`` computes what
``separable`` does. ``taps`` says how many weights there are down and across, an odd number each; ``tall`` and ``wide`` are tables
of them (`table`), and ``powers`` what `powers` makes of both. ``first_y`` and ``first_x`` are the first result's place in the
whole: parts have its blocks, and so its bits, where the image goes on as far as `BEYOND` from what weights reach. Borders are those
of ``separable``; beyond a constant one lies 0. What is not finite goes as far as the weights. An image is float32, or whole numbers
of 8 or 16 bits as they are stored.

A number is the sum of two halves, and so is a weight: three of their four products are summed, which leaves out 2^-24 of them.
Of a line 32 numbers are scaled to the largest of them: what is lost of a number is at most 2^-40 of that.
"""

from __future__ import annotations

import math

import numpy as np

from footprint.dtypes import sum_dtype
from footprint.spec import ArraySpec, Limits

SIDE = 32
"""Numbers of a line that a step has, and results that are whole after it."""
LINES = 64
"""Lines of a group."""
COLUMNS = 16
"""Units make sums of a multiple of so many results at once."""
MOST = 192
"""Most results that a step's numbers are in: registers hold their sums."""
AHEAD, BEHIND = SIDE, 8
"""Of a table, zeros before the first weight, and after the last step."""
EVEN = 8
"""The first number that is read is a multiple of them in the whole, so that some come from memory together."""
BEYOND = 2 * SIDE
"""Pixels before and after those that weights reach, no fewer than are read: of a result's block, and of the last one it needs."""
ITEMS, PLANES, LONGEST = 128, 65535, (1 << 30) - 1
"""Work-items of a group, and most planes of a launch, and rows and columns of one."""
# Exponents of the largest weight.
_RANGE = 30


def shift_of(taps: int) -> int:
    """Numbers that are read before the first weight's, where the middle one's is a result's.

    Where `results_of` is no multiple of `SIDE`, the results left out are those that a step's last numbers would be the first of.
    """
    return -(taps // 2) % EVEN + -results_of(taps) % SIDE


def results_of(taps: int) -> int:
    """Results that a step's numbers are in: whole `COLUMNS`."""
    return -(-(SIDE - 1 + taps + -(taps // 2) % EVEN) // COLUMNS) * COLUMNS


def steps_of(taps: int) -> int:
    """Steps that `SIDE` results are summed of."""
    return -(-results_of(taps) // SIDE)


def pitch_of(rows: int) -> int:
    """Numbers of a line of sums across: whole groups' of rows."""
    return -(-rows // LINES) * LINES


def power_of(weights: np.ndarray) -> int:
    """The power of two that makes the largest weight one between 2^14 and 2^15."""
    return 14 - math.frexp(float(np.abs(weights).max()))[1] + 1


def powers(tall: np.ndarray, wide: np.ndarray) -> tuple[int, int]:
    """Powers of two that sums across are multiplied by, so that they are no larger than numbers, and those down, to be results."""
    more = max(math.ceil(math.log2(float(np.abs(wide.astype(float)).sum())) - 1e-3), 0)
    return -power_of(wide) - more, more - power_of(tall)


def table(weights: np.ndarray) -> np.ndarray:
    """Of every place (..., 2), two neighbouring weights as halves, and what these lack of them."""
    exact = np.asarray(weights, np.float64) * 2.0 ** power_of(weights)
    first = exact.astype(np.float16)

    def neighbours(halves: np.ndarray) -> np.ndarray:
        row = np.zeros(AHEAD + SIDE * steps_of(halves.size) + BEHIND + 1, np.uint16)
        row[AHEAD + shift_of(halves.size) :][: halves.size] = halves.view(np.uint16)
        return row[:-1].astype(np.uint32) | row[1:].astype(np.uint32) << 16

    return np.stack([neighbours(first), neighbours((exact - first.astype(np.float64)).astype(np.float16))], 1)


def fit(tall: np.ndarray, wide: np.ndarray) -> bool:
    """Whether weights are few enough, odd in number, and neither too large nor too small."""
    sizes = tall.size, wide.size
    if not all(n % 2 for n in sizes) or max(map(results_of, sizes)) > MOST:
        return False
    largest = [float(np.abs(one).max()) for one in (tall, wide)]
    return all(2.0**-_RANGE <= one <= 2.0**_RANGE for one in largest) and bool(np.isfinite(tall).all() and np.isfinite(wide).all())


def in_reach(limits: Limits, image: ArraySpec) -> bool:
    """Whether a device sums so."""
    if len(image.shape) < 2 or image.size == 0 or not limits.halves or limits.group < ITEMS:
        return False
    few = image.size // max(math.prod(image.shape[-2:]), 1) <= PLANES and max(image.shape[-2:]) <= LONGEST
    return few and np.dtype(sum_dtype(image.dtype)) == np.float32
