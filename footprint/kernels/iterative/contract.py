"""The steps of iterative reconstruction between projections; every array float32 and C-contiguous, sums float64.

``volume``, ``step`` and ``bar`` are slices (n_z, n_y, n_x), ``lines``, ``seen`` and ``dual`` sinograms (n_z, n_angles, n_x'), and
``gains`` one slice or one sinogram, the same for all. Numbers of CGLS are one a slice, (n_z,) float64; a quotient whose lower part
is 0 counts as 0.

``reciprocal(gains, *, least, plus)``: in place 1 / (gains + plus) where that is ``least`` at least, else 0.
``residual(lines, gains, seen)``: seen = gains (lines - seen).
``update(step, gains, volume, *, positive)``: volume += gains step; ``positive`` sets what is below 0 to 0.
``dots(values (n_z, ...), sums)``: sums = <values, values> of every slice, in blocks of BLOCK elements, in one order.
``advance(direction, upper, lower, values, *, sign)``: values += sign (upper / lower) direction.
``redirect(step, upper, lower, direction)``: direction = step + (upper / lower) direction.
``data_dual(lines, seen, gains, dual)``: dual = (dual + gains (seen - lines)) / (1 + gains).
``gradient_dual(bar, dual (n_z, 2, n_y, n_x), *, most)``: dual += gradient of bar / 2, shortened to ``most`` where it is longer; the
gradient is the next pixel less this one along x, then along y, and 0 at the last.
``primal(step, dual (n_z, 2, n_y, n_x), gains, volume, bar, *, scale, positive)``: one step down, gains (step - scale divergence of
dual) off volume, and bar = 2 new - old.
"""

from __future__ import annotations

from footprint.spec import ArraySpec, Limits

BLOCK = 4096
"""Elements of one sum of squares."""


def dots_work(limits: Limits, values: ArraySpec, sums: ArraySpec) -> tuple[ArraySpec, ...]:
    """The sum of every block."""
    n = values.shape[0]
    return (ArraySpec((n, -(-values.size // max(n, 1) // BLOCK)), "float64"),)
