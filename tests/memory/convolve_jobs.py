"""Jobs of the memory tests that are convolutions of other kinds; `tests.memory.jobs` runs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import footprint as fp

Job = tuple[Callable[[Any], Any], Callable[[Any], Any]]


def _job(x: np.ndarray, mask: np.ndarray, out: np.ndarray, **how: Any) -> Job:
    return (
        lambda memory: fp.plan_convolve(x.shape, mask.shape, dtype=x.dtype.str, memory=memory, device="cpu", **how),
        lambda memory: fp.convolve(x, mask, out=out, memory=memory, device="cpu", **how),
    )


def convolve_stored(scale: int) -> Job:
    """Counts, which are read as they are: what threads keep of them is all there is."""
    x = np.random.default_rng(3).integers(0, 4000, (512 * scale, 1024)).astype("u2")
    return _job(x, np.ones((21, 21), "f4") / 441, np.ones(x.shape, "f4"))


def convolve_nan(scale: int) -> Job:
    """What is a number, where, and the sums of weights there."""
    x = np.random.default_rng(3).standard_normal((512 * scale, 1024), np.float32)
    x[::7, ::5] = np.nan
    return _job(x, np.ones((9, 9), "f4") / 81, np.ones(x.shape, "f4"), nan="interpolate")


def convolve_volume(scale: int) -> Job:
    """Foreign bytes, so that the plan must own converted planes."""
    x = np.random.default_rng(3).standard_normal((16 * scale, 160, 200), np.float32).astype(">f4")
    return _job(x, np.ones((5, 3, 4), "f4") / 60, np.ones(x.shape, "f4"))


def convolve_batch(scale: int) -> Job:
    """Images one after another, that are not an array's last axes."""
    x = np.random.default_rng(3).standard_normal((160, 200, 16 * scale), np.float32)
    return _job(x, np.ones((5, 4), "f4") / 20, np.ones(x.shape, "f4"), axes=(0, 1))


def convolve_complex(scale: int) -> Job:
    """Parts of the image, and of the sums of their pairs."""
    rng = np.random.default_rng(3)
    x = (rng.standard_normal((512 * scale, 512), np.float32) * np.complex64(1 + 2j)).astype("c8")
    mask, out = np.full((9, 9), 1 + 1j, "c8") / 81, np.ones(x.shape, "c8")
    return (
        lambda memory: fp.plan_convolve(x.shape, mask.shape, dtype="c8", mask_dtype="c8", memory=memory, device="cpu"),
        lambda memory: fp.convolve(x, mask, out=out, memory=memory, device="cpu"),
    )


JOBS: dict[str, Callable[[int], Job]] = {
    "convolve_stored": convolve_stored,
    "convolve_nan": convolve_nan,
    "convolve_volume": convolve_volume,
    "convolve_batch": convolve_batch,
    "convolve_complex": convolve_complex,
}
