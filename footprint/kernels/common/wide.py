"""Ask the compiler for the widest vectors the processor has, in one function only."""

from __future__ import annotations

from numba.core import types
from numba.extending import intrinsic


@intrinsic
def wide(typing_context):
    """Mark the function this is called in: vectors of 512 bits where there are any, and a function of its own.

    LLVM takes 256 bits unless told, for fear of the lower clock of early AVX-512; these loops gain 1.5x from all 512
    (13 x 13, Cascade Lake). llvmlite knows no such attribute, so its text is added as it is; other processors ignore
    it.
    """

    def codegen(context, builder, signature, args):
        attributes = builder.function.attributes
        if isinstance(attributes, set):
            set.add(attributes, "noinline")
            set.add(attributes, '"prefer-vector-width"="512"')
        return context.get_dummy_value()

    return types.void(), codegen
