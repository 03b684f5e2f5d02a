"""From raw projections to sinograms: no kernel here needs workspace.

``launch("flatfield", raw, flats, dark, lower, upper, weight, out, border=0)``: ``raw`` (n_angles, n_z, n_x) of any dtype,
``flats`` (n_groups, n_z, n_x) and ``dark`` (n_z, n_x) float32, ``lower`` and ``upper`` int64 and ``weight`` float32, all
(n_angles,), ``out`` (n_z, n_angles, n_x) float32::

    out[z, a, x] = -log(clip((raw[a, z, x] - dark[z, x]) / (flat - dark[z, x]), 1e-6, 10))
    flat         = (1 - weight[a]) flats[lower[a], z, x] + weight[a] flats[upper[a], z, x]

Where flat - dark is not above 1e-5 of the dark (two equal means, mixed, differ by rounding), or anything is not finite, the pixel
is dead: it gets the value between its nearest good neighbours along x, by distance; at an end the nearest one's; 0 where the row
has none. With ``border`` > 0 the open beam of a row is instead the mean of raw - dark over that many pixels at both its ends, and
``flats`` is not read.

``launch("flatfield.shift", sinograms, whole, fraction, out, z0=0)``: ``sinograms`` (n_in, n_angles, n_x), ``out``
(n_z, n_angles, n_x), ``whole`` int64 and ``fraction`` float32 (n_angles,)::

    out[z, a] = (1 - fraction[a]) sinograms[z + z0 + whole[a], a] + fraction[a] sinograms[z + z0 + whole[a] + 1, a]

with rows outside counting as 0; where ``fraction`` is 0 the second is not read.
"""

from __future__ import annotations

LOWEST, HIGHEST = 1e-6, 10.0
"""Bounds of the transmission: below the one is noise or a shadow, above the other a flaw."""
DEAD = 1e-5
"""Share of the dark that an open beam must be above it: two equal means, mixed, differ by rounding."""
