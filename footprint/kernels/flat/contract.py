"""Transmission of raw projections; no workspace.

``launch("flat", raw, flats, dark, lower, upper, weight, [gain,] out, border=0, ceiling=inf)``: ``raw`` (n_angles, n_z, n_x) of any
dtype, ``flats`` (n_groups, n_z, n_x), ``dark`` (n_z, n_x) float32, ``lower`` and ``upper`` int64, ``weight`` and ``gain`` (1 where
it is left out) float32, all (n_angles,), ``out`` (n_angles, n_z, n_x) float32::

    out[a, z, x] = (raw[a, z, x] - dark[z, x]) / (gain[a] (flat - dark[z, x]))
    flat         = (1 - weight[a]) flats[lower[a], z, x] + weight[a] flats[upper[a], z, x]

Where flat - dark is not above 1e-5 of the dark (two equal means, mixed, differ by rounding), or anything is not finite, the pixel
is dead: NaN. So it is where raw is at or above ``ceiling``. With ``border`` > 0 the open beam of a row is instead the mean of
raw - dark over that many pixels at both its ends, and ``flats`` and ``gain`` are not read.
"""

from __future__ import annotations

DEAD = 1e-5
"""Share of the dark that an open beam must be above it: two equal means, mixed, differ by rounding."""
