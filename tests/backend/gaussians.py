"""What tests of Gaussians share: weights, images, what is not finite in them and how far it goes."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import correlate1d, gaussian_filter

MODES = ("reflect", "mirror", "nearest", "wrap", "constant")


def weights(sigma: float, truncate: float = 4.0) -> np.ndarray:
    far = int(truncate * sigma + 0.5)
    found = np.exp(-0.5 * (np.arange(-far, far + 1) / sigma) ** 2)
    return found / found.sum()


def image_of(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    if kind == "constant":
        return np.full(shape, 6852.7, np.float32)
    if kind == "normal":
        return rng.standard_normal(shape, np.float32)
    if kind == "uniform":
        return rng.random(shape, np.float32)
    if kind == "bool":
        return rng.random(shape) < 0.4
    info = np.iinfo(kind)
    return rng.integers(info.min, info.max, shape, endpoint=True).astype(kind)


def spoil(image: np.ndarray, case: str, rng: np.random.Generator) -> None:
    """Put what is not finite into an image."""
    drawn = rng.random(image.shape)
    if case == "one":
        image[130, 7] = np.nan
    elif case == "blank":
        image[:, :90] = np.nan
        image[200, 280] = np.inf
    elif case == "few":
        image[drawn < 2e-4] = np.nan
    elif case == "ends":
        # In what is left of rows and columns when vectors have taken theirs.
        image[-1, -1], image[3, -2] = -np.inf, np.nan
    else:
        image[drawn < 1e-4] = np.inf
        image[drawn > 1 - 1e-4] = -np.inf


def reached(image: np.ndarray, sigmas: tuple[float, float], mode: str) -> tuple[dict[float, np.ndarray], np.ndarray]:
    """What results NaN and infinities reach by weights of 1, and the Gaussian of what is finite."""
    boxes = [np.ones(weights(sigma).size) for sigma in sigmas]

    def under(some: np.ndarray) -> np.ndarray:
        found = some.astype(float)
        for axis, box in enumerate(boxes):
            found = correlate1d(found, box, axis, mode=mode)
        return found > 0.5

    nan, plus, minus = (under(some) for some in (np.isnan(image), np.isposinf(image), np.isneginf(image)))
    nan |= plus & minus
    tame = np.where(np.isfinite(image), image, 0).astype(float)
    return {np.nan: nan, np.inf: plus & ~nan, -np.inf: minus & ~nan}, gaussian_filter(tame, sigmas, mode=mode)


def as_far(found: np.ndarray, image: np.ndarray, sigmas: tuple[float, float], mode: str) -> None:
    """What is not finite went exactly as far as the weights, and the rest is the Gaussian."""
    there, truth = reached(image, sigmas, mode)
    for told, number in ((np.isnan, np.nan), (np.isposinf, np.inf), (np.isneginf, -np.inf)):
        np.testing.assert_array_equal(told(found), there[number])
    finite = np.isfinite(found)
    np.testing.assert_allclose(found[finite], truth[finite], atol=1e-6)
