"""What is measured here is what users run: no ledger, whose NaN touch pages that a run would not."""

from __future__ import annotations

import pytest

from footprint.plan.ready import READY


@pytest.fixture(autouse=True)
def unwatched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOOTPRINT_CHECK", "")
    READY.clear()
