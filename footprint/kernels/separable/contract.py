"""Correlation along one axis, and along the two last in one pass.

``launch("separable", image, tall, wide, out, y0=, x0=, border_y=, border_x=, cval=)`` computes, of planes ``image[p]``::

    down[y, x] = sum over i of tall[i] image[p, y + y0 + i, x]
    out[p, y, x] = sum over j of wide[j] down[y, x + x0 + j]

where the image, and then ``down``, is continued beyond its edges as the two borders say (names of ``borders.BORDERS``, or "none"
for an axis whose halo is part of the array); beyond either lies ``cval`` where that is constant. ``launch("separable.line", image,
weights, out, first=, border=, cval=, down=)`` is the one sum alone, of a 2-D or 3-D array along its first axis (``down``), or of a
2-D one along its last.

All are of one dtype, float32 or float64, but for an image that a GPU reads as it is stored (`read_as`). Sums have the levels of the
kernel ``convolve``, on a GPU in chains of at most 32 products, as what sums of sums lose adds up. Blocks equal
the whole to the last bit.
"""

from __future__ import annotations

import numpy as np

from footprint.kernels.convolve.contract import BLOCK, ROWS, STEP, TOGETHER, convolve_work, stored_as
from footprint.spec import ArraySpec, Limits

FUSED = 256
"""Bytes of the most weights along an axis that one pass takes: 64 of float32."""
PIECE = 640
"""Bytes of the most weights whose sums down a GPU makes in one launch: a work-item has as many in registers."""
DOWN = 4
"""Most such launches; by the kernel ``convolve``, which sums down more weights than these, each takes eight times as long."""
STRIP = 1024
"""Most results of a row that are made at once."""
CHAIN = 24
"""Most products of a chain of such sums on the CPU: what both sums lose adds up."""
RING = 131072
"""Bytes of sums across that a thread of the CPU keeps: rows in short pieces are not foreseen, and all of them has to stay near."""


def places(tall: int, wide: int, width: int) -> tuple[int, int, int, int, int]:
    """Of a thread's workspace: elements of a strip and of a line, and where a block's rows, its sums, and the lines begin."""
    strip = min(STRIP, -(-max(width, 1) // BLOCK) * BLOCK)
    line = -(-(strip + wide - 1) // BLOCK) * BLOCK
    sums = (ROWS + tall - 1) * BLOCK
    lines = sums + 2 * TOGETHER * ROWS * BLOCK
    return strip, line, sums, lines, lines + ROWS * line


def short(tall: int, wide: int, cval: float, itemsize: int) -> bool:
    """Whether the CPU sums across first: what lies beyond the ends of rows of ``down`` must then be nothing but what it sums to."""
    return max(tall, wide) <= FUSED // itemsize and cval == 0


def chained(taps: int) -> int:
    """Taps of a chain, so that chains are nearly equal."""
    chains = (taps + CHAIN - 1) // CHAIN
    return (taps + chains - 1) // chains


def short_places(tall: int, wide: int, width: int, itemsize: int) -> tuple[int, int, int]:
    """Of a thread's workspace for these: elements of a strip, where a block at an edge lies, and the end."""
    strip = min(max(RING // ((tall + 1) * itemsize) // STEP, 1), -(-max(width, 1) // STEP)) * STEP
    return strip, (tall + 1) * strip, (tall + 1) * strip + STEP + wide - 1


def separable_work(
    limits: Limits, image: ArraySpec, tall: ArraySpec, wide: ArraySpec, out: ArraySpec, *, cval: float = 0.0, **_: object
) -> tuple[ArraySpec, ...]:
    """For each thread the rows of a block at an edge, its sums, lines of sums down, and sums across; or a ring of `short` sums."""
    lengths = tall.shape[0], wide.shape[0], out.shape[2]
    size = places(*lengths)[4] + 3 * STEP
    if short(*lengths[:2], cval, out.itemsize):
        size = short_places(*lengths, out.itemsize)[2]
    unit = limits.align // np.dtype(out.dtype).itemsize
    return (ArraySpec((limits.threads, -(-size // unit) * unit), out.dtype),)


def at_once(limits: Limits, taps: tuple[int, ...], itemsize: int) -> bool:
    """Whether both sums are quicker in one pass: where a processor's cache, or a GPU's registers, hold what lies between them."""
    return (limits.host or limits.family == "gpu") and all(2 <= n <= FUSED // itemsize for n in taps)


def flat(spec: ArraySpec, down: bool) -> ArraySpec:
    """An array as the kernel ``convolve`` sees it: its first axis is ``down``, its last across."""
    rows = spec.shape[0] if down else spec.size // max(spec.shape[-1], 1)
    return ArraySpec((rows, spec.size // max(rows, 1)), spec.dtype)


def line_work(
    limits: Limits, image: ArraySpec, weights: ArraySpec, out: ArraySpec, *, down: bool, **_: object
) -> tuple[ArraySpec, ...]:
    """That of the kernel ``convolve``."""
    n = weights.shape[0]
    return convolve_work(limits, flat(image, down), ArraySpec((n, 1) if down else (1, n), weights.dtype), flat(out, down))


def one_pass(limits: Limits, taps: tuple[int, int], itemsize: int) -> bool:
    """Whether a device makes both sums at once: a GPU has all sums down that a row adds to in registers."""
    return limits.family == "cpu" or max(taps) <= FUSED // itemsize


def launches_down(taps: int, itemsize: int) -> int:
    """In how many launches a GPU makes sums down; 0 where the kernel ``convolve`` does."""
    pieces = -(-taps * itemsize // PIECE)
    return pieces if pieces <= DOWN else 0


def read_as(limits: Limits, dtype: str, sums: str) -> str:
    """The dtype that an image is read in: on a GPU as it is stored, where sums hold all its values."""
    return stored_as(dtype, sums) if limits.family == "gpu" else sums
