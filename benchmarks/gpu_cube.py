"""From projections in memory to a volume in memory by a GPU: ``python -m benchmarks.gpu_cube [--size 2048] [--memory 1GB]``.

Projections of uint16 counts, as many as they have rows and columns, are corrected and reconstructed by either method.
Printed are the first run, which compiles, the median of three after it, and what the plan foretold. 2048 takes 52 GB of memory.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import footprint as fp
from footprint.plan.plan import Plan


def cube(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Counts ``(n, n, n)``, frames of one noise moved about, and a volume whose pages have been touched."""
    noise = (20000 + 3000 * np.random.default_rng(0).random((16, n, n), np.float32)).astype(np.uint16)
    counts, out = np.empty((n, n, n), np.uint16), np.empty((n, n, n), np.float32)
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda i: np.copyto(counts[i], np.roll(noise[i % 16], 7 * i, axis=1)), range(n)))
        list(pool.map(lambda i: out[i].fill(0), range(n)))
    return counts, out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=2048)
    parser.add_argument("--memory", help="the most a run may take beside both arrays")
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    n = options.size
    counts, out = cube(n)
    warnings.simplefilter("ignore")
    flats, darks = np.full((n, n), 40000, np.uint16), np.full((n, n), 100, np.uint16)
    with fp.open_scan(counts, flats, darks, np.linspace(0, np.pi, n, endpoint=False)) as scan:
        for method in ("fourier", "direct"):
            plans: list[Plan] = []
            how = {"center": n / 2 + 0.8, "method": method, "memory": options.memory, "device": options.device}
            took = []
            for _ in range(4):
                begun = time.perf_counter()
                fp.reconstruct(scan, out=out, on_plan=plans.append, **how)
                took.append(time.perf_counter() - begun)
            foretold = ", ".join(f"{lane} {seconds:.2f}" for lane, seconds in plans[-1].seconds)
            later, total = statistics.median(took[1:]), plans[-1].footprint.total / 1e9
            print(f"{n}³ {method}: {later:.2f} s, first {took[0]:.2f} s; {total:.2f} GB, foretold {foretold}", flush=True)


if __name__ == "__main__":
    main()
