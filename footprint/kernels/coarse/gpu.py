"""Launch shapes of wide Gaussians: coarse rows, coarse columns, sums along both, and results; then what is not finite."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from footprint.kernels.coarse.contract import STEPS, STRIDES, TALL, TOGETHER, WIDE
from footprint.kernels.common.borders import CODES
from footprint.kernels.common.launch import CORES, MAX_GROUPS_Y, A, Argument, Defines, Launch, Program, W
from footprint.kernels.common.load import c_type
from footprint.kernels.common.odd import Sight, odd_launches
from footprint.spec import ArraySpec, Limits

# As in the texts.
ITEMS, COLUMNS, RUN, DOWN = 128, 2, 16, 16
# Groups that a core holds of those that go down, along, and back.
GATHER, ALONG, RESIDENT = 5, 4, 4
# Most rows of a step that are gathered by one group.
GATHERED = 32
# Most blocks of steps of a group that goes back, its fewest rows where groups share steps, and rows' time that it takes to begin.
SOME, FEWEST, BEGINS = 16, 8, 3
# Columns of the image that come to the chip together, as shorter pieces of rows are slow to read, and tiles of them.
TILE, DEPTH = 32, 2


Make = Callable[..., Launch]


@dataclass(frozen=True)
class Grid:
    """Coarse rows and columns of planes (height, width), for results (made, wide) of which the first lies at (y0, x0).

    ``above`` and ``aside`` say how far before the first result the first coarse place is that any needs, and ``ahead`` and
    ``beside`` how many come before that in its block: blocks lie where the whole has them, as what is added to what in them counts.
    """

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

    @property
    def rows(self) -> int:
        """Coarse rows that results need."""
        return -(-(self.made + self.above + self.step // 2) // self.step) + TALL - 1

    @property
    def columns(self) -> int:
        """Coarse columns that results need."""
        return -(-(self.wide + self.aside) // self.stride) + WIDE - 1

    @property
    def row_blocks(self) -> int:
        """Groups that gather coarse rows, one after another."""
        return (self.ahead + self.rows + TALL - 2) // STEPS + 1

    @property
    def column_blocks(self) -> int:
        """Groups that gather coarse columns, side by side."""
        return (self.beside + self.columns + WIDE - 2) // STRIDES + 1

    @property
    def parts(self) -> int:
        """Groups that share steps: by the step alone, as sums hang on it."""
        return 1 << max(-(-self.step // GATHERED) - 1, 0).bit_length()

    @property
    def top(self) -> int:
        """The image's row that the first block begins with."""
        return self.y0 - self.above - (TALL // 2 + self.ahead) * self.step - TALL * self.step // 2

    @property
    def left(self) -> int:
        """The image's column that the first block begins with."""
        return self.x0 - self.aside - (WIDE // 2 + self.beside) * self.stride - WIDE * self.stride // 8 * 4

    def sight(self, reaches: tuple[int, int]) -> Sight:
        """What results see."""
        return Sight(self.planes, self.height, self.width, self.made, self.wide, self.y0, self.x0, reaches)

    def work(self, reaches: tuple[int, int]) -> tuple[ArraySpec, ...]:
        """Shares of coarse rows, what is not finite, sums across, shares of coarse columns, their sums down, whether any is odd.

        That of the worst place of the first result.
        """
        worst = replace(self, above=self.step - 1, aside=self.stride - 1, ahead=STEPS - 1, beside=STRIDES - 1)
        shares = worst.row_blocks * self.parts * (STEPS + TALL - 1), worst.column_blocks * (STRIDES + WIDE - 1)
        return (
            ArraySpec((self.planes, shares[0], self.width), "float32"),
            self.sight(reaches).spec,
            ArraySpec((self.planes, worst.rows, self.wide), "float32"),
            ArraySpec((self.planes, self.height, shares[1]), "float32"),
            ArraySpec((self.planes, self.made, worst.columns), "float32"),
            ArraySpec((1,), "int32"),
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
    """Seven launches, five of whole numbers; see `footprint.kernels.coarse.contract`."""
    if out.size == 0:
        return Program(())
    (planes, height, width), (_, made, wide) = image.shape, out.shape
    places = (first_y % steps[0], first_x % steps[1], first_y // steps[0] % STEPS, first_x // steps[1] % STRIDES)
    grid = Grid(planes, height, width, made, wide, *steps, y0, x0, *places)
    floats, cores = np.dtype(image.dtype).kind == "f", limits.cores or CORES
    names: Defines = (("TALL", TALL), ("WIDE", WIDE), ("STEPS", STEPS), ("STRIDES", STRIDES), ("BORDER_Y", CODES[border_y]))
    gathers = (("T", c_type(image.dtype)), ("FLOATS", int(floats)), ("TILE", TILE), ("DEPTH", DEPTH), ("BORDER_X", CODES[border_x]))
    backs = (("TOGETHER", TOGETHER), ("CX", COLUMNS), ("PARTS", grid.parts), ("BORDER_LINE", CODES[border_x]))
    texts = {"": ("coarse.knl", gathers), "back": ("coarse_back.knl", backs)}

    def make(
        entry: str, groups: tuple[int, int, int], chip: int, args: tuple[Argument, ...], text: str = "", resident: int = 1
    ) -> Launch:
        # Few sizes, so that widths share what is compiled.
        room = -(-chip // 256) * 256
        file, more = texts[text]
        defines = (*names, *more, ("CHIP", room), ("MIN_GROUPS", resident))
        return Launch(file, entry, groups, (ITEMS, 1, 1), args, defines, 16 * room)

    launches = (
        *_gather(make, grid, down.shape[1] // 4),
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
        (grid.column_blocks, -(-grid.height // ITEMS), grid.planes),
        grid.stride // 4 * WIDE,
        (A(0), A(3), W(3), W(5), *size, i32(grid.stride), i64(grid.left)),
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
            *(W(3), A(6), W(4)),
            *map(i64, (grid.height, grid.made, grid.columns, grid.column_blocks, grid.y0)),
            *(i32(grid.beside), i32(tails - DOWN), i32(reaches[0])),
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
