"""What `background` is launched with: clipped statistics of square cells, and smooth maps of them.

``launch("mesh.cells", image, cells, first=, size=, kappa=, good=, up=, more=)``: ``image`` float32 or float64, rows from ``first``
on, a multiple of ``size``; ``cells`` float64 (2, ny, nx): background and noise of each cell of size x size pixels, NaN where fewer
than ``good`` of its pixels are finite. Values are float32 about the cell's first that is less than HUGE, as what stands for no data
may be more. Those further than ``kappa`` deviations from the median are clipped until none is; then, as sources only add, a normal
distribution cut off at ``up`` deviations over the background is matched to what lies below. Where ``up`` is 0 the clip's own mode
(2.5 median - 1.5 mean, or the median of skew cells) is taken. A noise is told as ``more`` times what was found.

``launch("mesh.smooth", cells, smooth, width=)``: cells without values get the median of the nearest ring that has any, then each
the median of ``width`` x ``width``, beyond the edges by the table turned about its end, so that a slope stays one. ``smooth``
float64 (8, ny, nx): for background and noise each the values, their second derivatives along y, those along x, and those along x
of those along y, all as of natural splines.

``launch("mesh.paint", smooth, map, first=, size=, which=)``: the bicubic spline of background (``which`` 0) or noise (1) at every
pixel of rows from ``first`` on, linear beyond the centres of the outer cells.

The noise is over 0 wherever its cells' is, as a natural spline is not beside a step. Its second derivatives, of cells as of what
they come to at a row, are no more than ``BEND`` times itself: so along each axis no less than two thirds is left of a line between
two cells. Beyond the outer centres, and where a table is turned about its end, the cell further within counts for no more than
``OUTER`` times the outer one: three quarters are left of that at half a cell, and half at a whole one.

``launch("mesh.level", stats, map)``: the background that a clip left, at every pixel.
"""

from __future__ import annotations

from footprint.spec import ArraySpec, Limits

# A cut-off normal needs some pixels to be told; fewer keep the clip's own. Turns of its search.
FEW, TURNS = 64, 50
# From here on a value would take the digits of what is told from it.
HUGE = 1e30
# See above. In cells of 64 pixels white noise was seen to bend by .1 of itself, and that of a crowd by .7.
BEND, OUTER = 2.0, 1.5
# On the CPU, values that tell where a cell's lie, and values that are looked at at once.
SAMPLE, AT_ONCE = 64, 64


def cells_work(limits: Limits, image: ArraySpec, cells: ArraySpec, *, size: int, **_: object) -> tuple[ArraySpec, ...]:
    """A cell's values, and two lists of those that lie near bounds, for every thread."""
    return (ArraySpec((limits.threads, 3, (-(-size * size // AT_ONCE) + 1) * AT_ONCE), "float32"),)


def smooth_work(limits: Limits, cells: ArraySpec, smooth: ArraySpec, *, width: int) -> tuple[ArraySpec, ...]:
    """The values of a window or a ring, and the filled cells."""
    ny, nx = cells.shape[1:]
    return ArraySpec((max(width * width, ny * nx),), "float64"), ArraySpec((ny, nx), "float64")


def paint_work(limits: Limits, smooth: ArraySpec, *rest: ArraySpec, size: int, **_: object) -> tuple[ArraySpec, ...]:
    """A row of cells and its second derivatives along x, for every thread; distances of pixels from a cell's centre."""
    return ArraySpec((limits.threads, 2, smooth.shape[2]), "float64"), ArraySpec((3 * size,), "float64")
