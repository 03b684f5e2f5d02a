"""Plans kept bound from call to call, so that a call like an earlier one finds plan, programs and memory ready.

What is kept is memory: counted, bounded by a setting, shown and given back on request, and given up before memory is short.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from footprint import settings
from footprint.backend.base import Backend
from footprint.backend.memory import give_back
from footprint.backend.registry import device_limits
from footprint.errors import BackendError
from footprint.plan import exact
from footprint.plan.bind import BoundPlan
from footprint.plan.pins import PINS
from footprint.plan.plan import Plan
from footprint.plan.results import RESULTS
from footprint.plan.spent import SPENT
from footprint.spec import Limits

T = TypeVar("T")

# Calls remembered at most, however small: what more of them would find is not worth looking after. Plans without their memory.
_MOST, _PLANS = 512, 16
# Of the largest plan that was looked at, how much every budget is ample for.
_AMPLE = 4
# Bytes of an entry's place among them.
_PLACE = 200
# Bytes of plans from which on what their making left free in the C library's heap tells beside them: up to 2 MB.
_TRIMMED = 128 << 10
# Of what is free, what a job may take when no budget is given: the rest is for everything else on the machine.
SHARE = 0.8


class Known(NamedTuple):
    """What a call comes to: the key of its ready plan, dtype of its small inputs, and its results' shapes and dtypes.

    ``product`` says that the small inputs are the column and the row whose product the mask is; None that the mask's values decide
    on the key, so that the look has to tell what they are. ``turns`` are the orders in which the axes of what is given and of the
    results are seen, where those are not their own.
    """

    key: str
    small: str
    results: tuple[tuple[tuple[int, ...], Any], ...]
    product: bool | None = False
    turns: tuple[tuple[int, ...], tuple[int, ...]] | None = None


class Fitted(NamedTuple):
    """A plan whose memory is not kept, the budget it was fitted to (None for none), and its own bytes."""

    plan: Plan
    budget: int | None
    nbytes: int

    def does(self, budget: int | None) -> bool:
        """Whether it is what would be planned for a budget, or near enough: nothing is faster than the whole at once."""
        if self.budget == budget:
            return True
        fits = budget is None or self.plan.footprint.total <= budget
        if not fits or self.plan.n_parts == 1 or None in (budget, self.budget):
            return fits and self.plan.n_parts == 1
        assert budget is not None and self.budget is not None
        # Neither budget was in the way of any plan: free memory is another number at every call.
        ample = _AMPLE * max((choice.nbytes for choice in self.plan.choices), default=1 << 62)
        return budget <= self.budget or ample <= self.budget


class Ready:
    """Bound plans that nobody runs now, the one used longest ago first, and the calls that are known to come to them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Dicts keep the order in which things came; one made to be ordered takes six times as long to take out and put back.
        self._idle: dict[str, BoundPlan] = {}
        self._calls: dict[Hashable, tuple[Known, int]] = {}
        self._fitted: dict[str, Fitted] = {}
        # Host memory of the last plan of a device that was too large to keep: pinning it takes longer than most jobs.
        self._pinned: dict[str, list[np.ndarray]] = {}
        # Bytes of the bound plans and of pinned memory, and of the calls and the others.
        self._held = self._remembered = 0
        # Of the bound plans, those of each device, and their own memory there; and by how much a device may hold more than others.
        self._on: dict[str, list[int]] = {}
        self._more: dict[str, int] = {}
        self._room = 0
        # Read when first needed, and again when all is cleared: asking the environment costs more than keeping.
        self._limit: int | None = None
        # The most devices that a job was given to: what is kept of it is as large on each.
        self._devices = 1
        self.hits = self.misses = 0

    # -- plans ---------------------------------------------------------------------------------------------------------
    def take(self, key: str) -> BoundPlan | None:
        """A bound plan of this key, for the caller alone until it is put back."""
        with self._lock:
            if self._limit is None:
                self._limit = settings.kept_bytes()
            found = self._idle.pop(key, None)
            if found is None:
                self.misses += 1
            else:
                self.hits += 1
                # Written out here and below: a small call feels every function.
                on = self._on[found.backend.limits.device]
                on[0] -= found.held
                on[1] -= found.nbytes
                self._held -= found.held
            return found

    def fitted(self, key: str, budget: int | None) -> Plan | None:
        """A plan of this key, to be bound, that does for the budget."""
        found = self._fitted.get(key)
        return found.plan if found is not None and found.does(budget) else None

    def put(
        self, key: str, bound: BoundPlan, budget: int | None = None, plan_too: bool = True, devices: int = 1, alone: bool = False
    ) -> None:
        """Keep a bound plan for the next call, one of as many as there are ``devices``; those used longest ago give way.

        Of one that is too large, its host memory is kept and, with ``plan_too``, the plan for this budget; ``alone``: that is all.
        """
        given_up: list[BoundPlan] = []
        with self._lock:
            if self._limit is None:
                self._limit = settings.kept_bytes()
            if devices > self._devices:
                self._devices = devices
                self._widen()
            device = bound.backend.limits.device
            more = self._more.get(device)
            most = self._limit + (self._hear_of(bound.backend.limits) if more is None else more)
            room = self._room
            if alone or bound.held > most or key in self._idle:
                if not alone and self._keep_pinned(bound, self._limit // 2):
                    given_up = self._trim(room)
                given_up.append(bound)
                if plan_too:
                    given_up += self._keep_fitted(key, Fitted(bound.plan, budget, bound.held - bound.nbytes), room)
            else:
                self._idle[key] = bound
                on = self._on[device]
                on[0] += bound.held
                on[1] += bound.nbytes
                self._held += bound.held
                while self._on[device][0] > most * self._devices:
                    given_up.append(self._drop(next(k for k, b in self._idle.items() if b.backend.limits.device == device)))
                if self._kept > room:
                    given_up += self._trim(room)
                for one in given_up:
                    self._keep_pinned(one, room - self._kept)
        for one in given_up:
            one.free()

    def _hear_of(self, limits: Limits) -> int:
        """By how much more than others plans on a device may hold, which was not known yet."""
        more = self._more[limits.device] = settings.kept_bytes(limits.memory) - (self._limit or 0)
        self._on.setdefault(limits.device, [0, 0])
        self._widen()
        return more

    def _widen(self) -> None:
        """The bound for all devices together, when another is heard of."""
        self._room = self._devices * (self._limit or 0) + sum(self._more.values())

    def pinned(self, device: str, sizes: tuple[int, ...]) -> list[np.ndarray]:
        """Host memory of exactly these sizes, for the caller alone; none where other sizes are kept."""
        with self._lock:
            if tuple(one.nbytes for one in self._pinned.get(device, ())) != sizes:
                return []
            return self._unpin(device)

    def _keep_pinned(self, bound: BoundPlan, most: int) -> bool:
        """Take over the host memory, of so many bytes at most, of a plan that is to be freed."""
        device = bound.backend.limits.device
        if not bound.host or sum(one.nbytes for one in bound.host) > most or bound.late():
            return False
        self._unpin(device)
        self._pinned[device] = bound.lend()
        self._held += sum(one.nbytes for one in self._pinned[device])
        return True

    def _unpin(self, device: str) -> list[np.ndarray]:
        arrays = self._pinned.pop(device, [])
        self._held -= sum(one.nbytes for one in arrays)
        return arrays

    def _keep_fitted(self, key: str, fitted: Fitted, limit: int) -> list[BoundPlan]:
        """Keep a plan without its memory: plans to free in its place."""
        if fitted.nbytes > limit // 4 or key in self._idle:
            return []
        before = self._fitted.pop(key, None)
        self._fitted[key] = fitted
        self._remembered += fitted.nbytes - (before.nbytes if before is not None else 0)
        if len(self._fitted) > _PLANS:
            self._forget_fitted()
        return self._trim(limit)

    def _forget_fitted(self) -> None:
        self._remembered -= self._fitted.pop(next(iter(self._fitted))).nbytes

    def give_up(self, nbytes: int | None = None, device: str | None = None) -> None:
        """Give back so many bytes of a device, the plans used longest ago first; None is all of it, or of every device."""
        given_up, found = [], 0
        if device in (None, "cpu"):
            found += RESULTS.nbytes
            RESULTS.clear()
        with self._lock:
            for name in [name for name in self._pinned if device in (None, name)]:
                found += sum(one.nbytes for one in self._unpin(name))
            for key, bound in list(self._idle.items()):
                if device in (None, bound.backend.limits.device) and (nbytes is None or found < nbytes):
                    given_up.append(self._drop(key))
                    found += bound.nbytes
        for one in given_up:
            one.free()

    def clear(self) -> None:
        """Give all back, and read the setting again."""
        self.give_up()
        PINS.clear()
        exact.forget()
        with self._lock:
            # New ones, since a dict that was large keeps its table. What another thread has put back meanwhile stays.
            self._idle, self._calls, self._fitted = dict(self._idle), {}, {}
            self._remembered, self._limit, self._devices, self._more, self._room = 0, None, 1, {}, 0

    @property
    def _kept(self) -> int:
        """Bytes of all that is kept."""
        return self._held + self._remembered + exact.kept()

    def _trim(self, limit: int) -> list[BoundPlan]:
        """Down to the limit: plans to free."""
        given_up = []
        while self._kept > limit and self._pinned:
            self._unpin(next(iter(self._pinned)))
        while self._kept > limit and self._idle:
            given_up.append(self._drop(next(iter(self._idle))))
        while self._kept > limit and self._calls:
            self._forget(next(iter(self._calls)))
        while self._kept > limit and self._fitted:
            self._forget_fitted()
        return given_up

    def _drop(self, key: str) -> BoundPlan:
        """Take a plan out, with the calls that come to it."""
        bound = self._idle.pop(key)
        on = self._on[bound.backend.limits.device]
        on[0] -= bound.held
        on[1] -= bound.nbytes
        self._held -= bound.held
        for look in [look for look, (known, _) in self._calls.items() if known.key == key]:
            self._forget(look)
        return bound

    # -- calls ---------------------------------------------------------------------------------------------------------
    def recall(self, look: Hashable) -> Known | None:
        """What is known of a call that looks so."""
        found = self._calls.get(look)
        return found[0] if found is not None else None

    def remember(self, look: Hashable, known: Known) -> None:
        """Keep what a call came to, as long as its plan is kept; the call remembered longest ago goes first."""
        nbytes = _bytes_of(look) + _bytes_of(known) + _PLACE
        given_up: list[BoundPlan] = []
        with self._lock:
            if known.key not in self._idle or look in self._calls:
                return
            if len(self._calls) >= _MOST:
                self._forget(next(iter(self._calls)))
            self._calls[look] = (known, nbytes)
            self._remembered += nbytes
            if self._limit is not None:
                given_up = self._trim(self._room)
        for one in given_up:
            one.free()

    def _forget(self, look: Hashable) -> None:
        self._remembered -= self._calls.pop(look)[1]

    # -- what there is -------------------------------------------------------------------------------------------------
    def kept(self, device: str | None = None) -> int:
        """Bytes of plans' memory kept on a device (None: on all), host memory beside it included."""
        with self._lock:
            pinned = sum(one.nbytes for name, arrays in self._pinned.items() if device in (None, name) for one in arrays)
            results = RESULTS.nbytes if device in (None, "cpu") else 0
            return results + pinned + sum(own for name, (_, own) in self._on.items() if device in (None, name))

    def info(self) -> dict[str, Any]:
        """See `cache_info`."""
        with self._lock:
            plans = [(b.plan.name, b.backend.limits.device, b.held) for b in self._idle.values()]
            return {
                "bytes": self._kept,
                "limit": max(self._room, self._devices * (settings.kept_bytes() if self._limit is None else self._limit)),
                "hits": self.hits,
                "misses": self.misses,
                "plans": plans,
                "pinned": sum(one.nbytes for arrays in self._pinned.values() for one in arrays),
                "calls": self._kept - self._held,
                "arrays": PINS.nbytes,
                "results": RESULTS.nbytes,
            }

    def forget(self) -> None:
        """In a process that was forked: the memory is the parent's."""
        self._lock, self._pinned = threading.Lock(), {}
        self._idle, self._calls, self._fitted, self._held, self._remembered = {}, {}, {}, 0, 0
        self._on, self._more = {}, {}


READY = Ready()


def bind(plan: Plan, backend: Backend, check: str | None = None) -> BoundPlan:
    """Bind; what is kept is given up first where the plan would not be left its share of what is free.

    Whoever plans counts what is kept as free; a system that hands out pages as they are touched refuses nothing.
    """
    check = settings.check() if check is None else check
    device, spent = backend.limits.device, SPENT.get()
    if READY.kept(device):
        free = device_limits(device).free
        if free is not None and plan.footprint.total > SHARE * free:
            READY.give_up(int(plan.footprint.total - SHARE * free), device)
    if plan.footprint.total >= _TRIMMED:
        give_back()
    pinned = READY.pinned(device, plan.host_blocks) if plan.host_blocks else []
    if spent is not None:
        spent.binds(backend)
    return with_room(lambda: plan.bind(backend, check, pinned))


def with_room(make: Callable[[], T]) -> T:
    """What is made where memory may be short: all that is kept is given up before that is an error."""
    try:
        return make()
    except (BackendError, MemoryError):
        if not READY.kept() and not PINS.nbytes:
            raise
    READY.give_up()
    PINS.clear()
    return make()


def _bytes_of(value: Any) -> int:
    """Of a look: tuples of small things, those that others share counted too."""
    # None, True and False are there once, whatever holds them.
    if value is None or isinstance(value, bool):
        return 0
    return sys.getsizeof(value) + (sum(map(_bytes_of, value)) if isinstance(value, tuple) else 0)


def cache_info() -> dict[str, Any]:
    """What is kept from call to call: its bytes, and what bounds them.

    Returns
    -------
    dict
        ``bytes``: of all that is kept; ``limit``: the bound in force (``FOOTPRINT_KEEP``); ``hits``, ``misses``; ``plans``: verb,
        device and bytes of each; ``pinned``: pinned host memory of plans too large to keep; ``calls``: bytes of records of earlier
        calls in addition to plans; ``arrays``: bytes of the caller's arrays that are pinned because they have crossed to a device
        more than once; ``results``: bytes kept for later results, from results that nobody holds any more. These two are not part
        of ``bytes``; results have a bound of their own, as large.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.clear_cache()
    >>> fp.cache_info()["bytes"]
    0
    """
    return READY.info()


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
