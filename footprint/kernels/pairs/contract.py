"""What tells two sources that one Gaussian was fitted to is launched with; on the host, whatever device left the windows.

``launch("pairs.split", rests, given, beam, noise, found, step=, first=)``: ``rests`` (m, (2 radius + 1)^2) are windows of an image
less its fits, NaN where there is no data, of rows ``first`` and on. ``given`` float64 (n, `GIVEN`) has of every row, in the order
of their places along y, the window's centre, what its pixels are over and in units of, and the Gaussian that was fitted there (its
place counted from the centre; NaN where none was): `CENTRE_Y` to `SHAPE`; and `SECOND`, not 0 where a second search found it.
``beam`` float64 (3,): the inverse of its covariance in square pixels, yy, yx and xx. ``noise`` float64 (4,): its correlation at
(dy, dx), not 0, is the first times exp(-(yy dy^2 + 2 yx dy dx + xx dx^2) / 4).

Every ``step``-th pixel of an ellipse of the beam's shape about the centre, `SMALL` steps in radius, or `LARGE` where the Gaussian
is `WIDE` beams long, is fitted anew with the row's own Gaussian put back, each by Levenberg and Marquardt on what is left times
the inverse root of the noise's covariance (and `NUGGET` on its diagonal): a point, a Gaussian, two points, and a point beside a
Gaussian. Two it is where both are `LEAST` noises high, and chi squared is less by `BETTER` and 2 a parameter than that of one; by
so many times more as two leave more than a degree of freedom has.

Of rows that are nearer than `NEAR` beams, each the other's nearest, those that the first search found stay as they are. Where one
is of the second, both Gaussians are put back, in a large window about the higher, and fitted by the same models. They are one
where chi squared of one is not over the best of two by as much, what they are now being of two; else they become what is fitted
here if that is no worse than what they are.

``found`` float64 (m, `RESULT`): 0, `MOVES` (a Gaussian over `LONG` beams long, whose first columns are the Gaussian fitted here),
`PARTS`, or of the higher of such rows `REFITS` or `JOINED` (the first columns are of both); by how much chi squared, and 2 a
parameter, is less than that of one; columns of the brighter and of the fainter, as `kernels.fit` has them, in the pixels' unit,
with places counted from the centre; the other of such rows. Every row by itself, so no thread changes a digit.
"""

from __future__ import annotations

import math

from footprint.kernels.fit.contract import COLUMNS
from footprint.spec import ArraySpec, Limits

CENTRE_Y, CENTRE_X, LEVEL, NOISE, HEIGHT, Y, X, SHAPE, SECOND, GIVEN = 0, 1, 2, 3, 4, 5, 6, 7, 10, 11
MOVES, PARTS, REFITS, JOINED = 1, 2, 3, 4
# Radii of windows in steps, and from how many beams' lengths on they are large.
SMALL, LARGE, WIDE = 4, 6, 1.5
NUGGET, BETTER, LEAST, NEAR, LONG = 0.01, 30.0, 4.0, 1.8, 1.3
# Steps of a fit; what a last one is worth, as a share of chi squared. Of Gaussians the least determinant, in the beam's, and the
# largest sum of yy and xx.
STEPS, ENOUGH, FLAT, NARROW = 40, 1e-5, 2e-4, 2.0
# Parameters of the largest model; the last column of a result's row, and how many there are.
MOST, OTHER, RESULT = 9, 2 + 2 * COLUMNS, 3 + 2 * COLUMNS


def pixels(side: int, step: int) -> int:
    """Of a window, at most."""
    return (2 * (side // 2 // step) + 1) ** 2


def split_work(limits: Limits, rests: ArraySpec, *rest: ArraySpec, step: int, **_: object) -> tuple[ArraySpec, ...]:
    """Of each thread the root of the noise's covariance; places and values; what is left and its slopes; what a fit counts with."""
    n, threads = pixels(math.isqrt(rests.shape[1]), step), max(limits.threads, 1)
    shapes = (threads, n, n), (threads, 3, n), (threads, n, MOST + 1), (threads, 44, MOST + 1)
    return tuple(ArraySpec(shape, "float64") for shape in shapes)
