"""In-place multiply-add beside NumPy: ``python -m benchmarks.muladd``."""

from __future__ import annotations

import argparse

import numpy as np

import footprint as fp
from benchmarks.timing import compare, report


def plain(dst: np.ndarray, other: np.ndarray) -> None:
    dst *= 0.5
    dst += 2 * other


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    dst, other = (rng.standard_normal((given.size, given.size), "f4") for _ in range(2))
    inside = (slice(1, -1), slice(3, -5))
    for title, region in (("all of it", None), ("a region", inside)):
        part = (slice(None),) if region is None else region
        contestants = {
            "footprint": lambda: fp.muladd(dst, other, 0.5, 2, dst_region=region, other_region=region, device=given.device),  # noqa: B023
            "numpy": lambda: plain(dst[part], other[part]),  # noqa: B023
        }
        report(f"{given.size} x {given.size} float32, {title}", compare(contestants), nbytes=3 * dst.nbytes)
