"""Bytes between the caller's pages and a ring of pinned ones, by threads that need nothing of the interpreter.

On machines that are shared, a thread that sleeps takes up to a millisecond to wake, as long as a few MiB take to copy: threads
that copy go on from piece to piece, and look, mostly without sleeping, whether the next one's place is free.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

TICKET, DONE = 8, 16
"""Words of a job's state: pieces whose place is free (-1: stop), the next piece, and from here on which are done."""

_I64 = ir.IntType(64)
# Looks that give the core to others, before a thread sleeps between them: a few hundred microseconds.
_LOOKS, _NAP = 1000, 30

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
def _next(typing_context, address):  # type: ignore[no-untyped-def]
    """A word as it was, one more from now on."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.atomic_rmw("add", _word(builder, args[0]), _I64(1), "acq_rel")

    return types.int64(types.int64), code


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
def allow(state, count):
    """Let the first ``count`` pieces be copied, or none any more where it is negative."""
    _store(state, count)


@njit("boolean(int64, int64)", cache=True, nogil=True)
def _above(address, value):
    """Wait until a word exceeds a value; False where it is negative."""
    looks = 0
    while True:
        found = _load(address)
        if found < 0:
            return False
        if found > value:
            return True
        looks += 1
        if looks < _LOOKS:
            _yield()
        else:
            _sleep(_NAP)


@njit("void(int64, int64, int64)", cache=True, nogil=True)
def arrive(state, first, stop):
    """Wait until pieces are copied."""
    for i in range(first, stop):
        _above(state + 8 * (DONE + i), 0)


@njit("void(int64, int64, int64, int64, int64, int64, int64, int64, int64, boolean)", cache=True, nogil=True)
def carry(state, ring, places, size, lead, total, base, run, stride, up):
    """Copy pieces until none is left, beside other threads that do the same.

    Parameters
    ----------
    state
        Address of the job's words.
    ring, places, size
        Address of the ring; pieces it holds, one after the other, and bytes of one.
    lead, total
        Bytes that the first piece is short of, and bytes in all, of which the last has what is left.
    base, run, stride
        Where they are in the caller's array: runs of so many bytes, so many bytes apart.
    up
        To the ring, or from it.
    """
    count = (lead + total + size - 1) // size
    while True:
        piece = _next(state + 8 * TICKET)
        if piece >= count or not _above(state, piece):
            return
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
        _store(state + 8 * (DONE + piece), 1)
