"""What is measured here is what users run: no ledger, whose NaN touch pages that a run would not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from footprint.plan.ready import READY


@pytest.fixture(autouse=True)
def unwatched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOOTPRINT_CHECK", "")
    READY.clear()


@pytest.fixture(scope="session")
def fresh() -> Iterator[Callable[..., Any]]:
    """Run a job in a process of its own (`tests.memory.nursery`); what it printed last, of JSON."""
    words = [sys.executable, "-m", "tests.memory.nursery"]
    # No ledger: its NaN touch pages that a run would not.
    where: dict[str, Any] = {"cwd": Path(__file__).resolve().parents[2], "env": os.environ | {"FOOTPRINT_CHECK": ""}}
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **where) as process:
        assert process.stdin and process.stdout
        asked, told = process.stdin, process.stdout

        def run(*words: str) -> Any:
            asked.write(json.dumps(words) + "\n")
            asked.flush()
            lines: list[str] = []
            while not (lines and lines[-1].startswith('{"ended"')):
                lines.append(told.readline())
                assert lines[-1], "the process that starts jobs is gone"
            assert json.loads(lines[-1]) == {"ended": 0}, "".join(lines)
            return json.loads(lines[-2])

        yield run
        asked.close()
