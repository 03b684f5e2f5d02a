"""Padding beside numpy.pad and OpenCV: ``python -m benchmarks.pad``."""

from __future__ import annotations

import argparse

import cv2
import numpy as np

import footprint as fp
from benchmarks.timing import compare, report

BORDERS = {"edge": cv2.BORDER_REPLICATE, "reflect": cv2.BORDER_REFLECT_101, "constant": cv2.BORDER_CONSTANT}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    pixels, width = np.random.default_rng(0).standard_normal((given.size, given.size), "f4"), 64
    out = np.empty((given.size + 2 * width,) * 2, "f4")
    for mode in ("edge", "reflect", "constant", "linear_ramp", "mean", "median"):
        contestants = {
            "footprint": lambda: fp.pad(pixels, width, mode, out=out, device=given.device),  # noqa: B023
            "numpy.pad": lambda: np.pad(pixels, width, mode),  # noqa: B023
        }
        if mode in BORDERS:
            contestants["cv2.copyMakeBorder"] = lambda: cv2.copyMakeBorder(pixels, *(width,) * 4, BORDERS[mode], dst=out)  # noqa: B023
        report(
            f"{given.size} x {given.size} float32, {width} a side, {mode}", compare(contestants), nbytes=pixels.nbytes + out.nbytes
        )
