"""What deblending is launched with: a pixel over a level belongs to the summit it climbs to, summits to sources by their passes.

Pixels are ranked: higher values first, of equal ones the first in raster order. Each pixel points to the highest of itself and its
8 neighbours; where that leads is its basin. Where pixels of an island are connected by edges (``connectivity`` 4), a corner is a
neighbour if a pixel beside both is set, too: islands stay what they are, and a slanted summit is one. The pass between two basins
is the highest of the lower pixels of all pairs of neighbours across their border. Passes are opened from the highest down
(Kruskal): of the two branches that meet, the one with the lower summit ends, and stays a source if it holds several already, or if
its summit is over ``seed`` noises and over the pass by more than ``prominence`` noises and ``contrast`` times the other's summit;
else its pixels go to the source across the pass. Of ``beamed``, the first takes the place of ``prominence`` where the branch is as
points are that touch: it has as many pixels as the second and third say, and the squares of its summit's distances, in pixels, from
the pass and from the summit of the source across it are those that the next four say, from and to. A branch of fewer than
``min_area`` pixels is none: it goes to the other, whichever is higher. Islands that are not over the seed, or too small, are left
out.

Basins are numbered in raster order of where they are met. Rows of a part that are multiples of ``strip`` begin a strip: pixels of
its last row, and those of its first that climb out of it, are basins of their own, linked to where they climb when that is known;
so basins and their numbers are the same wherever an image is cut at strips. A block that is the whole image has no strips, but for
the count of basins where there is no room for them.

* ``launch("deblend.gather", block, stats, nodes, *state, first=, height=, sigma=, connectivity=, strip=, seed=)`` for all blocks in
  order; where basins are more than ``state`` has room for, they are counted, and nothing else is done.
  ``block``, ``stats`` and ``first`` as in `kernels.find_sources`; ``nodes`` int32, or int64 for images of 2^31 pixels and over, of
  the block's shape: left with minus the number of the basin in the block, from 1.
* ``launch("deblend.settle", stats, count, members, *state, seed=, prominence=, contrast=, min_area=, beamed=, width=)`` when
  all are through, of an image so wide.
  ``count`` int64 (1,): the sources; what `crowded` reads where there are more basins than ``state`` has room for. ``members`` int64
  (capacity, 4): per source its island, numbered from 1 in raster order of first pixels, its number in the island, brightest first,
  how many there are in it, and the label 1 + row. Where sources are more than there is room for, tables and labels mean nothing.
* ``launch("deblend.paint", block, stats, count, nodes, labels, *state, first=, height=, sigma=, connectivity=, strip=, climb=,
  capacity=)`` for all blocks in order: ``labels`` int32 from ``nodes``, which are made anew with ``climb``; both may be one array.
* ``launch("deblend.told", block, level, spread, ranks, values)``: of maps of background and noise, arrays of the block's shape and
  dtype: ``values`` over the level, and ``ranks``, these over the spread, NaN where that is not over 0. Ranks are what the other
  kernels then take for the block, with a noise of 1 above 0.
* ``launch("deblend.told_on_mesh", block, smooth, ranks, values, first=, size=, sigma=)``: the same on the CPU, of what
  `kernels.mesh` has smoothed of cells so large, without the maps. ``ranks`` may be 0 where none of a stretch's pixels is over
  ``sigma``, and ``values`` are not told unless a pixel that is may be beside them.
* ``launch("deblend.at_peaks", level, spread, boxes, moments, first=)``: both maps into the columns LEVEL and SPREAD of those whose
  peak lies in the block. ``launch("deblend.at_peaks_on_mesh", block, smooth, boxes, moments, first=, size=)`` on the CPU: the same.
* ``state``  what `gather_state` asks for, kept from launch to launch; a GPU has another. A GPU needs no strips: it takes only the
  blocks themselves for basins of their own, so that it meets more of them where blocks are smaller.
"""

from __future__ import annotations

from footprint.spec import ArraySpec, Limits

# Basins there is room for, for every row of the catalogue; passes for every basin.
BASINS, PASSES = 2, 2
# Rows of the basins: the basin it climbs on to, raster index of its summit and of its first pixel, pixels, the highest basin of
# its tree (at last the label), the source it belongs to, whether its tree holds several sources.
LINK, AT, FIRST, PIXELS, TREE, OWNER, MANY = range(7)
# Columns of the passes: 8 times the raster index of the lower pixel + the direction of the other, the two basins, and the rank of
# the lower pixel's value (`kernels.deblend.tree`).
CODE, A, B, HEIGHT = range(4)
# Columns of a band of rows that a thread walks: where it goes on, the row it ends before, the next place for a pass, and where its
# places end.
ROW, COLUMN, STOP, PLACE, LIMIT = range(5)
# What is counted: basins met, basins met by `paint`, passes stored, summits over the seed.
MET, SEEN, STORED, BRIGHT = range(4)
ISLAND, COMPONENT, COMPONENTS, LABEL = range(4)
# Bounds of what points that touch are like, where nothing is.
NO_POINTS = (1, 0, 1, 0, 1, 0)

STRIP = 1 << 19
# On the CPU, pixels of a stretch of a row, which is passed over where none of them belongs to a basin.
AT_ONCE = 32
# Of a count below 0, what summits over the seed are counted by; there are fewer basins than that in any image.
CROWD = 1 << 36
# Of these no more are told, so that a count is an int64.
MOST = (1 << 26) - 1


def strip_rows(width: int, rows: int) -> int:
    """Rows of a strip: about half a million pixels, a multiple of ``rows``."""
    return rows * -(-min(max(STRIP // max(width, 1), 8), 128) // rows)


def crowd(basins: int, bright: int) -> int:
    """What a count is where there is no room for so many basins, of which so many have summits over the seed."""
    return -(basins + CROWD * min(bright, MOST))


def crowded(count: int) -> tuple[int, int]:
    """Of such a count, the basins, and the most that may be sources."""
    bright, basins = divmod(-count, CROWD)
    return basins, bright if bright < MOST else basins


def default_rooms(size: int) -> tuple[tuple[int, int], ...]:
    """Sources and summits a plan has room for unless told otherwise, and where memory is short.

    A source takes about 500 bytes, a fitted one some kilobytes, a summit 180: noise over 3 deviations has one every 650 pixels.
    """
    most = (size + 1) // 2
    shares = ((64, 768, 384), (8, 2048, 512), (8, 6144, 512), (8, 16384, 1024))
    return tuple(
        (min(few + size // rows, most), min(BASINS * few + size // summits, BASINS * most)) for few, rows, summits in shares
    )


def near_size(capacity: int, width: int, threads: int) -> int:
    """Pairs of basins whose best pass a thread has at hand, a power of two: those that one row of a crowd has."""
    return max(16, 1 << (min(capacity // 2, width, (1 << 16) // threads) - 1).bit_length())


def gather_state(limits: Limits, block: ArraySpec, *rest: ArraySpec, capacity: int, **_: object) -> tuple[ArraySpec, ...]:
    """Summits and basins, passes; basins of a strip's last row, what they climb to, its values; counts."""
    n, width = BASINS * capacity, block.shape[1]
    return (
        ArraySpec((n,), "float64"),
        ArraySpec((7, n), "int64"),
        ArraySpec((PASSES * n + 64, 4), "int64"),
        ArraySpec((width,), "int64"),
        ArraySpec((width,), "float64"),
        ArraySpec((1, width), block.dtype),
        ArraySpec((4,), "int64"),
    )


def _climbing(block: ArraySpec) -> tuple[ArraySpec, ...]:
    """Basins of each row, and which stretches of it have pixels of any."""
    rows, width = block.shape
    return ArraySpec((rows + 1,), "int64"), ArraySpec((rows, -(-width // AT_ONCE)), "bool")


def _sorting(passes: ArraySpec) -> tuple[ArraySpec, ...]:
    """Keys, an order, and room for another."""
    n = passes.shape[0]
    return ArraySpec((n,), "uint64"), ArraySpec((n,), "int64"), ArraySpec((n,), "int64")


def gather_work(
    limits: Limits, block: ArraySpec, stats: ArraySpec, nodes: ArraySpec, *state: ArraySpec, **_: object
) -> tuple[ArraySpec, ...]:
    """What climbs; basins of the row before; bands, passes that each has at hand; and what sorting takes."""
    width = block.shape[1]
    near = limits.threads, near_size(state[0].shape[0] // BASINS, width, limits.threads)
    return (
        *_climbing(block),
        ArraySpec((1, width), nodes.dtype),
        ArraySpec((limits.threads, 5), "int64"),
        ArraySpec((*near, 4), "int64"),
        *_sorting(state[2]),
    )


def settle_work(
    limits: Limits, stats: ArraySpec, count: ArraySpec, members: ArraySpec, *state: ArraySpec, **_: object
) -> tuple[ArraySpec, ...]:
    """What sorting takes."""
    return _sorting(state[2])


def paint_work(limits: Limits, block: ArraySpec, *rest: ArraySpec, **_: object) -> tuple[ArraySpec, ...]:
    """What climbs."""
    return _climbing(block)


def told_on_mesh_work(
    limits: Limits, block: ArraySpec, smooth: ArraySpec, *rest: ArraySpec, size: int, **_: object
) -> tuple[ArraySpec, ...]:
    """Of every thread: knots of a row; what its pieces are over; distances from a cell's centre; both maps of a row, and bounds.

    Then which stretches of three rows have pixels that may stand out, and which of a row are wanted.
    """
    width, n, threads, stretches = block.shape[1], smooth.shape[2], limits.threads, -(-block.shape[1] // AT_ONCE)
    return (
        ArraySpec((threads, 2, n), "float64"),
        ArraySpec((threads, n + 1), "float64"),
        ArraySpec((3 * size,), "float64"),
        ArraySpec((threads, 3, width), block.dtype),
        ArraySpec((threads, 3, stretches + 2), "uint8"),
        ArraySpec((threads, stretches), "uint8"),
    )


def at_peaks_on_mesh_work(limits: Limits, block: ArraySpec, *rest: ArraySpec, size: int, **_: object) -> tuple[ArraySpec, ...]:
    """Knots about a pixel, distances from a cell's centre, and a pixel."""
    return ArraySpec((2, 2), "float64"), ArraySpec((3 * size,), "float64"), ArraySpec((1,), block.dtype)
