"""Blocks of plain bytes between the caller's pages and a ring of pinned ones: cut into pieces, copied without the interpreter."""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from footprint.backend.compiling import compiling
from footprint.plan.faces import Copiers, part_of
from footprint.plan.slots import Ref, Step
from footprint.spec import ArraySpec

if TYPE_CHECKING:
    from footprint.plan.geometry import Geometry

Window = tuple[tuple[int, int], ...]

# Bytes of a piece, which one thread copies, and pieces of a transfer, which the device's lane starts.
_LEAST, _LARGEST, _PAGE = 128 << 10, 2 << 20, 4 << 10
_TOGETHER = 8
# Bytes of a row from which a block of rows is worth being copied row by row.
_ROW = 2 << 10


class Crew:
    """Threads of one way, which go from load to load, whoever's it is, and know nothing of the interpreter.

    A thread that came back to Python after every block would wait for its turn there, as the lanes would for theirs: of small
    blocks that was most of the time.
    """

    def __init__(self) -> None:
        self._threads = Copiers(1)
        self._lock = threading.Lock()
        self._pid, self._closed = 0, False
        atexit.register(self._close)

    def code(self) -> Any:
        """What the threads run, with the table where they look for work."""
        if self._pid != os.getpid():
            with self._lock, compiling():
                from footprint.kernels.carry import cpu

                if self._pid != os.getpid():
                    table = np.zeros(cpu.SLOT * (cpu.SLOTS + 1), np.int64)
                    # Threads may look at it until the process is gone.
                    ctypes.pythonapi.Py_IncRef(ctypes.py_object(table))
                    self._table, self._free, self._cpu = table.ctypes.data, list(range(cpu.SLOTS)), cpu
                    self._workers = self._threads.workers
                    # A process that was forked has none of the threads.
                    self._pid = os.getpid()
        return self._cpu

    @property
    def workers(self) -> int:
        """How many they are when all have come."""
        self.code()
        return self._workers

    def _close(self) -> None:
        """Have the threads leave before what they run is unloaded."""
        with self._lock:
            self._closed = True
            if self._pid == os.getpid():
                self._cpu.close(self._table)

    def bring(self, load: int) -> int | None:
        """Have a load copied; the slot it has, None where there is none: whoever waits for it then copies it."""
        with self._lock:
            if self._closed or not self._free:
                return None
            slot = self._free.pop()
        box: SimpleQueue[Any] = SimpleQueue()
        for _ in range(self._workers - self._cpu.bring(self._table, slot, load)):
            self._cpu.count_in(self._table, 1)
            try:
                self._threads.start(box, None, self._cpu.serve, self._table)
            except BaseException:
                self._cpu.count_in(self._table, -1)
                self.remove(slot)
                raise
        return slot

    def remove(self, slot: int) -> None:
        """Take a load away; no thread is at it when this returns."""
        self._cpu.remove(self._table, slot)
        with self._lock:
            self._free.append(slot)


_UP, _DOWN = Crew(), Crew()


class Lines(NamedTuple):
    """Where the bytes of a block lie in an array: runs of so many, so many apart."""

    base: int
    run: int
    stride: int


def lines(given: Any, window: Window, spec: ArraySpec) -> Lines | None:
    """Where a block's bytes lie in the caller's array; None where they must be changed on the way, or lie too far apart."""
    if not isinstance(given, np.ndarray) or given.dtype != np.dtype(spec.dtype) or not spec.size:
        return None
    if any(start < 0 or stop > n for (start, stop), n in zip(window, given.shape)):
        return None
    block = part_of(given, window)
    run, axis = block.itemsize, block.ndim - 1
    while axis >= 0 and (block.shape[axis] == 1 or block.strides[axis] == run):
        run *= block.shape[axis]
        axis -= 1
    if axis < 0:
        return Lines(block.ctypes.data, run, 0)
    several = [i for i in range(axis + 1) if block.shape[i] > 1]
    if len(several) > 1 or run < _ROW or block.strides[axis] < 0:
        return None
    return Lines(block.ctypes.data, run, block.strides[axis])


class Block(NamedTuple):
    """A block that crosses.

    Attributes
    ----------
    step
        Which fills or takes it, through the host memory of its lane.
    view, spec
        The block on the device.
    window, given
        Which of the caller's array, source or sink it is.
    geometry
        Of the part.
    whole
        The caller's array on the device whose part it is; None for our own memory.
    """

    step: Step
    view: Any
    spec: ArraySpec
    window: Window
    given: Any
    geometry: Geometry
    whole: Any = None

    @property
    def ref(self) -> Ref:
        """What it is of on the device."""
        return self.step.refs[1 if self.step.action == "fill" else 0]

    @property
    def lines(self) -> Lines | None:
        """Where its bytes lie in the caller's array."""
        return lines(self.given, self.window, self.spec)

    def is_all(self) -> bool:
        """Whether it is the whole of an array on the host, byte by byte."""
        given, spec = self.given, self.spec
        if not isinstance(given, np.ndarray) or given.shape != spec.shape or given.dtype.str != spec.dtype:
            return False
        return given.flags.c_contiguous and not any(start for start, _ in self.window)


class Cutting(NamedTuple):
    """How a block crosses a ring.

    Attributes
    ----------
    piece, together, places
        Bytes of a piece, pieces of a transfer, and transfers that the ring holds.
    lead, total
        Bytes that the first piece is short of, and those of the block.
    """

    piece: int
    together: int
    places: int
    lead: int
    total: int

    @classmethod
    def of(cls, ring: int, total: int, where: Lines) -> Cutting:
        """For a ring and a block of so many bytes: small pieces where there are few, so that all threads have some.

        Large pieces end where the system's large pages do: threads that touch a page for the first time wait for each other.
        """
        wanted = min(_LARGEST, ring // (2 * _TOGETHER), total // (2 * _UP.workers))
        piece = min(max(wanted // _PAGE * _PAGE, _LEAST), ring)
        together = max(1, min(_TOGETHER, ring // piece // 2))
        lead = where.base % piece if piece == _LARGEST and not where.stride else 0
        return cls(piece, together, ring // (piece * together), lead, total)

    @property
    def transfer(self) -> int:
        """Bytes of a transfer."""
        return self.piece * self.together

    @property
    def transfers(self) -> int:
        """Transfers in all."""
        return -(-(self.lead + self.total) // self.transfer)

    def region(self, number: int) -> tuple[int, int]:
        """Bytes of the block that a transfer is of: from, to."""
        first = number * self.transfer - self.lead
        return max(first, 0), min(first + self.transfer, self.total)

    def place(self, number: int) -> slice:
        """Where they are in the ring."""
        start, stop = self.region(number)
        at = number % self.places * self.transfer + (0 if number else self.lead)
        return slice(at, at + stop - start)


class Carry:
    """A load: all pieces of one block, each of which is copied when it is allowed, by a crew."""

    def __init__(self, cut: Cutting, ring: np.ndarray, given: np.ndarray, where: Lines, up: bool) -> None:
        self._crew = _UP if up else _DOWN
        self._cpu, self._cut = self._crew.code(), cut
        self._count = -(-(cut.lead + cut.total) // cut.piece)
        self._words = np.zeros(self._cpu.DONE + self._count, np.int64)
        how = (ring.ctypes.data, cut.places * cut.together, cut.piece, cut.lead, cut.total, *where, up, self._count)
        self._words[self._cpu.HOW : self._cpu.HOW + len(how)] = how
        self._done = self._words[self._cpu.DONE :]
        self._at = self._words.ctypes.data
        # What the threads have the addresses of.
        self._held = (ring, given)
        self._slot = self._crew.bring(self._at)

    def allow(self, transfers: int) -> None:
        """Let the pieces of the first ``transfers`` be copied."""
        self._cpu.allow(self._at, transfers * self._cut.together)

    def arrive(self, number: int) -> None:
        """Wait until the pieces of a transfer are copied, or until they will not be."""
        first = number * self._cut.together
        self._wait(first, min(first + self._cut.together, self._count))

    def _wait(self, first: int, stop: int) -> None:
        # Who need not wait need not let another thread have the interpreter either.
        if not self._done[first:stop].all():
            self._cpu.arrive(self._at, first, stop, self._slot is None)

    def stop(self) -> None:
        """Copy no piece any more that has not begun."""
        self._cpu.allow(self._at, -1)

    def join(self) -> None:
        """Wait until all is copied, or until what has begun is after a `stop`, and the threads have left its memory."""
        self._wait(0, self._count)
        if self._slot is not None:
            self._crew.remove(self._slot)
            self._slot = None
