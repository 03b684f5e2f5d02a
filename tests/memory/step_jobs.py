"""Jobs of the memory tests for the steps between open beam and backprojection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import footprint as fp
from footprint.api._tomo import on_stack, planned_stack
from footprint.api.steps import unsharp_of

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


def paganin(scale: int) -> Job:
    x, out = RNG.random((4 * scale, 150, 200), np.float32).astype(">f4"), np.ones((4 * scale, 150, 200), "f4")
    beam: dict[str, Any] = {"delta_beta": 100, "energy": 20, "distance": 0.1, "pixel_size": 5e-6, "device": "cpu"}
    return (
        lambda memory: fp.plan_paganin(x.shape, dtype=">f4", memory=memory, **beam),
        lambda memory: fp.paganin(x, out=out, memory=memory, **beam),
    )


def remove_zingers(scale: int) -> Job:
    x, out = RNG.random((4 * scale, 150, 200), np.float32).astype(">f4"), np.ones((4 * scale, 150, 200), "f4")
    return (
        lambda memory: fp.plan_remove_zingers(x.shape, 0.1, dtype=">f4", memory=memory, device="cpu"),
        lambda memory: fp.remove_zingers(x, 0.1, out=out, memory=memory, device="cpu"),
    )


def unsharp(scale: int) -> Job:
    """Large enough that the small job too is shared among threads."""
    x, out, op = RNG.random((16 * scale, 150, 200), np.float32).astype(">f4"), np.ones((16 * scale, 150, 200), "f4"), unsharp_of(2)
    return (
        lambda memory: planned_stack("unsharp", x.shape, ">f4", op, memory, "cpu"),
        lambda memory: on_stack("unsharp", "projections", x, op, out, memory, "cpu"),
    )


def untilt(scale: int) -> Job:
    x, out = RNG.random((4 * scale, 150, 200), np.float32).astype(">f4"), np.ones((4 * scale, 150, 200), "f4")
    return (
        lambda memory: fp.plan_untilt(x.shape, 0.7, dtype=">f4", memory=memory, device="cpu"),
        lambda memory: fp.untilt(x, 0.7, out=out, memory=memory, device="cpu"),
    )


def project(scale: int) -> Job:
    x, out = RNG.random((6 * scale, 80, 90), np.float32).astype(">f4"), np.ones((6 * scale, 60, 90), "f4")
    return (
        lambda memory: fp.plan_project(x.shape, 60, dtype=">f4", memory=memory, device="cpu"),
        lambda memory: fp.project(x, 60, out=out, memory=memory, device="cpu"),
    )


def iterative(scale: int, method: str, **more: float) -> Job:
    x, out = RNG.random((6 * scale, 30, 90), np.float32).astype(">f4"), np.ones((6 * scale, 90, 90), "f4")
    how: dict[str, Any] = {"iterations": 2, "device": "cpu", **more}
    return (
        lambda memory: getattr(fp, f"plan_{method}")(x.shape, dtype=">f4", memory=memory, **how),
        lambda memory: getattr(fp, method)(x, out=out, memory=memory, **how),
    )


JOBS: dict[str, Callable[[int], Job]] = {
    "remove_stripes": remove_stripes,
    "fourier_wavelet": fourier_wavelet,
    "paganin": paganin,
    "remove_zingers": remove_zingers,
    "unsharp": unsharp,
    "untilt": untilt,
    "project": project,
    "sirt": lambda scale: iterative(scale, "sirt"),
    "cgls": lambda scale: iterative(scale, "cgls"),
    "tv": lambda scale: iterative(scale, "tv", weight=0.5),
}
