"""Seconds of every lane, foretold: bytes counted in the record of a job, for all its parts, by the rates of a device."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from footprint.plan.rates import Cost, Rates
from footprint.plan.slots import NOTHING, Cut, Reach, Slot, Step

if TYPE_CHECKING:
    from footprint.plan.builder import Builder

# Parts whose windows are looked at one by one: at both ends, where they are clipped, and between.
_ENDS, _BETWEEN = 4, 8


@dataclass
class Crossed:
    """What a job carries in all, over parts and passes.

    Attributes
    ----------
    read, written
        Seconds to read and to write, or to copy, by the rates.
    up, down
        Bytes across the bus.
    again
        Bytes that are read or written, over those of what is read and written: 1 where nothing is twice.
    grows
        Whether more parts of a job never take less: what is decoded in chunks may suit the smaller ones better.
    """

    read: float = 0.0
    written: float = 0.0
    up: float = 0.0
    down: float = 0.0
    again: float = 1.0
    grows: bool = True


def crossed(b: Builder, rate: Rates) -> Crossed:
    """Sums over the steps that fill and take, every one as often as it runs, with the rows that it then has."""
    found, moved, once = Crossed(), 0.0, 0.0
    for step in b.steps:
        if step.action not in ("fill", "take"):
            continue
        into = step.action == "fill"
        slot, other = step.refs[0 if into else 1].slot, step.refs[1 if into else 0].slot
        if slot.given.space == "device" and not b.limits.host:
            continue
        phase = b.phases[step.phase]
        # Where the job is whole, what was filled stays for all passes.
        turns = phase.usual if phase.flag is not None and (b.cuts or not into) and step.when not in ("end", "once") else 1
        elements = turns * _elements(slot, step, b.cuts, phase.only)
        nbytes = elements * slot.spec.itemsize
        seconds = nbytes / (rate.disk if slot.given.owner == "source" and slot.given.stored else rate.copy)
        if slot.given.decoding is not None:
            shape = slot.nominal(b.cuts)
            seconds += slot.given.decoding(shape) * elements / max(math.prod(shape), 1)
            found.grows = False
        moved, once = moved + nbytes, once + slot.spec.nbytes
        crosses = elements * other.spec.itemsize
        if into:
            found.read, found.up = found.read + seconds, found.up + crosses
        else:
            found.written, found.down = found.written + seconds, found.down + crosses
    found.again = max(moved / once, 1.0) if once else 1.0
    return found


def lane_seconds(
    rate: Rates, cost: Cost, b: Builder, crossing: Crossed, extra: Sequence[Cost] = ()
) -> tuple[tuple[str, float], ...]:
    """Seconds of every lane in all: ``cost`` is that of the whole job where kernels run, ``extra`` what its parts do twice."""
    parts = math.prod(cut.count for cut in b.cuts)
    compute = float(cost.seconds(rate)) + (parts - 1) * cost.launches * rate.launch
    compute += float(sum(more.seconds(rate) for more in extra))
    found = {"read": crossing.read, "upload": crossing.up / rate.link, "compute": compute}
    found |= {"download": crossing.down / rate.link, "write": crossing.written}
    return tuple(found.items())


def _elements(slot: Slot, step: Step, cuts: Sequence[Cut], only: Sequence[tuple[int, int]] = ()) -> float:
    """Elements of a slot that a step fills or takes in one pass over all parts, or ``only`` those ranges along the first cut."""
    if step.when == "end":
        return slot.spec.size
    reach, found = dict(slot.reach), float(slot.spec.size)
    for cut in cuts:
        if cut.axis in reach:
            n = slot.spec.length(cut.axis)
            if only and cut is cuts[0]:
                windows = only if reach[cut.axis] == NOTHING else [reach[cut.axis].window(*one, n) for one in only]
                found *= sum([stop - start for start, stop in windows]) / max(n, 1)
            else:
                found *= extent(reach[cut.axis], cut, n)
        elif not (cut.sums and step.when in ("first", "last")):
            # What has none of the axis comes with every part along it.
            found *= cut.count
    return found


def extent(reach: Reach, cut: Cut, n: int) -> float:
    """Rows of all parts' windows together, as often as there are rows."""
    if reach == NOTHING and n:
        return 1.0
    return _rows(reach, cut, n) / max(n, 1)


def _rows(reach: Reach, cut: Cut, n: int) -> float:
    """Rows of all parts' windows together; of many parts, those between the ends are counted by a few."""

    def rows(index: int) -> int:
        start, stop = reach.window(*cut.range(index), n)
        return max(stop - start, 0)

    if cut.count <= 2 * _ENDS + _BETWEEN:
        return float(sum(map(rows, range(cut.count))))
    inner = cut.count - 2 * _ENDS
    ends = sum(rows(i) + rows(cut.count - 1 - i) for i in range(_ENDS))
    return ends + inner / _BETWEEN * sum(rows(_ENDS + inner * i // _BETWEEN) for i in range(_BETWEEN))


def seconds_of(times: Sequence[float], n: int, lanes: int, copies: int, phases: int, devices: int, start: float) -> float:
    """Predicted seconds of a job: the first part goes through all lanes, each further one of a device adds that of the slowest.

    Every phase takes all parts through the lanes anew, so each starts as often as there are phases, in ``start`` seconds.

    Parameters
    ----------
    times
        Seconds of every lane, of all parts together.
    n
        Parts.
    lanes, copies
        Threads that lanes share, and copies of what several threads use.
    """
    if lanes == 1 or n == 1:
        return sum(times)
    reused = 1.0 if copies > 1 else 1.6
    further = -(-n // devices) - 1
    return sum(times) / n + further * (max(times) * reused / n + start * phases)
