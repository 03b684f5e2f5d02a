"""Launch shapes of sums by products of matrices: along rows, then down columns; then what is not finite."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.borders import CODES
from footprint.kernels.common.launch import CORES, A, Defines, Launch, Program, W, rows_between
from footprint.kernels.common.odd import Sight, odd_launches
from footprint.kernels.matrix.contract import ITEMS, LINES, SIDE, pitch_of, results_of, shift_of, steps_of
from footprint.kernels.separable.columns import columns_of
from footprint.spec import ArraySpec, Limits

# Results of a step whose sums leave room for a third group of a core: of float32, and of whole numbers as they are stored.
_THREE, _THREE_STORED = 128, 160


def groups_of(image: ArraySpec, results: int) -> int:
    """Groups that a core holds: as many as its registers hold sums of."""
    return 3 if results <= (_THREE if np.dtype(image.dtype).kind == "f" else _THREE_STORED) else 2


def shares_of(limits: Limits, image: ArraySpec, taps: int, tiles: int, strips: int) -> int:
    """Groups that share so many tiles of each of so many strips."""
    together = (limits.cores or CORES) * groups_of(image, results_of(taps))
    return -(-tiles // rows_between(tiles, steps_of(taps), strips, together, tiles))


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
    """Five launches, of which two are the work, three but for whole numbers' two; see `footprint.kernels.matrix.contract`."""
    if out.size == 0:
        return Program(())
    (planes, height, width), (_, made, broad) = image.shape, out.shape
    floats, between = np.dtype(image.dtype).kind == "f", ArraySpec((planes, broad, pitch_of(height)), "float32")

    def along(source: ArraySpec, arrays: tuple[A | W, ...], sizes: tuple[int, ...], axis: int, begin: int, border: str) -> Launch:
        # `sizes`: lines, their length and results of each, and how far lines lie apart in both arrays
        n, skip = taps[axis], (first_y, first_x)[axis] % SIDE
        results, tiles, strips = results_of(n), -(-(sizes[2] + skip) // SIDE), -(-sizes[0] // LINES)
        begin -= shift_of(n)
        # of two groups of a core each has twice as much on its way, but for numbers that are converted from others
        groups, twice = groups_of(source, results), results > _THREE and np.dtype(source.dtype).kind == "f"
        together = 2 if sizes[3] % 4 or (begin - skip) % 4 else 4
        defines: Defines = (
            *columns_of(source, np.dtype(np.float32), 4),
            *(("RESULTS", results), ("BORDER", CODES[border]), ("ODD", int(axis == 1 and floats))),
            *(("MIN_GROUPS", groups), ("PENDING", 1 + int(twice)), ("TOGETHER", together)),
        )
        power = np.float32(2.0 ** powers[1 - axis])
        args = (*arrays, *map(np.int64, (*sizes, begin)), *map(np.int32, (skip, tiles)), power)
        grid = (strips, shares_of(limits, source, n, tiles, strips * planes), planes)
        # two halves of each weight of a step's numbers in their results
        return Launch("matrix.cuda.knl", "matrix", grid, (ITEMS, 1, 1), args, defines, 4 * SIDE * results, own=True)

    across, down = (height, width, broad, width, between.shape[2]), (broad, height, made, between.shape[2], broad)
    launches = (
        along(image, (A(0), A(2), W(0), W(1)), across, 1, x0, border_x),
        along(between, (W(1), A(1), W(0), A(3)), down, 0, y0, border_y),
    )
    work = (ArraySpec((1,), "int32"), between)
    if not floats:
        return Program(launches, work)
    begin = Launch("matrix.cuda.knl", "matrix_begin", (1, 1, 1), (32, 1, 1), (W(0),), launches[0].defines, own=True)
    reaches = (taps[0] // 2, taps[1] // 2)
    sight = Sight(planes, height, width, made, broad, y0 + reaches[0], x0 + reaches[1], reaches)
    odd = odd_launches(limits, image, sight, (border_y, border_x), (A(0), W(0), W(2), A(3)))
    return Program((begin, *launches, *odd), (*work, sight.spec))
