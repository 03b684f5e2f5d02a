"""Launch shapes of wide Gaussians by units that multiply matrices: coarse rows and columns at once, sums along both, results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from footprint.kernels.coarse.contract import MOMENTS, STEPS, TALL, by_moments
from footprint.kernels.coarse.grid import Grid
from footprint.kernels.coarse.pairs import BEFORE, PIECE, SPREAD, ZEROS
from footprint.kernels.coarse.ways import SIDE
from footprint.kernels.common.launch import MAX_GROUPS_Y, A, Defines, Launch, W
from footprint.kernels.common.load import c_type
from footprint.spec import ArraySpec

# As in the texts: rows of a matrix, columns of one, columns of results of a warp, and warps of a group.
ITEMS, HIGH, EIGHT, SIDES, WARPS = 128, 16, 8, 32, 4
# Coarse rows that come before the image's first one in its block, so that blocks begin 11.5 steps before the image: those before it
# have rows that count in nothing.
AHEAD = 11
# Results along a line of a group, as many as leave each core some groups; its work-items, and most rows of a step in one chain.
LONG = (2048, 1024)
LINE_ITEMS, CHAIN = 256, 32
# Groups that a core holds of those that go down and along at once, the last by polynomials, of those that go along, down, and back.
BOTH, FEW, LINES, TAILS, RESIDENT = 4, 3, 4, 4, 3
# Tiles' worth of time that a group takes to begin that goes down and along at once, and matrices' worth of one that makes results.
PREPARES, BEGINS = 2, 3
# Most groups that a core has one after another.
ROUNDS = 16
# Of four numbers of so many bytes, the type that is as large.
FOURS = {1: "u32", 2: "u64", 4: "f32x4"}

Make = Callable[..., Launch]


def texts(grid: Grid, image: ArraySpec, border_x: int) -> dict[str, tuple[str, Defines]]:
    """Texts, and what is written in front of them."""
    dtype = np.dtype(image.dtype)
    both: Defines = (
        *(("T", c_type(dtype)), ("FLOATS", int(dtype.kind == "f")), ("BORDER_X", border_x), ("FOUR", FOURS[dtype.itemsize])),
        ("MOMENTS", MOMENTS if by_moments(grid.step, grid.way) else 0),
        *(("BESIDE", grid.taps), ("LEFT", grid.left), ("TOGETHER", together(grid, dtype.itemsize))),
    )
    # Eight coarse columns are those of 32 columns of results, and five more, or of 16.
    windows = 1 if (SIDES - 2) // grid.stride + 1 + grid.way.places <= EIGHT else 2
    back: Defines = (("PARTS", grid.parts), ("PLACES", grid.way.places), ("WINDOWS", windows), ("BORDER_LINE", border_x))
    return {"both": ("coarse_both.cuda.knl", both), "units": ("coarse_units.cuda.knl", back)}


def together(grid: Grid, item: int) -> int:
    """Tiles of rows that come to the chip together, twice: fewer where a group would have room for fewer others beside it."""
    return 2 if grid.left > HIGH and item == 4 else 3


def gather(make: Make, grid: Grid, tall: int, item: int, cores: int) -> tuple[Launch, Launch]:
    """Both at once, after what tells of numbers that are not finite is cleared."""
    i32, i64, block = np.int32, np.int64, STEPS * grid.step
    # Blocks that coarse columns alone need: those of rows that no result's coarse rows come from. Or, less than 0, those of no row
    # that counts.
    begin, end = grid.seen
    before = max(-(-grid.top // block), 0) - begin
    whole = before + max(end, -(-(grid.height - grid.top) // block))
    moments = by_moments(grid.step, grid.way)
    rows = -(-grid.step // grid.parts) + (TALL if moments else 0)
    resident = FEW if moments else BOTH
    shares = between(whole, grid.column_groups * grid.parts * grid.planes, cores, resident, rows, PREPARES)
    chip = (2 * together(grid, item) * STEPS * (SIDE * item + 16) + 2 * SIDE * grid.left) // 16 + rows * tall
    both = make(
        "coarse_both",
        (grid.column_groups, shares * grid.parts, grid.planes),
        chip,
        (
            *(A(0), A(1), A(3), W(0), W(3), W(5)),
            *map(i64, (grid.height, grid.width, grid.top, grid.first, grid.begin)),
            *map(i32, (grid.step, grid.stride, grid.parts, shares, before, grid.row_blocks, whole)),
        ),
        "both",
        resident,
    )
    return replace(both, entry="coarse_begin", grid=(1, 1, 1), group=(32, 1, 1), args=(W(5),), local=0), both


def between(blocks: int, strips: int, cores: int, resident: int, rows: int, begins: int) -> int:
    """Groups that share the blocks of a strip: with as many the core that has most of them is through first."""

    def spent(n: int) -> float:
        rounds, left = divmod(-(-strips * n // cores), resident)
        # Fewer groups of a core do not share it as well.
        return (rounds + (0.5 + left / (2 * resident) if left else 0)) * (-(-blocks // n) * rows + begins)

    # No more than leave a core so many one after another, of which the last is soon through.
    most = ROUNDS * resident * cores // strips + 1
    return min(range(1, min(blocks, MAX_GROUPS_Y, most) + 1), key=spent)


def along(make: Make, grid: Grid, line: int, tails: int, reaches: tuple[int, int], cores: int) -> tuple[Launch, Launch]:
    """Sums along coarse rows with a table of so many numbers, and down coarse columns with two."""
    i32, i64 = np.int32, np.int64
    step, skip, lines = grid.apart, grid.right % EIGHT, grid.rows * grid.planes
    fours = -(-TALL // 4) * 4
    taps = (line - step * (fours + TALL)) // 2 - 3 * ZEROS
    piece = next((n for n in LONG if -(-(grid.wide + skip) // n) * lines >= LINES * cores), LONG[-1])
    # Steps that results of a piece and what they come from are in, and one as steps are summed two at a time.
    room = (piece - 1) // step + 2 + 2 * (TALL - 1) + 1
    across = make(
        "coarse_lines",
        (-(-(grid.wide + skip) // piece), min(lines, MAX_GROUPS_Y), 1),
        -(-(line + room * step + piece + room + room * -(-step // CHAIN) * (fours + 1)) // 4),
        (
            *(W(0), A(5), W(2)),
            *map(i64, (grid.planes, grid.row_blocks, grid.width, grid.wide)),
            i64(grid.x0 - grid.past - TALL // 2 * step - TALL * step // 2),
            *map(i32, (grid.rows, grid.ahead, step, grid.past, taps, reaches[1], piece, room, skip, *grid.seen)),
        ),
        "units",
        LINES,
    )
    across = replace(across, group=(LINE_ITEMS, 1, 1))
    down = make(
        "coarse_tails",
        (-(-grid.columns // (WARPS * EIGHT)), -(-(grid.made + grid.down) // PIECE), grid.planes),
        tails // 2,
        (
            *(W(6), A(6), W(4)),
            *map(i64, (grid.height, grid.made, grid.y0)),
            *map(i32, (grid.columns, tails - 2 * PIECE - EIGHT, reaches[0], grid.down)),
        ),
        "units",
        TAILS,
    )
    return across, down


def spread(make: Make, grid: Grid, cores: int) -> Launch:
    """Results of both."""
    skip, above = grid.right % SIDES, grid.above + grid.step // 2
    strips, first = -(-(grid.wide + skip) // (WARPS * SIDES)), above // HIGH
    tiles = -(-(grid.made + above) // HIGH) - first
    shares = between(tiles, strips * grid.planes, cores, RESIDENT, 1, BEGINS)
    args = (
        *(W(2), A(2), W(4), A(4), A(7)),
        *map(np.int64, (grid.made, grid.wide, grid.rows, grid.columns)),
        *map(np.int32, (grid.step, grid.stride, above, grid.aside, grid.ahead, skip, first, tiles)),
    )
    chip = (grid.step * SPREAD + BEFORE + 1) // 2
    return make("coarse_spread", (strips, shares, grid.planes), chip, args, "units", RESIDENT)
