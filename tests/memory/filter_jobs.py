"""Jobs of the memory tests that are filters; `tests.memory.jobs` runs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import footprint as fp

Job = tuple[Callable[[Any], Any], Callable[[Any], Any]]


def _image(scale: int) -> tuple[np.ndarray, np.ndarray]:
    """Big-endian noise, so that the plan must own converted rows, and a touched output."""
    noise = np.random.default_rng(3).standard_normal((512 * scale, 1024), np.float32)
    return noise.astype(">f4"), np.ones((512 * scale, 1024), "f4")


def median_filter(scale: int) -> Job:
    x, out = _image(scale)
    return (
        lambda memory: fp.plan_median_filter(x.shape, 5, dtype=">f4", memory=memory, device="cpu"),
        lambda memory: fp.median_filter(x, 5, output=out, memory=memory, device="cpu"),
    )


def minimum_filter_wide(scale: int) -> Job:
    """Lines of a large box, kept for every thread."""
    x, out = _image(scale)
    return (
        lambda memory: fp.plan_minimum_filter(x.shape, 51, dtype=">f4", memory=memory, device="cpu"),
        lambda memory: fp.minimum_filter(x, 51, output=out, memory=memory, device="cpu"),
    )


def gaussian_filter(scale: int, sigma: float = 2) -> Job:
    x, out = _image(scale)
    return (
        lambda memory: fp.plan_gaussian_filter(x.shape, sigma, dtype=">f4", memory=memory, device="cpu"),
        lambda memory: fp.gaussian_filter(x, sigma, output=out, memory=memory, device="cpu"),
    )


def gaussian_filter_wide(scale: int) -> Job:
    """An axis after the other, with what lies between them."""
    return gaussian_filter(scale, 10)


def gaussian_filter_coarse(scale: int) -> Job:
    """By coarse rows and columns."""
    return gaussian_filter(scale, 20)


def gaussian_filter_thin(scale: int) -> Job:
    """Rows of three pixels, turned."""
    x, out = (one.reshape(-1)[: one.size // 3 * 3].reshape(-1, 3) for one in _image(scale))
    return (
        lambda memory: fp.plan_gaussian_filter(x.shape, 2, dtype=">f4", memory=memory, device="cpu"),
        lambda memory: fp.gaussian_filter(x, 2, output=out, memory=memory, device="cpu"),
    )


def uniform_filter_wide(scale: int) -> Job:
    """Equal weights in blocks, down and then across."""
    x, out = _image(scale)
    return (
        lambda memory: fp.plan_uniform_filter(x.shape, 301, dtype=">f4", memory=memory, device="cpu"),
        lambda memory: fp.uniform_filter(x, 301, output=out, memory=memory, device="cpu"),
    )


def gaussian_laplace(scale: int) -> Job:
    x, out = _image(scale)
    return (
        lambda memory: fp.plan_gaussian_laplace(x.shape, 2, dtype=">f4", memory=memory, device="cpu"),
        lambda memory: fp.gaussian_laplace(x, 2, output=out, memory=memory, device="cpu"),
    )


def match_beam(scale: int) -> Job:
    x, out = _image(scale)
    header = {"CTYPE1": "RA---SIN", "CTYPE2": "DEC--SIN", "CDELT1": -1e-3, "CDELT2": 1e-3, "BMAJ": 4e-3, "BMIN": 3e-3, "BPA": 30.0}
    how: dict[str, Any] = {"method": "direct", "device": "cpu"}
    return (
        lambda memory: fp.plan_match_beam(x.shape, header, 8e-3, dtype=">f4", memory=memory, **how),
        lambda memory: fp.match_beam(x, header, 8e-3, out=out, memory=memory, **how),
    )


FILTERS: dict[str, Callable[[int], Job]] = {
    "median_filter": median_filter,
    "minimum_filter_wide": minimum_filter_wide,
    "gaussian_filter": gaussian_filter,
    "gaussian_filter_wide": gaussian_filter_wide,
    "gaussian_filter_coarse": gaussian_filter_coarse,
    "gaussian_filter_thin": gaussian_filter_thin,
    "uniform_filter_wide": uniform_filter_wide,
    "gaussian_laplace": gaussian_laplace,
    "match_beam": match_beam,
}
