"""Direct convolution beside SciPy, OpenCV and FFT convolution: ``python -m benchmarks.convolve [--size 2048] [--masks
3 13 31]``."""

from __future__ import annotations

import argparse

import cv2
import numpy as np
import scipy.ndimage
import scipy.signal

import footprint as fp
from benchmarks.timing import compare, report


def image(size: int, taps: int, device: str) -> None:
    rng = np.random.default_rng(0)
    pixels, mask = rng.standard_normal((size, size), "f4"), rng.standard_normal((taps, taps), "f4")
    out, other, flipped = np.empty_like(pixels), np.empty_like(pixels), mask[::-1, ::-1].copy()
    contestants = {
        "footprint": lambda: fp.convolve(pixels, mask, boundary="reflect", out=out, device=device),
        "cv2.filter2D": lambda: cv2.filter2D(pixels, -1, flipped, dst=other, borderType=cv2.BORDER_REFLECT),
        "a copy": lambda: np.copyto(other, pixels),
        "scipy fftconvolve": lambda: scipy.signal.fftconvolve(pixels, mask, "same"),
        "scipy.ndimage.convolve": lambda: scipy.ndimage.convolve(pixels, mask, mode="reflect"),
    }
    if taps > 15:
        del contestants["scipy.ndimage.convolve"]  # seconds a turn
    wanted = scipy.ndimage.convolve(pixels[:96].astype(float), mask.astype(float), mode="reflect")[: 96 - taps]
    error = np.abs(contestants["footprint"]()[: 96 - taps] - wanted).max() / np.abs(wanted).max()
    title = f"{size} x {size} float32, {taps} x {taps} (error {error:.1e})"
    report(title, compare(contestants), nbytes=2 * pixels.nbytes, flops=2 * taps * taps * pixels.size)


def signal(size: int, taps: int, device: str) -> None:
    rng = np.random.default_rng(0)
    samples, mask = rng.standard_normal(size, "f4"), rng.standard_normal(taps, "f4")
    out = np.empty(size - taps + 1, "f4")
    contestants = {
        "footprint": lambda: fp.convolve(samples, mask, mode="valid", out=out, device=device),
        "numpy.convolve": lambda: np.convolve(samples, mask, "valid"),
        "scipy oaconvolve": lambda: scipy.signal.oaconvolve(samples, mask, "valid"),
        "cv2.filter2D of 2000 rows": lambda: cv2.filter2D(samples.reshape(2000, -1), -1, mask[None, ::-1]),
    }
    report(f"{size} samples, {taps} taps", compare(contestants), nbytes=2 * samples.nbytes, flops=2 * taps * size)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=2048)
    parser.add_argument("--masks", type=int, nargs="*", default=[3, 5, 7, 9, 11, 13, 15, 21, 31])
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    for taps in given.masks:
        image(given.size, taps, given.device)
    for taps in (15, 101):
        signal(4_000_000, taps, given.device)
