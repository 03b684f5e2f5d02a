"""What makes a job slow: far more parts than its memory is worth; and what keeps it from being stopped: parts that take seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from footprint.plan.predict import extent
from footprint.plan.slots import Cut
from footprint.units import counted, format_bytes

if TYPE_CHECKING:
    from footprint.plan.plan import Plan

# Seconds that each step of a part takes beside its work, mostly Python's: 16 to 60 us measured, in parts of a few pixels.
_STEP = 3e-5
# A job is slow where it takes so many times as long as the fastest way to run it, and so many seconds, of which parts take such a
# share to start. Where a scan is decompressed again and again, say, its plan has another word for it.
_TIMES, _LONG, _STARTING = 4.0, 1.0, 0.25
# And comfortable where it does not take so many times as long, or where that is so few seconds.
_FEW_TIMES, _SHORT = 3.0, 0.1
# Seconds that one launch may take on the host, where Ctrl-C is seen only when it ends; and those of the parts it is cut into.
_DEAF, _HEARS = 0.5, 0.25
# How much longer the job may take for it.
WORSE = 1.05
# Rows of all parts together over rows there are, at most: of what is copied, and of what is computed, for two parts each.
_COPIED, _COMPUTED = 1.25, 1.02
# Rows that a kernel may do side by side, as slices that share positions: a part has no fewer, and no remainder of them.
_ALONGSIDE = 4


def starts(plan: Plan) -> float:
    """Seconds that the steps of all parts take to start."""
    return plan.n_parts * len(plan.steps) / len(plan.lanes) * _STEP


def slow(seconds: float, starting: float, quickest: float) -> bool:
    """Whether a job of so many seconds is, of which so many go into starting parts, if there is a way that takes ``quickest``."""
    return seconds > max(_TIMES * quickest, _LONG) and starting > _STARTING * _LONG


def least(levels: Iterable[tuple[int, Callable[[int], float]]], quickest: float) -> tuple[int, int] | None:
    """Of ways to cut a job, from coarse to fine, the last that is comfortable, as the number of the level and its smallest size.

    ``levels`` are the sizes that each has and the seconds that one of them takes.
    """
    limit, found = max(_FEW_TIMES * quickest, _SHORT), None
    for number, (most, seconds) in enumerate(levels):
        if seconds(most) > limit:
            break
        low, high = 1, most
        while low < high:
            middle = (low + high) // 2
            if seconds(middle) <= limit:
                high = middle
            else:
                low = middle + 1
        found = number, low
    return found


def told(n_parts: int, better: int) -> str:
    """That a plan is slow, and which budget would do."""
    return f"{counted(n_parts, 'small parts')}; memory={better} ({format_bytes(better)}) or more would take far fewer"


def heard(plan: Plan, seconds: float, launches: int, total: int) -> int:
    """How many of ``total`` rows a part of a job on the host may have for Ctrl-C to be seen while it runs."""
    parts = seconds / max(launches, 1) / _HEARS
    if not plan.limits.host or parts * _HEARS / plan.n_parts <= _DEAF:
        return total
    return min(-(-max(int(total / parts), 1) // _ALONGSIDE) * _ALONGSIDE, total)


def harmless(plan: Plan, cut: Cut) -> bool:
    """Whether parts along an axis are no more work than the whole: nothing is kept, and hardly a row is made twice."""
    if len(plan.phases) > 1 or plan.phases[0].flag is not None or any(slot.kind == "kept" for slot in plan.slots):
        return False
    copied = {ref.slot.id for step in plan.steps if step.action == "fill" for ref in step.refs}
    for slot in plan.slots:
        reach = dict(slot.reach).get(cut.axis)
        if slot.kind == "scratch" and reach is not None:
            most = _COPIED if slot.id in copied else _COMPUTED
            if extent(reach, cut, slot.spec.length(cut.axis)) > most:
                return False
    return True
