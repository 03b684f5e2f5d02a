"""Wide Gaussians down and across planes of float32 sums by coarse rows and columns.

``launch("coarse", image, down, rise, across, drop, line, tails, out, steps=, reaches=, y0=, x0=, border_y=, border_x=,
first_y=, first_x=)`` computes of planes ``image[p]``, with g a Gaussian and t what of it lies beyond ``reaches``
(down, across) pixels::

    out[p] = (g - t)[down] (g - t)[across] image[p], but for t[down] t[across], which is 1e-7 of the largest weight

A Gaussian of sigma is one of sigma / sqrt 2 twice, and between the two every `steps`-th row is enough: what the sum over such rows
leaves out is exp(-2 (pi sigma / 2 step)^2) of every weight, not of the largest. So the first term is, with P the first Gaussian at
coarse places and I the second::

    I[down] ((g - t)[across] P[down] image) - I[across] (t[down] P[across] image)

Tables are those of `tables`, whose docstring has the places. ``y0`` and ``x0`` say where the middle of the first result's weights
lies in the image, ``first_y`` and ``first_x`` where the first result lies in the whole: coarse rows are multiples of a step there,
so parts have the bits of the whole. ``steps`` are from coarse row to coarse row, from column to column, and, for units, from point
to point along a line. Borders are those of ``separable``; beyond a constant one lies 0. What is not finite goes as
far as the weights. An image is float32, or whole numbers of 8 or 16 bits as they are stored.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.polynomial.chebyshev import chebvander

from footprint.dtypes import sum_dtype
from footprint.kernels.coarse import pairs, strips
from footprint.kernels.coarse.ways import CORE, PLAIN, UNITS, Way, fitted, gathered
from footprint.spec import ArraySpec, Limits

TALL, WIDE = PLAIN.tall, PLAIN.beside(1)
"""Weights of a coarse row, and of a coarse column of fours, in units of its step."""
STEPS, STRIDES = 16, 8
"""Steps of coarse rows, and strides of coarse columns, that are gathered at once: no fewer than one is the sum of but for one."""
TOGETHER = 8
"""Coarse rows whose results are made at once."""
STEP = 0.56
"""Most from coarse row to coarse row, in sigmas."""
CLOSEST = 0.6
"""Least from column to column: the weights of closer ones end too soon."""
ENDS = 5.7
"""Sigmas from the middle to where what lies beyond the ends is nothing."""
LEAST, MOST = 10.99, 400.0
"""Sigmas that this is for: with smaller ones steps are so coarse that too much is left out, or weights end too soon."""
NEAREST = 3.9
"""Sigmas to the ends of the weights at least: what lies beyond both ends, down and across, is left out."""
GATHERED, MOMENTS = 32, 6
"""Most rows of a step that one group gathers, twice as many under polynomials, and these."""
DOWN = 16
"""Results down a coarse column that are made at once, and zeros behind the weights for them."""
CHIP, ITEMS, PLANES, ROWS, COLUMNS = 48 << 10, 128, 65535, 65535 * 64, (1 << 30) - 1
"""Bytes on the chip that the widest one needs, work-items of a group, and most planes of a launch and rows and columns of one."""
UNITS_CHIP = 104 << 10
"""The same where units sum."""
_EXACT = 2.0**-21


@dataclass(frozen=True)
class Wide:
    """A Gaussian along an axis: its width, and its pixels to a side."""

    sigma: float
    reach: int
    way: Way = PLAIN
    """How it is summed."""

    @property
    def step(self) -> int:
        """From coarse row to coarse row."""
        return int(STEP * self.sigma)

    @property
    def stride(self) -> int:
        """From coarse column to coarse column."""
        return self.way.stride_of(self.sigma)

    @property
    def far(self) -> int:
        """To where nothing is left of it."""
        return int(ENDS * self.sigma)

    @property
    def around(self) -> int:
        """Pixels before and after one that it comes from."""
        return max((self.way.tall + 1) * self.step, (self.way.beside(self.stride) + 1) * self.stride, self.far + 1)


def wide(weights: np.ndarray, way: Way = PLAIN) -> Wide | None:
    """What Gaussian some weights are, cut far enough out, to be summed so; None of any others."""
    values = np.asarray(weights, float)
    reach, odd = divmod(values.size, 2)
    if not odd or reach < LEAST * NEAREST or not values[reach] > values[0] > 0:
        return None
    sigma = reach / math.sqrt(2 * math.log(values[reach] / values[0]))
    if not (LEAST <= sigma <= MOST and NEAREST * sigma <= reach <= ENDS * sigma):
        return None
    should = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    close = np.abs(values / values[reach] - should) <= _EXACT * should
    found = Wide(sigma, reach, way)
    return found if found.stride >= CLOSEST * sigma and close.all() and abs(values.sum() - 1) < 1e-5 else None


def way_of(limits: Limits) -> Way:
    """How a device sums them."""
    return CORE if limits.family == "cpu" else UNITS if limits.halves and limits.local_mem >= UNITS_CHIP else PLAIN


def in_reach(limits: Limits, image: ArraySpec) -> bool:
    """Whether a device sums so."""
    if len(image.shape) < 2:
        return False
    if np.dtype(sum_dtype(image.dtype)) != np.float32:
        return False
    roomy = limits.family == "gpu" and limits.local_mem >= CHIP and limits.group >= ITEMS
    few = image.size // max(math.prod(image.shape[-2:]), 1) <= PLANES and image.shape[-2] <= ROWS
    return limits.family == "cpu" or (roomy and few and image.shape[-1] <= COLUMNS)


def coarse_work(
    limits: Limits,
    image: ArraySpec,
    down: ArraySpec,
    rise: ArraySpec,
    across: ArraySpec,
    drop: ArraySpec,
    line: ArraySpec,
    tails: ArraySpec,
    out: ArraySpec,
    *,
    steps: tuple[int, ...],
    reaches: tuple[int, int],
    **_: object,
) -> tuple[ArraySpec, ...]:
    """Workspace on a processor: that of the worst place of a part."""
    (height, width), (made, beside) = image.shape[1:], out.shape[1:]
    worst = strips.Strips(height, width, made, beside, steps[0], steps[1], steps[0] - 1, steps[1] - 1)
    return strips.rooms(limits, worst, reaches, tails.shape[1])


def by_moments(step: int, way: Way) -> bool:
    """Whether rows of a step are summed under polynomials, of which its weights are made."""
    return way is UNITS and step > 2 * GATHERED


def parts_of(step: int, way: Way) -> int:
    """Groups that share steps: by the step alone, as sums hang on it."""
    rows = 2 * GATHERED if by_moments(step, way) else GATHERED
    return 1 << max(-(-step // rows) - 1, 0).bit_length()


def _moments(down: np.ndarray) -> np.ndarray:
    """Of all rows of a step, polynomials of their place in a group's share of it; then of each share those in all its weights."""
    step, parts = len(down), parts_of(len(down), UNITS)
    ends = [part * step // parts for part in range(parts + 1)]
    under = [chebvander((2 * np.arange(n) + 1 - n) / n, MOMENTS - 1).astype(np.float32) for n in np.diff(ends)]
    made = [np.linalg.lstsq(one.astype(float), down[low:high])[0].T for one, low, high in zip(under, ends, ends[1:])]
    return np.concatenate((*under, *made))


def tables(tall: Wide, across: Wide) -> tuple[np.ndarray, ...]:
    """Weights of the launch; on a processor those of `strips.tables`.

    ``down`` (step, 17): of row j of a step, for each of the 17 steps that a coarse row is the sum of, the first of which begins 8.5
    steps before its place; for units, where steps are long, what `_moments` makes of them. ``rise``: of each of 17 coarse rows, the
    ninth of which is the nearest to a result, in the result j rows after the first that it is the nearest to. ``across``: the same
    as ``down`` of coarse columns, for units (stride, 8 or 9) of 16 bits, else (stride / 4, 9, 4) of four columns at once, the last
    of the strides first. ``drop``: of each of 6 or 9 coarse columns, the third or fifth of which is at or before a result, in the
    result j columns after that. ``line``: weights across. ``tails``: those beyond the ends down, the nearest first, and zeros. The
    last and ``rise`` are as `pairs` makes them of these for units.
    """
    if tall.way is CORE:
        return strips.tables(tall, across)
    step, way = tall.step, across.way
    norm = np.exp(-0.5 * (np.arange(-tall.reach, tall.reach + 1) / tall.sigma) ** 2).sum()

    def padded(taps: np.ndarray) -> np.ndarray:
        return np.pad(taps, ((0, 0), (0, -taps.shape[1] % 4))).astype(np.float32)

    def risen(step: int, n: int, before: int, sigma: float) -> np.ndarray:
        places = np.arange(step)[:, None] - before - (np.arange(n) - n // 2) * step
        return step / sigma * math.sqrt(2 / math.pi) * np.exp(-((places / sigma) ** 2))

    def beyond(one: Wide) -> np.ndarray:
        return np.exp(-0.5 * (np.arange(one.reach + 1, one.far + 1) / one.sigma) ** 2)

    weights = np.exp(-0.5 * (np.arange(-across.reach, across.reach + 1) / across.sigma) ** 2)
    whole, stride, before = weights.sum(), across.stride, way.before(across.stride)
    under = gathered(stride, way.beside(stride), before, way.under * across.sigma)
    if way is UNITS:
        under = under.astype(np.float16).astype(np.float32)
        drop = fitted(under, before, across.sigma, way.places)
    else:
        drop = risen(stride, way.places, 0, across.sigma)
        under = under[:, ::-1].reshape(-1, 4, WIDE).swapaxes(1, 2)
    down, rise = gathered(step, TALL, TALL * step // 2, tall.sigma / math.sqrt(2)), risen(step, TALL, step // 2, tall.sigma) / norm
    if way is UNITS:
        points = gathered(across.step, TALL, TALL * across.step // 2, across.sigma / math.sqrt(2))
        beside = risen(across.step, TALL, across.step // 2, across.sigma) / whole
        back, less, line = pairs.back(rise), pairs.eleven(drop / whole), pairs.along(points, beside, beyond(across) / whole)
        tails = pairs.beyond(beyond(tall) / norm)
    else:
        eight = lambda row: np.pad(row, (0, -row.size % 8)).astype(np.float32)
        back, less, line = padded(rise), (drop / whole).astype(np.float32), eight(weights / whole)
        tails = np.append(eight(beyond(tall) / norm), np.zeros(DOWN, np.float32))
    down = padded(_moments(down) if by_moments(step, way) else down)
    return down, back, np.ascontiguousarray(under, np.float32), less, line, tails
