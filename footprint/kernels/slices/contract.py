"""Small steps on slices: fill, multiply, mask outside a circle, move a geometry table down an image.

``slices.fill(out, *, value)`` sets every element of float32 ``out``, ``slices.scale(out, *, factor)`` multiplies it.
``slices.circle(out (n_z, n_y, n_x), *, cx, cy, radius, value, y0=0)`` sets pixels farther than ``radius`` from ``(cx, cy)``;
``out`` is the slice from its row ``y0`` on.
``slices.move(table (n_angles, 4) float64, moved, *, y0)`` rewrites a backprojection's table for an image
that starts ``y0`` rows further; ``slices.slide(table, by (1,) float64, moved)`` for an axis ``by`` pixels further.
"""
