"""A catalogue takes what its plan counts for it, of very many sources, too, and the plan counts little more."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
# Python's own objects and malloc's arenas, no function of the data.
_INTERPRETER = 512 << 10


@pytest.mark.parametrize("verb", ["measure", "plain", "placed"])
def test_the_catalogue_takes_what_is_planned(verb, fresh):
    found = fresh("catalogue", verb)
    if not found["known"]:
        pytest.skip("this system does not tell the process's peak")
    assert found["rows"] == 4096 * 256 // 4
    assert found["growth"] <= found["plan"] + _INTERPRETER, found
    assert found["plan"] <= 1.15 * found["growth"], found


def _sky(path: Path, side: int, step: int) -> str:
    """Noise with a source every ``step`` pixels."""
    image, squares = np.random.default_rng(1).standard_normal((side, side), np.float32), np.arange(-4, 5, dtype=np.float32) ** 2
    spot = 20 * np.exp(-(squares[:, None] + squares) / 3)
    for y in range(8, side - 8, step):
        for x in range(8, side - 8, step):
            image[y - 4 : y + 5, x - 4 : x + 5] += spot
    np.save(path, image)
    return str(path)


def _alone(*words: str) -> dict:
    """A reader's job in a process that imports all itself: a fork's heap has room that another's has not.

    It is run again where it grew beyond its plan: what a fault takes it takes every time.
    """
    command = [sys.executable, "-m", "tests.memory.readers", *words]
    for _ in range(2):
        found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, timeout=120).stdout)
        if not found["known"] or found["growth"] <= max(found["plans"]):
            break
    return found


def test_a_search_of_a_file_in_many_parts_stays_within_its_plan(tmp_path):
    """Tuples that plans and parts had left, on Python's lists of those to be used again, lay beside the memory that was planned."""
    found = _alone("crowded", _sky(tmp_path / "few.npy", 256, 32), _sky(tmp_path / "many.npy", 6000, 110), "24.3MB")
    if not found["known"]:
        pytest.skip("this system does not tell the process's peak")
    assert found["rows"] > 3000 and len(found["plans"]) == 2, "the first plan had room for all, and columns are not what it counts"
    assert found["growth"] <= max(found["plans"]), found


def test_what_columns_are_made_through_is_no_larger_than_they_are(tmp_path):
    """Of a few thousand sources it was: 4096 rows at a time, with three dozen temporaries, took 0.6 MB beyond the plan."""
    found = _alone("columns", _sky(tmp_path / "few.npy", 256, 32), _sky(tmp_path / "many.npy", 2000, 31))
    if not found["known"]:
        pytest.skip("this system does not tell the process's peak")
    assert found["rows"] > 3500
    assert found["growth"] <= max(found["plans"]), found
