"""Bytes between the caller's pages and a ring of pinned ones, by threads that need nothing of the interpreter.

On machines that are shared, a thread that sleeps takes up to a millisecond to wake, as long as a few MiB take to copy: threads
that copy go on from piece to piece, and look, mostly without sleeping, whether the next one's place is free.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

ALLOWED, TICKET, HOW, DONE = 0, 8, 16, 32
"""Words of a load: pieces that may be copied (-1: stop), the next piece, what `HOW` says, and from here on which are done.

The words of `HOW`: ring, places, size, lead, total, base, run, stride, up, count. ``ring`` is the address of the ring, which holds
``places`` pieces of ``size`` bytes, one after the other; of ``total`` bytes the first piece is short of ``lead`` and the last has
what is left. In the caller's array they are runs of ``run`` bytes, ``stride`` apart, from ``base`` on; ``up`` is to the ring.
"""
INSIDE, CLOSED, SLOT, SLOTS = 0, 1, 8, 64
"""Words of a table: threads that look for work in it, whether they are to leave, and so many words a slot of so many slots.

A slot has the address of a load, 0 where it is free, and then the threads that are at it.
"""

_I64 = ir.IntType(64)
# Looks that give the core to others, before a thread sleeps between them: a few hundred microseconds. Naps become longer, to this
# many microseconds, and after so many a thread leaves a table in which nothing is left to copy.
_LOOKS, _NAP, _LONGEST, _NAPS = 1000, 30, 500, 40

_yield = types.ExternalFunction("sched_yield", types.int32())
_sleep = types.ExternalFunction("usleep", types.int32(types.uint32))


def _word(builder: Any, address: Any) -> Any:
    return builder.inttoptr(address, _I64.as_pointer())


@intrinsic
def _load(typing_context, address):  # type: ignore[no-untyped-def]
    """A word another thread writes; what it wrote before is seen too."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.load_atomic(_word(builder, args[0]), "acquire", 8)

    return types.int64(types.int64), code


@intrinsic
def _store(typing_context, address, value):  # type: ignore[no-untyped-def]
    """A word for other threads, after all that was written before."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        builder.store_atomic(args[1], _word(builder, args[0]), "release", 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), code


@intrinsic
def _add(typing_context, address, value):  # type: ignore[no-untyped-def]
    """A word as it was, with a value added from now on; all threads agree on what came before."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.atomic_rmw("add", _word(builder, args[0]), args[1], "seq_cst")

    return types.int64(types.int64, types.int64), code


@intrinsic
def _swap(typing_context, address, value):  # type: ignore[no-untyped-def]
    """A word as it was, another from now on; all threads agree on what came before."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.atomic_rmw("xchg", _word(builder, args[0]), args[1], "seq_cst")

    return types.int64(types.int64, types.int64), code


@intrinsic
def _instead(typing_context, address, old, new):  # type: ignore[no-untyped-def]
    """Put ``new`` where ``old`` still is; whether it was."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        found = builder.cmpxchg(_word(builder, args[0]), args[1], args[2], "seq_cst", "acquire")
        return builder.extract_value(found, 1)

    return types.boolean(types.int64, types.int64, types.int64), code


@intrinsic
def _move(typing_context, to, of, nbytes):  # type: ignore[no-untyped-def]
    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        byte = ir.IntType(8).as_pointer()
        to, of = builder.inttoptr(args[0], byte), builder.inttoptr(args[1], byte)
        cgutils.raw_memmove(builder, to, of, args[2], _I64(1))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), code


@intrinsic
def _stream(typing_context, to, of, blocks):  # type: ignore[no-untyped-def]
    """Blocks of 128 bytes past the caches, ``to`` being a multiple of 64: what is not read again soon costs no reading before."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        vector = ir.VectorType(_I64, 4)
        once = builder.module.add_metadata([ir.IntType(32)(1)])
        with cgutils.for_range(builder, args[2]) as loop:
            at = builder.mul(loop.index, _I64(128))
            here, there = builder.add(args[0], at), builder.add(args[1], at)
            words = [
                builder.load(builder.inttoptr(builder.add(there, _I64(32 * i)), vector.as_pointer()), align=1) for i in range(4)
            ]
            for i, word in enumerate(words):
                put = builder.store(word, builder.inttoptr(builder.add(here, _I64(32 * i)), vector.as_pointer()), align=32)
                put.set_metadata("nontemporal", once)
        # They are not in the order of other stores.
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), code


@njit("void(int64, int64, int64)", cache=True, nogil=True)
def _past(to, of, nbytes):
    """Copy past the caches."""
    head = min(-to % 64, nbytes)
    _move(to, of, head)
    blocks = (nbytes - head) // 128
    _stream(to + head, of + head, blocks)
    done = head + 128 * blocks
    _move(to + done, of + done, nbytes - done)


@njit("void(int64, int64)", cache=True, nogil=True)
def allow(load, count):
    """Let the first ``count`` pieces be copied, or none any more where it is negative."""
    _store(load + 8 * ALLOWED, count)


@njit("void(int64, int64)", cache=True, nogil=True)
def _copy(load, piece):
    """Copy a piece of a load."""
    how = load + 8 * HOW
    ring, places, size, lead = _load(how), _load(how + 8), _load(how + 16), _load(how + 24)
    total, base, run, stride = _load(how + 32), _load(how + 40), _load(how + 48), _load(how + 56)
    up = _load(how + 64) != 0
    at, end = piece * size - lead, min((piece + 1) * size - lead, total)
    here = ring + (piece % places) * size
    if piece == 0:
        here, at = here + lead, 0
    while at < end:
        row = at // run
        there = base + row * stride + (at - row * run)
        nbytes = min(end, (row + 1) * run) - at
        to, of = (here, there) if up else (there, here)
        _past(to, of, nbytes)
        here += nbytes
        at += nbytes
    _store(load + 8 * (DONE + piece), 1)


@njit("boolean(int64)", cache=True, nogil=True)
def _over(load):
    """Whether nothing of a load is left to begin, now or later."""
    return _load(load + 8 * ALLOWED) < 0 or _load(load + 8 * TICKET) >= _load(load + 8 * (HOW + 9))


@njit("boolean(int64)", cache=True, nogil=True)
def _help(load):
    """Copy the next piece of a load, where one may be copied; whether there was one."""
    while True:
        piece = _load(load + 8 * TICKET)
        if _over(load) or piece >= _load(load + 8 * ALLOWED):
            return False
        if _instead(load + 8 * TICKET, piece, piece + 1):
            _copy(load, piece)
            return True


@njit("int64(int64, int64)", cache=True, nogil=True)
def _rest(looks, longest):
    """Give the core to others, and after many looks sleep, longer and longer."""
    if looks < _LOOKS:
        _yield()
    else:
        _sleep(np.uint32(min(_NAP * (1 + (looks - _LOOKS) // 8), longest)))
    return looks + 1


@njit("void(int64, int64, int64, boolean)", cache=True, nogil=True)
def arrive(load, first, stop, alone):
    """Wait until pieces are copied, ``alone`` by copying what may be copied."""
    for i in range(first, stop):
        looks = 0
        while _load(load + 8 * (DONE + i)) == 0 and _load(load + 8 * ALLOWED) >= 0:
            if not (alone and _help(load)):
                looks = _rest(looks, _NAP)


@njit("int64(int64, boolean)", cache=True, nogil=True)
def _look(table, work):
    """Go to every load of a table: copy a piece of each, or count those of which something is left."""
    found = 0
    for i in range(1, SLOTS + 1):
        slot = table + 8 * SLOT * i
        if _load(slot) == 0:
            continue
        # Who takes a load away waits for those that are counted here, and these see whether it is still there.
        _add(slot + 8, 1)
        load = _load(slot)
        if load != 0:
            found += _help(load) if work else not _over(load)
        _add(slot + 8, -1)
    return found


@njit("void(int64)", cache=True, nogil=True)
def serve(table):
    """Copy pieces of whatever loads a table has, until for a while there are none."""
    looks = 0
    while _load(table + 8 * CLOSED) == 0:
        if _look(table, True):
            looks = 0
            continue
        looks = _rest(looks, _LONGEST)
        if looks > _LOOKS + _NAPS:
            # Who brings a load counts the threads after it is there, and this one looks again after it is not counted any more.
            _add(table + 8 * INSIDE, -1)
            if not _look(table, False):
                return
            _add(table + 8 * INSIDE, 1)
    _add(table + 8 * INSIDE, -1)


@njit("int64(int64, int64, int64)", cache=True, nogil=True)
def bring(table, slot, load):
    """Put a load where threads find it; how many look."""
    _swap(table + 8 * SLOT * (1 + slot), load)
    return _add(table + 8 * INSIDE, 0)


@njit("int64(int64, int64)", cache=True, nogil=True)
def count_in(table, threads):
    """Count threads in or out; how many there were."""
    return _add(table + 8 * INSIDE, threads)


@njit("void(int64, int64)", cache=True, nogil=True)
def remove(table, slot):
    """Take a load away, and wait until no thread is at it."""
    where = table + 8 * SLOT * (1 + slot)
    _swap(where, 0)
    looks = 0
    while _add(where + 8, 0) != 0:
        looks = _rest(looks, _NAP)


@njit("void(int64)", cache=True, nogil=True)
def close(table):
    """Have all threads leave, and wait until they have, or for a tenth of a second."""
    _store(table + 8 * CLOSED, 1)
    looks = 0
    while _load(table + 8 * INSIDE) > 0 and looks < _LOOKS + 1000:
        looks = _rest(looks, _NAP)
