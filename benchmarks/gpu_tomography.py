"""Rates of backprojection, the row filter and source finding on a CUDA device: ``python -m benchmarks.gpu_tomography``.

Device time with the arrays on the device, beside cuFFT through CuPy and the lesson's steps in CuPy; each result is checked first.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import cupy
import cupyx.scipy.ndimage
import numpy as np
import scipy.ndimage

from benchmarks.device import captured, median
from benchmarks.gpu import Bench
from footprint.kernels.find_sources.contract import default_capacities
from footprint.kernels.ramp_filter.fused import tables
from footprint.ops.backproject import Geometry
from footprint.ops.filters import response
from footprint.ops.measure import table_specs
from footprint.reference.backproject import backproject as plain
from footprint.reference.sigma_clip import sigma_clip as plain_clip


def backprojection(bench: Bench, rng: np.random.Generator) -> None:
    print(f"{'backprojection':<34}{'ms':>9}{'GUPS':>9}")
    for n_z, n_a, n in ((1, 1500, 2048), (1, 2048, 2048), (1, 4000, 4096), (16, 1500, 2048)):
        rows = cupy.asarray(rng.random((n_z, n_a, n), np.float32))
        angles = np.linspace(0, np.pi, n_a, endpoint=False)
        geometry = Geometry(angles, n, (n - 1) / 2 + 3.3)
        out = cupy.empty((n_z, n, n), np.float32)
        call = bench.kernel("backproject", rows, cupy.asarray(geometry.table()), out, accumulate=False)
        call()
        box = (n // 3, n // 3 + 8, n // 5, n // 5 + 8)
        weights = np.full(n_a, np.pi / n_a)
        want = plain(rows[-1].get(), angles, weights, geometry.center, box)
        np.testing.assert_allclose(out[-1, box[2] : box[3], box[0] : box[1]].get(), want, rtol=2e-5)
        took = median(call)
        print(f"{f'{n_z} x {n_a} x {n} -> {n}²':<34}{1e3 * took:9.3f}{n_z * n_a * n * n / took / 1e9:9.0f}", flush=True)


def row_filter(bench: Bench, rng: np.random.Generator) -> None:
    for n_a, n in ((3600, 2048), (1800, 4096), (1800, 8192), (43200, 16384)):
        gains = response("ramlak", 2 * n)
        twiddle, paired = (cupy.asarray(table) for table in tables(gains, 2 * n))
        few = rng.random((64, n), np.float32)
        rows = cupy.asarray(few)
        bench.kernel("ramp_filter.fused", rows, rows, twiddle, paired, padded=2 * n, mode="constant")()
        want = np.fft.irfft(np.fft.rfft(few.astype("f8"), 2 * n) * gains.real, 2 * n)[:, :n]
        assert np.abs(rows.get() - want).max() < 2e-5 * np.abs(want).max()
        rows = cupy.random.random((n_a, n), dtype=np.float32)
        call = bench.kernel("ramp_filter.fused", rows, rows, twiddle, paired, padded=2 * n, mode="constant")
        factor, peers = cupy.asarray(gains.real.astype("f4")), {}
        if n_a * n < 1 << 28:
            peers["cuFFT"] = lambda rows=rows, n=n, factor=factor: cupy.fft.irfft(cupy.fft.rfft(rows, 2 * n) * factor, 2 * n)[:, :n]
        bench.row(f"ramp filter in place {n_a} x {n}", call, 2 * rows.nbytes, 0.0, peers)


def sky(n: int, sources: int, rng: np.random.Generator) -> np.ndarray:
    """Noise and small Gaussians of power-law fluxes."""
    image, reach = rng.standard_normal((n, n), np.float32), np.arange(-6, 7)
    blob = np.exp(-(reach[:, None] ** 2 + reach[None] ** 2) / 8).astype("f4")
    for y, x, flux in zip(rng.integers(8, n - 8, sources), rng.integers(8, n - 8, sources), 10 / (1 - rng.random(sources))):
        image[y - 6 : y + 7, x - 6 : x + 7] += min(flux, 2000) * blob
    return image


def lesson(image: cupy.ndarray) -> int:
    """The Carpentries' GPU lesson: clip by compaction, threshold, label, measure."""
    kept = image.ravel()
    while True:
        middle, width = cupy.median(kept), 3 * cupy.std(kept)
        inside = kept[(kept > middle - width) & (kept < middle + width)]
        if inside.size == kept.size:
            break
        kept = inside
    labels, count = cupyx.scipy.ndimage.label(image > 5 * cupy.std(kept))
    index = cupy.arange(1, count + 1)
    cupyx.scipy.ndimage.center_of_mass(image, labels, index)
    cupyx.scipy.ndimage.sum_labels(image, labels, index)
    return count


def sources(bench: Bench, rng: np.random.Generator, peers: bool) -> None:
    print(f"{'four source steps':<34}{'ms':>9}   the lesson in CuPy, ms")
    for n, number in ((2048, 185), (8192, 2994)):
        host = sky(n, number, rng)
        image, capacity = cupy.asarray(host), default_capacities(n * n, False)[0]
        stats, counts, count = cupy.zeros(8), cupy.zeros(8, "i8"), cupy.zeros(1, "i8")
        moments, boxes = (cupy.zeros(spec.shape, spec.dtype) for spec in table_specs(capacity))
        labels = cupy.empty((n, n), "i4")
        clips = {"size": n * n, "width": n, "sigma": 3.0, "maxiters": -1, "strict": True, "zero": False, "turn": 0, "first": 0}
        first = bench.kernel("sigma_clip", image, stats, counts, **clips)
        islands = {"first": 0, "height": n, "sigma": 5.0, "connectivity": 4, "min_area": 1, "seed": 0.0}
        then = bench.kernel("find_sources.labelled", image, stats, count, moments, boxes, labels, **islands)

        def call(first: Callable[[], None] = first, then: Callable[[], None] = then) -> None:
            first()
            then()

        call()
        clip = plain_clip(host)
        assert stats[1] == clip["median"] and counts[1] == clip["count"], "clip is not the sorted reference's"
        found, count = scipy.ndimage.label(host.astype("f8") - float(stats[5]) > 5 * float(stats[6]))
        np.testing.assert_array_equal(labels.get(), found)
        took, other = captured(call, 4), median(lambda image=image: lesson(image), 3) if peers else float("nan")
        print(f"{f'{n}², {count} islands':<34}{1e3 * took:9.3f}   {1e3 * other:.1f} ({other / took:.0f} x)", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-peers", action="store_true", help="our kernels only")
    options = parser.parse_args()
    rng, bench = np.random.default_rng(0), Bench()
    backprojection(bench, rng)
    row_filter(bench, rng)
    sources(bench, rng, not options.no_peers)


if __name__ == "__main__":
    main()
