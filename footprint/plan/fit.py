"""Chooses a job's parts, copies and threads by the memory budget: all at once, else parts along one axis, else smaller ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import partial

from footprint.errors import BudgetError, LimitError
from footprint.plan import comfort
from footprint.plan.builder import RING, Builder
from footprint.plan.job import Job, Record
from footprint.plan.lifetime import OVERLAPPED, SERIAL
from footprint.plan.plan import Choice, Plan, finish
from footprint.plan.slots import Cut
from footprint.plan.tried import FASTER, Known, Rung, Shape, Size, Tried
from footprint.spec import Limits

# Sizes of a part, in bytes, that are tried where reading, computing and writing overlap: for small parts threads have to be woken
# too often, and large ones leave the other lanes waiting.
_BLOCKS = (128 << 20, 64 << 20, 32 << 20, 16 << 20, 8 << 20, 4 << 20, 1 << 20)
# Tried as well where data crosses a bus: jobs there may be so long that filling and draining the lanes hardly counts.
_LARGE = (4 << 30, 2 << 30, 1 << 30, 512 << 20, 256 << 20)
# How often a value is read, on average, from which on larger parts without overlap are tried, too: lanes side by side need small
# parts, and small parts read many of their neighbours' rows again.
_DEAR = 1.25
# Parts of rows come in short pieces, which crossed the bus of an H200 in two to four times the time that whole rows take.
_IN_PIECES = 0.25
# A sum is cut at multiples of so many rows: with fewer at a time, reading and writing the result would cost more than adding to it.
_SUMMED = 16
# As many sizes are tried by halves: groups of angles, of which a larger one may take less.
_FEW = 16
# Where the smallest parts exceed the budget by more than such a share of it, larger ones do, too; packing is not as uneven as that.
_CLEARLY = 1 / 32


# The ladders go from the fastest rung to the one that takes least memory.
_SERIAL = Rung(SERIAL, 1, RING)
# Two copies: a third gained nothing on an H100, and what is kept from call to call should stay small.
_LADDER = (
    Rung(OVERLAPPED, 2, RING),
    Rung(OVERLAPPED, 2, RING // 16),
    Rung(OVERLAPPED, 1, RING // 16),
)
_LAST = (Rung(SERIAL, 1, RING), Rung(SERIAL, 1, RING // 64), Rung(SERIAL, 1, 64 << 10))


_BRIEFLY: ContextVar[bool] = ContextVar("whether nobody reads why a job does not fit", default=False)


@contextmanager
def briefly() -> Iterator[None]:
    """Have refusals not say which budget would be comfortable, which takes a search of its own: another way is tried next."""
    token = _BRIEFLY.set(True)
    try:
        yield
    finally:
        _BRIEFLY.reset(token)


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
    shape = search.found()
    if shape is None:
        raise search.refusal()
    return search.judged(shape)


def fit_if_any(limits: Limits, budget: int | None, name: str, job: Job, known: Known) -> Plan | None:
    """The same plan, or None where none fits: a refusal says which budget would be comfortable, and that is a search of its own.

    What it finds is ``known`` to the next search, of a job that differs in what it takes beside.
    """
    search = _Search(limits, budget, name, job, known)
    shape = search.found()
    return None if shape is None else search.judged(shape)


class _Search:
    def __init__(self, limits: Limits, budget: int | None, name: str, job: Job, known: Known | None = None) -> None:
        self.limits, self.budget, self.name, self.job = limits, budget, name, job
        self.tried = Tried(limits, budget, name, job, known)
        self.rungs = _LAST if job.streamed or not limits.host else (_SERIAL,)

    def found(self) -> Shape | None:
        """The shape of the plan that is predicted to be the fastest of those that fit."""
        job, whole = self.job, (self.cut(self.grains()),) if self.job.axes else ()
        for rung in self.rungs if job.whole_first and whole else ():
            if self.fits(whole, rung):
                return self.tried.shape(whole, rung)
        if job.streamed and job.axes and (best := self.overlapped()) is not None:
            return self.in_blocks(best)
        for depth, level in enumerate(self.levels()):
            # Sizes along the first axis have been tried with lanes that overlap.
            best = self.best(level, (*_LADDER, *self.rungs) if job.streamed and depth else self.rungs)
            if best is not None:
                return best if depth else self.in_blocks(best)
        return None

    def share(self, total: int) -> int:
        """The largest part that still gives each device four parts, where there are several devices; else the whole."""
        n = self.limits.devices
        return total if n == 1 else -(-total // min(4 * n, max(total, 1)))

    def fits(self, cuts: tuple[Cut, ...], rung: Rung) -> bool:
        size = self.tried.size(cuts, rung)
        return size is not None and (self.budget is None or size.nbytes <= self.budget)

    def grains(self) -> int:
        """How many of the smallest parts there are along the first axis."""
        return max(-(-self.job.axes[0][1] // self.job.grain), 1)

    def cut(self, size: int) -> Cut:
        """A cut along the first axis whose parts have ``size`` grains each."""
        axis, total, unit = self.job.axes[0]
        return Cut(axis, total, min(size * self.job.grain, max(total, 1)), unit)

    # -- where lanes overlap -------------------------------------------------------------------------------------------
    def overlapped(self) -> Shape | None:
        """The shape that is predicted to be the fastest, of a few sizes of parts on every rung; None where none fits."""
        rungs = (*_LADDER, _LAST[0])
        best = self.fastest(rungs)
        if best is not None and (self.tried.again(best) >= _DEAR or self.passes(best)):
            # Many rows are read and computed twice, as two parts need them, or cross the bus in every pass: larger parts are tried,
            # and one copy without overlap, which leaves room for larger ones still. All of it in one part crosses once.
            for other in (self.fastest(rungs, _LARGE), self.serial(*next(self.levels()), _LAST[0])):
                best = self.faster(best, other)
            # Or every pass reads all of it: then what has crossed the bus once may stay on the device.
            if self.passes(best):
                best = self.faster(best, self.fastest(tuple(replace(rung, keep=True) for rung in rungs)))
        return best

    def in_blocks(self, best: Shape) -> Shape:
        """Or parts along more axes, where those along one read many of their neighbours' rows again."""
        for number, level in enumerate(self.levels() if self.job.sums is None else ()):
            if not self.dear(best[0]):
                break
            if number:
                share = _IN_PIECES if self.job.axes[number][0] == "x" else FASTER
                best = self.faster(best, self.best(level, (*_LADDER, *self.rungs) if self.job.streamed else self.rungs), share)
        return best

    def faster(self, best: Shape, other: Shape | None, share: float = FASTER) -> Shape:
        """The other, where it is faster by more than a prediction is worth."""
        return other if other is not None and self.tried.foretold(*other) < share * self.tried.foretold(*best) else best

    def passes(self, best: Shape) -> bool:
        """Whether the same parts would go to the device several times."""
        if self.limits.host or self.limits.devices > 1:
            return False
        plan = self.tried.at(*best)
        return bool(plan.cuts) and (len(plan.phases) > 1 or plan.phases[0].flag is not None)

    def fastest(self, rungs: tuple[Rung, ...], blocks: tuple[int, ...] = ()) -> Shape | None:
        """The shape that is predicted to be the fastest on rungs that take less and less memory; None where none fits."""
        total, each = self.grains(), max(self.job.part_bytes * self.job.grain, 1)
        most = self.share(total)
        blocks = blocks or (_BLOCKS if self.limits.host else (*_LARGE, *_BLOCKS))
        sizes = sorted({max(1, min(most, block // each)) for block in blocks}, reverse=True)
        best: Shape | None = None
        for rung in rungs:
            some = sizes if best is not None else self.promising(sizes, total, rung)
            for size in some:
                shape = self.tried.shape((self.cut(self.even(size, total)),), rung)
                # What was recorded on another rung, or of larger parts, tells its time: only what may be faster is worth a record.
                if best is not None and not self.tried.at_least(*shape) < FASTER * self.tried.foretold(*best):
                    continue
                if self.fits(shape[0], rung):
                    best = shape if best is None else self.faster(best, shape)
            if best is not None and rung.copies == 2 and self.tried.again(best) < _DEAR:
                break
        return best

    def promising(self, sizes: list[int], total: int, rung: Rung) -> list[int]:
        """Of sizes from large to small those that may fit: the whole job alone where the smallest exceeds the budget clearly."""
        least = self.tried.size(*self.tried.shape((self.cut(self.even(sizes[-1], total)),), rung))
        if self.budget is None or least is None or least.nbytes <= self.budget * (1 + _CLEARLY):
            return sizes
        return [size for size in sizes if size >= total]

    def even(self, size: int, total: int) -> int:
        """The size of parts that are all about equal, so that the last is not a sliver that costs as much to start as a whole one.

        Several devices have equally many of them where that can be: the others would wait for the one that has another.
        """
        n = self.limits.devices
        even = -(-total // min(-(-total // (size * n)) * n, max(total, 1)))
        return next((one for one in range(even, even // 2, -1) if -(-total // one) % n == 0), even)

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
        outer, lengths = ones, [lambda n: self.cut(-(-n // self.job.grain))]
        for (axis, length, unit), step in zip(axes[1:], self.job.finer or (1,) * len(axes)):
            some = lambda n, a=axis, t=length, u=unit, s=step: Cut(a, t, min(n * s, max(t, 1)), u)  # type: ignore[misc]
            most = max(-(-length // step), 1)
            if sums is None and self.dear(outer):
                # A grain of the axes before needs others beside it: blocks that are as long along all read them less often.
                yield most, lambda n, o=(*lengths,), some=some, s=step: (*(one(n * s) for one in o), some(n))  # type: ignore[misc]
            else:
                yield most, lambda n, o=outer, some=some: (*o, some(n), *summed)  # type: ignore[misc]
            outer = (*outer, some(1))
            lengths.append(lambda n, some=some, s=step: some(-(-n // s)))  # type: ignore[misc]

    def dear(self, cuts: tuple[Cut, ...]) -> bool:
        """Whether such parts read what they need several times, or compute it as often."""
        rung, rate = self.rungs[0], self.tried.rate
        if self.tried.size(cuts, rung) is None:
            return False
        twice = sum(more.seconds(rate) for more in self.job.extra(cuts))
        return self.tried.again((cuts, rung)) >= _DEAR or twice > self.job.cost.seconds(rate)

    def best(self, level: tuple[int, Callable[[int], tuple[Cut, ...]]], rungs: tuple[Rung, ...]) -> Shape | None:
        """The shape of the first rung that fits; where its parts are read again and again, the fastest of all: fewer are larger."""
        best: Shape | None = None
        for rung in rungs:
            found = self.serial(*level, rung)
            best = found if best is None else self.faster(best, found)
            if best is not None and self.tried.again(best) < _DEAR:
                break
        return best

    def serial(self, most: int, cuts: Callable[[int], tuple[Cut, ...]], rung: Rung) -> Shape | None:
        """The shape with the largest parts that fit, for one way to cut; None where even the smallest do not."""
        best = self.largest(most, cuts, rung)
        if not best:
            return None
        even = -(-most // -(-most // best))
        found = cuts(even if self.fits(cuts(even), rung) else best)
        return self.tried.shape(self.fewer(found, rung), rung)

    def fewer(self, cuts: tuple[Cut, ...], rung: Rung) -> tuple[Cut, ...]:
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
            if self.tried.size(even, rung) is None:
                continue
            seconds = self.tried.foretold(even, rung)
            if best is cuts or (more + more * fewer < least and seconds <= fastest):
                best, least, fastest = even, more + more * fewer, seconds
        return best

    def largest(self, most: int, cuts: Callable[[int], tuple[Cut, ...]], rung: Rung) -> int:
        """The largest size that fits, or one that makes as few parts of ``most``; 0 where none does.

        ``high`` only ever moves below a size that was seen not to fit. Bytes grow nearly as sizes do, so that a line between two
        that are known mostly leads to the last that fits; every other size tried is in the middle, for those that grow otherwise.
        """
        if self.fits(cuts(most), rung):
            return most
        if most == 1 or not self.fits(cuts(1), rung):
            return 0
        low, high, halve = 1, most - 1, False
        while -(-most // low) != -(-most // high):
            at = self.line(low, high + 1, cuts, rung) if not halve and high - low > _FEW else None
            middle = (low + high + 1) // 2 if at is None else min(max(at, low + 1), high)
            halve = not halve
            if self.fits(cuts(middle), rung):
                low = middle
            else:
                high = middle - 1
        return low

    def line(self, fits: int, fails: int, cuts: Callable[[int], tuple[Cut, ...]], rung: Rung) -> int | None:
        """Where a line through the bytes of two sizes meets the budget; None where one of them is not known."""
        less, more = self.tried.size(cuts(fits), rung), self.tried.size(cuts(fails), rung)
        if less is None or more is None or self.budget is None:
            return None
        return fits + (self.budget - less.nbytes) * (fails - fits) // max(more.nbytes - less.nbytes, 1)

    def with_choices(self, plan: Plan, rung: Rung) -> Plan:
        """The same plan, with a table of what parts of other sizes along the first axis would take."""
        most = self.grains() if self.job.axes else 1
        found: list[Choice] = []
        for size in sorted({max(1, most >> k) for k in (0, 1, 2, 4, 8, 63)}, reverse=True):
            other = self.tried.size((self.cut(size),) if self.job.axes else (), rung)
            if other is not None and (not found or other.nbytes < found[-1].nbytes):
                rows = self.cut(size).size if self.job.axes else size
                found.append(Choice(rows, other.n_parts, other.nbytes))
        return replace(plan, choices=tuple(found))

    def refusal(self) -> BudgetError | LimitError:
        """Why nothing fits: the smallest plan there is, or the block that no device has."""
        if self.tried.smallest is None or self.budget is None:
            # Kept here, it would keep what it is raised through, this search too, until Python looks for cycles.
            refused, self.tried.refused, self.tried.too_large = self.tried.refused or self.tried.too_large, None, None
            assert refused is not None
            return refused
        terms, total, better, parts = self.tried.smallest.terms(), self.tried.smallest.total, None, 0
        if _BRIEFLY.get():
            return BudgetError(self.budget, terms, total, self.name)
        asked, self.budget = self.budget, total
        # Larger parts may take no more: what runs with the least is not always in the smallest there are.
        shape = self.found() if self.tried.least is not None and self.comfortable(self.tried.least) is not None else None
        size = self.tried.size(*shape) if shape is not None else None
        if size is not None:
            better, parts = self.comfortable(size), size.n_parts
        return BudgetError(asked, terms, total, self.name, comfortable=better, parts=parts)

    # -- whether it is any good --------------------------------------------------------------------------------------------
    def comfortable(self, size: Size) -> int | None:
        """For a plan that is slow, the least budget with which the job is not; None where it is not, or none is known."""
        quickest = self.tried.quickest()
        if not comfort.slow(size.seconds, size.starting, quickest):
            return None
        rung, levels = self.rungs[-1], list(self.levels())

        def seconds(cuts: Callable[[int], tuple[Cut, ...]], n: int) -> float:
            found = self.tried.size(cuts(n), rung)
            return math.inf if found is None else found.seconds

        found = comfort.least([(most, partial(seconds, cuts)) for most, cuts in levels], quickest)
        better = self.tried.size(levels[found[0]][1](found[1]), rung) if found is not None else None
        return better.nbytes if better is not None and better.nbytes > size.nbytes else None

    def judged(self, shape: Shape) -> Plan:
        """The plan, or one that can be stopped; with a word on what would be better where it is slow."""
        plan = self.heard(shape)
        better = self.comfortable(self.tried.size_of(plan))
        return plan if better is None else replace(plan, slow=comfort.told(plan.n_parts, better))

    def heard(self, shape: Shape) -> Plan:
        """Where one launch takes seconds and parts are no more work, the same job in parts between which Ctrl-C is seen."""
        plan = self.tried.at(*shape)
        # Other budgets are those of parts that cross in every pass: less would do for them.
        whole = self.with_choices(plan, replace(shape[1], keep=False))
        if not self.job.axes or self.job.whole_first or len(plan.cuts) > 1:
            return whole
        total, rung = self.grains(), self.rungs[0] if len(plan.lanes) == 1 else shape[1]
        cut = self.cut(comfort.heard(plan, dict(plan.seconds).get("compute", 0.0), self.job.cost.launches, total))
        if cut.count <= plan.n_parts or not self.fits((cut,), rung):
            return whole
        parts = self.tried.at((cut,), rung)
        alike = comfort.harmless(parts, cut) and self.tried.total(parts) <= comfort.WORSE * self.tried.total(plan)
        return self.with_choices(parts, rung) if alike else whole


def build(limits: Limits, name: str, record: Record) -> Plan:
    """The plan of a job that is not cut, where there is nothing to choose."""
    builder = Builder(limits)
    record(builder)
    return finish(builder, name)
