"""The promise: what a run adds to the process, measured, stays within arena + constant + library + host of its plan."""

import json
import os
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


@pytest.fixture(scope="module")
def nursery():
    """What runs jobs, each in a process of its own."""
    words = [sys.executable, "-m", "tests.memory.nursery"]
    # No ledger: its NaN touch pages that a run would not.
    environment = os.environ | {"FOOTPRINT_CHECK": ""}
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment) as process:
        yield process
        process.stdin.close()


def measure(nursery, verb: str, budget: int | None) -> dict:
    nursery.stdin.write(f"{verb} {'none' if budget is None else budget}\n")
    nursery.stdin.flush()
    lines = []
    while not (lines and lines[-1].startswith('{"ended"')):
        line = nursery.stdout.readline()
        assert line, "the process that starts jobs is gone"
        lines.append(line)
    assert json.loads(lines[-1]) == {"ended": 0}, "".join(lines)
    return json.loads(lines[-2])


@pytest.mark.parametrize("verb", JOBS)
def test_measured_growth_stays_within_the_plan(verb, nursery):
    whole = measure(nursery, verb, None)
    if not whole["known"]:
        pytest.skip("this system does not tell the process's peak")
    assert whole["growth"] <= whole["plan"] + _INTERPRETER, whole
    for share in (2, 6) if verb in _HALVED else (6,):
        part = measure(nursery, verb, max(whole["plan"] // share, 1))
        assert part["plan"] <= part["budget"] <= whole["plan"]
        assert part["growth"] <= part["plan"] + _INTERPRETER, part
