"""What there is to plan: a record of work, how it may be cut, and what the whole of it costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from footprint.plan.builder import Builder
from footprint.plan.rates import Cost
from footprint.plan.slots import Cut, Library

Record = Callable[[Builder], None]

NOTHING = Cost(launches=0)


@dataclass(frozen=True)
class Job:
    """What is to be planned: how it is recorded and how it may be cut.

    Attributes
    ----------
    record
        ``record(builder)`` records the whole job; the builder knows how it is cut.
    axes
        ``(axis, total, unit)`` along which it may be cut, in this order.
    sums
        The same of the axis whose parts are added up, None where none is.
    part_bytes
        Bytes that pass from one lane to the next for one row along the first axis.
    cost
        Of the whole job, on the device that its kernels run on.
    extra
        ``extra(cuts)``: of every operation in turn, what parts cost beyond that, as each computes rows that others compute, too.
    streamed
        Whether there is anything to overlap with computing.
    grain
        Parts along the first axis begin at multiples of so many rows.
    finer
        The same for each of the other axes; 1 where a part may begin anywhere.
    whole_first
        Whether the whole is taken wherever it fits.
    beside
        ``beside(cuts)``: memory that is counted beside what is recorded, None where there is none.
    """

    record: Record
    axes: tuple[tuple[str, int, str], ...] = ()
    sums: tuple[str, int, str] | None = None
    part_bytes: int = 0
    cost: Cost = NOTHING
    streamed: bool = False
    grain: int = 1
    finer: tuple[int, ...] = ()
    whole_first: bool = False
    extra: Callable[[Sequence[Cut]], Sequence[Cost]] = lambda cuts: ()
    beside: Callable[[Sequence[Cut]], Library | None] = lambda cuts: None
