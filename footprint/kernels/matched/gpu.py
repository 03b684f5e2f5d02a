"""Launches of means by weights over the pixels that have data."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.launch import A, Launch, Program
from footprint.kernels.common.load import c_type
from footprint.kernels.matched.contract import LEAST
from footprint.kernels.threshold.gpu import groups_for
from footprint.spec import ArraySpec, Limits


def known_program(limits: Limits, image: ArraySpec, values: ArraySpec, good: ArraySpec) -> Program:
    """One pass; see `footprint.kernels.matched.contract`."""
    args, grid = (A(0), A(1), A(2), np.int64(image.size)), (groups_for(limits, image.size), 1, 1)
    return Program((Launch("matched.knl", "matched_known", grid, (256, 1, 1), args, _defines(image)),) if image.size else ())


def mean_program(limits: Limits, good: ArraySpec, sums: ArraySpec, shares: ArraySpec, *, start: int) -> Program:
    """One pass; see `footprint.kernels.matched.contract`."""
    args = (A(0), A(1), A(2), np.int64(start * sums.shape[1]), np.int64(sums.size))
    grid = (groups_for(limits, sums.size), 1, 1)
    return Program((Launch("matched.knl", "matched_mean", grid, (256, 1, 1), args, _defines(sums)),) if sums.size else ())


def _defines(image: ArraySpec) -> tuple[tuple[str, int | float | str], ...]:
    return ("T", c_type(image.dtype)), ("LEAST", LEAST)
