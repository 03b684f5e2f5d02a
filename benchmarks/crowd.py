"""A crowd of 167,281 sources in 4096 x 4096, step by step beside SEP, and how many fits a core does in a second.

    python -m benchmarks.crowd [SIDE] [--turns 3]

Points of a beam of 5 pixels lie on a grid of 10, shifted by up to a pixel, with peaks of 20 to 200 sigma, over noise that the
beam correlates. ``capacity`` is given, so nothing is planned twice. Seconds are of the processor, all threads together, the median
of turns in which everybody takes part. Fits alone are of 2,916 points, with the beam's shape and their own, 18 pixels apart.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import footprint as fp
from benchmarks.find_sources import SKY
from footprint.backend.memory import PeakMeter

WIDTH = 5.0 / 2.3548


def grid(side: int, step: int, seed: int = 3) -> tuple[np.ndarray, int]:
    """The image, and how many points it has."""
    rng, n = np.random.default_rng(seed), (side - 2 * 3) // step
    gain = [np.exp(-2 * (np.pi * WIDTH * f(side)) ** 2) for f in (np.fft.fftfreq, np.fft.rfftfreq)]
    image = np.fft.irfft2(np.fft.rfft2(rng.standard_normal((side, side), np.float32)) * (gain[0][:, None] * gain[1]), (side, side))
    image = (image / image.std()).astype(np.float32)
    y, x = (3 + step / 2 + step * np.mgrid[:n, :n].reshape(2, -1)).round() + rng.uniform(-1, 1, (2, n * n))
    peak, reach = rng.uniform(20, 200, n * n), 9
    iy, ix = np.round(y).astype(int), np.round(x).astype(int)
    near = np.arange(-reach, reach + 1)
    down, across = (np.exp(-((at + near[:, None] - c) ** 2) / (2 * WIDTH**2)) for at, c in ((iy, y), (ix, x)))
    for dy, row in zip(near, down):
        for dx, column in zip(near, across):
            yy, xx = iy + dy, ix + dx
            inside = (yy >= 0) & (xx >= 0) & (yy < side) & (xx < side)
            # One offset of all points: no pixel comes twice.
            image[yy[inside], xx[inside]] += (peak * row * column)[inside].astype(np.float32)
    return image, n * n


def turns(calls: dict[str, Callable[[], int]], number: int) -> dict[str, tuple[float, int, int]]:
    """Processor seconds, the median of turns; what it found; bytes it grew by in its first turn."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    found, grown = dict.fromkeys(calls, 0), dict.fromkeys(calls, 0)
    for turn in range(number):
        for name, call in calls.items():
            fp.clear_cache()
            with PeakMeter() as meter:
                start = time.process_time()
                found[name] = call()
                seconds[name].append(time.process_time() - start)
            print(f"  {name}: {seconds[name][-1]:.2f} s", flush=True)
            grown[name] = grown[name] if turn else meter.growth
    return {name: (statistics.median(seconds[name]), found[name], grown[name]) for name in calls}


def warm() -> None:
    """Load and compile what all rows need, on few pixels."""
    small = grid(128, 10)[0]
    maps: dict[str, Any] = {"background": np.zeros(small.shape, np.float32), "noise": np.ones(small.shape, np.float32)}
    for levels in (maps, {}, {"background": "mesh"}):
        for apart in ({}, {"deblend": True}, {"deblend": True, "fit": "point"}, {"deblend": True, "fit": "gaussian"}):
            if levels is maps or list(apart) == ["deblend"]:
                fp.find_sources(small, 5, flood=3, connectivity=8, header=SKY, device="cpu", **levels, **apart)
        if levels is maps:
            for fit in ("point", "gaussian"):
                fp.find_sources(small, 5, flood=3, connectivity=8, header=SKY, device="cpu", fit=fit, **levels)


def enough_for_sep(sep: Any, image: np.ndarray) -> None:
    """Give SEP the least memory it can do with: what it clears of more counts as its time."""
    for pixels in (10**6, 3 * 10**6, 10**7, 3 * 10**7, 10**8):
        sep.set_extract_pixstack(pixels)
        try:
            sep.extract(image, 3.0, err=1.0, filter_kernel=None)
            sep.extract(image, 3.0, err=1.0)
        except Exception as error:  # SEP raises plain ones
            if "pixel buffer" not in str(error):
                raise
        else:
            return
    raise RuntimeError("SEP asks for memory for more than 10**8 pixels")


def main(side: int = 4096, number: int = 3) -> None:
    image, points = grid(side, 10)
    truth: dict[str, Any] = {"background": np.zeros(image.shape, np.float32), "noise": np.ones(image.shape, np.float32)}
    common = {"flood": 3.0, "connectivity": 8, "capacity": points * 6 // 5, "header": SKY, "device": "cpu"}

    def ours(**options: Any) -> Callable[[], int]:
        return lambda: len(fp.find_sources(image, 5, **{**common, **options}))

    calls = {
        "islands, levels given": ours(**truth),
        "and taken apart": ours(**truth, deblend=True),
        "and fitted as points": ours(**truth, deblend=True, fit="point"),
        "and as Gaussians": ours(**truth, deblend=True, fit="gaussian"),
        "taken apart, one background": ours(deblend=True),
        "taken apart, mesh": ours(deblend=True, background="mesh"),
    }
    fitted = grid(54 * 18 + 8, 18)[0]
    lone: dict[str, Any] = {"background": np.zeros(fitted.shape, np.float32), "noise": np.ones(fitted.shape, np.float32)}
    for title, options in (("alone", {}), ("alone, points", {"fit": "point"}), ("alone, Gaussians", {"fit": "gaussian"})):
        calls[title] = lambda how=options: len(fp.find_sources(fitted, 5, **{**common, "capacity": 3500, **lone, **how}))
    try:
        import sep

        sep.set_sub_object_limit(10**6)
        enough_for_sep(sep, image)
        calls["SEP, levels given, not filtered"] = lambda: len(sep.extract(image, 3.0, err=1.0, filter_kernel=None))
        calls["SEP, levels given, filtered"] = lambda: len(sep.extract(image, 3.0, err=1.0))
    except ImportError:
        print("SEP is not installed: pip install sep")
    warm()
    took = turns(calls, number)
    base = took["and taken apart"][0]
    print(f"{points} points in {side} x {side}; processor seconds, median of {number} turns\n")
    print("| | found | s | times taken apart | MB |\n|---|---|---|---|---|")
    for name, (seconds, rows, grown) in took.items():
        print(f"| {name} | {rows} | {seconds:.2f} | {seconds / base:.2f} | {grown / 1e6:.0f} |")
    for kind in ("points", "Gaussians"):
        more = took[f"alone, {kind}"][0] - took["alone"][0]
        print(f"\n{took['alone'][1] / max(more, 1e-9):,.0f} {kind} a second of processor time, windows and columns among it")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("side", nargs="?", type=int, default=4096)
    parser.add_argument("--turns", type=int, default=3)
    how = parser.parse_args()
    main(how.side, how.turns)
