"""Whole numbers of 64 bits that several threads change at once: sums and least values are the same in whatever order."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_POINTER = ir.IntType(64).as_pointer()


def _change(how: str) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.atomic_rmw(how, builder.inttoptr(args[0], _POINTER), args[1], "monotonic")

    return types.int64(types.int64, types.int64), code


@intrinsic
def add(typing_context, address, value):  # type: ignore[no-untyped-def]
    """Add to the word at an address; what it was."""
    return _change("add")


@intrinsic
def lower(typing_context, address, value):  # type: ignore[no-untyped-def]
    """Put the lower of two values into the word at an address; what it was."""
    return _change("min")
