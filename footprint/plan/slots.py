"""The nouns of a plan: slots of memory and what a part of the job sees of them, references, steps, loops. Frozen data only."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

from footprint.errors import ShapeError
from footprint.spec import ArraySpec

Part = tuple[tuple[int, int], ...]
"""``(start, stop)`` along every cut of the plan."""
Shapes = Callable[["Slot"], tuple[int, ...]]
"""The shape of a slot in the part that is run."""


class Reach(Protocol):
    """Which rows of an array a part of the result needs."""

    def window(self, start: int, stop: int, total: int) -> tuple[int, int]:
        """Rows of an array of ``total`` that rows ``start`` to ``stop`` of the result need."""
        ...

    def most(self, size: int, total: int) -> int:
        """The most rows that any ``size`` rows of the result need."""
        ...


@dataclass(frozen=True)
class Halo:
    """``lo`` rows before and ``hi`` after, clipped at the array's ends, whose borders are the operation's business.

    Negative where the result is shorter than the array. With ``wrap`` rows beyond an end are those from the other end.
    """

    lo: int = 0
    hi: int = 0
    wrap: bool = False

    def window(self, start: int, stop: int, total: int) -> tuple[int, int]:
        """See `Reach`; with ``wrap`` the window may begin below 0 and end over ``total``."""
        first, last = start - self.lo, stop + self.hi
        if self.wrap:
            return first, last
        first = min(max(first, 0), total)
        return first, min(max(last, first), total)

    def most(self, size: int, total: int) -> int:
        """See `Reach`."""
        rows = max(size + self.lo + self.hi, 0)
        return rows if self.wrap else min(rows, total)

    def then(self, other: Halo) -> Halo:
        """What is needed to make what ``other`` needs."""
        return Halo(self.lo + other.lo, self.hi + other.hi, self.wrap or other.wrap)


NOTHING = Halo()


@dataclass(frozen=True)
class Cut:
    """How a job is cut along an axis of ``total``: parts of ``size``, the last shorter where it does not divide.

    With ``sums`` what parts along the axis give adds up, in order, and is complete with the last.
    """

    axis: str
    total: int
    size: int
    unit: str = ""
    sums: bool = False

    @property
    def count(self) -> int:
        """How many parts."""
        return max(-(-self.total // max(self.size, 1)), 1)

    def range(self, index: int) -> tuple[int, int]:
        """Start and stop of a part."""
        return index * self.size, min((index + 1) * self.size, self.total)


@dataclass(frozen=True)
class Given:
    """How an input or output meets the plan.

    Attributes
    ----------
    space
        ``host`` or ``device``: where the array lives.
    direct
        Native byte order and C-contiguous, so a kernel of that space may read and write it as it is.
    owner
        ``caller``: an array. ``source``: something that fills, or takes, blocks: a file, an iterator, a worker. ``maker``: the same
        of the verb itself, in memory, so that nothing is gained by going on beside it.
    beside
        Bytes a source's library takes beside a block of so many bytes of this dtype while it is filled or taken.
    decoding
        Seconds that a source's library works on a block of this shape, beside reading it.
    stored
        Whether it lies in a file: what a source reads from memory comes as fast as a copy.
    lean
        Asks a source to hold nothing between reads, where the budget has no room for what it holds; False where it holds nothing.
    loose
        Whether any rows can be had by themselves for no more than their bytes: not where they lie in chunks, or are compressed.
    order
        The caller's axes in the order in which the plan sees them; None where that is their own.
    """

    space: str = "host"
    direct: bool = True
    owner: str = "caller"
    beside: Callable[[ArraySpec], int] | None = field(default=None, compare=False, repr=False)
    decoding: Callable[[tuple[int, ...]], float] | None = field(default=None, compare=False, repr=False)
    stored: bool = field(default=True, compare=False, repr=False)
    lean: Callable[[], bool] | None = field(default=None, compare=False, repr=False)
    loose: bool = False
    order: tuple[int, ...] | None = None

    @property
    def strided(self) -> bool:
        """Whether it lies on a device, and not as kernels take it: what is brought or taken is a copy there."""
        return self.space == "device" and not self.direct


@dataclass(frozen=True)
class Slot:
    """One array of a program.

    Attributes
    ----------
    spec
        Of the whole job, axes named where it is cut.
    kind
        ``inp`` and ``out`` (the caller's, where it lies), ``scratch``, ``const``, ``kept`` (from part to part and pass to pass).
    space
        ``device``: where kernels run; ``host``: memory beside a device, for transfers.
    reach
        Of every cut axis it has, what it holds beyond the part.
    held
        Whether it keeps its content for all parts that are summed.
    """

    id: int
    spec: ArraySpec
    kind: str
    name: str
    space: str = "device"
    reach: tuple[tuple[str, Reach], ...] = ()
    held: bool = False
    given: Given = Given()

    @property
    def shown(self) -> Slot:
        """The same as the caller has it, its axes in their own order."""
        order = self.given.order
        if order is None:
            return self
        at = [order.index(axis) for axis in range(len(order))]
        axes = "".join(self.spec.axes.ljust(len(order), ".")[i] for i in at)
        return replace(self, spec=ArraySpec(tuple(self.spec.shape[i] for i in at), self.spec.dtype, axes))

    def window(self, cuts: tuple[Cut, ...], part: Part) -> tuple[tuple[int, int], ...]:
        """Start and stop along every axis of what it holds of the whole array in a part."""
        if not self.reach:
            return tuple([(0, n) for n in self.spec.shape])
        reach, at = dict(self.reach), {cut.axis: span for cut, span in zip(cuts, part)}
        axes = self.spec.axes.ljust(len(self.spec.shape), ".")
        return tuple([reach[a].window(*at[a], n) if a in reach else (0, n) for a, n in zip(axes, self.spec.shape)])

    def together(self, cuts: tuple[Cut, ...]) -> bool:
        """Whether what it holds of the whole array in a part lies together: but for the last axis that is cut, one row of each."""
        if not self.reach:
            return True
        if any(getattr(reach, "wrap", False) for _, reach in self.reach):
            return False
        last = max(self.spec.axes.index(axis) for axis, _ in self.reach)
        return all(n == 1 for n in self.nominal(cuts)[:last])

    def nominal(self, cuts: tuple[Cut, ...]) -> tuple[int, ...]:
        """The shape that holds any part."""
        if not self.reach:
            return self.spec.shape
        reach, size = dict(self.reach), {cut.axis: min(cut.size, cut.total) for cut in cuts}
        axes = self.spec.axes.ljust(len(self.spec.shape), ".")
        return tuple([reach[a].most(size[a], n) if a in reach else n for a, n in zip(axes, self.spec.shape)])


@dataclass(frozen=True)
class Loop:
    """Steps ``first`` to ``last`` (inclusive) run once for every ``size`` rows of ``over``, or ``count`` times."""

    id: int
    first: int
    last: int
    count: int
    over: Ref | None = None
    size: int = 1

    def turns(self, shapes: Shapes | None) -> int:
        """How often in the part whose shapes are given (None: usual)."""
        if self.over is None:
            return self.count
        return -(-self.over.at({}, shapes)[1].shape[0] // self.size)


@dataclass(frozen=True)
class LoopHandle:
    """What ``with builder.repeat(n) as loop`` gives; windows refer to it."""

    id: int
    count: int


@dataclass(frozen=True)
class Place:
    """A number that differs from part to part: first rows of slots' windows, each times a factor, plus ``plus``.

    A slot of -1 is the number of the pass.
    """

    terms: tuple[tuple[int, str, int], ...]
    plus: int = 0

    def __add__(self, other: int | Place) -> Place:
        if isinstance(other, Place):
            return Place(self.terms + other.terms, self.plus + other.plus)
        return Place(self.terms, self.plus + other)

    def __rsub__(self, other: int) -> Place:
        return -self + other

    def __neg__(self) -> Place:
        return Place(tuple((slot, axis, -factor) for slot, axis, factor in self.terms), -self.plus)

    def __sub__(self, other: int | Place) -> Place:
        return self + (-other)

    def value(self, first: Callable[[int, str], int]) -> int:
        """The number, ``first(slot, axis)`` being the first row of a slot's window."""
        return self.plus + sum(factor * first(slot, axis) for slot, axis, factor in self.terms)


TURN = Place(((-1, "", 1),))
"""The number of the pass over all parts, from 0."""

Number = int | float | str | bool | Place | None | tuple["Number", ...]


@dataclass(frozen=True)
class Ref:
    """A C-contiguous part of a slot; ``path`` narrows it step by step and may depend on the loops it is used in."""

    slot: Slot
    usual: tuple[int, ...]
    path: tuple[tuple[object, ...], ...] = ()

    def __getitem__(self, rows: slice | int) -> Ref:
        """Rows ``start:stop`` of the first axis, or one row of it."""
        shape = self.spec.shape
        if isinstance(rows, slice):
            start, stop, step = rows.indices(shape[0])
            if step != 1:
                raise ShapeError("rows", rows, "a slice of step 1")
            return replace(self, path=(*self.path, ("slice", start, max(stop, start))))
        return replace(self, path=(*self.path, ("row", range(shape[0])[rows])))

    def window(self, loop: LoopHandle, size: int) -> Ref:
        """Rows ``[i * size, (i + 1) * size)`` in the loop's ``i``-th turn; the last window may be shorter."""
        return replace(self, path=(*self.path, ("window", loop.id, int(size))))

    def row(self, loop: LoopHandle) -> Ref:
        """The ``i``-th row in the loop's ``i``-th turn, the first axis dropped."""
        return replace(self, path=(*self.path, ("turn", loop.id)))

    def reshape(self, *shape: int) -> Ref:
        """The same elements in another shape; one length may be -1."""
        return replace(self, path=(*self.path, ("reshape", *shape)))

    def deep(self, axes: int) -> Ref:
        """The same elements with axes of length 1 in front, so that there are so many in all."""
        return replace(self, path=(*self.path, ("deep", axes)))

    def around(self, axis: int) -> Ref:
        """The same elements, all axes before one made one, and all behind it."""
        return replace(self, path=(*self.path, ("around", axis)))

    def like(self, other: Ref) -> Ref:
        """The leading part of this slot that has ``other``'s shape in every turn and part."""
        return replace(self, path=(*self.path, ("like", other)))

    def like_rows(self, other: Ref) -> Ref:
        """As many leading rows of this slot as ``other`` has in every turn and part."""
        return replace(self, path=(*self.path, ("like rows", other)))

    @property
    def spec(self) -> ArraySpec:
        """Shape and dtype in the first turn of its loops and the largest part."""
        if not self.path:
            whole = self.slot.spec
            return whole if self.usual == whole.shape else ArraySpec(self.usual, whole.dtype, whole.axes)
        return self.at({}, None)[1]

    def at(self, turns: dict[int, int], shapes: Shapes | None) -> tuple[int, ArraySpec]:
        """Byte offset in the slot and spec, at the given turns of the loops (missing: 0) and shapes of slots (None: usual)."""
        shape, offset = shapes(self.slot) if shapes else self.usual, 0
        for verb, *args in self.path:
            if verb == "reshape":
                shape = _reshaped(shape, tuple(args))  # type: ignore[arg-type]
                continue
            if verb == "deep":
                shape = (1,) * (args[0] - len(shape)) + shape  # type: ignore[operator]
                continue
            if verb == "around":
                before, behind = shape[: args[0]], shape[args[0] :]  # type: ignore[index]
                shape = (math.prod(before), behind[0], math.prod(behind[1:]))
                continue
            if verb in ("like", "like rows"):
                other = args[0].at(turns, shapes)[1].shape  # type: ignore[attr-defined]
                shape = other if verb == "like" else (other[0], *shape[1:])
                continue
            row = math.prod(shape[1:])
            if verb == "slice":
                start, stop = (min(n, shape[0]) for n in args)  # type: ignore[call-overload]
                offset, shape = offset + start * row, (stop - start, *shape[1:])
            elif verb == "window":
                loop, size = args
                start = min(turns.get(loop, 0) * size, shape[0])  # type: ignore[call-overload,operator]
                offset, shape = offset + start * row, (min(size, shape[0] - start), *shape[1:])  # type: ignore[type-var]
            else:
                index = args[0] if verb == "row" else turns.get(args[0], 0)  # type: ignore[call-overload]
                offset, shape = offset + index * row, shape[1:]  # type: ignore[operator]
        spec = ArraySpec(shape, self.slot.spec.dtype)
        return offset * spec.itemsize, spec


@dataclass(frozen=True)
class Step:
    """One action; the last ``n_work`` refs are its workspace.

    Attributes
    ----------
    action
        ``launch`` of a kernel, ``fft``, ``ifft``, ``copy``; ``fill`` of a slot from an input and ``take`` of a slot to an output,
        through a host slot (a third ref) where they cross a bus.
    lane
        ``read``, ``compute`` or ``write``: what may run beside what.
    when
        ``part``; ``once``: in the first pass over all parts; ``first`` and ``last``: of the parts that are summed; ``end``: when
        all parts of the phase are through.
    phase
        Phases follow each other; each runs through all parts.
    """

    action: str
    kernel: str
    refs: tuple[Ref, ...]
    numbers: tuple[tuple[str, Number], ...] = ()
    n_work: int = 0
    lane: str = "compute"
    when: str = "part"
    phase: int = 0


@dataclass(frozen=True)
class Phase:
    """All parts once, or again until element ``at`` of the kept or output slot ``flag`` is not 0: ``most`` times at most.

    ``usual`` is how often that is, mostly. Where a phase looks at a few rows ``only``, its parts are these, as ``(start, stop)``
    along the first cut, and none is larger than other phases' parts.
    """

    flag: int | None = None
    at: int = 0
    most: int = 1
    usual: int = 1
    only: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Library:
    """Memory a library takes for itself; ``bound`` when it is an upper bound and not read from the library."""

    name: str
    nbytes: int
    bound: bool = True


def _reshaped(shape: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[int, ...]:
    size = math.prod(shape)
    if -1 in wanted:
        rest = math.prod(n for n in wanted if n != -1)
        wanted = tuple((size // rest if rest else 0) if n == -1 else n for n in wanted)
    if math.prod(wanted) != size:
        raise ShapeError("reshape", wanted, f"a shape of {size} elements")
    return wanted
