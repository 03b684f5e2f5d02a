"""Where coarse rows and columns of wide Gaussians lie on a GPU, and how many groups gather them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from footprint.kernels.coarse.contract import STEPS, STRIDES, TALL, WIDE, parts_of
from footprint.kernels.coarse.ways import COLUMN, SIDE, UNITS, Way
from footprint.kernels.common.odd import Sight
from footprint.spec import ArraySpec


@dataclass(frozen=True)
class Grid:
    """Coarse rows and columns of planes (height, width), for results (made, wide) of which the first lies at (y0, x0).

    ``above`` and ``aside`` say how far before the first result the first coarse place is that any needs, ``ahead`` and ``beside``
    how many come before that in its block, and ``origin`` how many columns of the whole lie before the image, less whole groups of
    units: blocks lie where the whole has them, as what is added to what in them counts. For the same reason units begin with rows
    and columns of the whole that are multiples of theirs: the first result lies ``down`` and ``right`` after one. Along lines they
    have coarse points ``apart``, of which the last of the whole lies ``past`` before the first result. ``near`` columns around the
    image count in what results lack: what is farther is less than 1e-7 of them. Rows ``far`` beyond the image and results count
    in nothing.
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
    down: int = 0
    right: int = 0
    apart: int = 0
    past: int = 0
    far: int = 0

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
    def seen(self) -> tuple[int, int]:
        """Of `row_blocks` the first, and the one behind the last, that have a row that counts."""
        block, begin, end = STEPS * self.step, min(self.y0, 0) - self.far, max(self.y0 + self.made, self.height) + self.far
        return max((begin - self.top) // block, 0), min(self.row_blocks, -(-(end - self.top) // block))

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
