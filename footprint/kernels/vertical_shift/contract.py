"""Shift every projection of a stack along z by its own amount: the kernel ``vertical_shift`` needs no workspace.

``launch("vertical_shift", radios, shifts, out, z0=0)``: ``radios`` (n_angles, n_in, n_x), ``out`` (n_angles, n_z, n_x),
``shifts`` (n_angles, 2), whole rows and the rest, in the stack's dtype or float64::

    out[a, z, x] = (1 - rest[a]) radios[a, z + z0 + whole[a], x] + rest[a] radios[a, z + z0 + whole[a] + 1, x]

Rows outside ``radios`` are 0; where the rest is 0 the second row is not read. ``z0`` is the row of ``radios``
that output row 0 sits on, so a block with its halo rows gives the rows of the whole. ``out`` may be ``radios`` itself
(then ``z0`` is 0).
"""

from __future__ import annotations
