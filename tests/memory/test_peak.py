"""The promise: what a run adds to the process, measured, stays within arena + constant + library + host of its plan."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.memory.jobs import JOBS

ROOT = Path(__file__).resolve().parents[2]
# Python's own objects and malloc's arenas while a run goes on: not ours to plan, and no function of the data.
_INTERPRETER = 512 << 10
# Also measured at half of their memory; the others at all of it and a sixth.
_HALVED = ("convolve", "find_sources_file", "reconstruct", "fbp_fourier")


def measure(verb: str, budget: int | None) -> dict:
    words = [sys.executable, "-m", "tests.memory.jobs", verb, "none" if budget is None else str(budget)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("verb", JOBS)
def test_measured_growth_stays_within_the_plan(verb):
    whole = measure(verb, None)
    if not whole["known"]:
        pytest.skip("this system does not tell the process's peak")
    assert whole["growth"] <= whole["plan"] + _INTERPRETER, whole
    for share in (2, 6) if verb in _HALVED else (6,):
        part = measure(verb, max(whole["plan"] // share, 1))
        assert part["plan"] <= part["budget"] <= whole["plan"]
        assert part["growth"] <= part["plan"] + _INTERPRETER, part
