"""Jobs of the memory tests that are convolutions of other kinds; `tests.memory.jobs` runs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import footprint as fp

Job = tuple[Callable[[Any], Any], Callable[[Any], Any]]


RNG = np.random.default_rng(3)


def _image(n: int, m: int) -> np.ndarray:
    return RNG.standard_normal((n, m), np.float32)


def _job(x: np.ndarray, mask: np.ndarray, **how: Any) -> Job:
    """An array, filtered, and where its result goes."""
    many = mask.shape[:1] if "masks" in how else ()
    out, how = np.ones((*many, *x.shape), "f4"), {"device": "cpu", **how}
    return (
        lambda memory: fp.plan_convolve(x.shape, mask.shape, dtype=x.dtype.str, memory=memory, **how),
        lambda memory: fp.convolve(x, mask, out=out, memory=memory, **how),
    )


def convolve(scale: int) -> Job:
    # Foreign bytes, so that the plan must own converted rows.
    return _job(_image(512 * scale, 1024).astype(">f4"), np.ones((9, 9), "f4") / 81)


def signal(*shape: int) -> np.ndarray:
    """Long and thin, of foreign bytes."""
    return RNG.standard_normal(shape, np.float32).astype(">f4")


def convolve_signal(scale: int) -> Job:
    return _job(signal(2_500_000 * scale), np.ones(21, "f4") / 21, boundary="reflect")


def convolve_thin(scale: int) -> Job:
    return _job(signal(625_000 * scale, 3), np.ones((9, 3), "f4") / 27)


def convolve_mask(scale: int) -> Job:
    """A mask larger than the image, which has to be turned and cast."""
    return _job(_image(16, 64 * scale), RNG.standard_normal((200 * scale, 60 * scale)), method="direct")


def convolve_fft(scale: int) -> Job:
    """Tiles of a thread each, and what additions of many blocks of the mask lose."""
    return _job(_image(512 * scale, 1024).astype(">f4"), RNG.standard_normal((90, 70)))


def convolve_signal_fft(scale: int) -> Job:
    """Segments of a thread each."""
    return _job(signal(625_000 * scale), RNG.standard_normal(1001))


def convolve_volume_fft(scale: int) -> Job:
    """Tiles of a thread each, and the mask's transform."""
    return _job(signal(250 * scale, 60, 100), RNG.standard_normal((9, 13, 13)), method="fft")


def convolve_separable(scale: int) -> Job:
    return _job(_image(512 * scale, 1024).astype(">f4"), np.ones((80, 40)) / 3200, method="separable")


def convolve_stored(scale: int) -> Job:
    """Counts, which are read as they are: what threads keep of them is all there is."""
    x = np.random.default_rng(3).integers(0, 4000, (512 * scale, 1024)).astype("u2")
    return _job(x, np.ones((21, 21), "f4") / 441, method="direct")


def convolve_nan(scale: int) -> Job:
    """What is known, how much it weighs, and the sums of weights there; foreign bytes, of which the plan must own rows."""
    x = np.random.default_rng(3).standard_normal((512 * scale, 1024), np.float32)
    x[::7, ::5] = np.nan
    mask, how = np.ones((9, 9), "f4") / 81, {"nan": "interpolate", "device": "cpu"}
    masked, weight, out = (x > 2).astype("i4"), np.abs(x).astype(">f4"), np.ones(x.shape, "f4")
    dtypes = {"masked": "i4", "weight": ">f4"}
    return (
        lambda memory: fp.plan_convolve(x.shape, mask.shape, **dtypes, memory=memory, **how),
        lambda memory: fp.convolve(x, mask, masked=masked, weight=weight, out=out, memory=memory, **how),
    )


def convolve_volume(scale: int) -> Job:
    """Foreign bytes, so that the plan must own converted planes."""
    x = np.random.default_rng(3).standard_normal((16 * scale, 160, 200), np.float32).astype(">f4")
    return _job(x, np.ones((5, 3, 4), "f4") / 60)


def convolve_batch(scale: int) -> Job:
    """Images one after another, that are not an array's last axes, by one mask after another."""
    x = np.random.default_rng(3).standard_normal((160, 200, 16 * scale), np.float32)
    return _job(x, np.ones((2, 5, 4), "f4") / 20, axes=(0, 1), masks="all")


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
    "convolve": convolve,
    "convolve_signal": convolve_signal,
    "convolve_thin": convolve_thin,
    "convolve_mask": convolve_mask,
    "convolve_fft": convolve_fft,
    "convolve_signal_fft": convolve_signal_fft,
    "convolve_volume_fft": convolve_volume_fft,
    "convolve_separable": convolve_separable,
    "convolve_stored": convolve_stored,
    "convolve_nan": convolve_nan,
    "convolve_volume": convolve_volume,
    "convolve_batch": convolve_batch,
    "convolve_complex": convolve_complex,
}
