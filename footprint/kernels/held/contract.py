"""What heights of Gaussians whose places and shapes are held are launched with: linear least squares, all heights at once.

* ``launch("held.places", count, fits, beam, change, places, first=, beamed=)``, where ``first`` is 0: the Gaussians of ``fits``, a
  table of `kernels.fit`, of which ``count`` are used. ``change`` float64 (3,): yy, yx, xx of what is added to their covariances;
  where that leaves none, ``beam``, float64 (3,), an inverse covariance, takes its place. ``places`` float64 (n, `PLACE`): y, x,
  inverse covariance yy, yx, xx; a row whose y is NaN has none.
* ``launch("held.stamp", block, level, spread, places, stamps, noises, first=)`` for all blocks in order: ``stamps`` (n,
  (2 radius + 1)^2) of the block's dtype receive the pixels round every place over their level, NaN where there are none or the
  spread is not over 0; ``noises`` float64 (n,) the spread there. ``level`` and ``spread`` as in `kernels.apertures`.
* ``launch("held.solve", places, stamps, noises, rho, found, within=, far=)`` when all are through. ``found`` float64 (n,
  `FOUND`): height, its error, chi squared a degree of freedom, and pixels; NaN, and no pixels, where there are none, and where
  another lies at the same place.

A height is told by the pixels with data where its Gaussian's exponent, d' C^-1 d, is up to ``within``, and those within `LEAST`
pixels, weighted by the Gaussian: sum_p g_k (v - sum_j a_j g_j) = 0 for every k, j being all whose centres are no farther than
``far``. These equations are solved together, whatever overlaps, to rounding: by BiCGSTAB, every right side first eased by what each
height would be if it and up to `NEAR` neighbours, those that overlap most, were all there are, which places that lie within a pixel
of each other need. After `TURNS` steps what is not settled is NaN. The error is that of the height with these neighbours' unknown,
too: of noise correlated as ``rho``, float64 (2 s + 1, 2 s + 1), tells from pixel to pixel (not at all beyond).

``launch("held.rows", sums, boxes, rows)``: ``rows`` float64 (n, `ROW`) are sum, peak, and the background and noise there, of the
row of ``sums``, moments by label, that the label in ``boxes`` names; NaN where none does, and where moments have no such columns.
"""

from __future__ import annotations

from footprint.spec import ArraySpec, Limits

PLACE, FOUND, ROW, NEAR = 5, 4, 4, 7
LEAST = 1.6
HEIGHT, ERROR, CHI2, PIXELS = range(4)
# Vectors of a solution: right side, heights, and what BiCGSTAB has beside them.
VECTORS = 10
# Steps at most; of the right sides, what is left when all are told; of its own, what an equation may be short of to be told.
TURNS, LEFT, SETTLED = 100, 1e-10, 1e-6
# Of a neighbour's light, what its share has to be for it to count in an error; of a pivot, what is none.
SHARE, NONE = 1e-3, 1e-7


def solve_work(
    limits: Limits, places: ArraySpec, stamps: ArraySpec, noises: ArraySpec, rho: ArraySpec, found: ArraySpec, **_: object
) -> tuple[ArraySpec, ...]:
    """Pixels of a thread: places, values and weights of a source and its neighbours, and of all as one; vectors; of every place
    those that overlap most, and their weights; the places by cells of the plane.
    """
    n, area = stamps.shape
    return (
        ArraySpec((max(limits.threads, 1), 4, 2 * (NEAR + 1) * area), "float64"),
        ArraySpec((VECTORS, n), "float64"),
        ArraySpec((n, NEAR + 1), "float64"),
        ArraySpec((n, NEAR + 1), "int64"),
        ArraySpec((n + 1,), "int64"),
        ArraySpec((n,), "int64"),
    )
