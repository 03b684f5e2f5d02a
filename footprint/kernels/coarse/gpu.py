"""Launch shapes of wide Gaussians: coarse rows, coarse columns, sums along both, and results; then what is not finite."""

from __future__ import annotations

import numpy as np

from footprint.kernels.coarse.contract import PERIODS, TALL, TOGETHER, WIDE
from footprint.kernels.common.borders import CODES
from footprint.kernels.common.launch import CORES, MAX_GROUPS_Y, A, Argument, Defines, Launch, Program, W
from footprint.kernels.common.load import c_type
from footprint.spec import ArraySpec, Limits

# As in the text.
ITEMS, COLUMNS, LINES, RUN, DOWN, SIDE = 128, 2, 256, 8, 16, 32
# Groups that a core holds of those that go down, along, and back.
RESIDENT, ALONG = 4, 3
# Columns of the image that are on the chip together.
TILE = 16


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
    """Six launches; see `footprint.kernels.coarse.contract`."""
    if out.size == 0:
        return Program(())
    planes, height, width = image.shape
    _, made, wide = out.shape
    (step, stride), (reach_y, reach_x) = steps, reaches
    # Blocks of coarse rows lie where the whole has them, as what is added to what in them counts.
    above, aside = first_y % (TOGETHER * step), first_x % stride
    # Work is that of the worst place of the first result.
    most = lambda n, by, taps: (n + by - 2) // by + taps
    n_rows, n_columns = (-(-(made + above) // step) + TALL - 1, -(-(wide + aside) // stride) + WIDE - 1)
    blocks = lambda rows: -(-rows // TOGETHER) + (TALL - 1) // TOGETHER
    together, strips = (limits.cores or CORES) * RESIDENT, -(-width // (ITEMS * COLUMNS))
    rooms = (most(made, step, TALL) + TOGETHER, most(wide, stride, WIDE))
    work = (
        ArraySpec((planes, rooms[0], width), "float32"),
        ArraySpec((planes, blocks(rooms[0]), width), "uint8"),
        ArraySpec((planes, rooms[0], wide), "float32"),
        ArraySpec((planes, height, rooms[1]), "float32"),
        ArraySpec((planes, made, rooms[1]), "float32"),
        ArraySpec((planes * strips * min(rooms[0], together),), "int32"),
    )
    half_y, half_x = TALL * step // 2, WIDE * stride // 2
    top = y0 - above - TALL // 2 * step - half_y
    left = x0 - aside - WIDE // 2 * stride - half_x
    floats = np.dtype(image.dtype).kind == "f"
    names: Defines = (
        *(
            ("T", c_type(image.dtype)),
            ("TALL", TALL),
            ("WIDE", WIDE),
            ("FLOATS", int(floats)),
            ("CX", COLUMNS),
            ("TOGETHER", TOGETHER),
            ("TILE", TILE),
        ),
        *(("BORDER_Y", CODES[border_y]), ("BORDER_X", CODES[border_x]), ("PERIODS", PERIODS)),
    )

    def launch(
        entry: str, grid: tuple[int, int, int], chip: int, args: tuple[Argument, ...], line: int = 0, groups: int = 1
    ) -> Launch:
        # Few sizes, so that widths share what is compiled.
        room = -(-chip // 256) * 256
        defines = (*names, ("CHIP", room), ("BORDER_LINE", line), ("MIN_GROUPS", groups))
        return Launch(
            "coarse_odd.knl" if entry == "coarse_odd" else "coarse.knl", entry, grid, (ITEMS, 1, 1), args, defines, 16 * room
        )

    rows = TOGETHER * _shares(-(-n_rows // TOGETHER), (TALL - 1) // TOGETHER, together // (strips * planes))
    lines = -(-height // LINES) * planes
    columns = _shares(n_columns, WIDE, together * ALONG // RESIDENT // lines)
    back, steps_made = -(-wide // (ITEMS * COLUMNS)), -(-(made + above) // (TOGETHER * step))
    some = _shares(steps_made, 1, together // (back * planes))
    taps = line.size, tails.size - DOWN
    chip = line.size // 4 + ((ITEMS * RUN + line.size + 8) * 9 // 8 + 8) // 4 + 1
    i32, i64 = np.int32, np.int64
    size = (i64(height), i64(width))
    launches = (
        launch(
            "coarse_down",
            (strips, -(-n_rows // rows), planes),
            step * (down.shape[1] // 4 + TOGETHER // 2),
            (A(0), A(1), W(0), W(1), W(5), *size, i64(n_rows), i32(step), i64(top), i64(rows)),
            groups=RESIDENT,
        ),
        launch(
            "coarse_across",
            (-(-height // LINES), -(-n_columns // columns), planes),
            stride * (across.shape[1] // 4),
            (A(0), A(3), W(3), *size, i64(n_columns), i32(stride), i64(left), i64(columns)),
            groups=ALONG,
        ),
        launch(
            "coarse_lines",
            (-(-wide // (ITEMS * RUN)), min(n_rows * planes, MAX_GROUPS_Y), 1),
            chip,
            (W(0), A(5), W(2), i64(n_rows * planes), i64(width), i64(wide), i64(x0 - reach_x), i32(taps[0])),
            CODES[border_x],
        ),
        launch(
            "coarse_tails",
            (-(-n_columns // 32), -(-made // (ITEMS // 32 * DOWN)), planes),
            tails.size // 4,
            (W(3), A(6), W(4), i64(height), i64(made), i64(n_columns), i64(y0), i32(taps[1]), i32(reach_y)),
        ),
        launch(
            "coarse_spread",
            (back, -(-steps_made // some), planes),
            step * (rise.shape[1] // 4),
            (
                *(W(2), A(2), W(4), A(4), A(7), i64(made), i64(wide), i64(n_rows), i64(n_columns)),
                *(i32(step), i32(stride), i32(above), i32(aside), i32(some)),
            ),
            groups=RESIDENT,
        ),
        launch(
            "coarse_odd",
            (min(-(-wide // SIDE) * -(-made // SIDE) * planes, 2 * together), 1, 1),
            -(-(SIDE + 2 * reach_x) // ITEMS) * ITEMS // 16,
            (
                *(A(0), W(1), W(5), A(7), i64(planes), *size, i64(made), i64(wide), i64(blocks(n_rows))),
                *(
                    i32(strips * -(-n_rows // rows) * planes),
                    i32(TOGETHER * step),
                    i64(top),
                    i64(y0),
                    i64(x0),
                    i32(reach_y),
                    i32(reach_x),
                ),
            ),
        ),
    )
    return Program(launches if floats else launches[:-1], work)


def _shares(count: int, more: int, groups: int) -> int:
    """Coarse rows of a group, each of which needs so many more: few enough that all run side by side."""
    return max(-(-count // max(groups, 1)), min(more, count), 1)
