"""Launch shapes of wide Gaussians: coarse rows, coarse columns, sums along both, and results; then what is not finite."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from footprint.kernels.coarse.contract import MOMENTS, STEPS, STRIDES, TALL, TOGETHER, WIDE, by_moments, parts_of
from footprint.kernels.coarse.ways import COLUMN, PLAIN, SIDE, UNITS, Way
from footprint.kernels.common.borders import CODES
from footprint.kernels.common.launch import CORES, MAX_GROUPS_Y, A, Argument, Defines, Launch, Program, W
from footprint.kernels.common.load import c_type
from footprint.kernels.common.odd import Sight, odd_launches
from footprint.spec import ArraySpec, Limits

# As in the texts.
ITEMS, COLUMNS, RUN, DOWN = 128, 2, 16, 16
# Groups that a core holds of those that go down, along, back, and down and along at once, the last by polynomials.
GATHER, ALONG, RESIDENT, BOTH, FEW = 5, 4, 4, 4, 3
# Tiles of rows that come to the chip together, twice, and tiles' worth of time that such a group takes to begin.
TILES, PREPARES = 3, 2
# Most numbers of a row of shares that are joined on the chip, and most coarse columns that they make.
JOINED, JOINS = 2048, 512
# Most blocks of steps of a group that goes back, its fewest rows where groups share steps, and rows' time that it takes to begin.
SOME, FEWEST, BEGINS = 16, 8, 3
# Columns of the image that come to the chip together, as shorter pieces of rows are slow to read, and tiles of them.
TILE, DEPTH = 32, 2
# Of four numbers of so many bytes, the type that is as large.
FOURS = {1: "u32", 2: "u64", 4: "f32x4"}


Make = Callable[..., Launch]


@dataclass(frozen=True)
class Grid:
    """Coarse rows and columns of planes (height, width), for results (made, wide) of which the first lies at (y0, x0).

    ``above`` and ``aside`` say how far before the first result the first coarse place is that any needs, ``ahead`` and ``beside``
    how many come before that in its block, and ``origin`` how many columns of the whole lie before the image, less whole groups of
    units: blocks lie where the whole has them, as what is added to what in them counts. ``near`` columns around the image count in
    what results lack: what is farther is less than 1e-7 of them.
    """

    way: Way
    planes: int
    height: int
    width: int
    made: int
    wide: int
    step: int
    stride: int
    y0: int
    x0: int
    above: int = 0
    aside: int = 0
    ahead: int = 0
    beside: int = 0
    origin: int = 0
    near: int = 0

    @property
    def rows(self) -> int:
        """Coarse rows that results need."""
        return -(-(self.made + self.above + self.step // 2) // self.step) + TALL - 1

    @property
    def columns(self) -> int:
        """Coarse columns that results need."""
        return -(-(self.wide + self.aside) // self.stride) + self.way.places - 1

    @property
    def row_blocks(self) -> int:
        """Groups that gather coarse rows, one after another."""
        return (self.ahead + self.rows + TALL - 2) // STEPS + 1

    @property
    def parts(self) -> int:
        """Groups that share steps."""
        return parts_of(self.step, self.way)

    @property
    def top(self) -> int:
        """The image's row that the first block begins with."""
        return self.y0 - self.above - (TALL // 2 + self.ahead) * self.step - TALL * self.step // 2

    @property
    def first(self) -> int:
        """The image's column that the first coarse column begins with."""
        return self.x0 - self.aside - self.way.middle * self.stride - self.way.before(self.stride)

    @property
    def taps(self) -> int:
        """Strides that a coarse column is the sum of."""
        return self.way.beside(self.stride)

    @property
    def side(self) -> int:
        """Columns of the image that a group gathers coarse columns of."""
        return SIDE if self.way is UNITS else STRIDES * self.stride

    @property
    def left(self) -> int:
        """Coarse columns that a group leaves its share of."""
        return COLUMN * self.way.tiles(self.stride, self.taps) if self.way is UNITS else STRIDES + WIDE - 1

    @property
    def begin(self) -> int:
        """The image's column that the first group begins with: units take all that coarse rows come from, too."""
        if self.way is UNITS:
            return (max(min(self.first, 0), -self.near) + self.origin) // SIDE * SIDE - self.origin
        return self.first - self.beside * self.stride

    @property
    def column_groups(self) -> int:
        """Groups that gather coarse columns, side by side."""
        end = self.first + (self.columns + self.taps - 1) * self.stride
        if self.way is UNITS:
            end = max(min(end, self.width + self.near), self.width)
        return -(-(end - self.begin) // self.side)

    def sight(self, reaches: tuple[int, int]) -> Sight:
        """What results see."""
        return Sight(self.planes, self.height, self.width, self.made, self.wide, self.y0, self.x0, reaches)

    def work(self, reaches: tuple[int, int]) -> tuple[ArraySpec, ...]:
        """Shares of coarse rows, what is not finite, sums across, shares of coarse columns, their sums down, whether any is odd.

        That of the worst place of the first result.
        """
        more = self.stride - 1
        worst = replace(self, x0=0, above=self.step - 1, aside=more, ahead=STEPS - 1, beside=STRIDES - 1, origin=0)
        groups = worst.column_groups
        if self.way is UNITS:
            # What lies around the image on both sides, and a group that has but a column of it.
            around = min((self.way.places + self.taps) * self.stride + more, 2 * self.near)
            groups = -(-(self.width + around) // SIDE) + 1
        rows = worst.row_blocks * self.parts * (STEPS + TALL - 1)
        return (
            ArraySpec((self.planes, rows, self.width), "float32"),
            self.sight(reaches).spec,
            ArraySpec((self.planes, worst.rows, self.wide), "float32"),
            ArraySpec((self.planes, self.height, groups * self.left), "float32"),
            ArraySpec((self.planes, self.made, worst.columns), "float32"),
            ArraySpec((1,), "int32"),
            ArraySpec((self.planes, self.height, worst.columns), "float32"),
        )


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
    steps: tuple[int, int],
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
    places = (first_y % steps[0], first_x % steps[1], first_y // steps[0] % STEPS, first_x // steps[1] % STRIDES)
    way = UNITS if len(across.shape) == 2 else PLAIN
    grid = Grid(way, planes, height, width, made, wide, *steps, y0, x0, *places, (first_x - x0) % SIDE, reaches[1] * 4 // 5)
    floats, cores, item = np.dtype(image.dtype).kind == "f", limits.cores or CORES, np.dtype(image.dtype).itemsize
    names: Defines = (("TALL", TALL), ("STEPS", STEPS), ("BORDER_Y", CODES[border_y]))
    image_is: Defines = (("T", c_type(image.dtype)), ("FLOATS", int(floats)), ("BORDER_X", CODES[border_x]))
    gathers = (*image_is, ("WIDE", WIDE), ("STRIDES", STRIDES), ("TILE", TILE), ("DEPTH", DEPTH))
    boths = (
        *image_is,
        ("FOUR", FOURS[item]),
        ("MOMENTS", MOMENTS if by_moments(grid.step, way) else 0),
        ("BESIDE", grid.taps),
        ("LEFT", grid.left),
    )
    backs = (
        ("TOGETHER", TOGETHER),
        ("CX", COLUMNS),
        ("PARTS", grid.parts),
        ("PLACES", way.places),
        ("JOINED", JOINED),
        ("BORDER_LINE", CODES[border_x]),
    )
    texts = {"": ("coarse.knl", gathers), "both": ("coarse_both.cuda.knl", boths), "back": ("coarse_back.knl", backs)}

    def make(
        entry: str, groups: tuple[int, int, int], chip: int, args: tuple[Argument, ...], text: str = "", resident: int = 1
    ) -> Launch:
        # Few sizes, so that widths share what is compiled.
        room = -(-chip // 16) * 16 if text == "both" else -(-chip // 256) * 256
        file, more = texts[text]
        defines = (*names, *more, ("CHIP", room), ("MIN_GROUPS", resident))
        return Launch(file, entry, groups, (ITEMS, 1, 1), args, defines, 16 * room, own=text == "both")

    tall = down.shape[1] // 4
    launches = (
        *(_both(make, grid, tall, item, cores) if way is UNITS else _gather(make, grid, tall)),
        _join(make, grid),
        *_along(make, grid, line.size, tails.size, reaches),
        _spread(make, grid, rise.shape[1] // 4, RESIDENT * cores),
    )
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


def _both(make: Make, grid: Grid, tall: int, item: int, cores: int) -> tuple[Launch, Launch]:
    """Both at once, after what tells of numbers that are not finite is cleared."""
    i32, i64, block = np.int32, np.int64, STEPS * grid.step
    # Blocks that coarse columns alone need: those of rows that no result's coarse rows come from.
    before = max(-(-grid.top // block), 0)
    whole = before + max(grid.row_blocks, -(-(grid.height - grid.top) // block))
    moments = by_moments(grid.step, grid.way)
    rows = -(-grid.step // grid.parts) + (TALL if moments else 0)
    resident = FEW if moments else BOTH
    shares = _between(whole, grid.column_groups * grid.parts * grid.planes, cores, rows, resident)
    chip = (2 * TILES * STEPS * (SIDE * item + 16) + 2 * SIDE * grid.left) // 16 + rows * tall
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


def _between(blocks: int, strips: int, cores: int, rows: int, resident: int) -> int:
    """Groups that share the blocks of a strip: with as many the core that has most of them is through first."""

    def spent(n: int) -> float:
        rounds, left = divmod(-(-strips * n // cores), resident)
        # Fewer groups of a core do not share it as well.
        return (rounds + (0.5 + left / (2 * resident) if left else 0)) * (-(-blocks // n) * rows + PREPARES)

    return min(range(1, blocks + 1), key=spent)


def _join(make: Make, grid: Grid) -> Launch:
    """Coarse columns of their shares."""

    def held(columns: int) -> int:
        return ((columns + grid.taps) * grid.stride // grid.side + 2) * grid.left

    many = next(n for n in range(JOINS, 0, -32) if held(n) <= JOINED)
    sizes = (grid.columns, many, grid.column_groups, grid.begin, grid.first, grid.side, grid.left, grid.stride, grid.taps)
    groups = (-(-grid.columns // many), min(-(-grid.height // (ITEMS // 32)), MAX_GROUPS_Y), grid.planes)
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
