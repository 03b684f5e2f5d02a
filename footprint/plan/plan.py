"""A plan: the frozen record of a job's memory, steps and parts. It does not draw, print or run itself."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from footprint.backend.base import Backend
from footprint.backend.registry import choose_device, running_backend
from footprint.errors import ArgumentError
from footprint.plan.bind import BoundPlan
from footprint.plan.builder import Builder
from footprint.plan.explain import explain
from footprint.plan.handed import Taken
from footprint.plan.lifetime import SERIAL, Lanes, crossing, lifetimes
from footprint.plan.pack import Item, Placed, pack
from footprint.plan.slots import Cut, Library, Loop, Part, Phase, Place, Slot, Step
from footprint.spec import ArraySpec, Limits, aligned
from footprint.units import kind_of

# Bytes that a thread touches for itself: its stack, and what the C library sets aside for its allocations.
THREAD = 192 << 10
# What a plan's constants are copied from as often as it is bound.
TABLES = "tables that constants are copied from"


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
class Lies:
    """Where a copy of a slot lies: ``offset`` in one of the blocks of its space."""

    block: int
    offset: int


@dataclass(frozen=True)
class Choice:
    """Another way to cut the job: parts of ``size`` take ``nbytes`` in ``runs`` parts."""

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
        What the device allows that it was made for; it binds on any that allows as much.
    cuts
        How the job is cut into parts, outermost first; empty where it is whole.
    lanes, copies
        Which lanes share a thread, and copies of what several threads use.
    slots, steps, loops, phases
        The program.
    places
        Where every copy of a slot lies, by slot id (empty: the caller's).
    blocks, host_blocks
        Sizes of the blocks on the device, whose sum is ``nbytes``, and beside it.
    libraries, notes
        Memory libraries take for themselves; choices made, in words.
    choices
        What other sizes of parts would take.
    seconds
        Predicted seconds of every lane.
    slow
        Where the budget is so small that most of the time goes into starting parts: how many, and the budget that would cure it.
    in_place
        Whether the result may go to the first input itself.
    taken
        Of what a caller hands in second, such as a mask, the inputs that stand in its place are made; None where it is an input.
    """

    name: str
    limits: Limits
    cuts: tuple[Cut, ...]
    lanes: Lanes
    copies: int
    slots: tuple[Slot, ...]
    steps: tuple[Step, ...]
    loops: tuple[Loop, ...]
    phases: tuple[Phase, ...]
    places: tuple[tuple[Lies, ...], ...]
    blocks: tuple[int, ...]
    host_blocks: tuple[int, ...]
    libraries: tuple[Library, ...] = ()
    notes: tuple[str, ...] = ()
    constants: dict[int, np.ndarray] = field(default_factory=dict)
    choices: tuple[Choice, ...] = ()
    seconds: tuple[tuple[str, float], ...] = ()
    slow: str = ""
    in_place: bool = False
    taken: Taken | None = None

    @property
    def nbytes(self) -> int:
        """Bytes given to ``alloc`` when the plan is bound: arena and constants, packed."""
        return sum(self.blocks)

    @property
    def host_nbytes(self) -> int:
        """Bytes of host memory beside a device: the way across the bus."""
        return sum(self.host_blocks)

    @cached_property
    def footprint(self) -> Footprint:
        """Bytes by kind."""
        constant = sum(aligned(self.slots[key].spec.nbytes, self.limits.align) for key in self.constants)
        return Footprint(
            arena=self.nbytes - constant,
            constant=constant,
            library=sum(one.nbytes for one in self.libraries),
            host=self.host_nbytes,
            context=self.limits.context,
            largest=max((*self.blocks, *self.host_blocks), default=0),
        )

    @property
    def inputs(self) -> tuple[Slot, ...]:
        """What the run reads, in order, as its caller has it."""
        found = [s.shown for s in self.slots if s.kind == "inp"]
        if self.taken is not None:
            found[1 : 1 + self.taken.count] = [self.taken.shown(found[1])]
        return tuple(found)

    @property
    def outputs(self) -> tuple[Slot, ...]:
        """What the run writes, in order, as its caller has it."""
        return tuple(s.shown for s in self.slots if s.kind == "out")

    @property
    def straight(self) -> bool:
        """Whether the job is one part in one pass, its loops turning once, so that a run is a row of launches."""
        plain = not (self.cuts or len(self.lanes) > 1 or len(self.phases) > 1 or self.phases[0].flag is not None)
        once = all(loop.turns(None) == 1 for loop in self.loops)
        after = any(step.when == "end" for step in self.steps)
        return plain and once and not after and not any(slot.kind == "kept" for slot in self.slots)

    @property
    def n_parts(self) -> int:
        """Parts the job is cut into."""
        n = 1
        for cut in self.cuts:
            n *= cut.count
        return n

    @property
    def chunk(self) -> Cut | None:
        """How the job is cut along the first axis; None where it is whole there."""
        return self.cuts[0] if self.cuts and not self.cuts[0].sums else None

    @property
    def chunks(self) -> list[tuple[int, int]]:
        """``(start, stop)`` along that axis; one of everything where it is whole."""
        cut = self.chunk
        return [cut.range(i) for i in range(cut.count)] if cut else [(0, 1)]

    @property
    def n_summed(self) -> int:
        """Parts whose results are added up to one."""
        return self.cuts[-1].count if self.cuts and self.cuts[-1].sums else 1

    def parts(self, phase: int = 0) -> Iterator[Part]:
        """``(start, stop)`` along every cut, part after part of a phase."""
        only = self.phases[phase].only
        counts = [cut.count for cut in self.cuts]
        if only:
            counts[0] = len(only)
        for index in itertools.product(*map(range, counts)):
            part = [cut.range(i) for cut, i in zip(self.cuts, index)]
            yield (only[index[0]], *part[1:]) if only else tuple(part)

    @cached_property
    def key(self) -> str:
        """A digest of all that decides the run; equal plans have equal keys, in every process."""
        digest = hashlib.sha256()
        memory = (self.slots, self.places, self.blocks, self.host_blocks)
        # What is free changes from one moment to the next and decided the budget only; a device's name says nothing of the run.
        limits = replace(self.limits, device="", free=None, context=0, devices=1)
        program = (self.steps, self.loops, self.phases, self.cuts, self.lanes, self.copies)
        axes = tuple(slot.spec.axes for slot in self.slots)
        digest.update(repr((self.name, limits, memory, program, axes)).encode())
        if self.taken is not None and self.taken.count > 1:
            digest.update(repr(self.taken).encode())
        for key, array in sorted(self.constants.items()):
            digest.update(repr((key, array.shape, array.dtype.str)).encode() + array.tobytes())
        return digest.hexdigest()

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self.key == other.key

    def __str__(self) -> str:
        return explain(self)

    def bind(self, device: Backend | str = "auto", check: str = "", host: Sequence[np.ndarray] = ()) -> BoundPlan:
        """Allocate ``nbytes`` on a device, and make every kernel ready; ``check`` and ``host`` see `plan.bind.BoundPlan`.

        The device is one by name, "cpu" or "cuda:1", or a backend; "auto" is the one that the plan was made for, or where that
        only plans, the one that functions choose.
        """
        if not isinstance(device, Backend | str):
            raise ArgumentError("device", kind_of(device), "a device's name such as 'cpu' or 'cuda:0'")
        if isinstance(device, Backend):
            return BoundPlan(self, device, check, host)
        if device == "auto":
            mine = self.limits.device
            device = choose_device("auto") if mine.startswith("null") else mine
        return BoundPlan(self, running_backend(device), check, host)


def finish(b: Builder, name: str, lanes: Lanes = SERIAL, copies: int = 1) -> Plan:
    """Derive lifetimes, pack and freeze what a builder has recorded."""
    if not b.cuts and len(lanes) == 1:
        _straighten(b)
    limits, slots, steps = b.limits, tuple(b.slots), tuple(b.steps)
    # Where the job is whole, what is filled stays for all passes of its phase.
    again = {i for i, phase in enumerate(b.phases) if phase.flag is not None}
    filled = {s.refs[1].slot.id for s in steps if s.action == "fill"}
    stay = set() if b.cuts else {r.slot.id for s in steps if s.phase in again for r in s.refs if r.slot.id in filled}
    # Flags are read when all parts are through.
    stay |= {phase.flag for phase in b.phases if phase.flag is not None}
    life = lifetimes(slots, steps, b.loops, lanes, stay)
    _check_phases(b)
    several = crossing(slots, steps, lanes)
    items: dict[str, list[Item]] = {"device": [], "host": []}
    for slot in slots:
        if slot.id not in life or slot.kind in ("inp", "out"):
            continue
        spec = ArraySpec(slot.nominal(b.cuts), slot.spec.dtype) if slot.kind == "scratch" else slot.spec
        mine = life[slot.id]
        for copy in range(copies if slot.id in several else 1):
            items[slot.space].append(Item(slot.id, spec.nbytes, mine.first, mine.last, slot.name, mine.thread, copy))
    if len(lanes) > 1:
        b.library("stacks of the threads", THREAD * len(lanes))
    constants = {key: array for key, array in b.constants.items() if key in life}
    if limits.host and constants:
        # On a device's host they are beside what the budget is for.
        b.library(TABLES, sum(array.nbytes for array in constants.values()), bound=False)
    placed, blocks = pack(items["device"], limits.align, limits.max_block)
    staged, host_blocks = pack(items["host"], 64)
    return Plan(
        name=name,
        limits=limits,
        cuts=b.cuts,
        lanes=lanes,
        copies=copies,
        slots=slots,
        steps=steps,
        loops=tuple(b.loops),
        phases=tuple(b.phases[: max((step.phase for step in steps), default=0) + 1]),
        places=_places(len(slots), [*placed, *staged]),
        blocks=blocks,
        host_blocks=host_blocks,
        libraries=tuple(b.libraries.values()),
        notes=tuple(b.notes),
        constants=constants,
        in_place=b.in_place,
    )


def _straighten(b: Builder) -> None:
    """In one part, one step after another, what waits until all parts are through merely follows."""
    ends: set[int] = set()
    # By phase, what its later steps of every part touch: a step at the end may come before those that touch nothing of its own.
    later: dict[int, set[int]] = {}
    for at in reversed(range(len(b.steps))):
        step = b.steps[at]
        here, touched = later.setdefault(step.phase, set()), {ref.slot.id for ref in step.refs}
        if step.when != "end":
            here |= touched
        elif not here.isdisjoint(touched) or b.phases[step.phase].flag is not None:
            ends.add(step.phase)
    # All of a phase or none: one that takes what another made would come before it.
    for at, step in enumerate(b.steps):
        if step.when == "end" and step.phase not in ends:
            b.steps[at] = replace(step, when="part")
    # Passes are a phase of their own; so is what follows steps that end one.
    found: list[Phase] = []
    where, apart = [], True
    for number, phase in enumerate(b.phases):
        if apart or phase.flag is not None:
            found.append(phase)
        where.append(len(found) - 1)
        apart = phase.flag is not None or number in ends
    b.steps, b.phases = [replace(step, phase=where[step.phase]) for step in b.steps], found


def _places(count: int, placed: list[Placed]) -> tuple[tuple[Lies, ...], ...]:
    found: list[dict[int, Lies]] = [{} for _ in range(count)]
    for one in placed:
        found[one.item.id][one.item.copy] = Lies(one.block, one.offset)
    return tuple([tuple([copies[k] for k in sorted(copies)]) for copies in found])


def _check_phases(b: Builder) -> None:
    """What crosses phases of a job that is cut, or into their ends, must be kept: scratch holds the last part only."""
    if not b.cuts:
        return
    written: dict[int, tuple[int, bool]] = {}
    for step in b.steps:
        here = (step.phase, step.when == "end")
        if step.action in ("fill", "copy") and not step.refs[1].path:
            # All of it is written anew, as when an input is brought again.
            written[step.refs[1].slot.id] = here
        for ref in step.refs:
            slot = ref.slot
            before = written.setdefault(slot.id, here)
            if slot.kind == "scratch" and slot.space == "device" and before != here:
                when = [f"phase {phase}" + (", when all parts are through" if end else "") for phase, end in (before, here)]
                raise AssertionError(f"slot {slot.name} holds one part, but is used in {when[0]} and in {when[1]}")


__all__ = ["Choice", "Footprint", "Lies", "Place", "Plan", "finish"]
