"""Whole numbers of 64 bits that several threads change at once: sums and least values are the same in whatever order."""

from __future__ import annotations

from ctypes import c_int64
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from footprint.kernels.common.vectors import PLAIN

_POINTER = ir.IntType(64).as_pointer()


def _change(how: str) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.atomic_rmw(how, builder.inttoptr(args[0], _POINTER), args[1], "monotonic")

    return types.int64(types.int64, types.int64), code


@intrinsic
def _add(typing_context, address, value):  # type: ignore[no-untyped-def]
    return _change("add")


@intrinsic
def _lower(typing_context, address, value):  # type: ignore[no-untyped-def]
    return _change("min")


def _add_plainly(address: int, value: int) -> None:
    word = c_int64.from_address(int(address))
    word.value += int(value)


def _lower_plainly(address: int, value: int) -> None:
    word = c_int64.from_address(int(address))
    word.value = min(word.value, int(value))


# Where kernels run as the Python they are, on one thread, so do these.
add: Any = _add_plainly if PLAIN else _add
"""``add(address, value)``: add to the word at an address."""
lower: Any = _lower_plainly if PLAIN else _lower
"""``lower(address, value)``: put the lower of two values into the word at an address."""
