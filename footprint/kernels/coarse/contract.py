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
so parts have the bits of the whole. Borders are those of ``separable``; beyond a constant one lies 0. What is not finite goes as
far as the weights. An image is float32, or whole numbers of 8 or 16 bits as they are stored.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from footprint.dtypes import sum_dtype
from footprint.kernels.coarse import strips
from footprint.spec import ArraySpec, Limits

TALL, WIDE = 17, 9
"""Weights of a coarse row, and of a coarse column, in units of its step."""
STEPS, STRIDES = 16, 8
"""Steps of coarse rows, and strides of coarse columns, that are gathered at once: no fewer than one is the sum of but for one."""
TOGETHER = 8
"""Coarse rows whose results are made at once."""
STEP = 0.56, 0.8
"""Most from coarse row to coarse row, and from column to column, in sigmas: columns serve what lies beyond the ends alone."""
CLOSEST = 0.6
"""Least from column to column: the weights of closer ones end too soon."""
ENDS = 5.7
"""Sigmas from the middle to where what lies beyond the ends is nothing."""
LEAST, MOST = 10.99, 400.0
"""Sigmas that this is for: with smaller ones steps are so coarse that too much is left out, or weights end too soon."""
NEAREST = 3.9
"""Sigmas to the ends of the weights at least: what lies beyond both ends, down and across, is left out."""
DOWN = 16
"""Results down a coarse column that are made at once, and zeros behind the weights for them."""
CHIP, ITEMS, PLANES, ROWS = 48 << 10, 128, 65535, 65535 * 64
"""Bytes on the chip that the widest one needs, work-items of a group, and most planes of a launch and rows of a plane."""
_EXACT = 2.0**-21


@dataclass(frozen=True)
class Wide:
    """A Gaussian along an axis: its width, and its pixels to a side."""

    sigma: float
    reach: int
    core: bool = False
    """Whether a processor sums it."""

    @property
    def step(self) -> int:
        """From coarse row to coarse row."""
        return int(STEP[0] * self.sigma)

    @property
    def stride(self) -> int:
        """From coarse column to coarse column, on a GPU by fours; a sigma is known to some digits of its weights alone."""
        if self.core:
            return int(strips.STRIDE * self.sigma + 1e-3)
        return int(STEP[1] * self.sigma + 1e-3) // 4 * 4

    @property
    def far(self) -> int:
        """To where nothing is left of it."""
        return int(ENDS * self.sigma)

    @property
    def around(self) -> int:
        """Pixels before and after one that it comes from."""
        tall, beside = (strips.TALL, strips.BESIDE) if self.core else (TALL, WIDE)
        return max((tall + 1) * self.step, (beside + 1) * self.stride, self.far + 1)


def wide(weights: np.ndarray, core: bool = False) -> Wide | None:
    """What Gaussian some weights are, cut far enough out, for a processor or a GPU; None of any others."""
    values = np.asarray(weights, float)
    reach, odd = divmod(values.size, 2)
    if not odd or reach < LEAST * NEAREST or not values[reach] > values[0] > 0:
        return None
    sigma = reach / math.sqrt(2 * math.log(values[reach] / values[0]))
    if not (LEAST <= sigma <= MOST and NEAREST * sigma <= reach <= ENDS * sigma):
        return None
    should = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    close = np.abs(values / values[reach] - should) <= _EXACT * should
    found = Wide(sigma, reach, core)
    apart = core or found.stride >= CLOSEST * sigma
    return found if apart and close.all() and abs(values.sum() - 1) < 1e-5 else None


def in_reach(limits: Limits, image: ArraySpec) -> bool:
    """Whether a device sums so."""
    if len(image.shape) < 2:
        return False
    if np.dtype(sum_dtype(image.dtype)) != np.float32:
        return False
    roomy = limits.family == "gpu" and limits.local_mem >= CHIP and limits.group >= ITEMS
    few = image.size // max(math.prod(image.shape[-2:]), 1) <= PLANES and image.shape[-2] <= ROWS
    return limits.family == "cpu" or (roomy and few)


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
    steps: tuple[int, int],
    reaches: tuple[int, int],
    **_: object,
) -> tuple[ArraySpec, ...]:
    """Workspace on a processor: that of the worst place of a part."""
    (height, width), (made, beside) = image.shape[1:], out.shape[1:]
    worst = strips.Strips(height, width, made, beside, *steps, steps[0] - 1, steps[1] - 1)
    return strips.rooms(limits, worst, reaches, tails.shape[1])


def tables(tall: Wide, across: Wide) -> tuple[np.ndarray, ...]:
    """Weights of the launch; on a processor those of `strips.tables`.

    ``down`` (step, 17): of row j of a step, for each of the 17 steps that a coarse row is the sum of, the first of which begins 8.5
    steps before its place. ``rise``: of each of 17 coarse rows, the ninth of which is the nearest to a result, in the result j rows
    after the first that it is the nearest to. ``across`` (stride / 4, 9, 4): the same as ``down`` of 9 steps of coarse columns, the
    last one first, of four columns at once. ``drop``: of each of 9 coarse columns, the fifth of which is at or before a result, in
    the result j columns after that. ``line``: weights across. ``tails``: those beyond the ends down, the nearest first, and zeros.
    """
    if tall.core:
        return strips.tables(tall, across)
    width, narrow = tall.sigma / math.sqrt(2), across.sigma / math.sqrt(2)
    norm = np.exp(-0.5 * (np.arange(-tall.reach, tall.reach + 1) / tall.sigma) ** 2).sum()

    def coarse(n: int, step: int, before: int, sigma: float) -> np.ndarray:
        taps = np.exp(-0.5 * ((np.arange(n * step) - before) / sigma) ** 2)
        return taps.reshape(n, step).T

    def padded(taps: np.ndarray) -> np.ndarray:
        return np.pad(taps, ((0, 0), (0, -taps.shape[1] % 4))).astype(np.float32)

    def fine(n: int, step: int, before: int, sigma: float, whole: float) -> np.ndarray:
        places = np.arange(step)[:, None] - before - (np.arange(n) - n // 2) * step
        return step / (sigma * math.sqrt(math.pi)) / whole * np.exp(-0.5 * (places / sigma) ** 2)

    beyond = np.exp(-0.5 * (np.arange(tall.reach + 1, tall.far + 1) / tall.sigma) ** 2) / norm
    weights = np.exp(-0.5 * (np.arange(-across.reach, across.reach + 1) / across.sigma) ** 2)
    whole = weights.sum()
    beside = coarse(WIDE, across.stride, WIDE * across.stride // 8 * 4, narrow)[:, ::-1]
    eight = lambda row: np.pad(row, (0, -row.size % 8)).astype(np.float32)
    return (
        padded(coarse(TALL, tall.step, TALL * tall.step // 2, width)),
        padded(fine(TALL, tall.step, tall.step // 2, width, norm)),
        np.ascontiguousarray(beside.reshape(-1, 4, WIDE).swapaxes(1, 2), np.float32),
        fine(WIDE, across.stride, 0, narrow, whole).astype(np.float32),
        eight(weights / whole),
        np.append(eight(beyond), np.zeros(DOWN, np.float32)),
    )
