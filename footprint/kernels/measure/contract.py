"""What `measure` is launched with.

``launch("measure", image, labels, moments, boxes, *state, first=, height=, turn=)``: ``image`` float32 or float64, ``labels`` int32
of its shape (n_y, n_x), 0 is no island: all ``height`` rows of an image, or some from ``first`` on. Parts come in order, all as
often as `turns` says; ``turn`` counts that. ``moments`` float64 (n, 15) and ``boxes`` int64 (n, 8) with the columns of
`kernels.find_sources`, kept from part to part, row ``k - 1`` for label ``k``; labels over n are left out. Sums are float64 in
raster order of the runs of a row, on a GPU whole numbers of a unit fine enough for the label, so that their order means nothing;
the column LABEL is k. A value that is not finite makes its label's sums NaN, the first infinite where all such are so of one
sign; and no other's.

``launch("measure.islands", image, labels, stats, count, moments, boxes, *state, first=, height=, min_area=, seed=, connected=,
turn=)``
subtracts ``stats[BACKGROUND]``; with ``connected`` the pixels of each label are, over sides or corners. Of the first ``count``
labels, those of at least ``min_area`` pixels, with a peak over ``seed`` times the noise where that is over 0, get the numbers from
1 in the column LABEL, in order, the others 0 and no pixels.
``launch("measure.renumber", labels, boxes, out)``: these numbers for those of ``labels``.
"""

from __future__ import annotations

import numpy as np

from footprint.spec import ArraySpec, Limits


def turns(limits: Limits, dtype: str) -> int:
    """Times that the parts of an image of this dtype are handed in: whole numbers can be summed when their unit is known."""
    return 1 if limits.host else 3 if np.dtype(dtype).itemsize == 8 else 2


def measure_state(limits: Limits, image: ArraySpec, labels: ArraySpec, *rest: ArraySpec, **_: object) -> tuple[ArraySpec, ...]:
    """The row before a part, and its labels."""
    return ArraySpec((1, image.shape[1]), image.dtype), ArraySpec((1, image.shape[1]), "int32")


islands_state = measure_state
