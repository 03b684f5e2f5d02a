"""A verb's way to its result: key, ready plan, run. All arrays, sources and sinks go to a device through `call`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from footprint import settings
from footprint.api._arrays import Array, Memory, Progress, limits_and_budget
from footprint.backend.device import parse
from footprint.backend.memory import pages_return
from footprint.backend.registry import running_backend
from footprint.errors import warn
from footprint.ops.base import Op
from footprint.ops.job import Meeting, plan_op
from footprint.plan.bind import BoundPlan
from footprint.plan.done import DoneSet
from footprint.plan.drive import drive
from footprint.plan.exact import digest, exact
from footprint.plan.plan import Plan
from footprint.plan.ready import READY, bind
from footprint.plan.slots import Given
from footprint.spec import ArraySpec

OnPlan = Callable[[Plan], None]


class Stream:
    """An input or output that is not an array: what fills or takes its blocks, and the memory that needs beside the blocks.

    Attributes
    ----------
    data
        A `plan.faces.Source` or `Sink`.
    spec
        Of all the blocks together.
    key
        Tells one kind of stream from another, so that a plan can be kept for the next call. None where no plan can be kept.
    given
        How a plan meets it. Its ``owner`` is "maker", the verb itself, where there is a key, else "source", a file or the caller.
    equal
        The one number that all it fills is, where that is known beforehand.
    plan_alone
        Whether of a job with it that was given a budget, or that others of its call follow, the plan alone is kept: its memory is
        given back when it ends, as what follows is to have the budget to itself.
    """

    kind, device = "numpy", "cpu"

    def __init__(
        self,
        data: Any,
        spec: ArraySpec,
        beside: Callable[[ArraySpec], int] | None = None,
        key: Hashable | None = None,
        decoding: Callable[[tuple[int, ...]], float] | None = None,
        owner: str | None = None,
        stored: bool = True,
        equal: float | None = None,
        lean: Callable[[], bool] | None = None,
        plan_alone: bool = False,
        loose: bool = False,
    ) -> None:
        self.plan_alone = plan_alone
        self.data, self.spec, self.key, self.equal = data, spec, key, equal
        owner = owner or ("source" if key is None else "maker")
        self.given = Given(direct=False, owner=owner, beside=beside, decoding=decoding, stored=stored, lean=lean, loose=loose)


@dataclass(frozen=True)
class Described:
    """An array of which only shape and dtype are known, for plans that are made without data."""

    spec: ArraySpec
    given: Given
    data: Any = None


Face = Array | Stream | Described


def meeting(face: Face) -> Meeting:
    """What a plan knows of an input or output: its spec, and how it is given."""
    return face.spec, face.given


def call(
    name: str,
    op: Op,
    ins: Sequence[Face],
    outs: Sequence[Face],
    device: str,
    memory: Memory,
    *,
    fft: str = "auto",
    progress: Progress | None = None,
    on_plan: OnPlan | None = None,
    notes: Sequence[str] = (),
    make: Callable[[], Plan] | None = None,
    done: DoneSet | None = None,
    keep: bool = True,
) -> str | None:
    """Run an operation on inputs and outputs: by a plan kept from an earlier call like this, or by a new one.

    Parameters
    ----------
    name
        The verb, for tables and errors.
    device
        A device's name, resolved.
    on_plan
        Called with the plan before anything is allocated or read.
    make
        Makes the plan where there is more to choose than `planned` knows. What it goes by must belong to the operation, since the
        key under which plans are kept has nothing else of it.
    done
        The rows that an earlier run has finished, which are skipped.
    keep
        Whether a job with a `Stream` that is planned alone keeps its memory if it has no budget: not where more such jobs follow in
        the same call, whose memory is that of the largest.

    Returns
    -------
    str
        The key its ready plan is kept by; None where none is kept, or one for each of several devices.
    """
    key = _key(name, op, ins, outs, device, memory, fft, notes)
    bound = READY.take(key) if key is not None else None
    name_of, *others = parse(device).each
    budget = None
    if bound is None:
        budget = limits_and_budget(device, memory, fft)[1]
        plan = READY.fitted(key, budget) if key is not None else None
        if plan is None:
            plan = make() if make is not None else planned(name, op, ins, outs, device, memory, fft, notes)
        if on_plan is not None:
            on_plan(plan)
        if plan.slow:
            warn(f"{name} runs in {plan.slow}")
        bound = bind(plan, running_backend(name_of))
    elif on_plan is not None:
        on_plan(bound.plan)
    alone = (memory is not None or not keep) and any(isinstance(face, Stream) and face.plan_alone for face in (*ins, *outs))
    files = any(face.given.owner == "source" for face in (*ins, *outs))
    try:
        with pages_return() if files and bound.plan.limits.host else nullcontext():
            if others and not any(slot.kind == "kept" for slot in bound.plan.slots):
                _together(key, bound, others, ins, outs, progress, done, alone)
            elif key is not None and progress is None and not files:
                bound.replay([face.data for face in (*ins, *outs)])
            else:
                bound.whole([face.data for face in ins], [face.data for face in outs], progress, done)
    except BaseException:
        bound.free()
        raise
    if key is not None:
        READY.put(key, bound, budget, devices=1 + len(others), alone=alone)
    else:
        bound.free()
    return None if others else key


def _together(
    key: str | None,
    bound: BoundPlan,
    others: Sequence[str],
    ins: Sequence[Face],
    outs: Sequence[Face],
    progress: Any,
    done: DoneSet | None,
    alone: bool,
) -> None:
    """Run one job on several devices: each has a binding of the plan, and takes the next part when it is free."""
    bounds = [bound]
    try:
        for name in others:
            bounds.append(_bound(key, name, bound.plan))
        drive(bounds, bound.feeds([face.data for face in ins], [face.data for face in outs]), progress, done)
    except BaseException:
        for one in bounds[1:]:
            one.free()
        raise
    for name, one in zip(others, bounds[1:]):
        if key is not None:
            READY.put(f"{key} {name}", one, plan_too=False, devices=len(bounds), alone=alone)
        else:
            one.free()


def _bound(key: str | None, name: str, plan: Plan) -> BoundPlan:
    """The plan on one more device, from the last call where that was of the same plan."""
    kept = READY.take(f"{key} {name}") if key is not None else None
    if kept is not None and kept.plan is not plan and kept.plan != plan:
        kept.free()
        kept = None
    return bind(plan, running_backend(name)) if kept is None else kept


def planned(
    name: str,
    op: Op,
    ins: Sequence[Face],
    outs: Sequence[Face],
    device: str,
    memory: Memory,
    fft: str = "auto",
    notes: Sequence[str] = (),
) -> Plan:
    """The plan of such a call."""
    limits, budget = limits_and_budget(device, memory, fft)
    return plan_op(limits, budget, name, op, [meeting(f) for f in ins], [meeting(f) for f in outs], notes)


def plan_verb(name: str, op: Op, ins: Sequence[ArraySpec], device: str, memory: Memory) -> Plan:
    """The plan of a call on C-contiguous host arrays of these specs, results included."""
    givens = [Described(spec, Given("host", np.dtype(spec.dtype).isnative)) for spec in ins]
    results = [Described(spec, Given()) for spec in op.out_specs(*op.in_specs(*ins))]
    return planned(name, op, givens, results, device, memory)


def _key(
    name: str, op: Op, ins: Sequence[Face], outs: Sequence[Face], device: str, memory: Memory, fft: str, notes: Sequence[str]
) -> str | None:
    """What decides the plan, as a digest; None where it is not worth keeping, or not known exactly."""
    found: list[Any] = []
    for face in (*ins, *outs):
        if isinstance(face, Stream) and face.key is not None:
            found += face.spec.shape, face.spec.dtype, face.key
        elif isinstance(face, Array):
            found += tuple(face.data.shape), face.data.dtype.str, face.device, face.direct, face.order
        else:
            return None
    text = exact(op, memory, fft, tuple(notes), *found)
    if text is None:
        return None
    return digest(f"{name}; {device}; {settings.decisive()}; {len(ins)}; {text}".encode())
