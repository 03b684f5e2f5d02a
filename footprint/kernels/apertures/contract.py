"""What sums over apertures are launched with.

An aperture is a disc or an ellipse: where ``M (d - place)`` is no longer than its radius, d being a pixel's place. A pixel counts
by the exact area of it that lies inside, not at all where that is no more than `SLIVER`, which may be rounding. What is not finite,
or has no noise over 0, has no data.

* ``places`` float64 (n, `PLACE`): y, x, the rows of M (of what x and what y become), and a factor of all radii; a row whose y is
  NaN has no aperture.
* ``launch("apertures.add", block, level, spread, places, radii, sums, first=, column=)`` for all blocks in order: for every place
  and every one of ``radii`` (float64) four numbers of ``sums`` from ``column`` on: the sum of values over their ``level``, that of
  the squares of ``spread``, the area with data, and the area in the image without. ``level`` and ``spread`` are maps of the
  block's shape, or float64 (1, 1) for one value.
* ``launch("apertures.reach", block, level, spread, places, sums, first=, column=)``: two numbers, the sums of r v and of v over
  the pixels whose centres lie within `REACH` of a place, r in its units.
* ``launch("apertures.discs", count, boxes, moments, places, first=)``: the places of the sources of `kernels.find_sources`, M
  being 1; ``apertures.ellipses``: M such that their standard deviations are 1, at least those of one pixel.
* ``launch("apertures.kron", sums, places, first=, column=, factor=, least=)``: the factor of every place is ``factor`` times the
  Kron radius that ``reach`` has summed up, which takes the place of its sums, with the aperture's area; where that radius, in
  pixels, is under ``least``, or is none, the place gets a disc of ``least`` pixels.

The last three work where ``first`` is 0. Every row of an aperture is summed up by itself and added to those before, so parts and
threads change no digit.
"""

from __future__ import annotations

# y, x; what x and y become of (x, y): xx, xy, yx, yy; the factor.
PLACE = 7
# Numbers of an aperture: value, squared noise, area with data and without.
SUMS = 4
# Where a Kron radius is told: in standard deviations, as SExtractor does.
REACH = 6.0
# Of a pixel, the share that counts for none.
SLIVER = 1e-12
