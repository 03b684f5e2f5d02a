"""Convolution by each method beside OpenCV, SciPy and astropy, time and peak memory against the sizes of image and mask.

``python -m benchmarks.convolve [--sizes 2048] [--masks 3 13 31] [--signals] [--plot FILE.svg]`` prints a table an image and
mask: wall clock and processor time of a call, each the median of turns that contestants take one after another, so that another
job on the machine falls on all; the ratio of processor times to the first contestant's; and what a call makes the process grow
by, its result in it, over image and result, measured in a process whose freed arrays go back to the system. The same can be drawn
as curves.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import cv2
import numpy as np
import scipy.ndimage
import scipy.signal

import footprint as fp
from benchmarks.curves import svg
from benchmarks.timing import compare, report
from footprint.backend.memory import PeakMeter

# Multiplications of direct sums that are waited for: more would take a minute a turn.
PATIENCE = {"footprint direct": 2e10, "scipy.ndimage.convolve": 1.2e9, "astropy convolve": 1.2e9}


def contestants(pixels: np.ndarray, mask: np.ndarray, device: str) -> dict[str, Callable[[], object]]:
    """Calls that give a new result each, as a user would have it, with what lies outside as 0."""
    flipped = mask[::-1, ::-1].copy()
    found: dict[str, Callable[[], object]] = {"footprint": lambda: fp.convolve(pixels, mask, device=device)}
    for method in ("direct", "fft"):
        found[f"footprint {method}"] = lambda method=method: fp.convolve(pixels, mask, method=method, device=device)
    column = np.hanning(mask.shape[0] + 2)[1:-1]
    product = np.outer(column, column)
    found["footprint separable, another mask"] = lambda: fp.convolve(pixels, product, method="separable", device=device)
    found["cv2.filter2D"] = lambda: cv2.filter2D(pixels, -1, flipped, borderType=cv2.BORDER_CONSTANT)
    found["scipy fftconvolve"] = lambda: scipy.signal.fftconvolve(pixels, mask, "same")
    found["scipy oaconvolve"] = lambda: scipy.signal.oaconvolve(pixels, mask, "same")
    found["scipy.ndimage.convolve"] = lambda: scipy.ndimage.convolve(pixels, mask, mode="constant")
    try:
        from astropy.convolution import convolve, convolve_fft
    except ImportError:
        pass
    else:
        plain = {"boundary": "fill", "normalize_kernel": False}
        found["astropy convolve"] = lambda: convolve(pixels, mask, nan_treatment="fill", **plain)
        found["astropy convolve_fft"] = lambda: convolve_fft(pixels, mask, nan_treatment="fill", allow_huge=True, **plain)
    work = float(pixels.size * mask.size)
    return {name: call for name, call in found.items() if work <= PATIENCE.get(name, np.inf)}


Row = tuple[float, float]
"""Milliseconds on the wall, the best turn, and memory over image and result."""


def table(size: int, taps: int, device: str, turns: int) -> dict[str, Row]:
    """One image and mask: printed, and handed on."""
    rng = np.random.default_rng(0)
    pixels, mask = rng.standard_normal((size, size), "f4"), rng.random((taps, taps), "f4")
    calls = contestants(pixels, mask, device)
    wall: dict[str, list[float]] = {name: [] for name in calls}
    spent: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(turns):
        for name, call in calls.items():
            before, started = time.process_time(), time.perf_counter()
            call()
            wall[name].append(time.perf_counter() - started)
            spent[name].append(time.process_time() - before)
    words = [sys.executable, "-m", "benchmarks.convolve", "--grown", str(size), str(taps), "--device", device]
    made = subprocess.run(words, capture_output=True, text=True, check=True, env=os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536"})
    memory = json.loads(made.stdout)
    rows = slice(0, min(size, 2 * taps + 32))
    wanted = scipy.signal.fftconvolve(pixels[: rows.stop + taps].astype(float), mask.astype(float), "same")[rows]
    load = os.getloadavg()[0]
    print(f"{size} x {size} float32, mask {taps} x {taps}; load {load:.1f}, {os.cpu_count()} cores")
    wide, first = max(map(len, calls)), next(iter(calls))
    for name, call in calls.items():
        ratio = statistics.median(b / a for a, b in zip(spent[first], spent[name]))
        scale = mask.sum() * np.abs(pixels).max()
        error = "" if "another" in name else f"  error {np.abs(call()[rows] - wanted).max() / scale:.0e}"
        print(
            f"  {name:<{wide}}  {1e3 * statistics.median(wall[name]):9.2f} ms, best {1e3 * min(wall[name]):9.2f}"
            f"  processor {1e3 * statistics.median(spent[name]):9.2f} ms  {ratio:7.2f} x"
            f"  memory {memory[name] / (2 * pixels.nbytes):5.2f} x{error}",
            flush=True,
        )
    return {name: (1e3 * min(wall[name]), memory[name] / (2 * pixels.nbytes)) for name in calls}


def plot(path: str, found: dict[int, dict[int, dict[str, Row]]]) -> None:
    """Time and memory against the mask's size, two panels for each size of image."""
    panels = {}
    for size, tables in found.items():
        names = dict.fromkeys(name for rows in tables.values() for name in rows)
        for number, what in enumerate(("ms", "memory over image and result")):
            lines = {name: [(taps, rows[name][number]) for taps, rows in tables.items() if name in rows] for name in names}
            panels[f"{size} x {size} float32: {what}"] = lines
    svg(path, panels, "taps along an axis of the mask")


def growth(size: int, taps: int, device: str) -> dict[str, int]:
    """Bytes that calls make the process grow by."""
    rng = np.random.default_rng(0)
    found = {}
    for name, call in contestants(rng.standard_normal((size, size), "f4"), rng.random((taps, taps), "f4"), device).items():
        call()
        fp.clear_cache()
        with PeakMeter() as meter:
            call()
        found[name] = meter.growth
    return found


def signal(size: int, taps: int, device: str) -> None:
    """One signal, into a given result."""
    rng = np.random.default_rng(0)
    samples, mask = rng.standard_normal(size, "f4"), rng.standard_normal(taps, "f4")
    out = np.empty(size - taps + 1, "f4")
    calls = {
        "footprint": lambda: fp.convolve(samples, mask, mode="valid", out=out, device=device),
        "numpy.convolve": lambda: np.convolve(samples, mask, "valid"),
        "scipy oaconvolve": lambda: scipy.signal.oaconvolve(samples, mask, "valid"),
        "cv2.filter2D of 2000 rows": lambda: cv2.filter2D(samples.reshape(2000, -1), -1, mask[None, ::-1]),
    }
    report(f"{size} samples, {taps} taps", compare(calls), nbytes=2 * samples.nbytes, flops=2 * taps * size)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=[512, 2048])
    parser.add_argument("--masks", type=int, nargs="*", default=[3, 7, 13, 31, 63, 127])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--signals", action="store_true", help="Signals of 4 million samples, too.")
    parser.add_argument("--grown", type=int, nargs=2, metavar=("SIZE", "TAPS"), help="Print bytes of memory alone, as JSON.")
    parser.add_argument("--plot", metavar="FILE", help="Draw the tables as curves, too (.svg).")
    given = parser.parse_args()
    if given.grown:
        print(json.dumps(growth(*given.grown, given.device)))
        sys.exit()
    tables = {size: {taps: table(size, taps, given.device, given.turns) for taps in given.masks} for size in given.sizes}
    if given.plot:
        plot(given.plot, tables)
    for taps in (15, 101) if given.signals else ():
        signal(4_000_000, taps, given.device)
