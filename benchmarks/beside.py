"""The same calls by two devices: ``python -m benchmarks.beside [--turns 3] [--only sources]``.

Every device has processes of its own, which take turns: in one process a GPU takes .3 ms to go from what one driver asked for to
what the other does, and results lie in pages that the other has pinned. Calls start from NumPy arrays. A row has the median of
milliseconds of each, and the ratio of the second to the first; processes differ by up to a third in calls that the host is busy
with, so that a ratio near a bound needs more turns.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

import footprint as fp
from benchmarks.find_sources import radio_field

Call = Callable[[np.ndarray, str], object]


def convolved(mask: np.ndarray, image: np.ndarray, device: str) -> object:
    return fp.convolve(image, mask, device=device)


def smoothed(sigma: float, image: np.ndarray, device: str) -> object:
    return fp.gaussian_filter(image, sigma, device=device)


def reconstructed(method: str, sinogram: np.ndarray, device: str) -> object:
    angles = np.linspace(0, np.pi, len(sinogram), endpoint=False)
    return fp.fbp(sinogram, angles, method=method, device=device)


def rows(n: int) -> Iterator[tuple[str, np.ndarray, Call]]:
    """Names, an array, and what is called with it on a device."""
    rng = np.random.default_rng(0)
    noise, sinogram, field = rng.standard_normal((n, n), np.float32), rng.random((1500, n), np.float32), radio_field(n, 600)
    for size in (13, 31):
        mask = np.full((size, size), 1 / size**2, np.float32)
        yield f"convolve {size}²", noise, partial(convolved, mask)
    for sigma in (5, 9, 12, 16, 20):
        yield f"gaussian_filter sigma {sigma}", noise, partial(smoothed, sigma)
    yield "median_filter 5²", noise, lambda a, device: fp.median_filter(a, 5, device=device)
    for method in ("direct", "fourier"):
        yield f"fbp {method}", sinogram, partial(reconstructed, method)
    yield "threshold", field, lambda a, device: fp.threshold(a, 3.0, device=device)
    yield "sigma_clip", field, lambda a, device: fp.sigma_clip(a, device=device)
    yield "find_sources", field, lambda a, device: fp.find_sources(a, device=device)
    yield (
        "find_sources, mesh, deblended, fits",
        field,
        lambda a, device: fp.find_sources(a, background="mesh", deblend=True, fit="gaussian", device=device),
    )


def alone(device: str, only: str, size: int) -> None:
    """Milliseconds of each call, once it has been made twelve times, as lines of JSON."""
    warnings.simplefilter("ignore")
    for name, array, call in rows(size):
        if only not in name:
            continue
        took = []
        for _ in range(52):
            begun = time.perf_counter()
            call(array, device)
            took.append(1e3 * (time.perf_counter() - begun))
        print(json.dumps((name, took[12:])), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", default="cuda:0,opencl:0")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--size", type=int, default=2048, help="of the images")
    parser.add_argument("--only", default="", metavar="WORD", help="calls whose names have it")
    parser.add_argument("--alone", metavar="DEVICE", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        alone(options.alone, options.only, options.size)
        return
    devices, found = options.devices.split(","), dict[str, dict[str, list[float]]]()
    for _ in range(options.turns):
        for device in devices:
            command = [
                sys.executable,
                "-m",
                "benchmarks.beside",
                "--alone",
                device,
                "--only",
                options.only,
                "--size",
                str(options.size),
            ]
            for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
                name, took = json.loads(line)
                found.setdefault(name, {}).setdefault(device, []).extend(took)
    print(f"{'call':<38}" + "".join(f"{device:>12}" for device in devices) + f"{'ratio':>8}")
    for name, by_device in found.items():
        medians = [statistics.median(by_device[device]) for device in devices]
        print(f"{name:<38}" + "".join(f"{ms:12.3f}" for ms in medians) + f"{medians[-1] / medians[0]:8.2f}")


if __name__ == "__main__":
    main()
