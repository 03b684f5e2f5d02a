"""Jobs of the memory tests for the steps between open beam and backprojection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import footprint as fp

Job = tuple[Callable[[Any], Any], Callable[[Any], Any]]
RNG = np.random.default_rng(4)


def remove_stripes(scale: int, method: str = "all") -> Job:
    """Foreign bytes, so that the plan must own converted sinograms."""
    x, out = RNG.random((8, 60 * scale, 300), np.float32).astype(">f4"), np.ones((8, 60 * scale, 300), "f4")
    return (
        lambda memory: fp.plan_remove_stripes(x.shape, method, dtype=">f4", memory=memory, device="cpu"),
        lambda memory: fp.remove_stripes(x, method, out=out, memory=memory, device="cpu"),
    )


def fourier_wavelet(scale: int) -> Job:
    return remove_stripes(scale, "fw")


JOBS: dict[str, Callable[[int], Job]] = {"remove_stripes": remove_stripes, "fourier_wavelet": fourier_wavelet}
