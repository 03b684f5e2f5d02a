"""Noise over a mesh beside a step, and what is taken for sources there, next to SEP.

    python -m benchmarks.noise_steps [N]

White noise of n x n pixels without a source, cells of 64 pixels, over 5 sigma; one half, or all but the first column of cells, has
so many times the noise of the rest, which is 1.
"""

from __future__ import annotations

import sys

import numpy as np

import footprint as fp

BOX, SIGMA = 64, 5


def main(n: int = 1024) -> None:
    """Print a table."""
    import sep

    white = np.random.default_rng(1).standard_normal((n, n))
    print(f"{'step':>5} {'at column':>9} | {'smallest':>8} {'found':>6} | SEP {'smallest':>8} {'found':>6}")
    for ratio in (3, 5, 10, 20, 100):
        for column in (n // 2, BOX):
            image = (white * np.where(np.arange(n) < column, 1, ratio)).astype("f4")
            noise = fp.background(image, BOX, device="cpu")[1]
            count = len(fp.find_sources(image, SIGMA, background="mesh", box=BOX, device="cpu"))
            mesh = sep.Background(image, bw=BOX, bh=BOX)
            other = len(sep.extract(image - mesh.back(), SIGMA, err=mesh.rms(), minarea=1, filter_kernel=None, deblend_cont=1))
            print(f"{ratio:5} {column:9} | {noise.min():8.2f} {count:6} |     {mesh.rms().min():8.2f} {other:6}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
