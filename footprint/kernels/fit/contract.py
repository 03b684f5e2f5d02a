"""What fits of Gaussians to sources are launched with.

* ``launch("fit.stamp", block, boxes, count, stamps, first=)`` for all blocks in order: ``stamps`` (capacity, (2 radius + 1)^2) of
  the block's dtype receive the pixels round every peak, NaN beyond the image. ``block``, ``first``, ``boxes`` and ``count``
  as in `kernels.find_sources`.
* ``launch("fit.stamp_over", block, level, spread, boxes, count, stamps, first=)``: the same of pixels over their level, NaN where
  the spread is not over 0; both of the block's shape and dtype.
* ``launch("fit.stamp_on_mesh", block, smooth, boxes, count, stamps, first=, size=)``: the same on the CPU, over what `kernels.mesh`
  has smoothed of cells so large, without maps.
* ``launch("fit.solve", stats, count, moments, boxes, stamps, beam, rho, fits, radius=, free=, beamed=, patient=)`` when all are
  through: a Gaussian for every source, to the pixels of a disc round its peak, its neighbours' last fits subtracted; all of them,
  and up to `PASSES` times over those whose neighbours changed since, so that what they take from each other settles. ``free``: with
  a shape of its own; else with the beam's. ``patient``: `PATIENT` times, and ``fits`` holds what to begin with, where it is no NaN.
  ``beam`` float64 (3,): the inverse of its covariance in square pixels, yy, yx and xx, where ``beamed``; else where fits start is
  told by the moments. ``rho`` float64 (4 radius + 1, 4 radius + 1): how noise is correlated from pixel to pixel, by which
  covariances are (J'J)^-1 J' rho J (J'J)^-1 times the noise squared. ``fits`` float64 (capacity, `COLUMNS`): NaN where nothing was
  fitted. Where ``moments`` have a column of the noise at the peak, errors and chi squared are of that, times that of ``stats``.

Every source is fitted by itself from what the pass before left of all, so no thread changes a digit. On every device the same
sources are fitted in the same passes, by the same steps: a step that promises less than `ENOUGH` of the sum of squares is taken
without a look at what it leaves, and who has no neighbour that moved stays as it is. What is told is of the last parameters of all.
"""

from __future__ import annotations

import math
from typing import Any

from footprint.spec import ArraySpec, Limits

# The peak, its place, the sum over the plane, standard deviations along the axes, degrees from x towards y; their errors; chi
# squared a degree of freedom.
HEIGHT, Y, X, SUM, MAJOR, MINOR, THETA = range(7)
ERRORS, CHI2, COLUMNS = 7, 14, 15
# How often all are fitted: as points, and then with shapes of their own.
PASSES = (5, 4)
# Of fits that are to be ``patient``: of sources that share much light, such as a residual pass finds.
PATIENT = 30
# Steps of a fit; of the sum of squares, what a last one is worth; half the exponent from which a Gaussian is nothing.
STEPS, ENOUGH, NOTHING = 25, 1e-6, 30.0
# Noises that a model has to change by for its neighbours to be fitted again.
SETTLED = 0.003
# Windows in full widths: small ones suit noise that is correlated by the beam. No full width counts as more than the stamps'
# radius, so that a point's window, whose stamps reach but half a full width, is nearer to a quarter of it: `api._fit.check_fit`.
POINT, LEAST, MOST = 0.5, 0.9, 3.0
# Columns of a window that are worked on at once; sums of a fit, at most.
LANES, SUMS = 4, 22
# Neighbours that a thread has at hand.
LISTED = 256


def radius_of(stamps: Any) -> int:
    """Pixels of a window to either side of a peak, of the windows or their spec."""
    return (math.isqrt(stamps.shape[1]) - 1) // 2


def stamp_on_mesh_work(
    limits: Limits,
    block: ArraySpec,
    smooth: ArraySpec,
    boxes: ArraySpec,
    count: ArraySpec,
    stamps: ArraySpec,
    *,
    size: int,
    **_: object,
) -> tuple[ArraySpec, ...]:
    """Knots of a row of every thread, distances from a cell's centre, and maps of a window's row."""
    threads = limits.threads
    maps = ArraySpec((threads, 2, math.isqrt(stamps.shape[1])), block.dtype)
    return ArraySpec((threads, 2, smooth.shape[2]), "float64"), ArraySpec((3 * size,), "float64"), maps


def solve_work(
    limits: Limits, stats: ArraySpec, count: ArraySpec, moments: ArraySpec, boxes: ArraySpec, stamps: ArraySpec, *rest: ArraySpec,
    **_: object,
) -> tuple[ArraySpec, ...]:  # fmt: skip
    """What each thread works on, and neighbours it has at hand; parameters, and what goes with them, before and after a pass;
    which moved before and in it, and which are lost; the sources by cells of the plane.
    """
    n, side = boxes.shape[0], math.isqrt(stamps.shape[1])
    threads, pitch = max(limits.threads, 1), -(-side // LANES) * LANES
    # Pixels, their mask, six slopes; starts of series; sums: see `layout` in solver.py.
    each = 8 * side * pitch + 2 * pitch + (SUMS + 1) * LANES
    work = ArraySpec((threads, each), "float64"), ArraySpec((threads, LISTED, 12), "float64")
    flags = ArraySpec((3, n), "bool")
    return *work, ArraySpec((2, n, 8), "float64"), flags, ArraySpec((n + 1,), "int64"), ArraySpec((n,), "int64")


def kinds(free: bool, beamed: bool, patient: bool = False) -> list[bool]:
    """Whether shapes are fitted, of every pass."""
    if patient:
        return [free] * PATIENT
    return [free] * PASSES[0] if not free or not beamed else [False] * PASSES[0] + [True] * PASSES[1]
