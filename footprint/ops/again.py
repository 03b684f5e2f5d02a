"""What lives as long as its part, and is made once more for who looks at every part several times."""

from __future__ import annotations

from collections.abc import Callable

from footprint.plan.builder import Builder
from footprint.plan.slots import Ref


def made_by(b: Builder, ref: Ref, make: Callable[[], Ref]) -> None:
    """Tell how a part of ``ref`` is made in a later phase; whoever looks at it there first has it made, for all."""
    made: dict[int, Ref] = {len(b.phases) - 1: ref}

    def once() -> Ref:
        phase = len(b.phases) - 1
        if phase not in made:
            made[phase] = make()
        return made[phase]

    b.makers[ref.slot.id] = once


def here(b: Builder, ref: Ref) -> Ref:
    """A part of ``ref`` in the phase that is being recorded: itself, where all of it stays or where it was made in this phase."""
    return b.makers[ref.slot.id]() if ref.slot.kind == "scratch" and ref.slot.id in b.makers else ref
