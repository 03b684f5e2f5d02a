"""Plans kept bound from call to call, so that a call like an earlier one finds plan, programs and memory ready.

What is kept is memory: bounded by a setting, shown and given back on request, and given up before an allocation fails.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

from footprint import settings
from footprint.backend.base import Backend
from footprint.errors import BackendError
from footprint.plan.bind import BoundPlan
from footprint.plan.plan import Plan


class Ready:
    """Bound plans that nobody runs now, the one used longest ago first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: OrderedDict[Hashable, BoundPlan] = OrderedDict()
        self._held = 0
        # Read when first needed, and again when all is cleared: asking the environment costs more than keeping.
        self._limit: int | None = None
        self.hits = self.misses = 0

    def take(self, key: Hashable) -> BoundPlan | None:
        """A bound plan of this key, for the caller alone until it is put back."""
        with self._lock:
            found = self._idle.pop(key, None)
            if found is None:
                self.misses += 1
            else:
                self.hits += 1
                self._held -= found.nbytes
            return found

    def put(self, key: Hashable, bound: BoundPlan) -> None:
        """Keep a bound plan for the next call, unless it is too large; give up those used longest ago in its place."""
        given_up = []
        with self._lock:
            if self._limit is None:
                self._limit = settings.kept_bytes()
            limit = self._limit
            if bound.nbytes > limit or key in self._idle:
                given_up.append(bound)
            else:
                self._idle[key] = bound
                self._held += bound.nbytes
                while self._held > limit:
                    _, oldest = self._idle.popitem(last=False)
                    self._held -= oldest.nbytes
                    given_up.append(oldest)
        for one in given_up:
            one.free()

    def clear(self) -> None:
        """Give all back."""
        with self._lock:
            idle, self._idle, self._held, self._limit = list(self._idle.values()), OrderedDict(), 0, None
        for one in idle:
            one.free()

    def kept(self, device: str | None = None) -> int:
        """Bytes kept on a device (None: on all), host memory beside it included."""
        with self._lock:
            return sum(b.nbytes for b in self._idle.values() if device in (None, b.backend.limits.device))

    def rows(self) -> list[tuple[str, str, int]]:
        """Verb, device and bytes of everything kept."""
        with self._lock:
            return [(b.plan.name, b.backend.limits.device, b.nbytes) for b in self._idle.values()]

    def forget(self) -> None:
        """In a process that was forked: the memory is the parent's."""
        self._lock = threading.Lock()
        self._idle, self._held = OrderedDict(), 0


READY = Ready()


def bound_for(key: Hashable, backend: Backend, make: Callable[[], Plan]) -> BoundPlan:
    """A bound plan of this key: kept from an earlier call, or planned and bound now."""
    found = READY.take(key)
    if found is not None:
        return found
    plan = make()
    return bind(plan, backend)


def bind(plan: Plan, backend: Backend, check: str | None = None) -> BoundPlan:
    """Bind, giving up what is kept where memory is short."""
    check = settings.check() if check is None else check
    try:
        return plan.bind(backend, check)
    except (BackendError, MemoryError):
        if not READY.kept():
            raise
        READY.clear()
        return plan.bind(backend, check)


def cache_info() -> dict[str, Any]:
    """What is kept from call to call: bytes, the setting that bounds them, hits, misses, and verb, device and bytes of each plan.

    Returns
    -------
    dict
        ``bytes``, ``limit`` (``FOOTPRINT_KEEP``), ``hits``, ``misses``, ``plans``.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.clear_cache()
    >>> fp.cache_info()["bytes"]
    0
    """
    rows = READY.rows()
    return {
        "bytes": sum(nbytes for *_, nbytes in rows),
        "limit": settings.kept_bytes(),
        "hits": READY.hits,
        "misses": READY.misses,
        "plans": rows,
    }


def clear_cache() -> None:
    """Give back all memory that is kept for later calls.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.clear_cache()
    """
    READY.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=READY.forget)
