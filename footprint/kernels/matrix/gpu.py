"""Launch shapes of sums by products of matrices: strips of columns; then what is not finite."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.borders import CODES
from footprint.kernels.common.launch import CORES, MAX_GROUPS_Y, A, Argument, Defines, Launch, Program, W, rows_between
from footprint.kernels.common.odd import Sight, odd_launches
from footprint.kernels.matrix.contract import ITEMS, SIDE, chip_bytes, shift_of, steps_of
from footprint.kernels.separable.columns import columns_of
from footprint.spec import ArraySpec, Limits

# Most rows of a group: those at an image's edges take longer, and others go on meanwhile.
_MOST = 2048


def rows_of(limits: Limits, taps: int, made: int, strips: int) -> int:
    """Rows of results of a group that goes down one of so many strips."""
    rows = rows_between(made, taps - 1 + 2 * SIDE, strips, limits.cores or CORES, _MOST)
    return -(-rows // SIDE) * SIDE


def matrix_program(
    limits: Limits,
    image: ArraySpec,
    tall: ArraySpec,
    wide: ArraySpec,
    out: ArraySpec,
    *,
    taps: tuple[int, int],
    powers: tuple[int, int],
    y0: int,
    x0: int,
    border_y: str,
    border_x: str,
    first_y: int,
    first_x: int,
) -> Program:
    """Four launches, of which one is the work, three but for whole numbers' one; see `footprint.kernels.matrix.contract`."""
    if out.size == 0:
        return Program(())
    (planes, height, width), (_, made, broad) = image.shape, out.shape
    above, aside, floats = first_y % SIDE, first_x % SIDE, np.dtype(image.dtype).kind == "f"
    steps, strips = (steps_of(taps[0]), steps_of(taps[1], shift_of(taps[1]))), -(-(broad + aside) // SIDE)
    rows = rows_of(limits, taps[0], made + above, strips * planes)
    defines: Defines = (
        *columns_of(image, np.dtype(np.float32), 4),
        *(("DOWN", steps[0]), ("ACROSS", steps[1]), ("SHIFT", shift_of(taps[1]))),
        *(("BORDER_Y", CODES[border_y]), ("BORDER_X", CODES[border_x])),
    )
    sizes = map(np.int64, (planes, height, width, made, broad, y0, x0, rows))
    args: tuple[Argument, ...] = (A(0), A(1), A(2), W(0), A(3), *sizes, *map(np.int32, (above, aside, *powers)))
    grid = (strips, min(-(-(made + above) // rows), MAX_GROUPS_Y), planes)
    chip = chip_bytes(steps[1], steps[0])
    launch = Launch("matrix.cuda.knl", "matrix", grid, (ITEMS, 1, 1), args, defines, chip, own=True)
    work = (ArraySpec((1,), "int32"),)
    if not floats:
        return Program((launch,), work)
    begin = Launch("matrix.cuda.knl", "matrix_begin", (1, 1, 1), (32, 1, 1), (W(0),), defines, own=True)
    reaches = (taps[0] // 2, taps[1] // 2)
    sight = Sight(planes, height, width, made, broad, y0 + reaches[0], x0 + reaches[1], reaches)
    odd = odd_launches(limits, image, sight, (border_y, border_x), (A(0), W(0), W(1), A(3)))
    return Program((begin, launch, *odd), (*work, sight.spec))
