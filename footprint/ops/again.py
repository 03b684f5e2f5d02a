"""What lives as long as its part, and is made once more for who looks at every part several times."""

from __future__ import annotations

from collections.abc import Callable

from footprint.kernels.measure.contract import turns
from footprint.plan.builder import Builder
from footprint.plan.slots import Ref


def made_again(b: Builder, ref: Ref, make: Callable[[], Ref]) -> None:
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


Values = Callable[[bool], tuple[Ref, Callable[[Ref, Ref], None]]]
"""Called in every phase that looks at parts, and told whether it is the last: a part's pixels, and what is done with boxes and
moments where peaks are known."""


def measured_there(b: Builder, values: Values, dtype: str, labels: Ref, tables: tuple[Ref, Ref, Ref, Ref]) -> None:
    """Measure pixels of a dtype by ``labels`` that another operation makes, as often as the device's kernel looks at parts.

    ``tables`` are statistics, the number of labels, moments and boxes.
    """
    stats, count, moments, boxes = tables
    height, most = labels.slot.spec.shape[0], turns(b.limits, dtype) if b.several else 1
    state: tuple[Ref, ...] = ()
    for turn in range(most):
        if turn:
            b.next_phase()
        x, at_peaks = values(turn + 1 == most)
        arrays = x, b.bring(here(b, labels), dtype="int32"), stats, count, moments, boxes
        state = state or b.state("measure.islands", *arrays, height=height)
        place = {"first": b.first(x, "y"), "height": height, "min_area": 1, "seed": 0.0}
        b.launch("measure.islands", *arrays, *state, turn=turn, **place)
    at_peaks(boxes, moments)
