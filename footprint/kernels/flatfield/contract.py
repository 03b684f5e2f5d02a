"""From raw projections to sinograms: no kernel here needs workspace.

``launch("flatfield", raw, flats, dark, lower, upper, weight, [gain,] out, border=0, ceiling=inf)``: ``raw`` (n_angles, n_z, n_x) of
any dtype, ``flats`` (n_groups, n_z, n_x) and ``dark`` (n_z, n_x) float32, ``lower`` and ``upper`` int64, ``weight`` and ``gain`` (1
where it is left out) float32, all (n_angles,), ``out`` (n_z, n_angles, n_x) float32::

    out[z, a, x] = -log(clip((raw[a, z, x] - dark[z, x]) / (gain[a] (flat - dark[z, x])), 1e-6, 10))
    flat         = (1 - weight[a]) flats[lower[a], z, x] + weight[a] flats[upper[a], z, x]

It is `flat`, `minus_log`, `dead_pixels` and `transpose` in one pass, with the same bits.

``launch("flatfield.shift", sinograms, whole, fraction, out, z0=0)``: ``sinograms`` (n_in, n_angles, n_x), ``out``
(n_z, n_angles, n_x), ``whole`` int64 and ``fraction`` float32 (n_angles,)::

    out[z, a] = (1 - fraction[a]) sinograms[z + z0 + whole[a], a] + fraction[a] sinograms[z + z0 + whole[a] + 1, a]

with rows outside counting as 0; where ``fraction`` is 0 the second is not read.
"""
