"""What a caller hands to a bound plan: refused where its numbers would not be read as they are meant, or others be written over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from footprint.backend.arrays import kind_of as library_of
from footprint.backend.overlap import one_memory, shared_memory
from footprint.errors import ArgumentError, ShapeError
from footprint.plan.geometry import check_direct
from footprint.plan.slots import Slot
from footprint.units import kind_of

if TYPE_CHECKING:
    from footprint.plan.plan import Plan


# Bytes of masks that are known again by a copy of them: products of larger ones are found anew, in memory that the plan has.
_KNOWN = 1 << 19


class Taken(Protocol):
    """What a caller hands in second, from which the inputs of a plan are made that stand in its place: a mask, and its products."""

    @property
    def count(self) -> int:
        """How many inputs are made of it."""
        ...

    def shown(self, slot: Slot) -> Slot:
        """As the caller has it; ``slot`` is the first of these inputs."""
        ...

    def __call__(self, array: Any, /) -> tuple[Any, ...]:
        """The inputs, of an array of that shape; what the plan was not made for is refused."""
        ...


class Handed:
    """The caller's arrays, as a run of a plan takes them. A small job feels every line of it.

    Parameters
    ----------
    plan
        Whose inputs and outputs they are to be.
    """

    def __init__(self, plan: Plan) -> None:
        self._ins, self._outs, self._in_place = plan.inputs, plan.outputs, plan.in_place
        self._on_host = all(map(_is_host, (*self._ins, *self._outs)))
        looked_at = lambda slots: [(s, s.id, s.spec.shape, np.dtype(s.spec.dtype), s.given) for s in slots]
        self._shapes = [looked_at(s for s in plan.slots if s.kind == kind) for kind in ("inp", "out")]
        # The same as the caller has them.
        self._shown = [looked_at(ends) for ends in (self._ins, self._outs)]
        self._taken, self._instead = plan.taken, [one[1] for one in self._shapes[0][1:]]
        # Bytes of the mask that was handed in last, and what was made of it.
        self._last: tuple[bytes, tuple[Any, ...]] | None = None

    def __call__(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> dict[int, Any]:
        """By slot, what a caller hands in: all of it is looked at."""
        if not (self._on_host and self._plain(inputs, outputs)):
            inputs, outputs = self._looked_at(inputs, outputs)
        found: dict[int, Any] = {}
        taken = self._taken
        for what, slots, arrays in zip(("inputs", "out"), self._shown, (inputs, outputs)):
            if len(slots) != len(arrays):
                raise ShapeError(what, f"{len(arrays)} arrays", f"{len(slots)} ({', '.join(one[0].name for one in slots)})")
            for at, ((slot, key, shape, dtype, given), array) in enumerate(zip(slots, arrays)):
                found[key] = array
                if given.owner != "caller":
                    continue
                if tuple(array.shape) != shape:
                    raise ShapeError(slot.name, f"shape {tuple(array.shape)}", f"{shape}")
                if at == 1 and taken is not None and what == "inputs":
                    if not (taken.count == 1 and array.dtype is dtype and array.flags.c_contiguous):
                        found |= zip(self._instead, self._made(taken, array))
                    continue
                if array.dtype is not dtype and array.dtype != dtype:
                    raise ShapeError(slot.name, f"dtype {array.dtype}", f"{dtype}, as the plan was made for")
                if given.order is not None:
                    array = found[key] = array.transpose(given.order)
                if given.direct:
                    check_direct(slot, array, dtype)
        return found

    def _made(self, taken: Taken, array: Any) -> tuple[Any, ...]:
        """The inputs that are made of what is handed in second; of the same again they are not made anew."""
        if taken.count == 1 or array.nbytes > _KNOWN:
            return taken(array)
        look = array.tobytes() + array.dtype.str.encode()
        last = self._last
        if last is None or last[0] != look:
            self._last = last = look, taken(array)
        return last[1]

    def by_slot(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> dict[int, Any]:
        """By slot, what a verb has seen to: shapes and dtypes fit."""
        found: dict[int, Any] = {}
        for what, slots, arrays in zip(("inputs", "out"), self._shapes, (inputs, outputs)):
            if len(slots) != len(arrays):
                raise ShapeError(what, f"{len(arrays)} arrays", f"{len(slots)} ({', '.join(one[0].name for one in slots)})")
            for (slot, key, shape, dtype, given), array in zip(slots, arrays):
                found[key] = array
                if given.owner != "caller":
                    continue
                if tuple(array.shape) != shape:
                    raise ShapeError(slot.name, f"shape {tuple(array.shape)}", f"{shape}")
                if given.direct:
                    check_direct(slot, array, dtype)
        return found

    @staticmethod
    def _plain(inputs: Sequence[Any], outputs: Sequence[Any]) -> bool:
        """Whether all are NumPy's own, and results go to memory of their own that can be written to."""
        if type(outputs) is not list:
            return False
        for array in inputs:
            if type(array) is not np.ndarray:
                return False
        for number, out in enumerate(outputs):
            if type(out) is not np.ndarray or not out.flags.writeable:
                return False
            for array in inputs:
                # Views may be of maps of one file.
                if np.may_share_memory(array, out):
                    return False
                if not (array.base is None or out.base is None) and shared_memory(array, out):
                    return False
            for array in outputs[:number] if number else ():
                if np.may_share_memory(array, out):
                    return False
        return True

    def _looked_at(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The same, refused where they are not, or have more than numbers."""
        if not isinstance(outputs, list | tuple):
            raise ArgumentError("out", kind_of(outputs), "a list of what results go to", "give out=[...]")
        # How many there are is seen to afterwards.
        ins = [_shown(slot, one) if _is_host(slot) else one for slot, one in zip(self._ins, inputs)] + [*inputs[len(self._ins) :]]
        outs = [_shown(slot, one) if _is_host(slot) else one for slot, one in zip(self._outs, outputs)]
        outs += outputs[len(self._outs) :]
        for at, (slot, out) in enumerate(zip(self._outs, outs)):
            if type(out) is not np.ndarray or not _is_host(slot):
                continue
            if not out.flags.writeable:
                raise ShapeError(slot.name, "a read-only array", "a writable one")
            for number, one in enumerate((*ins, *outs[:at])):
                if type(one) is np.ndarray and (one is out or shared_memory(one, out)):
                    self._apart(number, out, ins, at)
        return ins, outs

    def _apart(self, number: int, out: np.ndarray, inputs: Sequence[Any], at: int) -> None:
        """Refuse a result in an input's memory, or another result's: only what works in place may go to the first input itself."""
        mine = number < len(inputs) and at == 0 and self._in_place
        if mine and one_memory(inputs[0], out) and one_memory(inputs[number], out):
            return
        name = (self._ins[number] if number < len(inputs) else self._outs[number - len(inputs)]).name
        wanted = f"memory of its own, or {self._ins[0].name} itself" if self._in_place else "memory of its own"
        raise ArgumentError("out", f"memory shared with {name}", wanted)


def _is_host(slot: Slot) -> bool:
    """Whether an array in the host's memory is wanted."""
    return slot.given.owner == "caller" and slot.given.space == "host"


def _shown(slot: Slot, array: Any) -> np.ndarray:
    """A plain view of an array of a subclass of NumPy's; what has more than its numbers, or is another library's, is refused."""
    if not isinstance(array, np.ndarray):
        library = library_of(array)
        whose = "" if library.name == "builtins" else f" of {library.name}"
        way = "" if slot.kind == "out" else "give its .compute()" if library.later else "numpy.asarray makes one of it"
        raise ArgumentError(slot.name, f"{kind_of(array)}{whose}", "an array of NumPy", way)
    if unit := str(getattr(array, "unit", None) or ""):
        raise ArgumentError(slot.name, f"an array in {unit}, whose unit would be lost", "a plain array", "give its .value")
    mask = getattr(array, "mask", None)
    if mask is not None and np.any(mask):
        raise ArgumentError(slot.name, "a masked array, whose mask would be ignored", "a plain one")
    return np.asarray(array)
