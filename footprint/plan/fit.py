"""Chooses a job's parts, copies and threads by the memory budget: all at once, else parts along one axis, else smaller ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from footprint.errors import BudgetError, LimitError
from footprint.plan import comfort
from footprint.plan.builder import RING, Builder
from footprint.plan.job import Job, Record
from footprint.plan.lifetime import OVERLAPPED, SERIAL, Lanes
from footprint.plan.plan import Choice, Footprint, Plan, finish
from footprint.plan.predict import crossed, lane_seconds, seconds_of
from footprint.plan.rates import Rates, rates
from footprint.plan.slots import Cut
from footprint.spec import Limits

# Sizes of a part, in bytes, that are tried where reading, computing and writing overlap: for small parts threads have to be woken
# too often, and large ones leave the other lanes waiting.
_BLOCKS = (128 << 20, 64 << 20, 32 << 20, 16 << 20, 8 << 20, 4 << 20, 1 << 20)
# Tried as well where data crosses a bus: jobs there may be so long that filling and draining the lanes hardly counts.
_LARGE = (1 << 30, 512 << 20, 256 << 20)
# How often a value is read, on average, from which on larger parts without overlap are tried, too: lanes side by side need small
# parts, and small parts read many of their neighbours' rows again.
_DEAR = 1.25
# A sum is cut at multiples of so many rows: with fewer at a time, reading and writing the result would cost more than adding to it.
_SUMMED = 16


@dataclass(frozen=True)
class _Rung:
    """One way to run a job of given parts; the ladder below goes from the fastest to the one that takes least memory.

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


_Shape = tuple[tuple[Cut, ...], _Rung]


class _Size(NamedTuple):
    """Bytes of a plan, its parts, the seconds that it is predicted to take, and those of them in which its parts start."""

    nbytes: int
    n_parts: int
    seconds: float
    starting: float


_SERIAL = _Rung(SERIAL, 1, RING)
# Two copies: a third gained nothing on an H100, and what is kept from call to call should stay small.
_LADDER = (
    _Rung(OVERLAPPED, 2, RING),
    _Rung(OVERLAPPED, 2, RING // 16),
    _Rung(OVERLAPPED, 1, RING // 16),
)
_LAST = (_Rung(SERIAL, 1, RING), _Rung(SERIAL, 1, RING // 64), _Rung(SERIAL, 1, 64 << 10))


def fit(limits: Limits, budget: int | None, name: str, job: Job) -> Plan:
    """Of the plans that fit the budget, the one that is predicted to be the fastest; it has parts for every device.

    Where reading, computing and writing cannot overlap, that is the whole job in one part if it fits, else the largest parts that
    do. Where they can, plans with parts of several sizes and with more or fewer copies are recorded, and their times predicted
    from the device's rates.

    Raises
    ------
    BudgetError
        Where the smallest parts do not fit: it shows every term and the smallest budget that would do.
    """
    search = _Search(limits, budget, name, job)
    plan = search.found()
    if plan is None:
        raise search.refusal()
    return search.judged(plan)


class _Search:
    def __init__(self, limits: Limits, budget: int | None, name: str, job: Job) -> None:
        self.limits, self.budget, self.name, self.job = limits, budget, name, job
        self.rate: Rates = rates(limits)
        self.rungs = _LAST if job.streamed or not limits.host else (_SERIAL,)
        self.smallest: Footprint | None = None
        self.least: _Size | None = None
        self.refused: BudgetError | None = None
        self.too_large: LimitError | None = None
        # What every shape that was tried came to, and the last plan that fits: a search for sources has 170 KB of Python's objects
        # in each, which stand beside the memory that it plans.
        self._tried: dict[_Shape, _Size | None] = {}
        self._kept: tuple[_Shape, Plan] | None = None
        # How often what is carried is, by how the job is cut; not of plans that keep on the device what has crossed.
        self._again: dict[tuple[Cut, ...], float] = {}

    def found(self) -> Plan | None:
        """The plan that is predicted to be the fastest of those that fit."""
        job, whole = self.job, (self.cut(self.grains()),) if self.job.axes else ()
        for rung in self.rungs if job.whole_first and whole else ():
            if self.fits(whole, rung):
                return self.with_choices(self.at(whole, rung), rung)
        if job.streamed and job.axes and (best := self.overlapped()) is not None:
            return best
        for depth, level in enumerate(self.levels()):
            # Sizes along the first axis have been tried with lanes that overlap.
            best = self.best(level, (*_LADDER, *self.rungs) if job.streamed and depth else self.rungs)
            if best is not None:
                return best
        return None

    def size(self, cuts: tuple[Cut, ...], rung: _Rung) -> _Size | None:
        """What one shape comes to; None where an array is larger than the largest block there is, or a kernel takes at once."""
        shape = (cuts, rung)
        if shape not in self._tried:
            self._tried[shape] = None
            try:
                plan = self._record(cuts, rung)
            except BudgetError as error:
                if self.refused is None or error.smallest < self.refused.smallest:
                    self.refused = error.with_traceback(None)
            except LimitError as error:
                self.too_large = error.with_traceback(None)
            else:
                self._tried[shape] = found = self.size_of(plan)
                self.least = found if self.least is None else min(self.least, found)
                if self.budget is None or plan.footprint.total <= self.budget:
                    self._kept = shape, plan
        return self._tried[shape]

    def size_of(self, plan: Plan) -> _Size:
        """What a plan comes to."""
        starting = comfort.starts(plan)
        return _Size(plan.footprint.total, plan.n_parts, self.total(plan) + starting, starting)

    def at(self, cuts: tuple[Cut, ...], rung: _Rung) -> Plan:
        """The plan of a shape that fits."""
        shape = (cuts, rung)
        if self._kept is None or self._kept[0] != shape:
            self._kept = None
            self._kept = shape, self._record(cuts, rung)
        return self._kept[1]

    def _record(self, cuts: tuple[Cut, ...], rung: _Rung) -> Plan:
        builder = Builder(self.limits, cuts, rung.ring, rung.keep)
        self.job.record(builder)
        # A job in one part has nothing to run beside, and no use for more copies than parts.
        parts = math.prod(cut.count for cut in builder.cuts)
        lanes = rung.lanes if parts > 1 else SERIAL
        plan = finish(builder, self.name, lanes, min(rung.copies, parts))
        crossing = crossed(builder, self.rate)
        plan = replace(plan, seconds=lane_seconds(self.rate, self.job.cost, builder, crossing, self.job.extra(builder.cuts)))
        if not rung.keep:
            self._again[plan.cuts] = crossing.again
        if self.smallest is None or plan.footprint.total < self.smallest.total:
            self.smallest = plan.footprint
        return plan

    def share(self, total: int) -> int:
        """The largest part that still gives each device four parts, where there are several devices; else the whole."""
        n = self.limits.devices
        return total if n == 1 else -(-total // min(4 * n, max(total, 1)))

    def fits(self, cuts: tuple[Cut, ...], rung: _Rung) -> bool:
        size = self.size(cuts, rung)
        return size is not None and (self.budget is None or size.nbytes <= self.budget)

    def grains(self) -> int:
        """How many of the smallest parts there are along the first axis."""
        return max(-(-self.job.axes[0][1] // self.job.grain), 1)

    def cut(self, size: int) -> Cut:
        """A cut along the first axis whose parts have ``size`` grains each."""
        axis, total, unit = self.job.axes[0]
        return Cut(axis, total, min(size * self.job.grain, max(total, 1)), unit)

    # -- where lanes overlap -------------------------------------------------------------------------------------------
    def overlapped(self) -> Plan | None:
        """The plan that is predicted to be the fastest, of a few sizes of parts on every rung; None where none fits."""
        rungs = (*_LADDER, _LAST[0])
        best = self.fastest(rungs)
        if best is not None and self._again[best.cuts] >= _DEAR:
            # Many rows are read and computed twice, as two parts need them: larger parts are tried, and one copy without overlap,
            # which leaves room for larger ones still.
            for other in (self.fastest(rungs, _LARGE), self.serial(*next(self.levels()), _LAST[0])):
                best = other if other is not None and self.total(other) < 0.98 * self.total(best) else best
            # Or every pass reads all of it: then what has crossed the bus once may stay on the device.
            if self.passes(best):
                kept = self.fastest(tuple(replace(rung, keep=True) for rung in rungs))
                best = kept if kept is not None and self.total(kept) < 0.98 * self.total(best) else best
        return self.with_choices(best) if best is not None else None

    def passes(self, plan: Plan) -> bool:
        """Whether the same parts would go to the device several times."""
        several = len(plan.phases) > 1 or plan.phases[0].flag is not None
        return bool(plan.cuts) and several and self.limits.devices == 1 and not self.limits.host

    def fastest(self, rungs: tuple[_Rung, ...], blocks: tuple[int, ...] = ()) -> Plan | None:
        """The plan that is predicted to be the fastest on rungs that take less and less memory; None where none fits."""
        total, each = self.grains(), max(self.job.part_bytes * self.job.grain, 1)
        most = self.share(total)
        blocks = blocks or (_BLOCKS if self.limits.host else (*_LARGE, *_BLOCKS))
        sizes = sorted({max(1, min(most, block // each)) for block in blocks}, reverse=True)
        best: Plan | None = None
        for rung in rungs:
            for size in sizes:
                cuts = (self.cut(self.even(size, total)),)
                if self.fits(cuts, rung):
                    plan = self.at(cuts, rung)
                    if best is None or self.total(plan) < 0.98 * self.total(best):
                        best = plan
            if best is not None and rung.copies == 2 and self._again[best.cuts] < _DEAR:
                break
        return best

    def even(self, size: int, total: int) -> int:
        """The size of parts that are all about equal, so that the last is not a sliver that costs as much to start as a whole one.

        Several devices have equally many of them where that can be: the others would wait for the one that has another.
        """
        n = self.limits.devices
        even = -(-total // min(-(-total // (size * n)) * n, max(total, 1)))
        return next((one for one in range(even, even // 2, -1) if -(-total // one) % n == 0), even)

    def total(self, plan: Plan) -> float:
        """Predicted seconds."""
        return seconds_of(plan, self.limits.devices, self.rate.part)

    # -- where they do not -----------------------------------------------------------------------------------------------
    def levels(self) -> Iterator[tuple[int, Callable[[int], tuple[Cut, ...]]]]:
        """Ways to cut the job, from coarse to fine: ``cuts(size)`` for a size from 1 to ``most``."""
        axes, sums = self.job.axes, self.job.sums
        if not axes and sums is None:
            yield 1, lambda n: ()
            return
        if axes:
            yield max(self.share(self.grains()), 1), lambda n: (self.cut(n),)
            ones: tuple[Cut, ...] = (self.cut(1),)
        else:
            yield 1, lambda n: ()
            ones = ()
        summed: tuple[Cut, ...] = ()
        if sums is not None and sums[1] > _SUMMED:
            group = lambda n: Cut(sums[0], sums[1], min(n * _SUMMED, sums[1]), sums[2], sums=True)
            summed = (group(1),)
            yield -(-sums[1] // _SUMMED), lambda n: (*ones, group(n))
        outer = ones
        for (axis, length, unit), step in zip(axes[1:], self.job.finer or (1,) * len(axes)):
            some = lambda n, a=axis, t=length, u=unit, s=step: Cut(a, t, min(n * s, max(t, 1)), u)  # type: ignore[misc]
            yield max(-(-length // step), 1), lambda n, o=outer, some=some: (*o, some(n), *summed)  # type: ignore[misc]
            outer = (*outer, some(1))

    def best(self, level: tuple[int, Callable[[int], tuple[Cut, ...]]], rungs: tuple[_Rung, ...]) -> Plan | None:
        """The plan of the first rung that fits; where its parts are read again and again, the fastest of all: fewer are larger."""
        best: Plan | None = None
        for rung in rungs:
            found = self.serial(*level, rung)
            if found is not None and (best is None or self.total(found) < 0.98 * self.total(best)):
                best = found
            if best is not None and self._again[best.cuts] < _DEAR:
                break
        return best

    def serial(self, most: int, cuts: Callable[[int], tuple[Cut, ...]], rung: _Rung) -> Plan | None:
        """The plan with the largest parts that fit, for one way to cut; None where even the smallest do not."""
        best = self.largest(most, cuts, rung)
        if not best:
            return None
        even = -(-most // -(-most // best))
        found = cuts(even if self.fits(cuts(even), rung) else best)
        return self.with_choices(self.at(self.fewer(found, rung), rung), rung)

    def fewer(self, cuts: tuple[Cut, ...], rung: _Rung) -> tuple[Cut, ...]:
        """For tiles whose sums are taken in the smallest groups: larger groups, in the room that they leave or smaller tiles do.

        Every part costs its start, which in a part of the smallest group takes about as long as its work; and every tile is summed
        from all there is. So a share of the parts saved outweighs the same share of tiles more, if they are not predicted slower.
        """
        if len(cuts) < 3 or not cuts[-1].sums:
            return cuts
        *outer, tile, group = cuts
        steps = dict(zip((axis for axis, _, _ in self.job.axes[1:]), self.job.finer))
        step, most = steps.get(tile.axis, 1), -(-group.total // _SUMMED)
        best, least, fastest = cuts, 2.0, 0.0
        for tiles in sorted({tile.count, tile.count * 9 // 8, tile.count * 5 // 4}):
            size = -(-tile.total // (tiles * step)) * step
            smaller = replace(tile, size=min(size, tile.size))
            some = lambda n, s=smaller: (*outer, s, replace(group, size=min(n * _SUMMED, group.total)))  # type: ignore[misc]
            found = self.largest(most, some, rung)
            if not found:
                continue
            even = some(-(-most // -(-most // found)))
            more, fewer = even[-2].count / tile.count, even[-1].count / group.count
            seconds = self.total(self.at(even, rung))
            if best is cuts or (more + more * fewer < least and seconds <= fastest):
                best, least, fastest = even, more + more * fewer, seconds
        return best

    def largest(self, most: int, cuts: Callable[[int], tuple[Cut, ...]], rung: _Rung) -> int:
        """The largest size that fits, 0 where none does; ``high`` only ever moves below a size that was seen not to fit."""
        if self.fits(cuts(most), rung):
            return most
        if most == 1 or not self.fits(cuts(1), rung):
            return 0
        low, high = 1, most - 1
        while low < high:
            middle = (low + high + 1) // 2
            if self.fits(cuts(middle), rung):
                low = middle
            else:
                high = middle - 1
        return low

    def with_choices(self, plan: Plan, rung: _Rung | None = None) -> Plan:
        """The same plan, with a table of what parts of other sizes along the first axis would take."""
        rung = _Rung(plan.lanes, plan.copies, RING) if rung is None else rung
        most = self.grains() if self.job.axes else 1
        found: list[Choice] = []
        for size in sorted({max(1, most >> k) for k in (0, 1, 2, 4, 8, 63)}, reverse=True):
            other = self.size((self.cut(size),) if self.job.axes else (), rung)
            if other is not None and (not found or other.nbytes < found[-1].nbytes):
                rows = self.cut(size).size if self.job.axes else size
                found.append(Choice(rows, other.n_parts, other.nbytes))
        return replace(plan, choices=tuple(found))

    def refusal(self) -> BudgetError | LimitError:
        """Why nothing fits: the smallest plan there is, or the block that no device has."""
        if self.smallest is None or self.budget is None:
            # Kept here, it would keep what it is raised through, this search too, until Python looks for cycles.
            refused, self.refused, self.too_large = self.refused or self.too_large, None, None
            assert refused is not None
            return refused
        terms, total, better, parts = self.smallest.terms(), self.smallest.total, None, 0
        asked, self.budget = self.budget, total
        # Larger parts may take no more: what runs with the least is not always in the smallest there are.
        plan = self.found() if self.least is not None and self.comfortable(self.least) is not None else None
        if plan is not None:
            better, parts = self.comfortable(self.size_of(plan)), plan.n_parts
        return BudgetError(asked, terms, total, self.name, comfortable=better, parts=parts)

    # -- whether it is any good --------------------------------------------------------------------------------------------
    def comfortable(self, size: _Size) -> int | None:
        """For a plan that is slow, the least budget with which the job is not; None where it is not, or none is known."""
        quickest = min(found.seconds for found in self._tried.values() if found is not None)
        if not comfort.slow(size.seconds, size.starting, quickest):
            return None
        rung, levels = self.rungs[-1], list(self.levels())

        def seconds(cuts: Callable[[int], tuple[Cut, ...]], n: int) -> float:
            found = self.size(cuts(n), rung)
            return math.inf if found is None else found.seconds

        found = comfort.least([(most, partial(seconds, cuts)) for most, cuts in levels], quickest)
        better = self.size(levels[found[0]][1](found[1]), rung) if found is not None else None
        return better.nbytes if better is not None and better.nbytes > size.nbytes else None

    def judged(self, plan: Plan) -> Plan:
        """The plan, or one that can be stopped; with a word on what would be better where it is slow."""
        plan = self.heard(plan)
        better = self.comfortable(self.size_of(plan))
        return plan if better is None else replace(plan, slow=comfort.told(plan.n_parts, better))

    def heard(self, plan: Plan) -> Plan:
        """Where one launch takes seconds and parts are no more work, the same job in parts between which Ctrl-C is seen."""
        if not self.job.axes or self.job.whole_first or len(plan.cuts) > 1:
            return plan
        total, rung = self.grains(), self.rungs[0] if len(plan.lanes) == 1 else _Rung(plan.lanes, plan.copies, RING)
        cut = self.cut(comfort.heard(plan, dict(plan.seconds).get("compute", 0.0), self.job.cost.launches, total))
        if cut.count <= plan.n_parts or not self.fits((cut,), rung):
            return plan
        parts = self.at((cut,), rung)
        alike = comfort.harmless(parts, cut) and self.total(parts) <= comfort.WORSE * self.total(plan)
        return self.with_choices(parts, rung) if alike else plan


def build(limits: Limits, name: str, record: Record) -> Plan:
    """The plan of a job that is not cut, where there is nothing to choose."""
    builder = Builder(limits)
    record(builder)
    return finish(builder, name)
