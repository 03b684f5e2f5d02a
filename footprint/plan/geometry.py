"""What slots hold in one part, and the steps of a plan made ready for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from footprint.errors import ShapeError
from footprint.plan.slots import Loop, Part, Slot, Step
from footprint.spec import ArraySpec

if TYPE_CHECKING:
    from footprint.plan.plan import Plan


class Geometry(NamedTuple):
    """What slots hold in one part: where their windows begin, their shapes, and which of their copies is used.

    ``order`` counts parts, ``group`` results that parts are summed to; ``turn`` is the pass.
    """

    windows: dict[int, tuple[tuple[int, int], ...]]
    shapes: dict[int, tuple[int, ...]]
    order: int
    group: int
    ends: tuple[bool, bool]
    turn: int

    def shape(self, slot: Slot) -> tuple[int, ...]:
        """The shape of a slot."""
        return self.shapes.get(slot.id, slot.spec.shape)

    def start(self, slot: Slot) -> int:
        """Bytes before the part in an array that lies as a whole."""
        if not slot.reach:
            return 0
        offset, row = 0, slot.spec.itemsize
        for (first, _), n in zip(reversed(self.windows[slot.id]), reversed(slot.spec.shape)):
            offset, row = offset + first * row, row * n
        return offset

    def runs(self, when: str) -> bool:
        """Whether steps of this kind run in the part."""
        if when == "once":
            return self.turn == 0
        return when == "part" or (when == "first" and self.ends[0]) or (when == "last" and self.ends[1])


WHOLE = Geometry({}, {}, 0, 0, (True, True), 0)
"""Of a job that is not cut."""


class Prepared(NamedTuple):
    """A step with all that one geometry fixes.

    ``callers`` are (place, slot, offset, spec) of arrays that come with the call, ``spec`` that of what is filled or taken, and
    ``specs`` those that the kernel is launched with.
    """

    step: Step
    number: int
    kernel: Any
    views: tuple[Any, ...]
    callers: tuple[tuple[int, int, int, ArraySpec], ...]
    spec: ArraySpec
    specs: tuple[ArraySpec, ...] = ()


def few(plan: Plan) -> list[Part]:
    """The first part, the second and the last, along every cut."""
    picks: list[list[int]] = [sorted({0, min(1, cut.count - 1), cut.count - 1}) for cut in plan.cuts]
    found: list[Part] = [()]
    for cut, some in zip(plan.cuts, picks):
        found = [(*part, cut.range(i)) for part in found for i in some]
    return found


def check_direct(slot: Slot, array: Any, dtype: np.dtype) -> None:
    """Kernels are given an address and take dtype and strides from the plan; copies to and from other arrays go by NumPy's."""
    if array.dtype is not dtype and array.dtype != dtype:
        raise ShapeError(slot.name, f"dtype {array.dtype}", f"{dtype}, as the plan was made for")
    if not array.flags.c_contiguous:
        raise ShapeError(slot.name, f"strides {array.strides}", "a C-contiguous array, as the plan was made for")


def nest(loops: Sequence[Loop], first: int, stop: int, taken: set[int], wanted: set[int]) -> list[Any]:
    """Steps ``first:stop`` as a tree: an index, or ``(loop, body)``; the outermost loop that starts at a step comes first."""
    nodes: list[Any] = []
    index = first
    while index < stop:
        here = [p for p in loops if p.first == index and p.id not in taken and p.last >= index]
        if here:
            loop = min(here, key=lambda p: (-p.last, p.id))
            body = nest(loops, index, loop.last + 1, taken | {loop.id}, wanted)
            if body:
                nodes.append((loop, body))
            index = loop.last + 1
        else:
            if index in wanted:
                nodes.append(index)
            index += 1
    return nodes
