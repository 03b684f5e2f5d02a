"""Vertical shifts of a stack beside scipy.ndimage, angle by angle: ``python -m benchmarks.vertical_shift``."""

from __future__ import annotations

import argparse

import numpy as np
import scipy.ndimage

import footprint as fp
from benchmarks.timing import compare, report


def one_by_one(radios: np.ndarray, shifts: np.ndarray, out: np.ndarray) -> None:
    for angle, shift in enumerate(shifts):
        scipy.ndimage.shift(radios[angle], (-shift, 0), output=out[angle], order=1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--angles", type=int, default=100)
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    radios, shifts = rng.standard_normal((given.angles, 256, 1024), "f4"), rng.uniform(-5, 5, given.angles)
    out, scratch = np.empty_like(radios), radios.copy()
    contestants = {
        "footprint": lambda: fp.vertical_shift(radios, shifts, out=out, device=given.device),
        "footprint in place": lambda: fp.vertical_shift(scratch, shifts, out=scratch, device=given.device),
        "numpy.copyto (the floor)": lambda: np.copyto(out, radios),
        "scipy.ndimage.shift": lambda: one_by_one(radios, shifts, out),
    }
    report(f"{radios.shape} float32", compare(contestants), nbytes=2 * radios.nbytes)
