"""Launch shapes of mesh backgrounds: a group a cell, then an item a cell, then an item a pixel."""

from __future__ import annotations

import math

import numpy as np

from footprint.kernels.common.launch import A, Argument, Defines, Launch, Program, W
from footprint.kernels.common.load import c_type
from footprint.kernels.mesh.contract import BEND, FEW, HUGE, OUTER, TURNS
from footprint.kernels.threshold.gpu import groups_for
from footprint.spec import ArraySpec, Limits

# Values of a cell that an item sorts, and items at least and at most: 25 KiB on the chip, so that several cells fit at once.
EACH, ITEMS = 16, (32, 256)
# Items that share a core, so that one cell's barriers are another's time: compilers keep to the registers that leaves.
RESIDENT = 1536
# Pixels of a row that a group paints, and rows: in each the cells beside the stretch are looked up once, in as many doubles as fit.
STRETCH, ROWS, BESIDE = 1024, 16, 64


def _defines(kind: str, rows: int = ROWS) -> Defines:
    """Of all but the cells."""
    beside = rows * BESIDE if rows > 1 else STRETCH + 3
    return ("T", kind), ("STRETCH", STRETCH), ("ROWS", rows), ("BESIDE", beside), ("BEND", BEND), ("OUTER", OUTER)


def cells_program(
    limits: Limits, image: ArraySpec, cells: ArraySpec, *, first: int, size: int, kappa: float, good: float, up: float, more: float
) -> Program:
    """See `footprint.kernels.mesh.contract` for the arguments."""
    hazard = math.exp(-0.5 * up * up) / math.sqrt(2 * math.pi) / (0.5 * math.erfc(-up / math.sqrt(2.0)))
    log = max(int(math.log2(EACH * ITEMS[0])), (size * size - 1).bit_length())
    sorted_ = 1 << log <= EACH * ITEMS[1]
    items = (1 << log) // EACH if sorted_ else ITEMS[1]
    shape = ("NT", items), ("SORTED", int(sorted_)), ("LOG", log), ("MIN_GROUPS", min(32, RESIDENT // items))
    defines: Defines = (("T", c_type(image.dtype)), *shape, ("FEW", FEW), ("TURNS", TURNS), ("HUGE", HUGE))
    height, width = image.shape
    ny, nx = cells.shape[1:]
    args: tuple[Argument, ...] = (A(0), A(1), np.int32(height), np.int32(width), np.int32(size), np.int32(nx), np.int32(ny * nx))
    args += (np.int32(first // size * nx), *(np.float64(v) for v in (kappa, good, up, more, hazard)))
    return Program((Launch("mesh_cells.knl", "mesh_cells", (nx * -(-height // size), 1, 1), (items, 1, 1), args, defines),))


def smooth_program(limits: Limits, cells: ArraySpec, smooth: ArraySpec, *, width: int) -> Program:
    """See `footprint.kernels.mesh.contract` for the arguments."""
    ny, nx = cells.shape[1:]
    sizes = (np.int32(ny), np.int32(nx))

    def launch(entry: str, count: int, *args: Argument) -> Launch:
        return Launch("mesh.knl", entry, (groups_for(limits, count, 64), 1, 1), (64, 1, 1), args, _defines("f32"))

    made = (
        launch("mesh_fill", 2 * ny * nx, A(0), W(0), *sizes),
        launch("mesh_filter", 2 * ny * nx, W(0), A(1), *sizes, np.int32(width)),
        launch("mesh_bend", 2 * nx, A(1), W(1), *sizes, np.int32(0)),
        launch("mesh_bend", 4 * ny, A(1), W(1), *sizes, np.int32(1)),
    )
    return Program(made, (ArraySpec((2, ny, nx), "float64"), ArraySpec((4, ny, nx), "float64")))


def paint_program(limits: Limits, smooth: ArraySpec, out: ArraySpec, *, first: int, size: int, which: int) -> Program:
    """See `footprint.kernels.mesh.contract` for the arguments."""
    height, width = out.shape
    stretches, rows = -(-width // STRETCH), ROWS if STRETCH // size + 3 <= BESIDE else 1
    sizes = tuple(np.int32(n) for n in (height, width, *smooth.shape[1:], size, which, first, stretches))
    args: tuple[Argument, ...] = (A(0), A(1), *sizes)
    grid, defines = (-(-height // rows) * stretches, 1, 1), _defines(c_type(out.dtype), rows)
    return Program((Launch("mesh.knl", "mesh_paint", grid, (256, 1, 1), args, defines),))


def level_program(limits: Limits, stats: ArraySpec, out: ArraySpec) -> Program:
    """See `footprint.kernels.mesh.contract` for the arguments."""
    grid, args = (groups_for(limits, out.size), 1, 1), (A(0), A(1), np.int64(out.size))
    return Program((Launch("mesh.knl", "mesh_level", grid, (256, 1, 1), args, _defines(c_type(out.dtype))),))
