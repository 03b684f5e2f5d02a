"""Memory of results that nobody holds any more, for the next results of their size: a system makes fresh pages slower than a GPU
fills them.

An array that a call has returned belongs to the caller, as long as he holds it or any view of it. What he lets go of is kept here
where results of that size are asked for again and again, within the bound for all that is kept.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter

import numpy as np

from footprint import settings
from footprint.backend.memory import free_host_bytes, resident_bytes

# Bytes of a result that is worth it; results of a size that are known at once: in the caller's hands, and on its way there; and the
# share that they have at most of the memory that this process has or may have.
LEAST, _EACH, _SHARE = 4 << 20, 3, 1 / 8


def unheld(memory: list[np.ndarray]) -> list[int]:
    """Places of arrays that nobody refers to but the list, from the first on: no view of them is left."""
    # One for the list, one for the argument of the question.
    return [i for i in range(len(memory)) if sys.getrefcount(memory[i]) == 2]


class Results:
    """Memory of results, whoever holds it now: one that nobody else refers to is used again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # The newest last.
        self._memory: list[np.ndarray] = []
        self._asked: Counter[int] = Counter()

    def new(self, shape: tuple[int, ...], dtype: object) -> np.ndarray:
        """An array of the host, whose values are any."""
        made = np.empty(shape, dtype)  # type: ignore[call-overload]
        return made if made.nbytes < LEAST else self.instead(made)

    def instead(self, made: np.ndarray) -> np.ndarray:
        """The same in memory that was used before; or ``made``, whose pages nobody has touched yet."""
        with self._lock:
            self._asked[made.nbytes] += 1
            for i in reversed(unheld(self._memory)):
                if self._memory[i].nbytes == made.nbytes:
                    # What is used stays longest.
                    memory = self._memory.pop(i)
                    self._memory.append(memory)
                    return memory.reshape(-1).view(np.uint8).view(made.dtype).reshape(made.shape)
            if self._asked[made.nbytes] == 1 or not self._has_room(made.nbytes):
                return made
            self._memory.append(made)
            # Whoever has a view of this has a name for what is listed.
            return made.view()

    def _has_room(self, nbytes: int) -> bool:
        """Make room for another, of memory that nobody holds; False where there are enough."""
        if sum(memory.nbytes == nbytes for memory in self._memory) >= _EACH:
            return False
        most = min(settings.kept_bytes(_host_bytes()), int(_SHARE * ((free_host_bytes() or 0) + resident_bytes())))
        while sum(memory.nbytes for memory in self._memory) + nbytes > most:
            idle = unheld(self._memory)
            if not idle:
                return False
            del self._memory[idle[0]]
        return True

    @property
    def nbytes(self) -> int:
        """Of memory that nobody holds."""
        with self._lock:
            return sum(self._memory[i].nbytes for i in unheld(self._memory))

    def clear(self) -> None:
        """Give all back; what others hold is theirs alone from now on."""
        with self._lock:
            self._memory, self._asked = [], Counter()

    def forget(self) -> None:
        """In a process that was forked, where another thread may have held the lock."""
        self.__init__()  # type: ignore[misc]


def _host_bytes() -> int:
    """Bytes of this machine's memory; 0 where the system does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0


RESULTS = Results()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=RESULTS.forget)
