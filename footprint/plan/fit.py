"""Chooses the shape of a run from the memory budget: the largest chunk whose exact footprint fits, found by bisection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from footprint.errors import ArgumentError, BudgetError
from footprint.plan.builder import Builder
from footprint.plan.plan import Choice, Plan, finish
from footprint.plan.slots import Chunk
from footprint.spec import Limits

Record = Callable[[Builder, int], None]


@dataclass(frozen=True)
class Variant:
    """One way to cut a job: ``record(builder, size)`` records a run of ``size`` of ``total`` units.

    Attributes
    ----------
    unit
        What is counted, for the plan's table: slices, rows, angles.
    inner
        The size cuts the work *inside* one run (its loops), so the job is still a single run with no tail.
    note
        A sentence for the table when this variant is chosen.
    times
        Parts of ``total`` units that are cut alike, one after another.
    """

    unit: str
    total: int
    record: Record
    inner: bool = False
    note: str = ""
    times: int = 1


def build(limits: Limits, name: str, record: Callable[[Builder], None]) -> Plan:
    """A plan with nothing to choose."""
    builder = Builder(limits)
    record(builder)
    return finish(builder, name)


def fit(limits: Limits, budget: int | None, name: str, variants: Sequence[Variant], size: int | None = None) -> Plan:
    """The first variant that fits the budget, at the largest size that does.

    Variants are tried in order (whole slices, then parts of one). ``size`` fixes the chunk instead.

    Raises
    ------
    BudgetError
        Where the smallest size of the last variant does not fit: it shows every term and the smallest budget that would do.
    """
    if size is not None:
        plan = _at(limits, name, variants[0], size)
        if budget is not None and plan.footprint.total > budget:
            raise BudgetError(budget, plan.footprint.terms(), plan.footprint.total, name)
        return plan
    smallest: Plan | None = None
    refused: BudgetError | None = None
    for variant in variants:
        cache: dict[int, Plan] = {}

        def at(n: int, variant: Variant = variant, cache: dict[int, Plan] = cache) -> Plan:
            if n not in cache:
                cache[n] = _at(limits, name, variant, n)
            return cache[n]

        best = _largest(at, max(variant.total, 1), budget)
        if best:
            return _balanced(at, best, variant, budget)
        try:
            least = at(1)
        except BudgetError as error:
            refused = refused or error
            continue
        if smallest is None or least.footprint.total < smallest.footprint.total:
            smallest = least
    if smallest is None and refused is not None:
        raise refused
    assert smallest is not None and budget is not None
    raise BudgetError(budget, smallest.footprint.terms(), smallest.footprint.total, name)


def _largest(at: Callable[[int], Plan], total: int, budget: int | None) -> int:
    """The largest size that fits, 0 where none does; ``high`` only ever moves below a size that was seen not to fit."""
    if _fits(at, total, budget):
        return total
    low, high = 0, total - 1  # low fits (0 means none yet)
    while low < high:
        middle = (low + high + 1) // 2
        if _fits(at, middle, budget):
            low = middle
        else:
            high = middle - 1
    return low


def _fits(at: Callable[[int], Plan], size: int, budget: int | None) -> bool:
    try:
        plan = at(size)
    except BudgetError:
        # An array of it is larger than the largest block of the device: fewer units may still do.
        return False
    return budget is None or plan.footprint.total <= budget


def _balanced(at: Callable[[int], Plan], best: int, variant: Variant, budget: int | None) -> Plan:
    """As many runs as ``best`` needs, but of equal size: the last run is not a sliver and the plan is smaller."""
    total = max(variant.total, 1)
    even = -(-total // -(-total // best))
    plan = at(even if _fits(at, even, budget) else best)
    choices: list[Choice] = []
    for size in sorted({max(1, total >> k) for k in (0, 1, 2, 4, 8, 63)}, reverse=True):
        if not _fits(at, size, None):
            continue
        nbytes = at(size).footprint.total
        if not choices or nbytes < choices[-1].nbytes:
            choices.append(Choice(size, -(-total // size) * variant.times, nbytes))
    return replace(plan, choices=tuple(choices))


def _at(limits: Limits, name: str, variant: Variant, size: int) -> Plan:
    if size < 1:
        raise ArgumentError("chunk", size, f"1 to {variant.total} {variant.unit}")
    total = max(variant.total, 1)
    size = min(size, total)

    def one(n: int) -> Builder:
        builder = Builder(limits)
        variant.record(builder, n)
        if variant.note:
            builder.note(variant.note)
        return builder

    if variant.inner:
        return finish(one(size), name)
    rest = total % size
    tail = finish(one(rest), name) if rest else None
    plan = finish(one(size), name, Chunk(variant.unit, total, size, variant.times), tail)
    return _covering(plan, tail) if tail else plan


def _covering(plan: Plan, tail: Plan) -> Plan:
    """Blocks large enough for the tail too, which runs in the same memory."""
    blocks = [max(sizes) for sizes in zip(*(_padded(p.blocks, max(len(plan.blocks), len(tail.blocks))) for p in (plan, tail)))]
    libraries = {one.name: one for one in tail.libraries}
    for one in plan.libraries:
        if one.name not in libraries or libraries[one.name].nbytes < one.nbytes:
            libraries[one.name] = one
    return replace(
        plan, blocks=tuple(blocks), host_nbytes=max(plan.host_nbytes, tail.host_nbytes), libraries=tuple(libraries.values())
    )


def _padded(blocks: tuple[int, ...], count: int) -> tuple[int, ...]:
    return blocks + (0,) * (count - len(blocks))
