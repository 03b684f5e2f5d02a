"""Rows of a half acquisition as rows of the whole field; no workspace.

``launch("half_acquisition", rows, axes, moves, out, offset=0, extra=0, side=1, reach=...)``: ``rows`` (n_z, n_angles, n_x) and
``out`` (n_z, n_angles, width) float32, not one array, ``axes`` (n_angles,) float64, where the axis lies on the detector, and
``moves`` (n_z, 1), or (1, 1) for all, float64, how far from there it lies in each slice::

    out[z, a, x + offset] = 2 weight(side (x - axes[a] - moves[z])) rows[z, a, clip(x, 0, n_x - 1)]     0 beyond the detector's ends

``side`` is 1 where the axis is near the detector's last pixel, -1 where it is near the first, and the detector counts as ``extra``
pixels longer at that end. ``weight`` falls from 1 at ``-reach`` to 0 at ``reach`` along a line, averaged over the pixel, so that
the weights of a ray seen from both sides add up to 1, also where less than a pixel overlaps.
"""

from __future__ import annotations
