"""Blocks of plain bytes between the caller's pages and a ring of pinned ones: cut into pieces, copied without the interpreter."""

from __future__ import annotations

from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np

from footprint.backend.compiling import compiling
from footprint.plan.faces import Copiers, part_of
from footprint.spec import ArraySpec

# Threads of each way: those of one never wait for what only threads of the same way would do.
_UP, _DOWN = Copiers(1), Copiers(1)
# Bytes of a piece, which one thread copies, and pieces of a transfer, which the device's lane starts.
_LEAST, _LARGEST, _PAGE = 128 << 10, 2 << 20, 4 << 10
_TOGETHER = 4
# Bytes of a row from which a block of rows is worth being copied row by row.
_ROW = 2 << 10
# Words of a job before those of its pieces: see `kernels.carry.cpu`.
_WORDS = 16


class Lines(NamedTuple):
    """Where the bytes of a block lie in an array: runs of so many, so many apart."""

    base: int
    run: int
    stride: int


def lines(given: Any, window: tuple[tuple[int, int], ...], spec: ArraySpec) -> Lines | None:
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
    """Copies all pieces of one block, each when it is allowed; the threads end by themselves with the last."""

    def __init__(self, cut: Cutting, ring: np.ndarray, given: np.ndarray, where: Lines, up: bool) -> None:
        with compiling():
            from footprint.kernels.carry import cpu
        self._cpu, self._cut = cpu, cut
        count = -(-(cut.lead + cut.total) // cut.piece)
        self._state = np.zeros(_WORDS + count, np.int64)
        self._at = self._state.ctypes.data
        places = cut.places * cut.together
        self._how = (self._at, ring.ctypes.data, places, cut.piece, cut.lead, cut.total, *where, up)
        # What the threads have the addresses of.
        self._held = (ring, given)
        self._box: SimpleQueue[Any] = SimpleQueue()
        threads = _UP if up else _DOWN
        self._threads = min(threads.workers, count)
        for _ in range(self._threads):
            threads.start(self._box, None, self._copy)

    def _copy(self) -> None:
        self._cpu.carry(*self._how)

    def allow(self, transfers: int) -> None:
        """Let the pieces of the first ``transfers`` be copied."""
        self._cpu.allow(self._at, transfers * self._cut.together)

    def arrive(self, number: int) -> None:
        """Wait until the pieces of a transfer are copied."""
        cut = self._cut
        stop = -(-(cut.lead + cut.region(number)[1]) // cut.piece)
        self._cpu.arrive(self._at, number * cut.together, stop)

    def stop(self) -> None:
        """Copy no piece any more that has not begun."""
        self._cpu.allow(self._at, -1)

    def join(self) -> None:
        """Wait until the threads have left its memory."""
        while self._threads:
            _, error = self._box.get()
            self._threads -= 1
            try:
                if error is not None:
                    raise error
            finally:
                # As in `drive.Job.side_by_side`: named here, it would keep the memory its frames hold.
                del error
