"""Correlation along one axis, along the two last in one pass, and along the three of a volume.

``launch("separable", image, tall, wide, out, y0=, x0=, border_y=, border_x=, cval=)`` computes, of planes ``image[p]``::

    down[y, x] = sum over i of tall[i] image[p, y + y0 + i, x]
    out[p, y, x] = sum over j of wide[j] down[y, x + x0 + j]

where the image, and then ``down``, is continued beyond its edges as the two borders say (names of ``borders.BORDERS``, or "none"
for an axis whose halo is part of the array); beyond either lies ``cval`` where that is constant. ``launch("separable.line", image,
weights, out, first=, border=, cval=, down=, planes=False)`` is the one sum alone, of a 2-D or 3-D array along its first axis
(``down``) or its last, or down each of the ``planes`` of a 3-D one.

``launch("separable.ring", image, tall, wide, out, taps=, y0=, x0=, border_y=, border_x=, cval=, first_y=, first_x=, pairs=)``, a
GPU's alone, is the first of float32, by another order of sums: neighbours share products where ``pairs`` says how many pairs of
weights down and across are summed in a chain (`rings.pairs_of`). Then tables are those of `rings.with_sums`, ``taps`` says how many
weights they have, and the first result's place in the whole how results pair.

``launch("separable.cube", volume, deep, tall, wide, out, z0=, y0=, x0=, border_z=, border_y=, border_x=)``, a GPU's alone,
sums down the rows, across them and through the planes, in this order; beyond a constant border lies 0.

``launch("separable.box", image, weights, out, axis=, first=, border=, cval=, start=)``, a processor's alone, is the one sum along
any axis of an array of one to three, where all weights are equal; ``start`` is where the first result lies in the whole array.

``launch("separable.near", image, weights, out, y0=, x0=, border_y=, border_x=, cross=)``, a processor's alone, is the sum over
three by three neighbours in planes, ``weights`` being nine in a row; a ``cross`` leaves the corners out.

``launch("separable.counts", image, tall, wide, out, y0=, x0=, border_y=, border_x=)``, a processor's alone, is the sum down and
across of integers where the weights along each axis are equal: exact, but for three roundings at the end. Beyond a constant border
lies 0, as it does for "near" and "means".

``launch("separable.means", image, tall, wide, out, y0=, x0=, border_y=, border_x=, start=)``, a processor's alone, is the same of
float32; ``start`` is the row of the whole that the first result is.

All are of one dtype, float32 or float64, but for images that a GPU, "near" or "counts" reads as they are stored (`read_as`).
Sums have the levels of the kernel ``convolve``, on a GPU in chains of at most 32 products, as what sums of sums lose adds up.
Blocks equal the whole to the last bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from footprint.kernels.common.launch import MAX_GROUPS_Y
from footprint.kernels.convolve.contract import BLOCK, LINE_ROOM, ROWS, STEP, STORED, TOGETHER, convolve_work, stored_as
from footprint.kernels.separable.rings import in_rings
from footprint.spec import ArraySpec, Limits

FUSED = 256
"""Bytes of the most weights along an axis that one pass takes: 64 of float32."""
RINGED = 161
"""Most weights of float32 that one pass takes on a GPU, where its chip has room (`rings.in_rings`): all of them are written out."""
CUBED = 17
"""Most weights along each axis of a volume that one pass takes: with more of them, sums through the planes leave registers."""
PIECE = 640
"""Bytes of the most weights whose sums down a GPU makes in one launch: a work-item has as many in registers."""
DOWN = 4
"""Most such launches, each compiled for its weights; more of them are summed by a text that serves any number."""
STRIP = 1024
"""Most results of a row that are made at once."""
CHAIN = 24
"""Most products of a chain of such sums on the CPU: what both sums lose adds up."""
ABREAST = 16
"""Columns, or blocks of lines, that sums of equal weights go along together."""
BOXED = {4: 48, 8: 33}
"""Least equal weights that a processor sums in blocks, by the bytes of a number: fewer are summed sooner one by one."""
BOX_TAPS = 34
"""Weights that are summed one by one in the time that any number takes in blocks (measured at 2048 x 2048 along either axis)."""
BOX_ROOM = 64 << 20
"""Most bytes of a thread's blocks: along one line alone they are as long as the window, sixteen times."""
DOWN_PLANES = {4: 40, 8: 32}
"""Most weights that a processor sums down planes as if it summed across, too, by the bytes of a number: to the same bits, and
threads share planes, each of which may be small."""
CROWD_SIDE = 64
"""Most pixels to a side of small planes, and of what they need around them."""
VECTOR = 64
"""Bytes of the widest vectors."""
NEAR = 3
"""Weights along either axis whose products with all neighbours are summed at once by a processor."""
NEAR_PIECE = 8192
"""Most results of a row of such sums that are made at once: three rows of so many pixels stay near."""
COUNTED = (2048, 8192)
"""Most results of a row of sums of integers that are made at once, where few weights or many lie on it."""
TALLY = 16
"""Rows of means of float32 that share what lies under all their windows."""
TALLIED = (16, 200)
"""Least and most weights along either axis of such means: fewer are summed sooner one by one, more lose digits."""
TALLY_STRIP, TALLY_RING = 1024, 160_000
"""Most results of a row of theirs that are made at once, and most sums across that a thread keeps for them."""
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
    """Of a thread's workspace for these: elements of a strip, where a block at an edge lies, and the end.

    Strips are as equal as can be: one of few columns costs as much for each row as a wide one. So a part of fewer columns may have
    wider ones.
    """
    blocks, most = -(-max(width, 1) // STEP), _widest(tall, itemsize)
    return _short_room(tall, wide, -(-blocks // -(-blocks // most)) * STEP)


def _widest(tall: int, itemsize: int) -> int:
    """Blocks of the widest strip."""
    return max(RING // ((tall + 1) * itemsize) // STEP, 1)


def _short_room(tall: int, wide: int, strip: int) -> tuple[int, int, int]:
    return strip, (tall + 1) * strip, (tall + 1) * strip + STEP + wide - 1


def crowded(image: tuple[int, ...], out: tuple[int, ...], itemsize: int) -> int:
    """Elements of a thread's workspace where so many small planes are summed that each has a lane of its own; else 0."""
    lanes, pixels = VECTOR // itemsize, math.prod(out[1:])
    small = 4 <= min(*image[1:], *out[1:]) and max(*image[1:], *out[1:]) <= CROWD_SIDE
    if out[0] < lanes or not small or min(math.prod(image[1:]), pixels) < lanes:
        return 0
    return lanes * (max(math.prod(image[1:]), pixels) + image[1] * out[2])


def separable_work(
    limits: Limits, image: ArraySpec, tall: ArraySpec, wide: ArraySpec, out: ArraySpec, *, cval: float = 0.0, **_: object
) -> tuple[ArraySpec, ...]:
    """For each thread the rows of a block at an edge, its sums, lines of sums down, and sums across.

    Of `short` sums a ring of them, or small planes side by side.
    """
    lengths = tall.shape[0], wide.shape[0], out.shape[2]
    size = places(*lengths)[4] + LINE_ROOM
    if short(*lengths[:2], cval, out.itemsize):
        # That of any narrower part, too.
        widest = min(-(-max(lengths[2], 1) // STEP), _widest(lengths[0], out.itemsize)) * STEP
        size = max(_short_room(*lengths[:2], widest)[2], crowded(image.shape, out.shape, out.itemsize))
    unit = limits.align // np.dtype(out.dtype).itemsize
    return (ArraySpec((limits.threads, -(-size // unit) * unit), out.dtype),)


def in_sight(limits: Limits, taps: tuple[int, int]) -> bool:
    """Whether a device sums 3 x 3 neighbours at once. A GPU makes both sums on its chip."""
    return limits.family == "cpu" and taps == (NEAR, NEAR)


def countable(limits: Limits, image: ArraySpec, taps: tuple[int, int]) -> bool:
    """Whether a device sums an image's pixels in integers: where 31 bits hold all that lies under the weights, and any column."""
    kind = np.dtype(image.dtype)
    if limits.family != "cpu" or kind.name not in STORED or max(taps) < 2:
        return False
    most = 1 if kind.kind == "b" else max(np.iinfo(kind).max, -np.iinfo(kind).min)
    return max(taps[0] * taps[1] * most, image.shape[-1]) < 1 << 31


def counted_places(wide: int, columns: int) -> tuple[int, int, int]:
    """Of a thread's workspace: results of a strip, and where the sums of a strip's columns up to each begin, and their places."""
    strip = min(max(columns, 1), COUNTED[wide > COUNTED[0] // 4])
    # At least one number lies between the two.
    line = -(-(strip + wide) // VECTOR) * VECTOR
    return strip, line, 2 * line + VECTOR


def counts_work(
    limits: Limits, image: ArraySpec, tall: ArraySpec, wide: ArraySpec, out: ArraySpec, **_: object
) -> tuple[ArraySpec, ...]:
    """For each thread sums of columns, sums of those, and where columns at an edge lie."""
    places = counted_places(wide.size, out.shape[2])[1:]
    return (ArraySpec((limits.threads, sum(places)), "int32"),)


def averaged(limits: Limits, sums: str, taps: tuple[int, int]) -> bool:
    """Whether a processor sums equal weights down and across in one pass over float32: so many that no product pays."""
    return limits.family == "cpu" and np.dtype(sums) == np.float32 and TALLIED[0] <= min(taps) and max(taps) <= TALLIED[1]


def means_places(tall: int, wide: int, columns: int) -> tuple[int, int, int, int, int, int, int]:
    """Of a thread's workspace: results of a strip; where two lines, sums across, their sums, results aside begin; and the end."""
    wanted = min(max(columns, 1), TALLY_STRIP, TALLY_RING // (tall + TALLY - 1))
    strip = -(-wanted // VECTOR) * VECTOR
    line = -(-(strip + 2 * wide) // VECTOR) * VECTOR + VECTOR
    ring = 2 * line
    groups = ring + (tall + TALLY - 1) * (strip + VECTOR // 4)
    aside = groups + tall // TALLY * (strip + VECTOR // 4)
    return strip, 0, line, ring, groups, aside, aside + TALLY * strip


def means_work(
    limits: Limits, image: ArraySpec, tall: ArraySpec, wide: ArraySpec, out: ArraySpec, **_: object
) -> tuple[ArraySpec, ...]:
    """For each thread a line, sums across of as many rows as are summed down, and results of a group."""
    return (ArraySpec((limits.threads, means_places(tall.size, wide.size, out.shape[2])[-1]), out.dtype),)


def beside(inner: int) -> bool:
    """Whether lines with so many elements side by side are summed where they lie."""
    return inner >= ABREAST


def in_boxes(limits: Limits, taps: int, shape: tuple[int, ...], axis: int, sums: str) -> bool:
    """Whether equal weights along an axis of an array are summed in blocks: by the shape of the whole, whatever its parts."""
    if limits.family != "cpu" or taps < BOXED[np.dtype(sums).itemsize]:
        return False
    whole = ArraySpec(shape, sums)
    rooms = box_work(limits, whole, ArraySpec((taps,), sums), whole, axis=axis)
    return sum(room.nbytes for room in rooms) <= BOX_ROOM * limits.threads


def box_work(
    limits: Limits, image: ArraySpec, weights: ArraySpec, out: ArraySpec, *, axis: int, **_: object
) -> tuple[ArraySpec, ...]:
    """For each thread sums, and those of a block; and a row beyond the edge, or lines of blocks and what they need after them.

    The latter also where lines lie side by side, as few of them may be left for the last part.
    """
    most = min(weights.size, out.shape[axis])
    tile = ABREAST * (most + weights.size - 1)
    return ArraySpec((limits.threads, (3 + most) * ABREAST), "float64"), ArraySpec((limits.threads, tile), out.dtype)


def in_one_pass(limits: Limits, taps: tuple[int, ...], itemsize: int) -> bool:
    """Whether both sums are quicker in one pass: where a processor's cache, or a GPU's registers, hold what lies between them."""
    near = all(2 <= n <= FUSED // itemsize for n in taps)
    return (near and (limits.host or limits.family == "gpu")) or _ringed(limits, taps, itemsize)


def _ringed(limits: Limits, taps: tuple[int, ...], itemsize: int) -> bool:
    return itemsize == 4 and all(2 <= n <= RINGED for n in taps) and in_rings(limits, (taps[0], taps[1]))


@dataclass(frozen=True)
class Tile:
    """What a group of a volume's sums makes of a plane: ``across`` vectors and ``high`` rows of results.

    Each of ``items`` sums down ``down`` of the rows at once; ``resident`` groups share a core, and ``ahead`` is how many planes are
    on their way to it.
    """

    across: int
    high: int
    items: int
    down: int
    resident: int
    ahead: int = 2

    def read(self, wide: int, shift: int, side: int) -> int:
        """Vectors of ``side`` of a row, the first of which begins ``shift`` columns before the first weight's."""
        return (shift + self.across * side + wide + side - 2) // side

    def local(self, tall: int, read: int, stored: int) -> int:
        """Bytes on the chip: of planes read, where a vector has ``stored``, and of two that are summed down."""
        return -(-read * (32 * self.high + (self.ahead + 1) * (self.high + tall - 1) * stored) // 16) * 16


TILES = (Tile(32, 32, 512, 8, 1), Tile(16, 32, 640, 4, 1), Tile(16, 16, 320, 4, 2), Tile(8, 8, 128, 4, 4))
"""Tiles of a volume, the quickest first, which needs registers for sums through `FEW` planes at most.

Integers as they are stored come sooner, and are made numbers for every row of a task: with a few planes more it stays the quickest.
"""
FEW, FEW_STORED = 7, 9


def cube(limits: Limits, taps: tuple[int, int, int], itemsize: int, stored: int) -> Tile | None:
    """The tile for weights through the planes, down and across, of ``stored`` bytes a pixel; None where the chip holds none."""
    (deep, tall, wide), side = taps, 16 // itemsize
    for t in TILES[deep > (FEW_STORED if stored < itemsize else FEW) :]:
        lists = 4 * (t.high + tall + side * (t.across + 2) + wide)
        if t.items <= limits.group and t.local(tall, t.read(wide, side - 1, side), 16) + lists <= limits.local_mem:
            return t
    return None


def in_cubes(limits: Limits, taps: tuple[int, int, int], volume: ArraySpec, itemsize: int) -> bool:
    """Whether a volume's three sums are made in one pass: by a GPU, where places in a plane have 31 bits, of not too many tiles."""
    near = limits.family == "gpu" and volume.shape[1] * volume.shape[2] < 1 << 31
    tile = cube(limits, taps, itemsize, itemsize) if near else None
    return tile is not None and volume.shape[1] <= MAX_GROUPS_Y * tile.high


def flat(spec: ArraySpec, down: bool, planes: bool = False) -> ArraySpec:
    """An array as the kernel ``convolve`` sees it: ``down`` its first axis, or a plane's, where it is ``planes``."""
    shape = spec.shape[1:] if planes else spec.shape
    rows = shape[0] if down else math.prod(shape[:-1])
    return ArraySpec((rows, math.prod(shape[1:]) if down else shape[-1]), spec.dtype)


def line_work(
    limits: Limits,
    image: ArraySpec,
    weights: ArraySpec,
    out: ArraySpec,
    *,
    down: bool,
    planes: bool = False,
    **_: object,
) -> tuple[ArraySpec, ...]:
    """That of the kernel ``convolve``, for a plane where there are several, or of sums down and across planes."""
    n = weights.shape[0]
    if planes and n <= DOWN_PLANES[out.itemsize]:
        # Of sums that are those of the kernel, as with what lies beyond a border.
        return separable_work(limits, image, weights, ArraySpec((1,), out.dtype), out, cval=1.0)
    seen, made = flat(image, down, planes), flat(out, down, planes)
    return convolve_work(limits, seen, ArraySpec((n, 1) if down else (1, n), weights.dtype), made)


def one_pass(limits: Limits, taps: tuple[int, int], itemsize: int) -> bool:
    """Whether a device makes both sums at once: a GPU has all sums down that a row adds to in registers."""
    return limits.family == "cpu" or max(taps) <= FUSED // itemsize or _ringed(limits, taps, itemsize)


def launches_down(taps: int, itemsize: int) -> int:
    """In how many launches a GPU makes sums down; 0 where one does with any number of weights."""
    pieces = -(-taps * itemsize // PIECE)
    return pieces if pieces <= DOWN else 0


def read_as(limits: Limits, dtype: str, sums: str) -> str:
    """The dtype that an image is read in: on a GPU as it is stored, where sums hold all its values."""
    return stored_as(dtype, sums) if limits.family == "gpu" else sums
