"""What removes stripes from sinograms (rings from slices) is made of; all arrays float32 and C-contiguous unless said otherwise.

``lines`` (n, n_angles, n_x) are n sinograms. Sorted, they are ``keys`` uint32 (n, n_x, n_angles): each column's values in order,
as numbers that are ordered as the floats are (NaN last), and ``places`` int32, the angle each came from; equal values keep their
order. Beyond the ends of a row it is mirrored, d c b a | a b c d | d c b a.

* ``sort(lines, keys, places)``
* ``smooth(keys, smoothed, size=)``: the median along x over ``size`` columns, ``size // 2`` of them before; of an even number the
  upper one.
* ``unsort(smoothed, places, lines)``: values back to their angles; ``unsort_marked(smoothed, places, marks, lines)`` only in
  columns whose ``marks``, int32 (n, n_x), are not 0.
* ``profile(keys, smoothed, ratio, drop=)``: ``ratio`` (n, n_x), the mean of a column's values over that of the smoothed ones,
  without the ``drop`` lowest and highest; 1 where the latter is 0.
* ``detect(ratio, order, marks, snr=, edge=)``: ``order`` uint32 (n, 1, n_x) are the sorted ratios, highest last. A straight line
  through the middle half of them says what noise is; ratios farther outside its ends than ``snr`` times its rise are marked, with
  their neighbours, but for ``edge`` columns at both ends.
* ``divide(lines, ratio)``: every column by its ratio, where that is above 0, in place.
* ``roughness(lines, rough)``: ``rough`` (n, n_x), the sum over angles of what a value differs from the mean of 10 around it.
* ``bridge(lines, marks)``: marked columns from the nearest others on both sides, by distance, in place.
* ``means(lines, means, shares=)``: (n, n_x), the mean over angles; with ``shares`` minus the logarithm of that of exp(-line).
* ``contrast(means, weights, out, divide=)``: ``means`` less, or over, their own mean weighted by the symmetric
  ``weights`` (radius + 1); 1 where that is not above 0.
* ``subtract(lines, profile)``: ``profile`` (n, n_x) off every row, in place.
"""

from __future__ import annotations

from footprint.spec import ArraySpec, Limits

TILE = 16
"""Columns that a thread works on at a time: a cache line of them."""
BLOCK = 16
"""Numbers of a column that are put in order in registers."""
LONGEST = 4096
"""Angles of columns that are sorted side by side: of more, fewer bits of a key than angles are left."""
WIDE = 128
"""Columns whose sums over angles a thread has side by side."""
RANKS = 64
"""Ranks whose windows a thread slides together: vectors of every processor's width, and few bytes from each column's page."""


def beside(n_a: int, n_x: int) -> bool:
    """Whether columns are sorted side by side."""
    return n_x >= TILE and BLOCK <= n_a <= LONGEST


def sort_work(limits: Limits, lines: ArraySpec, keys: ArraySpec, places: ArraySpec) -> tuple[ArraySpec, ...]:
    """Keys of as many columns as a vector may have lanes, and numbers to sort; or two places for one column's; per thread."""
    _, n_a, n_x = lines.shape
    if not beside(n_a, n_x):
        return (ArraySpec((limits.threads, 4 * n_a), "uint32"),)
    return (ArraySpec((limits.threads, (-(-n_a // BLOCK) * BLOCK + n_a + 2) * TILE), "uint32"),)


def smooth_work(limits: Limits, keys: ArraySpec, smoothed: ArraySpec, *, size: int) -> tuple[ArraySpec, ...]:
    """The sorted windows of some ranks, and one value more in each, per thread."""
    return (ArraySpec((limits.threads, (size + 1) * RANKS), "uint32"),)


def unsort_work(limits: Limits, smoothed: ArraySpec, places: ArraySpec, lines: ArraySpec) -> tuple[ArraySpec, ...]:
    """A tile of columns, per thread."""
    return (ArraySpec((limits.threads, TILE, smoothed.shape[2]), "uint32"),)
