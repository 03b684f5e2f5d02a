"""What windowed centres are found with: means of the light about a place, weighted by a Gaussian there, until the place stays.

``table`` float64 (n, `COLUMNS`) has for each source where it is, the standard deviation of its window in pixels, 1 when it stays,
sums over the pixels within `REACH` of these from there, of w v, of w v dx and w v dy, of (w noise dx)^2 and (w noise dy)^2, and
where it began; w is exp(-r^2 / 2 size^2), v what is over the background. What is not finite, or has no noise over 0, has no data.

* ``launch("windowed.start", count, boxes, moments, table, first=, size=, least=)``: the centres of the sources of
  `kernels.find_sources`, NaN for other rows; ``size`` 0 is each source's own, sqrt(a b), at least ``least``. It works where
  ``first`` is 0.
* ``launch("windowed.add", block, level, spread, table, first=)`` for all blocks in order: sums of those that do not stay yet.
  ``level`` and ``spread`` are maps of the block's shape, or float64 (1, 1) for one value.
* ``launch("windowed.move", table, flag, turn=)`` when all blocks are through: each goes by twice the mean of dx and of dy, and
  stays where that is under `STEP`. It is NaN where the light is not over 0, or where it left its window. ``flag`` int64 (1,) is 1
  when all stay, and after `MOST` turns.

Every row of a window is summed up by itself and added to those before, so parts and threads change no digit.
"""

X, Y, SIZE, STAYS, LIGHT, LIGHT_X, LIGHT_Y, NOISE_X, NOISE_Y, FROM_X, FROM_Y = range(11)
COLUMNS = 11
# As SExtractor has them: standard deviations, pixels, turns.
REACH, STEP, MOST = 4.0, 2e-4, 16
