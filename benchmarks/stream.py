"""Frames that stream through a GPU and back, beside what the bus allows: ``python -m benchmarks.stream [--size 2048]``.

Frames are uint16, convolved with 13 x 13 weights. What the bus allows is measured in the same run, in turns: as many frames
and results of the same bytes cross from and to pinned memory, both ways at once, with no work between. "latency" is from a
frame's arrival to its result's. A stream's first frames are left out: results come to lie in pinned memory after 64 of them.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import cupy
import cupyx
import numpy as np

import footprint as fp

# Frames that are not timed.
_FIRST = 200


def crossing(size: int, wide: int, frames: int) -> float:
    """Seconds a frame that only crosses: ``size``² pixels of two bytes up and of ``wide`` bytes down, each way on a stream."""
    shape = (size, size)
    up, down = cupyx.empty_pinned(shape, np.uint16), cupyx.empty_pinned(shape, f"f{wide}")
    there, back = cupy.empty(shape, up.dtype), cupy.zeros(shape, down.dtype)
    one, two = (cupy.cuda.Stream(non_blocking=True) for _ in range(2))
    copy = cupy.cuda.runtime.memcpyAsync
    begun = time.perf_counter()
    for _ in range(frames):
        copy(there.data.ptr, up.ctypes.data, up.nbytes, 1, one.ptr)
        copy(down.ctypes.data, back.data.ptr, down.nbytes, 2, two.ptr)
    one.synchronize()
    two.synchronize()
    return (time.perf_counter() - begun) / frames


def through(ring: list[np.ndarray], mask: np.ndarray, frames: int, dtype: object) -> tuple[float, str]:
    """Seconds a frame of a stream, and its latency in words."""
    results = fp.stream((ring[i % len(ring)] for i in range(_FIRST + frames)), mask=mask, dtype=dtype, device="cuda")
    for _ in range(_FIRST):
        next(results)
    begun = time.perf_counter()
    for _ in results:
        pass
    took = (time.perf_counter() - begun) / frames
    middle, late = (results.statistics[key] / 1e3 for key in ("latency_median", "latency_95"))
    return took, f"latency {middle / took:.1f} frames, {late / took:.1f} for 95 %"


def side_by_side(
    plain: list[np.ndarray], pinned: list[np.ndarray], dtype: type[np.floating], options: argparse.Namespace
) -> dict[str, list[tuple[float, str]]]:
    """Seconds a frame, and words, of every turn of the bus alone and of streams of either frames."""
    mask = np.random.default_rng(1).random((13, 13), np.float32)
    ways: dict[str, Callable[[], tuple[float, str]]] = {
        "the bus alone": lambda: (crossing(options.size, np.dtype(dtype).itemsize, options.frames), ""),
        "NumPy frames": lambda: through(plain, mask, options.frames, dtype),
        "pinned frames": lambda: through(pinned, mask, options.frames, dtype),
    }
    turns: dict[str, list[tuple[float, str]]] = {name: [] for name in ways}
    for _ in range(options.turns + 1):
        for name, way in ways.items():
            turns[name].append(way())
    # The first turn warms up.
    return {name: seen[1:] for name, seen in turns.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=2048)
    parser.add_argument("--frames", type=int, default=600)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    n, frames = options.size, options.frames
    rng = np.random.default_rng(0)
    plain = [rng.integers(0, 4000, (n, n), np.uint16) for _ in range(8)]
    pinned = [cupyx.empty_pinned((n, n), np.uint16) for _ in range(8)]
    for there, frame in zip(pinned, plain):
        there[...] = frame
    for dtype in (np.float32, np.float16):
        print(f"{n}² uint16 by 13² to {dtype.__name__}, {frames} frames, medians of {options.turns} turns")
        turns = side_by_side(plain, pinned, dtype, options)
        bus = statistics.median(took for took, _ in turns["the bus alone"])
        for name, seen in turns.items():
            took, words = sorted(seen)[len(seen) // 2]
            print(f"  {name:<14} {1 / took:7.0f} frames/s  {100 * bus / took:4.0f} % of the bus  {words}", flush=True)


if __name__ == "__main__":
    main()
