"""Gaussians and medians on a CUDA device beside their floors and CuPy's calls: ``python -m benchmarks.gpu_filters [--peers]``.

Kernels are timed as device time, replayed from a graph; every result is first checked against SciPy's of a corner in float64.
The floor is what reading and writing the image takes, or the multiplications and additions.
"""

from __future__ import annotations

import argparse
from typing import Any

import cupy
import cupyx.scipy.ndimage
import numpy as np
import scipy.ndimage

import footprint as fp
from benchmarks.device import median
from benchmarks.gpu import Bench, Peers
from footprint.kernels.separable.rings import pairs_of, shared, with_sums

CORNER, HALO = 64, 210
KINDS = {"f4": 1.0, "u1": 255.0, "u2": 60000.0}


def corner(image: cupy.ndarray) -> np.ndarray:
    """What a corner of the result is made of."""
    return image[: CORNER + HALO, : CORNER + HALO].get()


def sums(bench: Bench, image: cupy.ndarray, taps: int, axes: tuple[int, ...], peers: bool) -> None:
    """Along both axes at once, or along one."""
    weights = cupy.exp(-0.5 * ((cupy.arange(taps) - taps // 2) / (taps / 8)) ** 2).astype("f4")
    weights /= weights.sum()
    out = cupy.empty(image.shape, "f4")
    half, both = -(taps // 2), len(axes) == 2
    if both:
        places: dict[str, Any] = {"y0": half, "x0": half, "border_y": "reflect", "border_x": "reflect", "cval": 0.0}
        host, kernel, table = weights.get(), "separable", weights
        if shared(bench.backend.limits, host, host):
            kernel, table = "separable.ring", cupy.asarray(with_sums(host))
            places |= {"taps": (taps, taps), "pairs": (pairs_of(host), pairs_of(host))}
        call = bench.kernel(kernel, image[None], table, table, out[None], **places)
    else:
        call = bench.kernel("separable.line", image, weights, out, down=axes == (0,), first=half, border="reflect", cval=0.0)
    call()
    want = corner(image).astype("f8")
    for axis in axes:
        want = scipy.ndimage.correlate1d(want, weights.get().astype("f8"), axis)
    want = want[:CORNER, :CORNER]
    assert np.abs(out[:CORNER, :CORNER].get() - want).max() <= 1e-6 * np.abs(want).max()
    others: Peers = {}
    if peers and both:
        others["footprint's call"] = lambda: fp.gaussian_filter(image, taps / 8, radius=taps // 2, output=out, device="cuda")
        others["cupyx"] = lambda: cupyx.scipy.ndimage.gaussian_filter(image, taps / 8, output=out, truncate=4)
    name = f"{image.dtype.str[1:]}, {taps} weights {'each way' if both else 'down' if axes == (0,) else 'across'}"
    bench.row(name, call, image.nbytes + out.nbytes, 2 * image.size * taps * len(axes), others)


def ranks(bench: Bench, image: cupy.ndarray, size: int, peers: bool) -> None:
    """A median."""
    out = cupy.empty_like(image)
    window = {"tall": size, "wide": size, "rank": size * size // 2, "y0": -(size // 2), "x0": -(size // 2)}
    call = bench.kernel("rank_filter", image[None], out[None], **window, border_y="reflect", border_x="reflect", cval=0.0)
    call()
    want = scipy.ndimage.median_filter(corner(image), size)[:CORNER, :CORNER]
    np.testing.assert_array_equal(out[:CORNER, :CORNER].get(), want)
    others: Peers = {}
    if peers:
        others["footprint's call"] = lambda: fp.median_filter(image, size, output=out, device="cuda")
        others["cupyx"] = lambda: cupyx.scipy.ndimage.median_filter(image, size, output=out)
    bench.row(f"{image.dtype.str[1:]}, median {size} x {size}", call, 2 * image.nbytes, 0, others)


def volume(bench: Bench, rng: np.random.Generator) -> None:
    """A Gaussian of a volume, as a whole call."""
    image = cupy.asarray(rng.random((512, 512, 512), "f4"))
    out = cupy.empty_like(image)
    for sigma in (1, 2, 4):
        took = median(lambda sigma=sigma: fp.gaussian_filter(image, sigma, output=out, device="cuda"), 5)
        print(f"call, 512³ f4, sigma {sigma}: {1e3 * took:.3f} ms, {took * bench.copy / 2 / image.nbytes:.2f} copies", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=8192)
    parser.add_argument("--peers", action="store_true", help="whole calls of footprint and CuPy beside the kernels")
    job = parser.parse_args()
    bench, rng = Bench(), np.random.default_rng(0)
    for kind, scale in KINDS.items():
        image = (scale * cupy.asarray(rng.random((job.size, job.size), "f4"))).astype(kind)
        for taps in (9, 17, 31, 41, 57, 81, 121, 161):
            sums(bench, image, taps, (0, 1), job.peers and kind == "f4")
        for taps in (97, 161):
            for axis in (0, 1):
                sums(bench, image, taps, (axis,), False)
        for size in (3, 5, 7, 11):
            ranks(bench, image, size, job.peers and kind == "f4" and size < 7)
        bench.kept.clear()
    volume(bench, rng)


if __name__ == "__main__":
    main()
