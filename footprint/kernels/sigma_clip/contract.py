"""What `sigma_clip` is launched with.

``launch("sigma_clip", block, stats, counts, *state, turn=, first=, size=, width=, sigma=, maxiters=, strict=, zero=)``

* ``block``  float32 or float64, consecutive whole rows of the image: the whole of it, or one of several blocks that come in order,
  cut at multiples of `rows_per_block`.
* ``stats``  float64 (8,): what `MEAN` to `NOISE` say.  ``counts`` int64 (8,): what `DONE` to `ITERATIONS` say.
* ``state``  what `sigma_clip_state` asks for, kept from block to block and from pass to pass.
* ``turn``, ``first``  the number of the pass over the image, and the first row of the block in it.
* ``size``, ``width``  pixels of the image and of a row; ``maxiters`` -1 for until nothing changes; ``zero``: the background is 0.

``launch("sigma_clip.glance", block, stats, counts, *state, first=, size=, width=, sigma=, maxiters=, strict=, zero=)`` takes the
rows of `glance_rows`, in order, before the first pass, which is then the one of ``turn`` 1; processors only.

The clip ends when ``counts[DONE]`` is 1; until then the caller hands in all blocks once more. A launch that is given the whole
image ends where `ends_at_once`. Not finite pixels are ignored; with none left, ``counts[COUNT]`` is 0.
"""

from __future__ import annotations

import math
from functools import lru_cache

from footprint.spec import ArraySpec, Limits

MEAN, MEDIAN, STD, LOW, HIGH, BACKGROUND, NOISE = range(7)
DONE, COUNT, ITERATIONS = range(3)

# Pixels that are summed before sums are added up in order: a fixed cut makes the sums independent of blocks and threads.
STRIP = 2048
# An image of no more pixels is kept and sorted whole.
SMALL = 4096
# Pixels from which on a smaller share is put aside: 32 MB of them.
MUCH = 1 << 23
# Bins that find a median, a power of two: fewer where they would outweigh the image.
BINS, FEW_BINS = 2048, 512
SAMPLE = 65536
# Strips that are looked at first, and pixels of each: where there are so many times more of them, they tell of the whole.
GLANCES, OF_EACH, WORTH = 64, 1024, 8


def rows_per_strip(width: int) -> int:
    """Whole rows that make up a strip."""
    return -(-STRIP // max(width, 1))


def rows_per_block(size: int, width: int) -> int:
    """Blocks of an image are cut at multiples of so many rows: at strips, or anywhere where all of it is kept and sorted."""
    return 1 if kept_capacity(size) >= size else rows_per_strip(width)


def kept_capacity(size: int) -> int:
    """Pixels the clip may put aside: all of a small image, an eighth of a larger one, a sixteenth of a very large one.

    A forecast needs a twenty-eighth of them, and what sources there are; what it cannot keep it counts.
    """
    return max(min(size, SMALL), min(-(-size // 8), max(MUCH, -(-size // 16))))


def sample_stride(size: int, width: int) -> int:
    """Step of the sample; free of common factors with the width, or it would see a few columns only."""
    stride = -(-size // max(1, min(kept_capacity(size), SAMPLE)))
    if stride > 1:
        stride |= 1
        while math.gcd(stride, max(width, 1)) != 1:
            stride += 2
    return stride


def glance_strips(size: int, width: int) -> tuple[int, ...]:
    """The strips that are looked at first: one of each 64th of the image, not at equal distances, which rows might have, too.

    There are none where the image has hardly more strips.
    """
    strips = size // max(width, 1) // rows_per_strip(width)
    if strips < WORTH * GLANCES:
        return ()
    golden = (math.sqrt(5) - 1) / 2
    return tuple(int((k + k * golden % 1) * strips / GLANCES) for k in range(GLANCES))


@lru_cache(maxsize=4)
def glance_rows(size: int, width: int) -> tuple[tuple[int, int], ...]:
    """The rows of these strips, as ``(start, stop)``."""
    rows = rows_per_strip(width)
    return tuple((strip * rows, (strip + 1) * rows) for strip in glance_strips(size, width))


def ends_at_once(limits: Limits) -> bool:
    """Whether one program on the whole image ends whatever the image: on all but processors that pass for GPUs.

    Its groups wait for each other, or one of them goes on alone where the usual passes were not enough.
    """
    return limits.host or limits.together >= max(1, limits.cores) or limits.memory > 0


def usual_passes(limits: Limits) -> int:
    """Times that an image in blocks is mostly handed in: twice for a forecast and what it wants, or once or twice a clip."""
    return 2 if limits.host or ends_at_once(limits) else 5


def _strips(block: ArraySpec, width: int) -> int:
    return -(-block.size // (rows_per_strip(width) * max(width, 1)))


def sigma_clip_state(
    limits: Limits, block: ArraySpec, stats: ArraySpec, counts: ArraySpec, *, size: int, width: int, **_: object
) -> tuple[ArraySpec, ...]:
    """Pixels put aside, a histogram a thread that has a strip, numbers and marks."""
    bins, kept = BINS if size >= 1 << 18 else FEW_BINS, kept_capacity(size)
    return (
        ArraySpec((kept,), block.dtype),
        # Nothing is counted where all is kept.
        ArraySpec(
            (min(limits.threads, _strips(block, width)), bins) if kept < size else (1, 1), "int32" if size < 1 << 31 else "int64"
        ),
        ArraySpec((16,), "float64"),
        ArraySpec((24,), "int64"),
    )


def sigma_clip_work(limits: Limits, block: ArraySpec, *rest: ArraySpec, width: int, **_: object) -> tuple[ArraySpec, ...]:
    """Sums a strip."""
    return (ArraySpec((_strips(block, width), 6), "float64"),)
