"""From the first to the last step that a slot must keep its content for."""

from __future__ import annotations

from collections.abc import Sequence

from footprint.plan.slots import Loop, Slot, Step


def lifetimes(slots: Sequence[Slot], steps: Sequence[Step], loops: Sequence[Loop]) -> dict[int, tuple[int, int]]:
    """First and last step of every slot in use, by slot id; unused slots are absent.

    What the caller wrote is born before step 0; what he reads, and constants, die after the last step. A slot that crosses a
    loop's edge must survive every turn, so it lives for the whole loop.
    """
    life: dict[int, tuple[int, int]] = {}
    for i, step in enumerate(steps):
        for ref in step.refs:
            first, _ = life.get(ref.slot.id, (i, i))
            life[ref.slot.id] = (first, i)
    end = len(steps)
    for slot in slots:
        if slot.id in life:
            first, last = life[slot.id]
            life[slot.id] = (-1 if slot.kind in ("inp", "const") else first, end if slot.kind in ("out", "const") else last)
    # Inner loops first: a slot stretched over an inner loop may then cross the edge of an outer one.
    for loop in sorted(loops, key=lambda one: one.last - one.first):
        for key, (first, last) in life.items():
            inside = first <= loop.last and last >= loop.first
            if inside and (first < loop.first or last > loop.last):
                life[key] = (min(first, loop.first), max(last, loop.last))
    return life
