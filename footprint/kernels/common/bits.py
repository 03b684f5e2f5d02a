"""Which of 64 numbers are set, as the bits of one: a test for all by vector instructions, and as many steps as there are bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from footprint.kernels.common.jit import njit

AT_ONCE = 64
"""Numbers, and bits of the one that tells of them."""
_ONE = np.uint64(1)


@intrinsic
def counted(typing_context, bits):  # type: ignore[no-untyped-def]
    """How many bits are set."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), code


def _zeros(function: str, turned: bool) -> Any:
    """The intrinsic that counts zeros at one end; ``turned``: the place of the bit beyond them, counted from the lowest."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        kind = ir.FunctionType(args[0].type, [args[0].type, ir.IntType(1)])
        called = cgutils.get_or_insert_function(builder.module, kind, function)
        found = builder.call(called, [args[0], ir.Constant(ir.IntType(1), 0)])
        return builder.sub(ir.Constant(args[0].type, AT_ONCE - 1), found) if turned else found

    @intrinsic
    def place(typing_context, bits):  # type: ignore[no-untyped-def]
        return types.uint64(types.uint64), code

    return place


lowest = _zeros("llvm.cttz.i64", False)
"""The place of the lowest bit that is set, `AT_ONCE` if none is."""
highest = _zeros("llvm.ctlz.i64", True)
"""The place of the highest bit that is set; there has to be one."""


@intrinsic
def _set(typing_context, row, at):  # type: ignore[no-untyped-def]
    """Which of `AT_ONCE` bytes from ``at`` on are not zero."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        kind = ir.VectorType(ir.IntType(8), AT_ONCE)
        values = builder.load(builder.bitcast(builder.gep(data, [args[1]]), kind.as_pointer()), align=1)
        return builder.bitcast(builder.icmp_unsigned("!=", values, ir.Constant(kind, [0] * AT_ONCE)), ir.IntType(AT_ONCE))

    return types.uint64(row, types.int64), code


@njit(cache=True, nogil=True)
def word(flat, at, many):
    """Which of the bytes from ``at`` on are set, of `AT_ONCE` or as ``many`` as there are of a row."""
    found = np.uint64(0)
    if at + AT_ONCE > flat.size:
        for i in range(min(many, AT_ONCE)):
            found |= np.uint64(flat[at + i] != 0) << np.uint64(i)
        return found
    found = _set(flat, at)
    return found if many >= AT_ONCE else found & ((_ONE << np.uint64(many)) - _ONE)


@njit(cache=True, nogil=True)
def starts(bits, before):
    """Bits that are set and follow one that is not; ``before`` is the one before the lowest."""
    return bits & ~((bits << _ONE) | before)


@njit(cache=True, nogil=True)
def empty(part):
    """Whether nothing is set in a short stretch, of any dtype."""
    found = np.int32(0)
    for i in range(part.size):
        found |= np.int32(1) if part[i] else np.int32(0)
    return found == 0
