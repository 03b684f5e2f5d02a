"""Room for as many components as an image has: the budget that is enough for it, and a job tried again with more."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from footprint.api._arrays import Memory
from footprint.api.measure import Crowded
from footprint.errors import BudgetError
from footprint.plan.plan import Plan
from footprint.units import format_bytes

T = TypeVar("T")
Planner = Callable[[int, Memory], Plan]
"""Plans a job with room for so many components, within a budget."""


def first_that_fits(capacities: tuple[int, ...], make: Callable[[int], T]) -> T:
    """With the first capacity that the budget allows."""
    for capacity in capacities[:-1]:
        try:
            return make(capacity)
        except BudgetError:
            continue
    return make(capacities[-1])


def enough(plan: Planner, room: int, needed: int, smallest: int, memory: Memory) -> int:
    """The budget for room for all that was ``needed`` by parts that had ``room``, where the ``smallest`` there is was named.

    Smaller parts have more components between them, so the room must come on top of parts as large as those that were met.
    """
    part, low = plan(room, memory).chunk, smallest
    if part is None:
        return low
    high = plan(needed, None).footprint.total
    while high - low > max(64, low // 64):
        middle = (low + high) // 2
        cut = plan(needed, middle).chunk
        low, high = (low, middle) if cut is None or cut.size >= part.size else (middle, high)
    return high


def again(attempt: Callable[[int], T | Crowded], plan: Planner, short: Crowded, memory: Memory) -> T | Crowded:
    """With the room that is needed; the budget that is said to do for it does."""
    try:
        return attempt(short.needed)
    except BudgetError as error:
        if short.enough > short.needed:
            return again(attempt, plan, Crowded(short.enough, short.room), memory)
        met = plan(short.room, memory)
        # On the host components are counted run by run, wherever an image is cut.
        does = error.smallest if met.limits.host else enough(plan, short.room, short.needed, error.smallest, memory)
        what = f"a catalogue of {short.needed} components, as this image has,"
        fix = f"give memory={does} ({format_bytes(does)}) or more, or a higher sigma"
        raise BudgetError(error.budget, error.terms, does, what, fix) from None
