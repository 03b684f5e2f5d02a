"""Which thread uses a slot, from its first to its last step; a slot that several threads use is alive for whole phases."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from footprint.plan.slots import Loop, Slot, Step

Lanes = tuple[tuple[str, ...], ...]

OVERLAPPED: Lanes = (("read",), ("compute",), ("write",))
SERIAL: Lanes = (("read", "compute", "write"),)


class Life(NamedTuple):
    """Steps ``first`` to ``last``, both inclusive, of one thread; None: of several, or of all parts, so of whole phases."""

    thread: int | None
    first: int
    last: int


def lifetimes(
    slots: Sequence[Slot], steps: Sequence[Step], loops: Sequence[Loop], lanes: Lanes, stay: Collection[int] = ()
) -> dict[int, Life]:
    """The life of every slot in use, by slot id; unused slots are absent. ``stay``: what is filled once for several passes.

    The steps of one thread are ordered, so first to last says all. While one part leaves a slot that two threads use, any step of
    another part may be running, so it is alive from the first step of its first phase to the last of its last. So is what is kept
    or held from part to part, or crosses phases or into the steps that end one, which run after others recorded later; constants
    are always alive. A slot that crosses a loop's edge must survive every turn, so it lives for the whole loop.
    """
    thread = {lane: i for i, group in enumerate(lanes) for lane in group}
    life: dict[int, Life] = {}
    phase: dict[int, set[tuple[int, bool]]] = {}
    for t, step in enumerate(steps):
        for ref in step.refs:
            key, mine = ref.slot.id, thread[step.lane]
            before = life.get(key, Life(mine, t, t))
            life[key] = Life(mine if before.thread == mine else None, before.first, t)
            phase.setdefault(key, set()).add((step.phase, step.when == "end"))
    span: dict[int, tuple[int, int]] = {}
    for t, step in enumerate(steps):
        span[step.phase] = (span.get(step.phase, (t, t))[0], t)
    for slot in slots:
        if slot.id not in life:
            continue
        shared = life[slot.id].thread is None or len(phase[slot.id]) > 1
        if slot.kind != "scratch" or slot.held or shared or slot.id in stay:
            used = [number for number, _ in phase[slot.id]]
            around = (span[min(used)][0], span[max(used)][1])
            life[slot.id] = Life(None, *(around if slot.kind != "const" else (-1, len(steps))))
    # Inner loops first: a slot stretched over an inner loop may then cross the edge of an outer one.
    for loop in sorted(loops, key=lambda one: one.last - one.first):
        for key, (owner, first, last) in life.items():
            inside = first <= loop.last and last >= loop.first
            if inside and (first < loop.first or last > loop.last):
                life[key] = Life(owner, min(first, loop.first), max(last, loop.last))
    return life


def crossing(slots: Sequence[Slot], steps: Sequence[Step], lanes: Lanes) -> set[int]:
    """Slots that several threads use: those worth several copies."""
    thread = {lane: i for i, group in enumerate(lanes) for lane in group}
    users: dict[int, set[int]] = {}
    for step in steps:
        for ref in step.refs:
            users.setdefault(ref.slot.id, set()).add(thread[step.lane])
    return {slot.id for slot in slots if slot.kind == "scratch" and len(users.get(slot.id, ())) > 1}
