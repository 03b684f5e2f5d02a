"""Projections turned in their plane; no workspace.

``launch("untilt", images (n, m, n_x) float32, out (n, k, n_x) float32, sine=, cosine=, z0=, y0=, rows=)``: ``out`` at row z and
column x of a detector of ``rows`` rows is the image at ``middle + (c dz - s dx, s dz + c dx)``, (dz, dx) what (z, x) is from the
detector's middle, by bilinear interpolation, the outermost values standing for what is beyond. ``images`` begin with row ``z0`` of
the detector and have all rows that ``out``, which begins with ``y0``, is made of.
"""
