"""The same calls by two devices: ``python -m benchmarks.beside [--devices cuda:0,opencl:0] [--turns 40]``.

Both start from NumPy arrays of their own, which they have pinned after a few calls, and take turns. A row has the median of
milliseconds of each, and the ratio of the second to the first.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np

import footprint as fp
from benchmarks.find_sources import radio_field

Call = Callable[[np.ndarray, str], object]


def rows(n: int = 2048) -> Iterator[tuple[str, np.ndarray, Call]]:
    """Names, an array, and what is called with it on a device."""
    rng = np.random.default_rng(0)
    noise, sinogram, field = rng.standard_normal((n, n), np.float32), rng.random((1500, n), np.float32), radio_field(n, 600)
    angles = np.linspace(0, np.pi, 1500, endpoint=False)
    for size in (13, 31):
        mask = np.full((size, size), 1 / size**2, np.float32)
        yield f"convolve {size}²", noise, lambda a, device, mask=mask: fp.convolve(a, mask, device=device)
    yield "gaussian_filter sigma 5", noise, lambda a, device: fp.gaussian_filter(a, 5, device=device)
    yield "median_filter 5²", noise, lambda a, device: fp.median_filter(a, 5, device=device)
    for method in ("direct", "fourier"):
        yield f"fbp {method}", sinogram, lambda a, device, method=method: fp.fbp(a, angles, method=method, device=device)
    yield "threshold", field, lambda a, device: fp.threshold(a, 3.0, device=device)
    yield "sigma_clip", field, lambda a, device: fp.sigma_clip(a, device=device)
    yield "find_sources", field, lambda a, device: fp.find_sources(a, device=device)
    yield (
        "find_sources, mesh, deblended, fits",
        field,
        lambda a, device: fp.find_sources(a, background="mesh", deblend=True, fit="gaussian", device=device),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", default="cuda:0,opencl:0")
    parser.add_argument("--turns", type=int, default=40)
    options = parser.parse_args()
    devices = options.devices.split(",")
    warnings.simplefilter("ignore")
    print(f"{'call':<38}" + "".join(f"{device:>12}" for device in devices) + f"{'ratio':>8}")
    for name, array, call in rows():
        arrays, took = {device: array.copy() for device in devices}, {device: list[float]() for device in devices}
        for turn in range(options.turns + 8):
            for device in devices:
                begun = time.perf_counter()
                call(arrays[device], device)
                if turn >= 8:
                    took[device].append(1e3 * (time.perf_counter() - begun))
        medians = [statistics.median(took[device]) for device in devices]
        print(f"{name:<38}" + "".join(f"{ms:12.3f}" for ms in medians) + f"{medians[-1] / medians[0]:8.2f}", flush=True)


if __name__ == "__main__":
    main()
