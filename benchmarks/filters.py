"""Medians and Gaussians beside OpenCV and SciPy: ``python -m benchmarks.filters [--size 2048]``.

``--table`` prints the ratios that docs/convolve.md has, of processor time on one thread.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable

import cv2
import numba
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


def ratio(ours: Callable[[], object], other: Callable[[], object], turns: int) -> tuple[float, float, float]:
    """Processor time of the quickest turn over the other's, and the first and last quartile of the ratios of single turns."""
    spent: tuple[list[float], list[float]] = ([], [])
    for call in (ours, other):
        call()
    for _ in range(turns):
        for call, times in zip((ours, other), spent):
            before = time.process_time()
            call()
            times.append(time.process_time() - before)
    low, _, high = statistics.quantiles((a / b for a, b in zip(*spent)), n=4)
    return min(spent[0]) / min(spent[1]), low, high


def table(size: int, turns: int) -> None:
    """Short masks and medians on one thread, beside OpenCV or a copy of the array."""
    how, rng = {"device": "cpu"}, np.random.default_rng(0)
    numba.set_num_threads(1)
    cv2.setNumThreads(1)
    print(f"on {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start\n")
    print("| work | beside | ours | quartiles |\n|---|---|---|---|")

    def row(work: str, beside: str, ours: Callable[[], object], other: Callable[[], object]) -> None:
        best, low, high = ratio(ours, other, turns)
        times, first, last = (f"{one:.2f}".removeprefix("0") for one in (best, low, high))
        print(f"| {work} | {beside} | {times} | {first} to {last} |", flush=True)

    taps = np.hanning(17)[1:-1]
    for dtype in ("float32", "float64"):
        signal, out = rng.standard_normal(4_000_000).astype(dtype), np.empty(4_000_000, dtype)
        ours = lambda x=signal, y=out: fp.convolve(x, taps, out=y, **how)
        row(f"4 million samples by 15 taps, {dtype}", "a copy", ours, lambda x=signal, y=out: np.copyto(y, x))
    image = rng.standard_normal((size, size), "f4")
    for side in (3, 5, 7, 11):
        out, other, mask = np.empty_like(image), np.empty_like(image), rng.random((side, side), "f4")
        turned = mask[::-1, ::-1].copy()
        ours = lambda m=mask, y=out: fp.convolve(image, m, out=y, **how)
        theirs = lambda m=turned, y=other: cv2.filter2D(image, -1, m, dst=y, borderType=cv2.BORDER_CONSTANT)
        row(f"{side} x {side} mask over {size} x {size} float32", "OpenCV", ours, theirs)
    for sigma in (1, 2, 5, 10):
        out, other = np.empty_like(image), np.empty_like(image)
        ours = lambda s=sigma, y=out: fp.gaussian_filter(image, s, output=y, **how)
        theirs = lambda s=sigma, y=other: cv2.GaussianBlur(image, (0, 0), s, dst=y, borderType=cv2.BORDER_REFLECT)
        row(f"Gaussian of sigma {sigma} of {size} x {size} float32", "OpenCV", ours, theirs)
    for window, dtypes in ((3, ("uint8", "uint16", "float32")), (5, ("uint8", "float32")), (11, ("uint8",))):
        for dtype in dtypes:
            pixels = (rng.random((size, size)) * 250).astype(dtype)
            out, other = np.empty_like(pixels), np.empty_like(pixels)
            ours = lambda x=pixels, n=window, y=out: fp.median_filter(x, n, output=y, **how)
            theirs = lambda x=pixels, n=window, y=other: cv2.medianBlur(x, n, dst=y)
            row(f"median {window} x {window} of {dtype}", "OpenCV", ours, theirs)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=2048)
    parser.add_argument("--windows", type=int, nargs="*", default=[3, 5, 11])
    parser.add_argument("--sigmas", type=float, nargs="*", default=[1, 2, 5, 10])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--table", action="store_true", help="the ratios of docs/convolve.md")
    parser.add_argument("--turns", type=int, default=40)
    given = parser.parse_args()
    if given.table:
        os.environ["FOOTPRINT_THREADS"] = "1"
        table(given.size, given.turns)
        raise SystemExit
    for window in given.windows:
        for dtype in ("uint8", "uint16", "float32"):
            median(given.size, window, dtype, given.device)
    for sigma in given.sigmas:
        gaussian(given.size, sigma, given.device)
