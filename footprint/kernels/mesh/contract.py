"""What `background` is launched with: clipped statistics of square cells, and smooth maps of them.

``launch("mesh.cells", image, cells, first=, size=, kappa=, good=, up=, more=)``: ``image`` float32 or float64, rows from ``first``
on, a multiple of ``size``; ``cells`` float64 (2, ny, nx): background and noise of each cell of size x size pixels, NaN where fewer
than ``good`` of its pixels are finite. Values are float32 about the cell's first. Those further than ``kappa`` deviations from the
median are clipped until none is; then, as sources only add, a normal distribution cut off at ``up`` deviations over the
background is matched to what lies below. Where ``up`` is 0 the clip's own mode (2.5 median - 1.5 mean, or the median of skew
cells) is taken. A noise is told as ``more`` times what was found.

``launch("mesh.smooth", cells, smooth, width=)``: cells without values get the median of the nearest ring that has any, then each
the median of ``width`` x ``width``, beyond the edges by the table turned about its end, so that a slope stays one. ``smooth``
float64 (8, ny, nx): for background and noise each the values, their second derivatives along y, those along x, and those along x
of those along y, all as of natural splines.

``launch("mesh.paint", smooth, map, first=, size=, which=)``: the bicubic spline of background (``which`` 0) or noise (1) at every
pixel of rows from ``first`` on, linear beyond the centres of the outer cells.

``launch("mesh.level", stats, map)``: the background that a clip left, at every pixel.
"""

from __future__ import annotations

from footprint.spec import ArraySpec, Limits

# A cut-off normal needs some pixels to be told; fewer keep the clip's own. Turns of its search.
FEW, TURNS = 64, 50
# On the CPU, values that tell where a cell's lie, and bins that they are then counted into at most.
SAMPLE, MOST = 64, 1024
# Values that are summed at once.
STEP = 32


def cells_work(limits: Limits, image: ArraySpec, cells: ArraySpec, *, size: int, **_: object) -> tuple[ArraySpec, ...]:
    """A cell's values as they come and by their bins, the bin of each, and what lies before each bin, for every thread."""
    n = size * size
    return (
        ArraySpec((limits.threads, 2, max(-(-n // STEP) * STEP, SAMPLE)), "float32"),
        ArraySpec((limits.threads, n), "uint32"),
        ArraySpec((limits.threads, MOST + 4), "uint32"),
        ArraySpec((limits.threads, 2, n // STEP + 2), "float64"),
    )


def smooth_work(limits: Limits, cells: ArraySpec, smooth: ArraySpec, *, width: int) -> tuple[ArraySpec, ...]:
    """The values of a window or a ring, and the filled cells."""
    ny, nx = cells.shape[1:]
    return ArraySpec((max(width * width, ny * nx),), "float64"), ArraySpec((ny, nx), "float64")


def paint_work(limits: Limits, smooth: ArraySpec, *rest: ArraySpec, size: int, **_: object) -> tuple[ArraySpec, ...]:
    """A row of cells and its second derivatives along x, for every thread; distances of pixels from a cell's centre."""
    return ArraySpec((limits.threads, 2, smooth.shape[2]), "float64"), ArraySpec((3 * size,), "float64")
