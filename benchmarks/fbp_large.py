"""FBP of a slice larger than most GPUs' memory, whole and within smaller budgets: ``python -m benchmarks.fbp_large --device cuda``.

``--method fourier`` takes the Fourier method, which needs the grid: ``--memory 4.3GB``.

Prints for each budget the plan, the device memory measured at its peak, the time from host array to host array, and the difference
to the largest budget's slice; then the error of some pixels against a float64 sum of float64-filtered rows.
"""

from __future__ import annotations

import argparse
import threading
import time

import numpy as np

import footprint as fp
from footprint.backend.registry import open_backend
from footprint.ops.filters import fast_length, response
from footprint.units import format_bytes


class Watch:
    """The most device memory in use while the block runs, beyond what was in use before it; sampled every millisecond."""

    def __init__(self, device: str) -> None:
        self.used = open_backend(device).used

    def __enter__(self) -> Watch:
        self.before = self.peak = self.used()
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.sample)
        self.thread.start()
        return self

    def sample(self) -> None:
        while not self.stop.wait(0.001):
            self.peak = max(self.peak, self.used())

    def __exit__(self, *error: object) -> None:
        self.stop.set()
        self.thread.join()

    @property
    def growth(self) -> int:
        return self.peak - self.before


def exact(sinogram: np.ndarray, pixels: np.ndarray) -> np.ndarray:
    """Some pixels of the slice in float64; rows are filtered a thousand at a time."""
    import scipy.fft

    n_a, n = sinogram.shape
    padded, center = fast_length(2 * n), (n - 1) / 2
    gains = response("ramlak", padded).real.astype(float)
    angles, total = np.linspace(0, np.pi, n_a, endpoint=False), np.zeros(len(pixels))
    for a in range(0, n_a, 1000):
        spectrum = scipy.fft.rfft(sinogram[a : a + 1000].astype(float), padded, axis=1, workers=-1)
        rows = scipy.fft.irfft(spectrum * gains, padded, axis=1, workers=-1)[:, :n]
        for row, t in zip(rows, angles[a : a + 1000]):
            h = center + np.cos(t) * (pixels[:, 1] - center) - np.sin(t) * (pixels[:, 0] - center)
            total += np.interp(h, np.arange(-1, n + 1), np.pad(row, 1), left=0, right=0)
    return total * np.pi / n_a


def exact_frequencies(sinogram: np.ndarray, pixels: np.ndarray) -> np.ndarray:
    """The same by all frequencies, weakened as linear interpolation does: what the Fourier method sums."""
    n_a, n = sinogram.shape
    padded, center = fast_length(2 * n), (n - 1) / 2
    gains = 2 * response("ramlak", padded).real.astype(float) * np.sinc(np.fft.rfftfreq(padded)) ** 2
    gains[[0, -1]] /= 2
    turns, total = 2j * np.pi * np.fft.rfftfreq(padded), np.zeros(len(pixels))
    for row, t in zip(sinogram, np.linspace(0, np.pi, n_a, endpoint=False)):
        spectrum = np.fft.rfft(row.astype(float), padded) * gains
        h = center + np.cos(t) * (pixels[:, 1] - center) - np.sin(t) * (pixels[:, 0] - center)
        total += (np.exp(h[:, None] * turns) @ spectrum).real
    return total * np.pi / n_a / padded


def main(n_a: int, n: int, device: str, method: str, budgets: list[str], turns: int) -> None:
    rng = np.random.default_rng(0)
    sinogram = rng.random((n_a, n), np.float32)
    fp.fbp(sinogram[:64, :512].copy(), method=method, device=device)
    first, times = None, []
    for budget in budgets:
        plan = fp.plan_fbp((n_a, n), method=method, memory=budget, device=device)
        out = np.ones((n, n), np.float32)
        with Watch(device) as watch:
            seconds = []
            for _ in range(turns):
                start = time.perf_counter()
                fp.fbp(sinogram, method=method, memory=budget, device=device, out=out)
                seconds.append(time.perf_counter() - start)
        first = out if first is None else first
        times.append(min(seconds))
        difference = np.abs(out - first).max() / np.abs(first).max()
        size = plan.footprint
        print(
            f"memory={budget}: plan {format_bytes(size.total)} (device {format_bytes(plan.nbytes + size.library)}), measured "
            f"{format_bytes(watch.growth)}, context {format_bytes(size.context)}; {times[-1]:.3f} s, "
            f"{times[-1] / times[0]:.2f} x the first, differs by {difference:.1e}; {plan.notes[-1]}",
            flush=True,
        )
    few, truth = (200, exact) if method == "direct" else (4, exact_frequencies)
    pixels = rng.integers(0, n, (few, 2))
    want = truth(sinogram, pixels)
    error = np.abs(first[pixels[:, 0], pixels[:, 1]] - want).max() / np.abs(want).max()
    print(f"largest error of {len(pixels)} pixels against float64: {error:.1e}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--angles", type=int, default=43200)
    parser.add_argument("--size", type=int, default=16384)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--method", default="direct")
    parser.add_argument("--memory", nargs="*", default=["4.3GB", "1.5GB"])
    parser.add_argument("--turns", type=int, default=2)
    words = parser.parse_args()
    main(words.angles, words.size, words.device, words.method, words.memory, words.turns)
