"""Clip an image's outliers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from footprint.api._passes import Rows, device_of, run_passes, see
from footprint.api._run import Memory, Reading, described, limits_and_budget, where
from footprint.errors import ShapeError
from footprint.kernels.sigma_clip.contract import COUNT, HIGH, ITERATIONS, LOW, MEAN, MEDIAN, STD
from footprint.ops.sigma_clip import SigmaClip, as_rows, check_maxiters, check_positive, pass_variant
from footprint.plan.fit import fit
from footprint.plan.plan import Plan
from footprint.plan.slots import Given
from footprint.spec import ArraySpec, Limits


@dataclass(frozen=True)
class Clip:
    """Statistics of the pixels left after clipping.

    Attributes
    ----------
    mean, median, std
        Of the pixels left, in float64; the std is that of the population.
    low, high
        The last bounds.
    count
        Pixels left.
    iterations
        Clips made, the last that changed nothing among them.
    """

    mean: float
    median: float
    std: float
    low: float
    high: float
    count: int
    iterations: int


def sigma_clip(
    image: Any,
    sigma: float = 3.0,
    *,
    maxiters: int | None = None,
    strict: bool = True,
    memory: Memory = None,
    device: str = "auto",
) -> Clip:
    """Clip at median -+ sigma std repeatedly until nothing changes, and describe what is left.

    Count and median are exactly those of a sort in float64; no pixel is moved. What is not finite is ignored. A clip that
    would leave nothing, as of a constant image, is not made.

    Parameters
    ----------
    image : array of any shape, or an open image with ``read(rows, out)``
        Real numbers of any dtype, byte order and strides. Not copied; where kernels cannot read it as it lies, blocks of
        rows are.
    sigma : float
        Half the width kept, in standard deviations.
    maxiters : int, optional
        Clips at most; None for until nothing changes (astropy's default is 5).
    strict : bool
        Keep low < x < high; False keeps low <= x <= high, as astropy does.
    memory : str, int or float, optional
        The most the run may take beside the image.
    device : str
        "auto", "cpu", "cuda", "cuda:1", "opencl".

    Returns
    -------
    Clip
        mean, median, std, low, high, count, iterations.

    Raises
    ------
    ShapeError
        An empty image, or one without a finite pixel.
    ArgumentError, BudgetError
        A sigma that is not over 0, or a budget that is too small.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> clip = fp.sigma_clip(np.array([1.0, 2.0, 3.0, 2.0, 1.0, 3.0, 2.0, 90.0]), sigma=2)
    >>> clip.count, clip.median
    (7, 2.0)
    """
    rows = see(image, flat=True)
    op = _op(rows.spec, sigma, maxiters, strict)
    limits, budget = device_of(rows, device, memory)
    plan = _plan(limits, budget, op, rows.spec, rows.array.given if rows.array else None, rows.reading)
    stats, counts = run_passes(plan, rows, 2)
    return clip_of(stats, counts, rows)


def clip_of(stats: np.ndarray, counts: np.ndarray, rows: Rows) -> Clip:
    """The clip's result, or an error where no pixel is finite."""
    if counts[COUNT] == 0:
        raise ShapeError("image", f"{rows.spec} without a finite pixel", "at least one finite pixel")
    mean, median, std, low, high = (float(stats[i]) for i in (MEAN, MEDIAN, STD, LOW, HIGH))
    return Clip(mean, median, std, low, high, int(counts[COUNT]), int(counts[ITERATIONS]))


def plan_sigma_clip(
    shape: tuple[int, ...],
    dtype: str = "float32",
    *,
    sigma: float = 3.0,
    maxiters: int | None = None,
    strict: bool = True,
    streamed: bool = False,
    memory: Memory = None,
    device: str = "auto",
) -> Plan:
    """Plan `sigma_clip` of an image of this shape and dtype; ``streamed`` where it comes from a file.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.plan_sigma_clip((8192, 8192), device="cpu").footprint.total < 8192**2
    True
    """
    spec, given = described(shape, dtype)
    spec = ArraySpec(as_rows(spec.shape), spec.dtype)
    limits, budget = limits_and_budget(where(device), memory)
    return _plan(limits, budget, _op(spec, sigma, maxiters, strict), spec, None if streamed else given)


def _op(spec: ArraySpec, sigma: float, maxiters: int | None, strict: bool) -> SigmaClip:
    height, width = spec.shape
    return SigmaClip(height, width, check_positive("sigma", sigma), check_maxiters(maxiters), bool(strict))


def _plan(
    limits: Limits, budget: int | None, op: SigmaClip, spec: ArraySpec, given: Given | None, reading: Reading | None = None
) -> Plan:
    variant = pass_variant(limits, op, spec, given, None, reading)
    return fit(limits, budget, "sigma_clip", [variant])
