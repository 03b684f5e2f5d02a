"""Launch shapes of wide Gaussians: coarse rows, coarse columns, sums along both, and results; then what is not finite."""

from __future__ import annotations

import numpy as np

from footprint.kernels.coarse import units
from footprint.kernels.coarse.contract import STEPS, STRIDES, TALL, TOGETHER, WIDE
from footprint.kernels.coarse.grid import Grid
from footprint.kernels.coarse.units import Make
from footprint.kernels.coarse.ways import PLAIN, SIDE, UNITS
from footprint.kernels.common.borders import CODES
from footprint.kernels.common.launch import CORES, MAX_GROUPS_Y, A, Argument, Defines, Launch, Program, W
from footprint.kernels.common.load import c_type
from footprint.kernels.common.odd import odd_launches
from footprint.spec import ArraySpec, Limits

# As in the texts.
ITEMS, COLUMNS, RUN, DOWN = 128, 2, 16, 16
# Groups that a core holds of those that go down, along, and back.
GATHER, ALONG, RESIDENT = 5, 4, 4
# Most numbers of a row of shares that are joined on the chip, most coarse columns that they make, and rows of a group.
JOINED, JOINS, JOINED_ROWS = 2048, 512, 4
# Most blocks of steps of a group that goes back, its fewest rows where groups share steps, and rows' time that it takes to begin.
SOME, FEWEST, BEGINS = 16, 8, 3
# Columns of the image that come to the chip together, as shorter pieces of rows are slow to read, and tiles of them.
TILE, DEPTH = 32, 2


def coarse_program(
    limits: Limits,
    image: ArraySpec,
    down: ArraySpec,
    rise: ArraySpec,
    across: ArraySpec,
    drop: ArraySpec,
    line: ArraySpec,
    tails: ArraySpec,
    out: ArraySpec,
    *,
    steps: tuple[int, ...],
    reaches: tuple[int, int],
    y0: int,
    x0: int,
    border_y: str,
    border_x: str,
    first_y: int,
    first_x: int,
) -> Program:
    """Eight launches, six of whole numbers; see `footprint.kernels.coarse.contract`."""
    if out.size == 0:
        return Program(())
    (planes, height, width), (_, made, wide) = image.shape, out.shape
    way = UNITS if len(across.shape) == 2 else PLAIN
    ahead = (first_y // steps[0] + (units.AHEAD if way is UNITS else 0)) % STEPS
    places = (first_y % steps[0], first_x % steps[1], ahead, first_x // steps[1] % STRIDES)
    # Beside a part of an image that wraps lies what is beyond it, and is not known to be: so that counts in the whole, too.
    far = (TALL + 1) * steps[0] if border_y == "wrap" else reaches[0] * 3 // 2
    skip = (first_x - x0) % SIDE, reaches[1] * 4 // 5, first_y % 64, first_x % 32, steps[-1], first_x % steps[-1], far
    grid = Grid(way, planes, height, width, made, wide, steps[0], steps[1], y0, x0, *places, *skip)
    floats, cores, item = np.dtype(image.dtype).kind == "f", limits.cores or CORES, np.dtype(image.dtype).itemsize
    names: Defines = (("TALL", TALL), ("STEPS", STEPS), ("BORDER_Y", CODES[border_y]))
    image_is: Defines = (("T", c_type(image.dtype)), ("FLOATS", int(floats)), ("BORDER_X", CODES[border_x]))
    gathers = (*image_is, ("WIDE", WIDE), ("STRIDES", STRIDES), ("TILE", TILE), ("DEPTH", DEPTH))
    backs = (
        *(("TOGETHER", TOGETHER), ("CX", COLUMNS), ("PARTS", grid.parts), ("PLACES", way.places), ("JOINED", JOINED)),
        ("BORDER_LINE", CODES[border_x]),
    )
    texts = {"": ("coarse.knl", gathers), "back": ("coarse_back.knl", backs), **units.texts(grid, image, CODES[border_x])}

    def make(
        entry: str, groups: tuple[int, int, int], chip: int, args: tuple[Argument, ...], text: str = "", resident: int = 1
    ) -> Launch:
        # Few sizes, so that widths share what is compiled.
        room = -(-chip // 16) * 16 if text == "both" else -(-chip // 256) * 256
        file, more = texts[text]
        defines = (*names, *more, ("CHIP", room), ("MIN_GROUPS", resident))
        return Launch(file, entry, groups, (ITEMS, 1, 1), args, defines, 16 * room, own=text in ("both", "units"))

    fours = down.shape[1] // 4
    launches: tuple[Launch, ...]
    if way is UNITS:
        along = units.along(make, grid, line.shape[0], tails.shape[1], reaches, cores)
        launches = (*units.gather(make, grid, fours, item, cores), _join(make, grid), *along, units.spread(make, grid, cores))
    else:
        back = _spread(make, grid, rise.shape[1] // 4, RESIDENT * cores)
        launches = (*_gather(make, grid, fours), _join(make, grid), *_along(make, grid, line.size, tails.size, reaches), back)
    odd = odd_launches(limits, image, grid.sight(reaches), (border_y, border_x), (A(0), W(5), W(1), A(7))) if floats else ()
    return Program((*launches, *odd), grid.work(reaches))


def _gather(make: Make, grid: Grid, tall: int) -> tuple[Launch, Launch]:
    """Coarse columns, which also clear what coarse rows set, and those."""
    i32, i64 = np.int32, np.int64
    size = (i64(grid.height), i64(grid.width))
    columns = make(
        "coarse_across",
        (grid.column_groups, -(-grid.height // ITEMS), grid.planes),
        grid.stride // 4 * WIDE,
        (A(0), A(3), W(3), W(5), *size, i32(grid.stride), i64(grid.begin)),
        resident=ALONG,
    )
    rows = make(
        "coarse_down",
        (-(-grid.width // ITEMS), grid.row_blocks * grid.parts, grid.planes),
        -(-grid.step // grid.parts) * (tall + STEPS // 4),
        (A(0), A(1), W(0), W(5), *size, i32(grid.step), i32(grid.parts), i64(grid.top)),
        resident=GATHER,
    )
    return columns, rows


def _join(make: Make, grid: Grid) -> Launch:
    """Coarse columns of their shares."""

    def held(columns: int) -> int:
        return ((columns + grid.taps) * grid.stride // grid.side + 2) * grid.left

    many = next(n for n in range(JOINS, 0, -32) if held(n) <= JOINED)
    sizes = (grid.columns, many, grid.column_groups, grid.begin, grid.first, grid.side, grid.left, grid.stride, grid.taps)
    groups = (-(-grid.columns // many), min(-(-grid.height // JOINED_ROWS), MAX_GROUPS_Y), grid.planes)
    return make("coarse_join", groups, 0, (W(3), W(6), np.int64(grid.height), *map(np.int32, sizes)), "back")


def _along(make: Make, grid: Grid, line: int, tails: int, reaches: tuple[int, int]) -> tuple[Launch, Launch]:
    """Sums along coarse rows, and along coarse columns."""
    i32, i64 = np.int32, np.int64
    across = make(
        "coarse_lines",
        (-(-grid.wide // (ITEMS * RUN)), min(grid.rows * grid.planes, MAX_GROUPS_Y), 1),
        line // 4 + ((ITEMS * RUN + line + 8) * 9 // 8 + 8) // 4 + 1,
        (
            *(W(0), A(5), W(2)),
            *map(i64, (grid.planes, grid.rows, grid.row_blocks, grid.width, grid.wide, grid.x0 - reaches[1])),
            *(i32(grid.ahead), i32(line)),
        ),
        "back",
    )
    down = make(
        "coarse_tails",
        (-(-grid.columns // 32), -(-grid.made // (ITEMS // 32 * DOWN)), grid.planes),
        tails // 4 + (tails + ITEMS // 32 * DOWN) // 2 + 1,
        (
            *(W(6), A(6), W(4)),
            *map(i64, (grid.height, grid.made, grid.y0)),
            *map(i32, (grid.columns, tails - DOWN, reaches[0])),
        ),
        "back",
    )
    return across, down


def _shares(step: int, blocks: int, strips: int, slots: int) -> tuple[int, int]:
    """Blocks of steps that a group makes, or groups that share one: those with which the last of ``slots`` is through first."""
    ways = [*((some, 1) for some in range(1, min(blocks, SOME) + 1)), *((1, parts) for parts in range(2, step // FEWEST + 1))]

    def spent(way: tuple[int, int]) -> int:
        some, parts = way
        rounds = -(-strips * -(-blocks // some) * parts // slots)
        return rounds * (some * -(-step // parts) + BEGINS)

    return min(ways, key=spent)


def _spread(make: Make, grid: Grid, tall: int, slots: int) -> Launch:
    """Results of both."""
    back = -(-(grid.wide + grid.aside % COLUMNS) // (ITEMS * COLUMNS))
    blocks = -(-(grid.made + grid.above + grid.step // 2) // (TOGETHER * grid.step))
    some, parts = _shares(grid.step, blocks, back * grid.planes, slots)
    args = (
        *(W(2), A(2), W(4), A(4), A(7)),
        *map(np.int64, (grid.made, grid.wide, grid.rows, grid.columns)),
        *map(np.int32, (grid.step, grid.stride, grid.above + grid.step // 2, grid.aside, some, parts)),
    )
    return make("coarse_spread", (back, -(-blocks // some) * parts, grid.planes), grid.step * tall, args, "back", RESIDENT)
