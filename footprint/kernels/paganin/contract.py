"""A low-pass of projections whose every row is a spectrum along x, and what surrounds it; float32.

Of a block of n projections, ``lines`` (n, m, n_x) are the rows it has, ``y`` (n, k, n_x) those it makes.

* ``pad(lines, padded, mode=, level=)``: every row less ``level`` to (n m, P), continued to the right, and from the left at the end,
  as ``mode`` says: ``air`` and ``zeros`` by zeros, ``edge``, ``reflect`` (d c b | a b c d | c b a) or ``symmetric``
  (c b a | a b c d | d c b).
* ``blur(spectrum, taps, reach, lines, y, out, first=, start=, total=, mode=)``: ``spectrum`` (n m, F) and ``out`` (n k, F)
  complex64; ``taps`` (R + 1, 2 F), the weights of a row and of those 1 ... R beside it, each frequency's twice; ``reach`` int32
  (F,), how many beside it count at a frequency, which falls. ``lines`` begin with row ``start`` of ``total``, ``y`` with row
  ``first``; rows beyond the detector as in ``pad``. ``lines`` and ``y`` are looked at for their shapes alone.
* ``crop(padded, y, level=)``: the first n_x values of every row (n k, P), and ``level``.
* ``forward(lines, twiddle, spectrum, mode=, level=)``: ``pad`` with the transform that follows, and
  ``backward(spectrum, twiddle, y, mode=, level=)``: the transform with ``crop``, where `common.stages` has rows of P on the chip;
  ``twiddle`` is its table.
"""

from __future__ import annotations

from footprint.spec import ArraySpec, Limits

CODES = {"air": 0, "zeros": 0, "edge": 1, "symmetric": 2, "reflect": 3}
"""What stands beyond a projection, in the numbers of `common.borders`."""
STRETCH = 32
"""Numbers of a spectrum that a thread on the CPU takes of all rows at a time: with their weights they stay in a cache."""
ROWS = 4
"""Rows of the result that it sums side by side."""


def blur_work(
    limits: Limits,
    spectrum: ArraySpec,
    taps: ArraySpec,
    reach: ArraySpec,
    lines: ArraySpec,
    y: ArraySpec,
    *more: object,
    **numbers: object,
) -> tuple[ArraySpec, ...]:
    """Per thread: so many numbers of a projection's rows and of one of zeros, with weights to both sides; where rows lie."""
    m, k, far = lines.shape[1], y.shape[1], taps.shape[0]
    return (ArraySpec((limits.threads, (m + 2 * far) * STRETCH)), ArraySpec((limits.threads, k + 2 * far + ROWS), "int64"))
