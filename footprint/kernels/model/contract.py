"""What is made of fitted Gaussians is launched with: their image, what they leave, and what is joined to them.

* ``launch("model.paint", fits, count, out, first=)``: ``out``, rows from ``first`` on, is the sum of all Gaussians; each is cut off
  where it is a thousandth of its height's error. ``launch("model.subtract", block, fits, count, out, first=)``: ``out``, of the
  block's shape and dtype, is the block less them. ``fits`` and ``count`` as `kernels.fit` leaves them.
* ``launch("model.join", stats, fits, boxes, count, members, moments, *more, *tables, height=, seed=)``: the rows of ``tables``
  (count, members, moments, boxes; all of one capacity) are those of the first tables and, of the second, ``more``, those that are
  new: whose peak no fit is over half its height at, lies in the box of no source that could not be fitted, and is over ``seed``
  noises and `SHARE` of what the fits are there. Their island is 0, and so is the component. Where either search had no room, or
  there is none for all, the count says so as `kernels.deblend` does.
* ``launch("model.prune", stats, fits, count, members, moments, boxes, *tables, seed=)``: the rows of ``tables`` are those of the
  others but of what was joined to them (island 0) and then fitted to less: a height that is not over ``seed`` times its error and
  ``seed`` noises, or what the fit leaves in its window, where that is more than the noise.

Every pixel adds up the sources in their order, so parts and threads change no digit.
"""

from __future__ import annotations

from footprint.spec import ArraySpec, Limits

# Of what the fits are at a place, how much they may be wrong by.
SHARE = 0.02
# Columns of what is drawn: height, place, the exponent's three terms, where it is cut off, and how far that is along y and x.
PARTS = 9


def paint_work(limits: Limits, fits: ArraySpec, *rest: ArraySpec, **_: object) -> tuple[ArraySpec, ...]:
    """What is drawn of each source."""
    return (ArraySpec((fits.shape[0], PARTS), "float64"),)


def subtract_work(limits: Limits, block: ArraySpec, fits: ArraySpec, *rest: ArraySpec, **_: object) -> tuple[ArraySpec, ...]:
    """The same."""
    return paint_work(limits, fits)


def join_work(
    limits: Limits, stats: ArraySpec, fits: ArraySpec, *rest: ArraySpec, height: int, **_: object
) -> tuple[ArraySpec, ...]:
    """What is drawn of each source, and the sources by rows of the image."""
    return *paint_work(limits, fits), ArraySpec((height + 2,), "int64"), ArraySpec((fits.shape[0],), "int64")
