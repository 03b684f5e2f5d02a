"""The ladder: one convolution, from SciPy on the CPU to ours on the GPU, one idea a rung. ``python -m benchmarks.ladder``.

Columns: device time of the kernel by events after a warm-up, median; the arrays' way to the device and back, from pageable
memory, apart; bytes the work needs at least over that time; and the share of the floor, which is the larger of those bytes
over the copy rate and the operations over the FMA rate, both measured in this run. Every rung is checked against
scipy.ndimage to 1e-5.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import cupy
import cupyx.scipy.ndimage
import numpy as np
import scipy.ndimage

import examples.ladder  # noqa: F401  (prepares NumPy for numba-cuda)
from benchmarks.device import copy_rate, fma_rate, median
from examples.ladder import dynamic_shared, grid_stride, line, one_thread, static_shared
from footprint.backend.cuda import View, open_backend
from footprint.spec import ArraySpec

RUNGS: dict[str, ModuleType] = {
    "one thread an output": one_thread,
    "grid-stride loop": grid_stride,
    "static shared memory": static_shared,
    "dynamic shared memory": dynamic_shared,
}


@dataclass(frozen=True)
class Result:
    """One rung: seconds on the device, seconds of the transfers, and its largest relative error."""

    name: str
    seconds: float
    transfers: float
    error: float


def ours(image: Any, mask: Any, out: Any) -> Callable[[], None]:
    """Footprint's kernel, with the mask turned over once as the operation does when it is planned."""
    backend = open_backend(0)
    weights = cupy.ascontiguousarray(mask[::-1, ::-1])
    views = tuple(View(a.data.ptr, ArraySpec(a.shape, a.dtype.str)) for a in (image, weights, out))
    valid = out.shape != image.shape
    places = {"y0": 0 if valid else -(mask.shape[0] // 2), "x0": 0 if valid else -(mask.shape[1] // 2)}
    border = "none" if valid else "constant"
    numbers = {**places, "border_y": border, "border_x": border, "cval": 0.0}
    ready = backend.compile("convolve", tuple(v.spec for v in views), numbers)
    return lambda keep=weights: backend.launch(ready, views)


def climb(image: np.ndarray, mask: np.ndarray, valid: bool) -> list[Result]:
    """Time and check every rung on one image and mask."""
    start = time.perf_counter()
    whole = scipy.ndimage.convolve(image, mask, mode="constant")
    results = [Result("SciPy on the CPU", time.perf_counter() - start, 0.0, 0.0)]
    h, w = mask.shape[0] // 2, mask.shape[1] // 2
    wanted = whole[h : whole.shape[0] - h, w : whole.shape[1] - w] if valid else whole
    given, taps = cupy.asarray(image), cupy.asarray(mask)
    out = cupy.empty(wanted.shape, image.dtype)
    calls: dict[str, Callable[[], object]] = {}
    if valid:
        calls["one thread an output"] = lambda: line.launch(given[0], taps[0], out[0])
        calls["cupyx convolve1d"] = lambda: cupyx.scipy.ndimage.convolve1d(given[0], taps[0], mode="constant")
    else:
        for name, rung in RUNGS.items():
            calls[name] = lambda rung=rung: rung.launch(given, taps, out)
        calls["cupyx convolve"] = lambda: cupyx.scipy.ndimage.convolve(given, taps, output=out, mode="constant")
    calls["Footprint"] = ours(given, taps, out)
    for name, call in calls.items():
        out.fill(np.nan)
        returned = call()
        got = returned.get()[w : returned.size - w] if isinstance(returned, cupy.ndarray) and valid else out.get()
        error = float(np.abs(got - wanted).max() / np.abs(wanted).max())
        if not error < 1e-5:
            raise AssertionError(f"{name}: differs from SciPy by {error:.1e}")
        results.append(Result(name, median(call, 9, 5 if image.size < 1 << 22 else 1), there_and_back(image, given, out), error))
    return results


def there_and_back(image: np.ndarray, given: Any, out: Any) -> float:
    """Median seconds of the image's way to the device and the result's way back."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        given.set(image)
        out.get()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def table(title: str, results: list[Result], nbytes: int, flops: int, copy: float, fma: float) -> None:
    """Print one ladder."""
    floor = max(nbytes / copy, flops / fma)
    print(f"\n{title}: floor {1e3 * floor:.4f} ms")
    print(f"{'rung':<24}{'kernel ms':>11}{'transfers ms':>14}{'GB/s':>9}{'of floor':>10}{'x SciPy':>10}{'error':>10}")
    for r in results:
        print(
            f"{r.name:<24}{1e3 * r.seconds:11.4f}{1e3 * r.transfers:14.3f}{nbytes / r.seconds / 1e9:9.1f}"
            f"{100 * floor / r.seconds:9.1f}%{results[0].seconds / r.seconds:10.1f}{r.error:10.1e}",
            flush=True,
        )


def plot(path: str, ladders: dict[str, list[Result]]) -> None:
    """Bars of the kernels' times, one panel a size."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(ladders), figsize=(5 * len(ladders), 3.2), layout="constrained")
    for axis, (title, results) in zip(np.atleast_1d(axes), ladders.items()):
        axis.barh([r.name for r in results][::-1], [1e3 * r.seconds for r in results][::-1])
        axis.set(xscale="log", title=title, xlabel="ms on the device (SciPy: on the CPU)")
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="200,8192", help="sides of the square images")
    parser.add_argument("--plot", metavar="FILE", help="write the ladders as a picture too")
    options = parser.parse_args()
    copy, fma = copy_rate(), fma_rate()
    print(f"copy {copy / 1e12:.2f} TB/s   FMA {fma / 1e12:.1f} TFLOP/s")
    rng = np.random.default_rng(0)
    works = {"10⁶ samples, 5 taps, valid": (rng.random((1, 10**6), "f4"), rng.random((1, 5), "f4"))}
    for n in map(int, options.sizes.split(",")):
        works[f"{n} x {n}, 13 x 13"] = (rng.random((n, n), "f4"), rng.random((13, 13), "f4"))
    ladders = {}
    for title, (image, mask) in works.items():
        ladders[title] = climb(image, mask, valid=image.shape[0] == 1)
        table(title, ladders[title], 2 * image.nbytes, 2 * image.size * mask.size, copy, fma)
    if options.plot:
        plot(options.plot, ladders)


if __name__ == "__main__":
    main()
