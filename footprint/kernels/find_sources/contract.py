"""What `find_sources` is launched with.

``launch("find_sources.table", block, where, stats, counts, moments, boxes, height=, width=, sigma=, kappa=, maxiters=,
connectivity=, min_area=, lesson=)``, and ``find_sources.labelled`` with ``labels`` after ``boxes``.

* ``block``, ``where``, ``stats``, ``counts`` as for `sigma_clip`; ``stats[BACKGROUND]``, ``stats[NOISE]`` are what the threshold
  was made of, ``counts[NEEDED]`` the components met (a component is a piece of an island until pieces are seen to join).
* ``moments`` float64 (capacity, 4): sum, sum x, sum y, peak.  ``boxes`` int64 (capacity, 8): label, pixels, x and y of the first
  and last column and row (inclusive), x and y of the peak.  A row counts where pixels > 0 and label > 0; labels ascend.
* ``labels`` int32, of the block's shape: filled by the launch that sets ``counts[PAINTED]``, in the pass after the
  islands are known.

Where ``counts[NEEDED]`` is over the capacity, the table means nothing and the caller plans again with that number.
"""

from __future__ import annotations

from footprint.kernels.sigma_clip.contract import sigma_clip_work
from footprint.spec import ArraySpec, Limits

BACKGROUND, NOISE = 5, 6
NEEDED, ISLANDS, PAINTED = 3, 4, 5
SUM, SUM_X, SUM_Y, PEAK = range(4)
LABEL, PIXELS, X_MIN, X_MAX, Y_MIN, Y_MAX, X_PEAK, Y_PEAK = range(8)

# Pixels whose emptiness one flag tells.
FLAG = 64


def default_capacities(size: int) -> tuple[int, int]:
    """Components a plan holds unless told otherwise (3 % of a float32 image's bytes), and at least where memory is short."""
    most = (size + 1) // 2
    return min(64 + size // 768, most), min(8 + size // 1024, most)


def table_work(
    limits: Limits,
    block: ArraySpec,
    where: ArraySpec,
    stats: ArraySpec,
    counts: ArraySpec,
    *rest: ArraySpec,
    height: int,
    width: int,
    **_: object,
) -> tuple[ArraySpec, ...]:
    """The clip's workspace, the flags of a block, and the runs of two rows."""
    clip = sigma_clip_work(limits, block, where, stats, counts, size=height * width, width=width)
    flags = ArraySpec((block.shape[0], -(-width // FLAG)), "uint8")
    runs = ArraySpec((2, width // 2 + 1, 3), "int32")
    return (*clip, flags, runs)


labelled_work = table_work
