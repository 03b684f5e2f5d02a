"""Room for as many components as an image has: the budget that is enough for it, and a job tried again with more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeVar

from footprint.api._arrays import Memory
from footprint.backend.compiling import tidy
from footprint.errors import BudgetError
from footprint.kernels.deblend.contract import BASINS
from footprint.plan.fit import briefly
from footprint.plan.plan import Plan
from footprint.units import format_bytes

T = TypeVar("T")
R = TypeVar("R")
# Of the rows that are enough for a crowd, what is left to its summits where memory is short.
_FEWER = (1, 4, 16)


class Room(NamedTuple):
    """What a search has room for.

    Attributes
    ----------
    rows
        Of the catalogue.
    summits
        Of what is taken apart; 0 for as many as `ops.deblend.Deblend` has for so many rows.
    """

    rows: int
    summits: int = 0


@dataclass(frozen=True)
class Short:
    """A search that had too little room.

    Attributes
    ----------
    had
        What there was room for.
    rows, summits, bright
        What the image has; without ``rows`` the summits were too many to tell. No source is without a ``bright`` one.
    """

    had: Room
    rows: int
    summits: int = 0
    bright: int = 0

    @property
    def enough(self) -> Room:
        """What does in any case."""
        return Room(self.rows or max(1, self.bright), self.summits or self.had.summits)

    @property
    def capacity(self) -> int:
        """Of one that is given, which has `BASINS` for every row."""
        return max(self.enough.rows, -(-self.summits // BASINS))

    @property
    def tries(self) -> tuple[Room, ...]:
        """What may do, the most first."""
        if self.rows:
            return (self.enough,)
        # A GPU meets more summits in smaller parts: the rows that were found to be needed before that are not forgotten.
        most = max(1, self.bright)
        rows = {min(self.had.rows, most), *(max(1, most // fewer) for fewer in _FEWER)}
        return tuple(Room(one, self.summits) for one in sorted(rows, reverse=True))


def first_that_fits(rooms: Sequence[R], make: Callable[[R], T]) -> T:
    """With the first room that the budget allows."""
    for room in rooms[:-1]:
        try:
            with briefly():
                return make(room)
        except BudgetError:
            continue
    return make(rooms[-1])


def enough(plan: Callable[[R, Memory], Plan], room: R, needed: R, smallest: int, memory: Memory) -> int:
    """The budget for room for all that was ``needed`` by parts that had ``room``, where the ``smallest`` there is was named.

    Smaller parts have more components between them, so the room must come on top of parts as large as those that were met.
    """
    part, low = plan(room, memory).chunk, smallest
    high = plan(needed, None).footprint.total
    while high - low > max(64, low // 64):
        middle = (low + high) // 2
        cut = plan(needed, middle).chunk
        as_large = cut is None or (part is not None and cut.size >= part.size)
        low, high = (low, middle) if as_large else (middle, high)
    return high


def begun(plan: Callable[[Room, Memory], Plan], rooms: Sequence[Room], needed: Room, does: int) -> int:
    """A budget from ``does`` up with which a run that begins with the most room it allows comes to what is needed.

    What it began with room for summits it goes on with, so that a larger budget may want more.
    """

    def begins(room: Room, most: int) -> Room:
        plan(room, most)
        return room

    for _ in rooms:
        first = first_that_fits(rooms, partial(begins, most=does))
        if first.summits <= needed.summits or first.rows >= needed.rows:
            break
        try:
            plan(Room(needed.rows, first.summits), does)
            break
        except BudgetError as error:
            does = error.smallest
    return does


def again(
    attempt: Callable[[Room], T | Short],
    plan: Callable[[Room, Memory], Plan],
    rooms: Sequence[Room],
    short: Short,
    memory: Memory,
    twice: bool = False,
) -> T | Short:
    """With the room that is needed; the budget that is said to do for it does.

    Of an image that is searched ``twice`` the second search's components may not be counted yet: a quarter more is room for them.
    """
    tidy()
    try:
        return first_that_fits(short.tries, attempt)
    except BudgetError as error:
        needed, smallest = short.enough, error.smallest
        if twice:
            needed = needed._replace(rows=needed.rows + needed.rows // 4 + 4)
        if twice or len(short.tries) > 1:
            try:
                plan(needed, memory)
            except BudgetError as other:
                smallest = other.smallest
        met = plan(short.had, memory)
        # On the host components are counted run by run, wherever an image is cut.
        does = smallest
        if not met.limits.host:
            does = enough(plan, short.had, needed, smallest, memory)
        does = begun(plan, rooms, needed, does)
        what = f"a catalogue of {short.enough.rows} components" if short.rows else f"a search of {short.summits} summits"
        fix = f"give memory={does} ({format_bytes(does)}) or more, or a higher sigma"
        raise BudgetError(error.budget, error.terms, does, f"{what}, as this image has,", fix) from None
