"""A plan: the frozen record of one run's memory and steps. It does not draw, print or run itself."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from footprint.plan.bind import BoundPlan
from footprint.plan.builder import Builder
from footprint.plan.explain import explain
from footprint.plan.lifetime import lifetimes
from footprint.plan.pack import Item, pack
from footprint.plan.slots import Chunk, Library, Loop, Slot, Step
from footprint.spec import Limits, aligned

if TYPE_CHECKING:
    from footprint.backend.base import Backend


@dataclass(frozen=True)
class Footprint:
    """Bytes of a plan by kind. The user's budget covers the first four; ``context`` is the runtime's, reported only."""

    arena: int
    constant: int
    library: int
    host: int
    context: int
    largest: int

    @property
    def total(self) -> int:
        """What counts against the budget: arena + constant + library + host."""
        return self.arena + self.constant + self.library + self.host

    def terms(self) -> dict[str, int]:
        """The four terms of ``total`` by name."""
        return {"arena": self.arena, "constant": self.constant, "library": self.library, "host": self.host}


@dataclass(frozen=True)
class Place:
    """Where a slot lies: ``offset`` in one of the plan's blocks."""

    block: int
    offset: int


@dataclass(frozen=True)
class Choice:
    """One way to cut the job: ``size`` units per run take ``nbytes`` in ``runs`` runs."""

    size: int
    runs: int
    nbytes: int


@dataclass(frozen=True, eq=False)
class Plan:
    """Every byte and every step of a job, decided before it runs.

    Attributes
    ----------
    name
        The verb.
    limits
        The device it was made for.
    slots, steps, loops
        The program.
    places
        Where each slot lies, by slot id (None: the caller's).
    blocks
        Sizes of the device blocks; their sum is ``nbytes``.
    stages
        Where host slots lie (beside a device), by slot id, and ``host_nbytes`` their block's size.
    libraries, notes
        Memory libraries take for themselves; choices made, in words.
    chunk, tail
        How the whole job is cut, and the plan of a shorter last run.
    choices
        What other chunk sizes would take.
    """

    name: str
    limits: Limits
    slots: tuple[Slot, ...]
    steps: tuple[Step, ...]
    loops: tuple[Loop, ...]
    places: tuple[Place | None, ...]
    blocks: tuple[int, ...]
    stages: tuple[int | None, ...]
    host_nbytes: int
    libraries: tuple[Library, ...] = ()
    notes: tuple[str, ...] = ()
    constants: dict[int, np.ndarray] = field(default_factory=dict)
    chunk: Chunk | None = None
    tail: Plan | None = None
    choices: tuple[Choice, ...] = ()

    @property
    def nbytes(self) -> int:
        """Bytes given to ``alloc`` when the plan is bound: arena and constants, packed."""
        return sum(self.blocks)

    @cached_property
    def footprint(self) -> Footprint:
        """Bytes by kind."""
        align = self.limits.align
        constant = sum(aligned(self.slots[key].spec.nbytes, align) for key in self.constants)
        return Footprint(
            arena=self.nbytes - constant,
            constant=constant,
            library=sum(one.nbytes for one in self.libraries),
            host=self.host_nbytes,
            context=self.limits.context,
            largest=max((*self.blocks, self.host_nbytes)),
        )

    @property
    def inputs(self) -> tuple[Slot, ...]:
        """Slots the caller or the driver fills, in order."""
        return tuple(s for s in self.slots if s.kind == "inp")

    @property
    def outputs(self) -> tuple[Slot, ...]:
        """Slots the caller or the driver reads, in order."""
        return tuple(s for s in self.slots if s.kind == "out")

    @property
    def chunks(self) -> list[tuple[int, int]]:
        """``(start, stop)`` of every run; one run of everything where the job is not cut."""
        return self.chunk.ranges() if self.chunk else [(0, 1)]

    @cached_property
    def key(self) -> str:
        """A digest of all that decides the run; equal plans have equal keys, in every process."""
        digest = hashlib.sha256()
        tail = self.tail.key if self.tail else None
        memory = (self.slots, self.places, self.blocks, self.stages)
        # What is free changes from one moment to the next, and decided the budget only.
        limits = replace(self.limits, free=None, context=0)
        digest.update(repr((self.name, limits, self.steps, self.loops, memory, self.chunk, tail)).encode())
        for key, array in sorted(self.constants.items()):
            digest.update(repr((key, array.shape, array.dtype.str)).encode() + array.tobytes())
        return digest.hexdigest()

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self.key == other.key

    def __str__(self) -> str:
        return explain(self)

    def bind(self, backend: Backend) -> BoundPlan:
        """Allocate ``nbytes`` on the backend, and make every kernel ready."""
        return BoundPlan(self, backend)


def finish(builder: Builder, name: str, chunk: Chunk | None = None, tail: Plan | None = None) -> Plan:
    """Derive lifetimes, pack and freeze what a builder has recorded."""
    limits, slots = builder.limits, tuple(builder.slots)
    life = lifetimes(slots, builder.steps, builder.loops)
    inside, staged = [], []
    for slot in slots:
        if slot.id not in life:
            continue
        item = Item(slot.id, slot.spec.nbytes, *life[slot.id], slot.name)
        owned = slot.kind in ("inp", "out") and slot.given.owner == "plan"
        if slot.kind in ("scratch", "const") or (owned and limits.host):
            inside.append(item)
        elif slot.kind == "stage" or owned:
            # The driver fills and empties these between runs, so they may not share with what lives inside one.
            staged.append(Item(slot.id, slot.spec.nbytes, -1, len(builder.steps), slot.name) if owned else item)
    placed, blocks = pack(inside, limits.align, limits.max_block)
    host, host_blocks = pack(staged, 64)
    return Plan(
        name=name,
        limits=limits,
        slots=slots,
        steps=tuple(builder.steps),
        loops=tuple(builder.loops),
        places=tuple(Place(placed[s.id].block, placed[s.id].offset) if s.id in placed else None for s in slots),
        blocks=blocks,
        stages=tuple(host[s.id].offset if s.id in host else None for s in slots),
        host_nbytes=sum(host_blocks),
        libraries=tuple(builder.libraries.values()),
        notes=tuple(builder.notes),
        constants={key: array for key, array in builder.constants.items() if key in life},
        chunk=chunk,
        tail=tail,
    )
