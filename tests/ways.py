"""The ways a job is cut, as its budget falls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

import footprint as fp
from footprint.plan import rates
from footprint.plan.plan import Plan


def falling(plan: Callable[[int], Plan]) -> Iterator[tuple[str, int]]:
    """Of plans that each take less than the one before, down to the least: the axes that are cut, and what is just enough.

    Axes are in their order: ``za`` is a slice at a time, in groups of angles.
    """
    memory = 1 << 40
    while True:
        try:
            found = plan(memory)
        except fp.BudgetError:
            return
        yield "".join(cut.axis for cut in found.cuts), found.footprint.total
        memory = found.footprint.total - 1


def ways(plan: Callable[[int], Plan]) -> dict[str, list[int]]:
    """By the axes that are cut, budgets from the first that is cut so to the last; of the last way those two alone.

    It has most of them, whose plans take as long as all else in a test, and a refusal names its least.
    """
    with pytest.raises(fp.BudgetError) as refused:
        plan(1)
    least = refused.value.smallest
    last = "".join(cut.axis for cut in plan(least).cuts)
    found: dict[str, list[int]] = {}
    for way, memory in falling(plan):
        found.setdefault(way, []).append(memory)
        if way == last:
            break
    return found | {last: sorted({*found[last], least}, reverse=True)}


def lanes_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have waking threads cost nothing: else a large GPU takes so small a job as a test's faster in one thread."""
    monkeypatch.setattr(rates, "_GPU", replace(rates._GPU, part=0.0))
