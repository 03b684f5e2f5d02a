"""Jobs of the memory tests: each makes its inputs and touched outputs, and says how to plan and how to run within a budget.

Run as ``python -m tests.memory.jobs VERB BUDGET``: prints one JSON object with the plan's bytes and the process's measured growth.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import footprint as fp
from footprint.backend.memory import PeakMeter

Job = tuple[Callable[[Any], Any], Callable[[Any], Any]]
RNG = np.random.default_rng(3)


def image(n: int, m: int) -> np.ndarray:
    return RNG.standard_normal((n, m), np.float32)


def touched(*shape: int, dtype: str = "f4") -> np.ndarray:
    return np.ones(shape, dtype)


def convolve(scale: int) -> Job:
    x = image(512 * scale, 1024).astype(">f4")  # foreign bytes, so that the plan must own converted rows
    mask, out = np.ones((9, 9), "f4") / 81, touched(512 * scale, 1024)
    return (
        lambda memory: fp.plan_convolve(x.shape, mask.shape, dtype=">f4", memory=memory, device="cpu"),
        lambda memory: fp.convolve(x, mask, out=out, memory=memory, device="cpu"),
    )


JOBS: dict[str, Callable[[int], Job]] = {"convolve": convolve}


def main(verb: str, budget: str) -> None:
    """Warm up on a small job of the same kind, then measure the large one."""
    memory = None if budget == "none" else int(budget)
    _, warm = JOBS[verb](1)
    warm(None)
    plan, run = JOBS[verb](8)
    total = plan(memory).footprint.total
    with PeakMeter() as meter:
        run(memory)
    print(json.dumps({"plan": total, "growth": meter.growth, "known": meter.known, "chunks": len(plan(memory).chunks)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
