"""What `find_sources` is launched with: threshold, label and measure in one sweep over an image whose clip is known.

``launch("find_sources.table", block, stats, count, moments, boxes, *state, turn=, first=, height=, sigma=, connectivity=,
min_area=, seed=)``, ``find_sources.labelled`` with ``labels`` after ``boxes`` for a block that is the whole image; where it is not,
and all blocks have been through ``table``, ``launch("find_sources.paint", block, stats, count, boxes, labels, *state, ...)``
for each of them. Blocks go through ``table`` as often as `turns` says; ``turn`` counts that.

* ``block``, ``stats``, ``first`` as `sigma_clip` has left and is given them: set is what has ``value - stats[BACKGROUND]`` over
  ``sigma * stats[NOISE]``. Blocks come in order.
* ``count`` int64 (1,): the components met (a component is a piece of an island until pieces are seen to join; on a GPU all pieces
  of a block that join in it are one). On the host, where the table is full, the rows of components that have ended, and are too
  small or too faint for a label, are used again, and not counted; the results have the same bits.
* ``moments`` float64 (capacity, 15): sum, sum x, sum y, peak; then, weighted by the values, the variances of x and y and their
  covariance; the values left of, right of, before and after the peak, and at its corners, NaN beyond the image.
* ``boxes`` int64 (capacity, 8): label, pixels, x and y of the first and last column and row (inclusive), x and y of the peak.
  A row counts where pixels > 0 and label > 0; labels ascend. Labelled is what has ``min_area`` pixels and a peak over ``seed``
  times the noise (0: any).
* ``labels`` int32, of the block's shape.
* ``state``  what `table_state` asks for, kept from block to block.

Where ``count`` is over the capacity, table and labels mean nothing and the caller plans again with that number, which does.
"""

from __future__ import annotations

from footprint.kernels.measure import contract as measure
from footprint.spec import ArraySpec, Limits

SUM, SUM_X, SUM_Y, PEAK, XX, YY, XY, LEFT, RIGHT, BEFORE, AFTER = range(11)
# Corners: the row before and the one after, each left and right.
CORNERS, MOMENTS = 11, 15
# Of islands over maps: background and noise where the peak is.
LEVEL, SPREAD, LOCAL_MOMENTS = 15, 16, 17
LABEL, PIXELS, X_MIN, X_MAX, Y_MIN, Y_MAX, X_PEAK, Y_PEAK = range(8)

# Of every row of the table on the host: where it goes when rows are used again, and the index of its first pixel in the image.
WHERE, START = range(2)
# Rows are used again where more than one in so many come free: fewer would soon be wanted again.
FREED = 256

# Pixels whose emptiness one flag tells.
FLAG = 64


def default_capacities(size: int) -> tuple[int, ...]:
    """Components a plan holds unless told otherwise (3 % of a float32 image's bytes), and where memory is short."""
    most = (size + 1) // 2
    return min(64 + size // 768, most), *(min(8 + size // share, most) for share in (1024, 6144, 16384))


def turns(limits: Limits, dtype: str) -> int:
    """Times that the blocks of an image of this dtype are handed in: once, or to join components before they are measured."""
    return 1 if limits.host else 1 + measure.turns(limits, dtype)


def table_state(limits: Limits, block: ArraySpec, *rest: ArraySpec, **_: object) -> tuple[ArraySpec, ...]:
    """The runs of two rows, what the walk carries from row to row, the row before a block; places of the table's rows."""
    width, boxes = block.shape[1], rest[-1]
    return (
        ArraySpec((2, width // 2 + 1, 3), "int32"),
        ArraySpec((4,), "int64"),
        ArraySpec((1, width), block.dtype),
        ArraySpec((boxes.shape[0], 2), "int64"),
    )


def table_work(limits: Limits, block: ArraySpec, *rest: ArraySpec, **_: object) -> tuple[ArraySpec, ...]:
    """The flags of a block."""
    return (ArraySpec((block.shape[0], -(-block.shape[1] // FLAG)), "uint8"),)


labelled_state = table_state
labelled_work = paint_work = table_work
