"""What ways to run a job come to: each is recorded once, for its bytes and the seconds that it is predicted to take."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

from footprint.errors import BudgetError, LimitError
from footprint.plan import comfort
from footprint.plan.builder import RING, Builder
from footprint.plan.job import Job
from footprint.plan.lifetime import SERIAL, Lanes
from footprint.plan.plan import Footprint, Plan, finish
from footprint.plan.predict import crossed, lane_seconds, seconds_of
from footprint.plan.rates import Rates, rates
from footprint.plan.slots import Cut
from footprint.spec import Limits

FASTER = 0.98
"""Predicted seconds that make another way to run a job worth taking, as a share of the best one's: they are no better than that."""


@dataclass(frozen=True)
class Rung:
    """One way to run a job of given parts.

    Attributes
    ----------
    lanes
        Which lanes share a thread.
    copies
        Of every slot that two threads use.
    ring
        Bytes of the buffers through which arrays cross a bus.
    keep
        Whether parts that have crossed stay on the device for later passes.
    """

    lanes: Lanes
    copies: int
    ring: int
    keep: bool = False


Shape = tuple[tuple[Cut, ...], Rung]
"""How a job is cut, and on which rung it runs."""


class Size(NamedTuple):
    """Bytes of a plan, its parts, the seconds that it is predicted to take, and those in which its parts start, beside them."""

    nbytes: int
    n_parts: int
    total: float
    starting: float

    @property
    def seconds(self) -> float:
        """Of both kinds."""
        return self.total + self.starting


class Known:
    """What shapes of a job come to without what is taken ``beside``: for searches that differ in that alone.

    Attributes
    ----------
    sizes
        None where an array is larger than the largest block there is, or than a kernel takes at once.
    again
        How often what is carried is, by how the job is cut; not of plans that keep on the device what has crossed.
    work
        Seconds of lanes, and phases, by how the job is cut and whether parts are kept: the same on every rung.
    grows
        Whether, in all that was recorded, more parts never take less.
    """

    def __init__(self) -> None:
        self.sizes: dict[Shape, Size | None] = {}
        self.again: dict[tuple[Cut, ...], float] = {}
        self.work: dict[tuple[tuple[Cut, ...], bool], tuple[list[float], int]] = {}
        self.grows = True


class Tried:
    """The shapes of a job that were tried.

    Attributes
    ----------
    smallest, least
        What takes the least memory of all, as its bytes by kind, and as a size.
    refused, too_large
        The first errors of shapes that no device has room for: with the smallest budget that would do, and of arrays' lengths.
    """

    def __init__(self, limits: Limits, budget: int | None, name: str, job: Job, known: Known | None = None) -> None:
        self.limits, self.budget, self.name, self.job = limits, budget, name, job
        self.rate: Rates = rates(limits)
        self.smallest: Footprint | None = None
        self.least: Size | None = None
        self.refused: BudgetError | None = None
        self.too_large: LimitError | None = None
        # Only one plan that fits is kept, mostly the one that is taken in the end: that of a search for sources has 170 KB of
        # Python's objects, which stand beside the memory that it plans.
        self._known = Known() if known is None else known
        self._kept: tuple[Shape, Plan] | None = None
        self._seconds = math.inf

    def shape(self, cuts: tuple[Cut, ...], rung: Rung) -> Shape:
        """A way to cut on a rung, where rungs that make the same plan are one."""
        if all(cut.count == 1 for cut in cuts):
            # A job in one part has nothing to run beside, and no use for more copies than parts.
            rung = replace(rung, lanes=SERIAL, copies=1)
        return cuts, replace(rung, ring=RING) if self.limits.host else rung

    def size(self, cuts: tuple[Cut, ...], rung: Rung) -> Size | None:
        """What one shape comes to; None where an array is larger than the largest block there is, or a kernel takes at once."""
        shape, sizes = self.shape(cuts, rung), self._known.sizes
        if shape not in sizes:
            sizes[shape] = None
            try:
                plan = self._record(*shape)
            except BudgetError as error:
                if self.refused is None or error.smallest < self.refused.smallest:
                    self.refused = error.with_traceback(None)
            except LimitError as error:
                self.too_large = error.with_traceback(None)
            else:
                found = self.size_of(plan)
                sizes[shape] = found._replace(nbytes=found.nbytes - self._beside(cuts))
                self.least = found if self.least is None else min(self.least, found)
                # Where lanes overlap, what comes later is taken only if it is faster; else it is the larger, and as fast.
                late = FASTER if len(plan.lanes) > 1 else 1 / FASTER
                if (self.budget is None or plan.footprint.total <= self.budget) and found.total < late * self._seconds:
                    self._kept, self._seconds = (shape, plan), found.total
        own = sizes[shape]
        return None if own is None else own._replace(nbytes=own.nbytes + self._beside(cuts))

    def _beside(self, cuts: tuple[Cut, ...]) -> int:
        more = self.job.beside(cuts)
        return 0 if more is None else more.nbytes

    def size_of(self, plan: Plan) -> Size:
        """What a plan comes to."""
        return Size(plan.footprint.total, plan.n_parts, self.total(plan), comfort.starts(plan))

    def at(self, cuts: tuple[Cut, ...], rung: Rung) -> Plan:
        """The plan of a shape that fits."""
        shape = self.shape(cuts, rung)
        if self._kept is None or self._kept[0] != shape:
            self._kept = None
            self._kept, self._seconds = (shape, self._record(*shape)), 0.0
        return self._kept[1]

    def total(self, plan: Plan) -> float:
        """Predicted seconds."""
        times, lanes, phases = [t for _, t in plan.seconds], len(plan.lanes), _whole(plan)
        return seconds_of(times, plan.n_parts, lanes, plan.copies, phases, self.limits.devices, self.rate.part)

    def foretold(self, cuts: tuple[Cut, ...], rung: Rung) -> float:
        """The same of a shape, as far as it is known without its record: where those cuts were tried on any rung; else none."""
        if (cuts, rung.keep) not in self._known.work:
            return 0.0
        return self._by(cuts, cuts, rung)

    def at_least(self, cuts: tuple[Cut, ...], rung: Rung) -> float:
        """The same, and of parts along one axis that were not tried by what the next larger ones take, which is no more."""
        if (cuts, rung.keep) in self._known.work or not self._known.grows or len(cuts) != 1:
            return self.foretold(cuts, rung)
        larger = [other for other, keep in self._known.work if keep == rung.keep and len(other) == 1]
        larger = [other for other in larger if other[0].axis == cuts[0].axis and other[0].size >= cuts[0].size]
        return self._by(min(larger, key=lambda other: other[0].size), cuts, rung) if larger else 0.0

    def _by(self, work: tuple[Cut, ...], cuts: tuple[Cut, ...], rung: Rung) -> float:
        """Predicted seconds of a shape whose lanes have the work of another."""
        n, rung = math.prod(cut.count for cut in cuts), self.shape(cuts, rung)[1]
        times, phases = self._known.work[work, rung.keep]
        return seconds_of(times, n, len(rung.lanes), min(rung.copies, n), phases, self.limits.devices, self.rate.part)

    def again(self, shape: Shape) -> float:
        """How often what is read and written is; without end where only plans that keep it were recorded."""
        return self._known.again.get(shape[0], math.inf)

    def quickest(self) -> float:
        """The seconds of the fastest, whether it fits or not."""
        return min(found.seconds for found in self._known.sizes.values() if found is not None)

    def _record(self, cuts: tuple[Cut, ...], rung: Rung) -> Plan:
        builder = Builder(self.limits, cuts, rung.ring, rung.keep)
        self.job.record(builder)
        parts = math.prod(cut.count for cut in builder.cuts)
        if (more := self.job.beside(builder.cuts)) is not None:
            builder.library(more.name, more.nbytes, bound=more.bound)
        plan = finish(builder, self.name, rung.lanes, min(rung.copies, parts))
        crossing = crossed(builder, self.rate)
        plan = replace(plan, seconds=lane_seconds(self.rate, self.job.cost, builder, crossing, self.job.extra(builder.cuts)))
        self._known.grows &= crossing.grows
        if not rung.keep:
            self._known.again[cuts] = crossing.again
        self._known.work[cuts, rung.keep] = [t for _, t in plan.seconds], _whole(plan)
        if self.smallest is None or plan.footprint.total < self.smallest.total:
            self.smallest = plan.footprint
        return plan


def _whole(plan: Plan) -> int:
    """Phases that look at all parts."""
    return sum(not phase.only for phase in plan.phases)
