"""The promise: what a run adds to the process, measured, stays within arena + constant + library + host of its plan."""

import pytest

from tests.memory.jobs import JOBS

# Python's own objects and malloc's arenas while a run goes on: not ours to plan, and no function of the data.
_INTERPRETER = 512 << 10
# Shares of their memory that jobs are also measured at; others at a sixth. By the Fourier method a 17th is a thousand parts, tiles
# of a few rows from groups of angles.
_SHARES = {"convolve": (2, 6), "find_sources_file": (2, 6), "reconstruct": (2, 6), "fbp_fourier": (2, 17)}


def within(fresh, verb: str, budget: int | None) -> dict:
    """A measurement that stays within the plan; where it does not at first, one that finds compiled what small parts alone need."""
    for _ in range(2):
        found = fresh(verb, "none" if budget is None else str(budget))
        if not found["known"] or found["growth"] <= found["plan"] + _INTERPRETER:
            return found
    raise AssertionError(found)


@pytest.mark.parametrize("verb", JOBS)
def test_measured_growth_stays_within_the_plan(verb, fresh):
    whole = within(fresh, verb, None)
    if not whole["known"]:
        pytest.skip("this system does not tell the process's peak")
    for share in _SHARES.get(verb, (6,)):
        part = within(fresh, verb, max(whole["plan"] // share, 1))
        assert part["plan"] <= part["budget"] <= whole["plan"]
