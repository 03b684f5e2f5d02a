"""The list of seeded faults does not rot: every text still stands once in its file, and every test named is there."""

import ast
from pathlib import Path

import pytest

from tests.mutants import mutants

ROOT = Path(__file__).resolve().parents[2]
ALL = mutants()


@pytest.mark.parametrize("mutant", ALL, ids=lambda m: f"{m.file}: {m.why or m.fault.strip()}"[:80])
def test_its_text_stands_once_in_its_file(mutant):
    assert (ROOT / mutant.file).read_text(encoding="utf-8").count(mutant.text) == 1
    assert mutant.text != mutant.fault
    if mutant.file.endswith(".py"):
        ast.parse((ROOT / mutant.file).read_text(encoding="utf-8").replace(mutant.text, mutant.fault))


@pytest.mark.parametrize("test", sorted({test for mutant in ALL for test in mutant.tests}))
def test_the_test_it_names_is_there(test):
    file, _, name = test.partition("::")
    text = (ROOT / file).read_text(encoding="utf-8")
    assert not name or f"def {name.partition('[')[0]}(" in text


def test_they_are_many_and_in_all_rooms():
    assert len({(m.file, m.text, m.fault) for m in ALL}) == len(ALL) >= 60
    assert {m.file.split("/")[1] for m in ALL} >= {"plan", "kernels", "ops", "io", "cli", "units.py", "errors.py"}
