"""Medians and Gaussians beside OpenCV and SciPy: ``python -m benchmarks.filters [--size 2048]``."""

from __future__ import annotations

import argparse

import cv2
import numpy as np
import scipy.ndimage

import footprint as fp
from benchmarks.timing import compare, report


def median(size: int, window: int, dtype: str, device: str) -> None:
    """One median, every result checked against SciPy's on a strip; SciPy's time is of an eighth of the image."""
    rng = np.random.default_rng(0)
    pixels = (rng.random((size, size)) * 250).astype(dtype)
    out, other, strip = np.empty_like(pixels), np.empty_like(pixels), pixels[: size // 8]
    contestants = {"footprint": lambda: fp.median_filter(pixels, window, output=out, device=device)}
    if window <= 5 or dtype == "uint8":
        contestants["cv2.medianBlur"] = lambda: cv2.medianBlur(pixels, window, dst=other)
    contestants["scipy.ndimage.median_filter, an eighth"] = lambda: scipy.ndimage.median_filter(strip, window)
    contestants["a copy"] = lambda: np.copyto(other, pixels)
    found, wanted = contestants["footprint"](), scipy.ndimage.median_filter(strip, window)
    same = np.array_equal(found[: size // 8 - window], wanted[: size // 8 - window])
    title = f"median {window} x {window}, {size} x {size} {dtype} ({'equal to' if same else 'NOT'} SciPy's)"
    report(title, compare(contestants), nbytes=2 * pixels.nbytes)


def gaussian(size: int, sigma: float, device: str) -> None:
    """One Gaussian of a float32 image, checked against SciPy's in float64 on a strip."""
    pixels = np.random.default_rng(0).standard_normal((size, size), "f4")
    out, other = np.empty_like(pixels), np.empty_like(pixels)
    border = cv2.BORDER_REFLECT
    contestants = {
        "footprint": lambda: fp.gaussian_filter(pixels, sigma, output=out, device=device),
        "cv2.GaussianBlur": lambda: cv2.GaussianBlur(pixels, (0, 0), sigma, dst=other, borderType=border),
        "scipy.ndimage.gaussian_filter": lambda: scipy.ndimage.gaussian_filter(pixels, sigma, output=other),
        "a copy": lambda: np.copyto(other, pixels),
    }
    rows = int(8 * sigma) + 64
    wanted = scipy.ndimage.gaussian_filter(pixels[:rows].astype(float), sigma)[:32]
    error = np.abs(contestants["footprint"]()[:32] - wanted).max() / np.abs(pixels[:rows]).max()
    report(f"gaussian sigma {sigma:g}, {size} x {size} float32 (error {error:.1e})", compare(contestants), nbytes=2 * pixels.nbytes)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=2048)
    parser.add_argument("--windows", type=int, nargs="*", default=[3, 5, 11])
    parser.add_argument("--sigmas", type=float, nargs="*", default=[1, 2, 5, 10])
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    for window in given.windows:
        for dtype in ("uint8", "uint16", "float32"):
            median(given.size, window, dtype, given.device)
    for sigma in given.sigmas:
        gaussian(given.size, sigma, given.device)
