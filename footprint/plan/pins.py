"""The caller's own arrays, pinned once they have crossed the bus more than once: from then on a device reaches them by itself.

Pinning takes as long as copying a block to our own pinned memory, so an array that crosses once is not worth it. One that crosses
again and again, as the ring buffers of a camera do, the result of a loop, or a scan that is reconstructed about one axis after
another, then crosses at the rate of the bus, and no thread copies anything.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING

import numpy as np

from footprint import settings
from footprint.backend.memory import free_host_bytes, resident_bytes

if TYPE_CHECKING:
    from footprint.backend.base import Backend

# Bytes of an array that is worth it, how often its bytes have crossed before it is, and the share of the memory that this process
# has or may have that is pinned at most.
_LEAST, _OFTEN, _SHARE = 4 << 20, 1.5, 0.5


class _Known:
    """An array that has crossed: its address and bytes, how many bytes have crossed, and the devices that reach it."""

    __slots__ = ("address", "backends", "crossed", "nbytes", "refused")

    def __init__(self, owner: np.ndarray) -> None:
        self.address, self.nbytes, self.crossed = owner.ctypes.data, owner.nbytes, 0
        self.backends: list[Backend] = []
        self.refused = False


class Pins:
    """Arrays by the identity of whoever owns their memory; they are unpinned before that memory is given back.

    The whole of an array is pinned or nothing: drivers refuse transfers that begin in pinned pages and end beyond them, also those
    that other libraries start. Only NumPy's own memory qualifies: when that goes, a weak reference tells in time.

    Attributes
    ----------
    lock
        Held while a transfer of pinned pages is queued, so that none begins when they are about to be unpinned.
    nbytes
        Of all that is pinned.
    """

    def __init__(self) -> None:
        # An array may go, and ask for it, in the middle of what a thread does while it holds it.
        self.lock = threading.RLock()
        self._known: dict[int, _Known] = {}
        self.nbytes = 0

    def crosses(self, array: np.ndarray, nbytes: int, backend: Backend) -> bool:
        """So many bytes of an array are about to cross: whether it is pinned, now where it has proved worth it."""
        owner = _owner(array)
        if owner is None or owner.nbytes < _LEAST:
            return False
        key = id(owner)
        with self.lock:
            known = self._known.get(key)
            if known is None:
                known = self._known[key] = _Known(owner)
                weakref.finalize(owner, self._gone, key).atexit = False
            known.crossed += nbytes
            if known.backends:
                return self._joins(known, owner, backend)
            if known.crossed > _OFTEN * known.nbytes and not known.refused:
                known.refused = not (settings.kept_bytes() and self._room(known.nbytes) and backend.pin(owner))
                if not known.refused:
                    known.backends.append(backend)
                    self.nbytes += known.nbytes
            return bool(known.backends)

    @staticmethod
    def _joins(known: _Known, owner: np.ndarray, backend: Backend) -> bool:
        """Whether another device reaches what is pinned: one of the same kind does, or pins it too; pages have one driver."""
        if backend not in known.backends:
            if type(backend) is not type(known.backends[0]):
                return False
            if not (backend.reaches(owner.T if owner.flags.f_contiguous else owner) or backend.pin(owner)):
                return False
            known.backends.append(backend)
        return True

    def clear(self) -> None:
        """Unpin all; what crosses again is pinned again."""
        with self.lock:
            for known in list(self._known.values()):
                self._unpin(known)
                known.crossed, known.refused = 0, False

    def forget(self) -> None:
        """In a process that was forked: pages and device are the parent's."""
        self.lock, self._known, self.nbytes = threading.RLock(), {}, 0

    def _room(self, nbytes: int) -> bool:
        """Make room: arrays known longest give way."""
        most = _SHARE * ((free_host_bytes() or 0) + resident_bytes())
        for known in list(self._known.values()) if nbytes <= most else ():
            if self.nbytes + nbytes <= most:
                break
            self._unpin(known)
            known.crossed = 0
        return self.nbytes + nbytes <= most

    def _unpin(self, known: _Known) -> None:
        if known.backends:
            # What other jobs have queued comes first.
            for backend in known.backends:
                backend.rest()
            for backend in known.backends:
                backend.unpin(known.address)
            known.backends = []
            self.nbytes -= known.nbytes

    def _gone(self, key: int) -> None:
        """An array's memory is about to be given back."""
        with self.lock:
            known = self._known.pop(key, None)
            if known is not None:
                self._unpin(known)


def _owner(array: np.ndarray) -> np.ndarray | None:
    """The array whose memory this one shows, where NumPy has allocated it."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array if array.flags.owndata else None


PINS = Pins()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=PINS.forget)
