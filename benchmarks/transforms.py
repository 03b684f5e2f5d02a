"""Signals, images and volumes by direct sums and by transforms of every size of tile: processor time of one core.

``python -m benchmarks.transforms`` prints the least of some runs of a bound plan, and the rate of its transforms, by which
`footprint.ops.overlap_save` chooses between them.
"""

from __future__ import annotations

import os
import time

import numpy as np

from footprint.backend.registry import open_backend
from footprint.ops.convolve import Correlate
from footprint.ops.job import plan_op
from footprint.ops.overlap_save import lengths_of, tiled
from footprint.plan.slots import Given
from footprint.spec import ArraySpec

# Multiplications of direct sums that are waited for.
PATIENCE = 1e10


def spent(op: Correlate, image: np.ndarray, mask: np.ndarray, turns: int = 5) -> float:
    """Seconds of this thread that a run takes."""
    backend = open_backend("cpu")
    ins = [(ArraySpec(a.shape, a.dtype.str), Given()) for a in (image, mask)]
    out, found = np.empty_like(image), []
    plan = plan_op(backend.limits, None, "convolve", op, ins, [(ArraySpec(out.shape, out.dtype.str), Given())])
    with plan.bind(backend) as bound:
        bound(image, mask, out=[out])
        for _ in range(turns):
            before = time.thread_time()
            bound(image, mask, out=[out])
            found.append(time.thread_time() - before)
    return min(found)


def table(shape: tuple[int, ...], taps: tuple[int, ...]) -> None:
    """One image and mask."""
    rng = np.random.default_rng(0)
    image, mask, op = rng.standard_normal(shape, "f4"), rng.standard_normal(taps, "f4"), Correlate(taps)
    print(f"{shape} samples, {taps} taps, one thread")
    if image.size * mask.size <= PATIENCE:
        print(f"  direct        {1e3 * spent(op, image, mask):8.2f} ms", flush=True)
    specs, limits = (ArraySpec(image.shape), ArraySpec(mask.shape)), open_backend("cpu").limits
    for size, columns in lengths_of(op, limits, 4):
        by = tiled(op, size, *specs, columns)
        seconds, work = spent(by, image, mask), by.operations(limits, *specs)
        name = f"{size:4} x {2 * columns:4}" if columns else f"{size:4}"
        print(f"  tiles of {name} {1e3 * seconds:8.2f} ms  {work / seconds / 1e9:5.1f} GFLOP/s  blocks {by.block}", flush=True)


if __name__ == "__main__":
    # A run's own thread alone is timed: with others beside it, it would have done a share of the work.
    os.environ["FOOTPRINT_THREADS"] = "1"
    for count in (101, 301, 1001, 5000, 30_000, 100_000):
        table((4_000_000,), (count,))
    for count in (7, 9, 13, 21, 41, 63):
        table((128, 160, 160), (count,) * 3)
    for count in (13, 31, 63, 127):
        table((2048, 2048), (count,) * 2)
