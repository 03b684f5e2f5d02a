"""Vectors of neighbours: samples, and those right of them, at positions that differ by little from lane to lane.

Sixteen lanes then find all they need in two registers of AVX-512, eight in two of AVX2, and permutations replace the gather, whose
cost would be a load a lane. Elsewhere each lane loads its pair, and only the arithmetic is in vectors.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils
from numba.core.registry import cpu_target

# What Numba compiles for, which its own settings may narrow, and not what the processor could do.
FEATURES = cpu_target.target_context.codegen().magic_tuple()[2].split(",")
LANES = 16 if "+avx512f" in FEATURES else 8

F32, I32, I64 = ir.FloatType(), ir.IntType(32), ir.IntType(64)
VF, VI = ir.VectorType(F32, LANES), ir.VectorType(I32, LANES)


def ints(*values: int) -> ir.Constant:
    """Constants of 32 bits, one a lane."""
    return ir.Constant(ir.VectorType(I32, len(values)), list(values))


def splat(builder: Any, scalar: Any, vector: Any) -> Any:
    """The same in every lane."""
    nothing = ir.Constant(vector, ir.Undefined)
    return builder.shuffle_vector(builder.insert_element(nothing, scalar, ir.Constant(I32, 0)), nothing, ints(*[0] * LANES))


def load(builder: Any, pointer: Any, index: Any, vector: Any) -> Any:
    """A vector from element ``index`` on, wherever that lies."""
    return builder.load(builder.bitcast(builder.gep(pointer, [index]), vector.as_pointer()), align=4)


def pairs(builder: Any, segments: Any, start: Any, left: Any) -> tuple[Any, Any]:
    """Samples ``left`` and ``left + 1`` behind ``start``, for every lane; ``left`` is at most 2 LANES - 2."""
    right = builder.add(left, ints(*[1] * LANES))
    declare = cgutils.get_or_insert_function
    if LANES == 16:
        permute = declare(builder.module, ir.FunctionType(VF, [VF, VI, VF]), "llvm.x86.avx512.vpermi2var.ps.512")
        a, b = (load(builder, segments, builder.add(start, ir.Constant(I64, i)), VF) for i in (0, LANES))
        return builder.call(permute, [a, left, b]), builder.call(permute, [a, right, b])
    if "+avx2" in FEATURES:
        permute = declare(builder.module, ir.FunctionType(VF, [VF, VI]), "llvm.x86.avx2.permps")
        a, b = (load(builder, segments, builder.add(start, ir.Constant(I64, i)), VF) for i in (0, LANES))
        last = ints(*[LANES - 1] * LANES)

        def chosen(i: Any) -> Any:
            return builder.select(builder.icmp_signed(">", i, last), builder.call(permute, [b, i]), builder.call(permute, [a, i]))

        return chosen(left), chosen(right)
    v0 = v1 = ir.Constant(VF, ir.Undefined)
    for lane in range(LANES):
        at = ir.Constant(I32, lane)
        index = builder.add(start, builder.sext(builder.extract_element(left, at), I64))
        both = load(builder, segments, index, ir.VectorType(F32, 2))
        v0 = builder.insert_element(v0, builder.extract_element(both, ir.Constant(I32, 0)), at)
        v1 = builder.insert_element(v1, builder.extract_element(both, ir.Constant(I32, 1)), at)
    return v0, v1
