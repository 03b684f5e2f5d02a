"""The nouns of a plan: slots of memory, references into them, steps, loops, library memory, chunks. Frozen data only."""

from __future__ import annotations

from dataclasses import dataclass, replace

from footprint.errors import ShapeError
from footprint.spec import ArraySpec

Number = int | float | str | bool | None | tuple["Number", ...]


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
        ``caller``: the array is handed over at every call. ``plan``: the plan owns a host buffer that the driver fills
        before, or empties after, a call (blocks of a file, rows with their halo).
    """

    space: str = "host"
    direct: bool = True
    owner: str = "caller"


@dataclass(frozen=True)
class Slot:
    """One array of a program. ``kind`` is inp, out, scratch, const or stage (host memory beside a device)."""

    id: int
    spec: ArraySpec
    kind: str
    name: str
    given: Given = Given()


@dataclass(frozen=True)
class Loop:
    """Steps ``first`` to ``last`` (inclusive) run ``count`` times."""

    id: int
    first: int
    last: int
    count: int


@dataclass(frozen=True)
class Ref:
    """A C-contiguous part of a slot; ``path`` narrows it step by step and may depend on the loops it is used in."""

    slot: Slot
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

    def like(self, other: Ref) -> Ref:
        """The leading part of this slot that has ``other``'s shape in every turn: a short last window stays short."""
        return replace(self, path=(*self.path, ("like", other))) if other.path else self

    def like_rows(self, other: Ref) -> Ref:
        """As many leading rows of this slot as ``other`` has in every turn."""
        return replace(self, path=(*self.path, ("like rows", other))) if other.path else self

    @property
    def spec(self) -> ArraySpec:
        """Shape and dtype in the first turn of its loops, which is the largest."""
        return self.at({})[1]

    def at(self, turns: dict[int, int]) -> tuple[int, ArraySpec]:
        """Byte offset in the slot and spec, at the given turns of the loops (missing: 0)."""
        shape, offset = self.slot.spec.shape, 0
        for verb, *args in self.path:
            if verb == "reshape":
                shape = _reshaped(shape, tuple(args))  # type: ignore[arg-type]
                continue
            if verb == "like":
                shape = args[0].at(turns)[1].shape  # type: ignore[attr-defined]
                continue
            if verb == "like rows":
                shape = (args[0].at(turns)[1].shape[0], *shape[1:])  # type: ignore[attr-defined]
                continue
            row = _size(shape[1:])
            if verb == "slice":
                start, stop = args
                offset, shape = offset + start * row, (stop - start, *shape[1:])  # type: ignore[operator]
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
class LoopHandle:
    """What ``with builder.repeat(n) as loop`` gives; windows refer to it."""

    id: int
    count: int


@dataclass(frozen=True)
class Step:
    """One action: ``launch`` of a kernel, ``fft``, ``ifft`` or ``copy``; the last ``n_work`` refs are its workspace."""

    action: str
    kernel: str
    refs: tuple[Ref, ...]
    numbers: tuple[tuple[str, Number], ...] = ()
    n_work: int = 0


@dataclass(frozen=True)
class Library:
    """Memory a library takes for itself; ``bound`` when it is an upper bound and not read from the library."""

    name: str
    nbytes: int
    bound: bool = True


@dataclass(frozen=True)
class Chunk:
    """How a job of ``total`` units is cut: ``size`` units per run, the last run shorter when it does not divide.

    With ``times`` there are so many parts of ``total`` units, each cut alike: no run has units of two parts.
    """

    unit: str
    total: int
    size: int
    times: int = 1

    def ranges(self) -> list[tuple[int, int]]:
        """``(start, stop)`` of every run, counted over all parts."""
        step, total = max(self.size, 1), self.total
        return [(k * total + a, k * total + min(a + step, total)) for k in range(self.times) for a in range(0, total, step)]


def _size(shape: tuple[int, ...]) -> int:
    n = 1
    for length in shape:
        n *= length
    return n


def _reshaped(shape: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[int, ...]:
    size = _size(shape)
    if -1 in wanted:
        rest = _size(tuple(n for n in wanted if n != -1))
        wanted = tuple((size // rest if rest else 0) if n == -1 else n for n in wanted)
    if _size(wanted) != size:
        raise ShapeError("reshape", wanted, f"a shape of {size} elements")
    return wanted
