"""Launch shapes of wide Gaussians: coarse rows, coarse columns, sums along both, and results; then what is not finite."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from footprint.kernels.coarse.contract import TALL, TOGETHER, WIDE
from footprint.kernels.common.borders import CODES
from footprint.kernels.common.launch import CORES, MAX_GROUPS_Y, A, Argument, Defines, Launch, Program, W
from footprint.kernels.common.load import c_type
from footprint.spec import ArraySpec, Limits

# As in the text.
ITEMS, COLUMNS, RUN, DOWN, SIDE, WORD = 128, 2, 16, 16, 4, 32
# Groups that a core holds of those that go down, along, and back.
RESIDENT, ALONG = 4, 3
# Rows of all steps that a group makes that goes back.
BACK = 32
# Of those that look for what is not finite, to one that goes down.
SEEING = 4
# Columns of the image that are on the chip together, of so many rows of a work-item.
TILE, ROWS = 32, 1


Make = Callable[..., Launch]


@dataclass(frozen=True)
class Grid:
    """Coarse rows and columns of planes (height, width), for results (made, wide) of which the first lies at (y0, x0).

    ``above`` and ``aside`` say how far before the first result the first coarse place is that any needs: blocks of coarse rows lie
    where the whole has them, as what is added to what in them counts.
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
    above: int
    aside: int
    groups: int

    @property
    def rows(self) -> int:
        """Coarse rows."""
        return -(-(self.made + self.above + self.step // 2) // self.step) + TALL - 1

    @property
    def columns(self) -> int:
        """Coarse columns."""
        return -(-(self.wide + self.aside) // self.stride) + WIDE - 1

    @property
    def strips(self) -> int:
        """Groups side by side that go down an image."""
        return -(-self.width // (ITEMS * COLUMNS))

    @property
    def share(self) -> int:
        """Coarse rows of a group that goes down."""
        together = self.groups // (self.strips * self.planes)
        return TOGETHER * _shares(-(-self.rows // TOGETHER), (TALL - 1) // TOGETHER, together)

    @property
    def top(self) -> int:
        """The image's row that the first coarse row begins with."""
        return self.y0 - self.above - TALL // 2 * self.step - TALL * self.step // 2

    @property
    def left(self) -> int:
        """The image's column that the first coarse column begins with."""
        return self.x0 - self.aside - WIDE // 2 * self.stride - WIDE * self.stride // 8 * 4

    def seen(self, reaches: tuple[int, int]) -> tuple[int, int]:
        """Words of 32 rows, and columns, of the image and of what lies around it; one more word than any result sees."""
        return -(-self.made // WORD) + 2 * reaches[0] // WORD + 1, self.wide + 2 * reaches[1]

    def work(self, reaches: tuple[int, int]) -> tuple[ArraySpec, ...]:
        """Coarse rows, what is not finite, sums across, coarse columns, their sums down, and which groups saw something odd.

        That of the worst place of the first result.
        """
        most = lambda n, by, taps: (n + by - 2 + by // 2) // by + taps
        rows, columns = most(self.made, self.step, TALL) + TOGETHER, most(self.wide, self.stride, WIDE)
        return (
            ArraySpec((self.planes, rows, self.width), "float32"),
            ArraySpec((self.planes, *self.seen(reaches)), "uint64"),
            ArraySpec((self.planes, rows, self.wide), "float32"),
            ArraySpec((self.planes, self.height, columns), "float32"),
            ArraySpec((self.planes, self.made, columns), "float32"),
            ArraySpec((self.planes * self.strips * min(rows, self.groups),), "int32"),
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
    above, aside = first_y % (TOGETHER * steps[0]), first_x % steps[1]
    (planes, height, width), (_, made, wide) = image.shape, out.shape
    groups = (limits.cores or CORES) * RESIDENT
    grid = Grid(planes, height, width, made, wide, *steps, y0, x0, above, aside, groups)
    floats = np.dtype(image.dtype).kind == "f"
    names: Defines = (
        *(("T", c_type(image.dtype)), ("TALL", TALL), ("WIDE", WIDE), ("FLOATS", int(floats)), ("CX", COLUMNS)),
        *(("TOGETHER", TOGETHER), ("TILE", TILE), ("ALONG", ROWS)),
        *(("BORDER_Y", CODES[border_y]), ("BORDER_X", CODES[border_x])),
    )

    def make(
        entry: str, groups: tuple[int, int, int], chip: int, args: tuple[Argument, ...], line: int = 0, resident: int = 1
    ) -> Launch:
        # Few sizes, so that widths share what is compiled.
        room = -(-chip // 256) * 256
        defines = (*names, ("CHIP", room), ("BORDER_LINE", line), ("MIN_GROUPS", resident))
        text = "coarse_odd.knl" if entry in ("coarse_seen", "coarse_odd") else "coarse.knl"
        return Launch(text, entry, groups, (ITEMS, 1, 1), args, defines, 16 * room)

    launches = (
        *_gather(make, grid, down.shape[1] // 4),
        *_along(make, grid, line.size, tails.size, reaches, CODES[border_x]),
        _spread(make, grid, rise.shape[1] // 4),
    )
    return Program((*launches, *_odd(make, grid, reaches)) if floats else launches, grid.work(reaches))


def _gather(make: Make, grid: Grid, tall: int) -> tuple[Launch, Launch]:
    """Coarse rows and coarse columns."""
    i32, i64 = np.int32, np.int64
    size = (i64(grid.height), i64(grid.width))
    lines = -(-grid.height // (ROWS * ITEMS)) * grid.planes
    columns = _shares(grid.columns, WIDE, grid.groups * ALONG // RESIDENT // lines)
    rows = make(
        "coarse_down",
        (grid.strips, -(-grid.rows // grid.share), grid.planes),
        grid.step * (tall + TOGETHER // 2),
        (A(0), A(1), W(0), W(5), *size, i64(grid.rows), i32(grid.step), i64(grid.top), i64(grid.share)),
        resident=RESIDENT,
    )
    beside = make(
        "coarse_across",
        (-(-grid.height // (ROWS * ITEMS)), -(-grid.columns // columns), grid.planes),
        grid.stride // 4 * WIDE,
        (A(0), A(3), W(3), *size, i64(grid.columns), i32(grid.stride), i64(grid.left), i64(columns)),
        resident=ALONG,
    )
    return rows, beside


def _along(make: Make, grid: Grid, line: int, tails: int, reaches: tuple[int, int], border: int) -> tuple[Launch, Launch]:
    """Sums along coarse rows, and along coarse columns."""
    i32, i64 = np.int32, np.int64
    across = make(
        "coarse_lines",
        (-(-grid.wide // (ITEMS * RUN)), min(grid.rows * grid.planes, MAX_GROUPS_Y), 1),
        line // 4 + ((ITEMS * RUN + line + 8) * 9 // 8 + 8) // 4 + 1,
        (
            *(W(0), A(5), W(2)),
            *map(i64, (grid.rows * grid.planes, grid.width, grid.wide, grid.x0 - reaches[1])),
            i32(line),
        ),
        border,
    )
    down = make(
        "coarse_tails",
        (-(-grid.columns // 32), -(-grid.made // (ITEMS // 32 * DOWN)), grid.planes),
        tails // 4 + (tails + ITEMS // 32 * DOWN) // 2 + 1,
        (
            *(W(3), A(6), W(4)),
            *map(i64, (grid.height, grid.made, grid.columns, grid.y0)),
            *(i32(tails - DOWN), i32(reaches[0])),
        ),
    )
    return across, down


def _spread(make: Make, grid: Grid, tall: int) -> Launch:
    """Results of both."""
    back = -(-(grid.wide + grid.aside % COLUMNS) // (ITEMS * COLUMNS))
    blocks = -(-(grid.made + grid.above + grid.step // 2) // (TOGETHER * grid.step))
    some, parts = max(BACK // 2 // grid.step, 1), -(-grid.step // BACK)
    args = (
        *(W(2), A(2), W(4), A(4), A(7)),
        *map(np.int64, (grid.made, grid.wide, grid.rows, grid.columns)),
        *map(np.int32, (grid.step, grid.stride, grid.above + grid.step // 2, grid.aside, some, parts)),
    )
    return make("coarse_spread", (back, -(-blocks // some) * parts, grid.planes), grid.step * tall, args, resident=RESIDENT)


def _odd(make: Make, grid: Grid, reaches: tuple[int, int]) -> tuple[Launch, Launch]:
    """What is not finite, in words of 32 rows, and in results."""
    i32, i64 = np.int32, np.int64
    (words, columns), flags = grid.seen(reaches), i32(grid.strips * -(-grid.rows // grid.share) * grid.planes)
    tiles = -(-columns // ITEMS) * words * grid.planes
    around = (grid.y0 - reaches[0], grid.x0 - reaches[1])
    seen = make(
        "coarse_seen",
        (min(tiles, SEEING * grid.groups), 1, 1),
        0,
        (
            *(A(0), W(5), W(1), flags),
            *map(i64, (grid.planes, grid.height, grid.width, words, columns, grid.made + 2 * reaches[0], *around)),
        ),
    )
    tiles = -(-grid.wide // (ITEMS * SIDE)) * -(-grid.made // WORD) * grid.planes
    spread = make(
        "coarse_odd",
        (min(tiles, SEEING * grid.groups), 1, 1),
        -(-2 * (ITEMS * SIDE + 2 * reaches[1]) // 4),
        (
            *(W(1), W(5), A(7), flags),
            *map(i64, (grid.planes, grid.made, grid.wide, words, columns)),
            *(i32(2 * reach) for reach in reaches),
        ),
    )
    return seen, spread


def _shares(count: int, more: int, groups: int) -> int:
    """Coarse rows of a group, each of which needs so many more: few enough that all run side by side."""
    return max(-(-count // max(groups, 1)), min(more, count), 1)
