"""What is not finite, put into results of sums on a GPU that count it as 0, wherever their weights reach: two launches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from footprint.kernels.common.borders import CODES
from footprint.kernels.common.launch import CORES, A, Defines, Launch, W
from footprint.kernels.common.load import c_type
from footprint.spec import ArraySpec, Limits

# As in the text: work-items of a group, columns of results of one, and rows that a word tells of.
_ITEMS, _SIDE, WORD = 128, 4, 32
# Groups of a core: most images are finite, and all of them are through at once.
_MANY = 16


@dataclass(frozen=True)
class Sight:
    """What results (made, wide) of planes (height, width) see, of which the first has its weights' middle at (y0, x0).

    ``reaches`` are the pixels to a side, down and across.
    """

    planes: int
    height: int
    width: int
    made: int
    wide: int
    y0: int
    x0: int
    reaches: tuple[int, int]

    @property
    def seen(self) -> tuple[int, int]:
        """Words of rows, and columns, of the image and of what lies around it; one more word than any result sees."""
        return -(-self.made // WORD) + 2 * self.reaches[0] // WORD + 1, self.wide + 2 * self.reaches[1]

    @property
    def spec(self) -> ArraySpec:
        """What tells of them."""
        return ArraySpec((self.planes, *self.seen), "uint64")


def odd_launches(
    limits: Limits, image: ArraySpec, sight: Sight, borders: tuple[str, str], arrays: tuple[A, W, W, A]
) -> tuple[Launch, Launch]:
    """Of ``arrays``: the image, the word that tells whether any is, those of `Sight.spec`, and results. Borders: down, across."""
    i32, i64, (source, word, words, out) = np.int32, np.int64, arrays
    many, columns = sight.seen
    groups = _MANY * (limits.cores or CORES)
    around = (sight.y0 - sight.reaches[0], sight.x0 - sight.reaches[1])
    chip = -(-2 * (_ITEMS * _SIDE + 2 * sight.reaches[1]) // 4)
    room = -(-chip // 256) * 256
    names: Defines = (("T", c_type(image.dtype)), ("BORDER_Y", CODES[borders[0]]), ("BORDER_X", CODES[borders[1]]), ("CHIP", room))

    def make(entry: str, tiles: int, args: tuple[A | W | np.generic, ...]) -> Launch:
        return Launch("odd.knl", entry, (min(tiles, groups), 1, 1), (_ITEMS, 1, 1), args, names, 16 * room)

    sizes = (sight.planes, sight.height, sight.width, many, columns, sight.made + 2 * sight.reaches[0], *around)
    seen = make("odd_seen", -(-columns // _ITEMS) * many * sight.planes, (source, word, words, *map(i64, sizes)))
    tiles = -(-sight.wide // (_ITEMS * _SIDE)) * -(-sight.made // WORD) * sight.planes
    made = (sight.planes, sight.made, sight.wide, many, columns)
    far = (i32(2 * reach) for reach in sight.reaches)
    return seen, make("odd_spread", tiles, (words, word, out, *map(i64, made), *far))
