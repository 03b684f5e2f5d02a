"""A sample of a few strips, for which a first pass need not read all of a file, and how far it can be wrong.

Neighbours are alike, so pixels of a few places tell less than as many from everywhere. How much less, the strips themselves say:
by how far the medians and widths of successive ones differ.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise

import numpy as np

from footprint.kernels.sigma_clip.clip_loops import take
from footprint.kernels.sigma_clip.contract import GLANCES, OF_EACH, glance_strips, rows_per_strip

# A strip of fewer finite pixels says nothing of the others.
_FEW = 32
# Of normal noise, the standard errors of the median and of half the distance between two quantiles, over that of the mean.
_LOW, _HIGH, _MEDIAN, _WIDTH = 0.16, 0.84, 1.2533, 0.96


@lru_cache(maxsize=4)
def _pattern(size: int, width: int) -> tuple[tuple[int, ...], int, int]:
    """Strips that are looked at, the step within one, and how many pixels it has."""
    strip = rows_per_strip(width) * width
    step = strip // OF_EACH | 1
    while math.gcd(step, width) != 1:
        step += 2
    return glance_strips(size, width), step, strip // step


def worth(size: int, width: int) -> bool:
    """Whether few strips are looked at before all else."""
    return bool(_pattern(size, width)[0])


def taken(flat: np.ndarray, offset: int, size: int, width: int, kept: np.ndarray) -> int:
    """Put the sample's pixels that are in a block where they belong; return how many they are.

    Those of a strip begin one further on than those of the strip before, so that no column is left out for good.
    """
    strips, step, each = _pattern(size, width)
    strip, found = rows_per_strip(width) * width, 0
    for k, number in enumerate(strips):
        start = number * strip - offset
        if start + strip <= 0 or start >= flat.size:
            continue
        start += k % step
        first, last = max(-(start // step), 0), min(-((start - flat.size) // step), each)
        if first < last:
            kept[k * each + first : k * each + last] = flat[start + first * step : start + last * step : step]
            found += last - first
    return found


def wanted(size: int, width: int) -> int:
    """Pixels of the sample."""
    return GLANCES * _pattern(size, width)[2]


def judged(kept: np.ndarray, size: int, width: int) -> tuple[int, float]:
    """Sort out the sample: leave its finite pixels in front; return how many they are, and the standard error of their mean.

    Half the mean square of the differences between successive strips is the variance of one, and hardly grows with a slope from
    end to end, of which every piece of the image has its strip.
    """
    each, filled, found = _pattern(size, width)[2], 0, []
    for start in range(0, GLANCES * each, each):
        strip = kept[start : start + each]
        n = take(strip, 0, 1, strip, 0)
        strip = strip[:n]
        if n >= _FEW:
            strip.sort()
            middle, low, high = (float(strip[int(share * n)]) for share in (0.5, _LOW, _HIGH))
            found.append((middle / _MEDIAN, (high - low) / 2 / _WIDTH))
        kept[filled : filled + n] = strip
        filled += n
    if len(found) < 2:
        return filled, 0.0
    steps = [[b[i] - a[i] for a, b in pairwise(found)] for i in (0, 1)]
    return filled, math.sqrt(max(sum(d * d for d in some) for some in steps) / 2 / (len(found) - 1) / len(found))
