"""From projections in memory to a volume in memory by a GPU: ``python -m benchmarks.gpu_cube [--size 2048] [--memory 1GB]``.

Projections of uint16 counts, as many as they have rows and columns, are corrected and reconstructed by either method.
Printed are the first run, which compiles, the median of three after it, and what the plan foretold. 2048 takes 52 GB of memory.

``--check cuda:0,opencl:0`` compares volumes instead: of three balls whose projections are made on the spot, whole and within
300 MB, and by the CPU for some rows; 2048 takes 90 GB of memory. Bits must be the same at every budget, and the middle of a ball
what it was made of.
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


def balls(n: int) -> np.ndarray:
    """Counts ``(n, n, n)`` of a ball about the axis and two in it, which weigh 1 / n a pixel each."""
    counts, x = np.empty((n, n, n), np.uint16), np.arange(n, dtype=np.float32) - (n - 1) / 2
    turned = np.linspace(0, np.pi, n, endpoint=False)

    def project(i: int) -> None:
        path = np.zeros((n, n), np.float32)
        for along, across, up, radius in (
            (0, 0, 0, 0.45 * n),
            (0.2 * n, 0.1 * n, 0.05 * n, 0.1 * n),
            (-0.1 * n, 0.25 * n, -0.2 * n, 0.08 * n),
        ):
            aside = along * np.cos(turned[i]) + across * np.sin(turned[i])
            chord = np.float32(radius**2) - (x[:, None] - np.float32(up)) ** 2 - (x[None, :] - np.float32(aside)) ** 2
            path += np.float32(2 / n) * np.sqrt(np.maximum(chord, 0, out=chord), out=chord)
        counts[i] = 100 + 39900 * np.exp(-path, out=path)

    with ThreadPoolExecutor() as pool:
        list(pool.map(project, range(n)))
    return counts


def apart(a: np.ndarray, b: np.ndarray) -> float:
    """-1 where two volumes have the same bits, else how far apart every sixteenth slice of theirs, or all of a few, are at most."""
    with ThreadPoolExecutor() as pool:
        if all(pool.map(lambda z: np.array_equal(a[z], b[z]), range(len(a)))):
            return -1.0
    every = 16 if len(a) > 256 else 1
    return max(float(np.abs(x - y).max()) for x, y in zip(a[every // 2 :: every], b[every // 2 :: every], strict=True))


def check(n: int, devices: list[str]) -> None:
    begun = time.perf_counter()
    counts, flats, darks = balls(n), np.full((n, n), 40000, np.uint16), np.full((n, n), 100, np.uint16)
    first, again = np.zeros((n, n, n), np.float32), np.zeros((n, n, n), np.float32)
    print(f"made in {time.perf_counter() - begun:.0f} s", flush=True)
    angles = np.linspace(0, np.pi, n, endpoint=False)
    with fp.open_scan(counts, flats, darks, angles) as scan:
        for method in ("fourier", "direct"):
            how = {"center": (n - 1) / 2, "method": method}
            fp.reconstruct(scan, out=first, device=devices[0], **how)
            some = slice(n // 2 - n // 64, n // 2 + n // 64)
            middle, largest = float(first[n // 2, some, some].mean(dtype=float)) * n, float(first[n // 2].max())
            print(f"{n}³ {method}, {devices[0]}: the ball weighs {middle:.5f} where 1 went in", flush=True)
            for device in devices:
                for memory in (None, "300MB"):
                    plans: list[Plan] = []
                    begun = time.perf_counter()
                    fp.reconstruct(scan, out=again, device=device, memory=memory, on_plan=plans.append, **how)
                    took = time.perf_counter() - begun
                    far = apart(first, again)
                    cut = f"{plans[-1].n_parts} parts, {plans[-1].footprint.total / 1e9:.2f} GB, {took:.2f} s"
                    found = "same bits" if far < 0 else f"{far / largest:.1e} of the largest apart"
                    print(f"  {device}, {memory or 'whole'}: {cut}: {found}", flush=True)
            for begin in (0, n // 2, n - 16):
                rows = slice(begin, begin + 16)
                with fp.open_scan(np.ascontiguousarray(counts[:, rows]), flats[rows], darks[rows], angles) as part:
                    far = apart(first[rows], fp.reconstruct(part, device="cpu", **how))
                print(f"  cpu, rows {begin} to {begin + 15}: {max(far, 0.0) / largest:.1e} of the largest apart", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=2048)
    parser.add_argument("--memory", help="the most a run may take beside both arrays")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--check", metavar="DEVICES", help="such as cuda:0,opencl:0: compare what they make")
    options = parser.parse_args()
    n = options.size
    warnings.simplefilter("ignore")
    if options.check:
        check(n, options.check.split(","))
        return
    counts, out = cube(n)
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
