"""Vectors as wide as the processor's registers, written out where the compiler would have to guess.

Loops that keep a block of sums in registers are what it guesses worst: it takes half the width, spills, or reads every
operand again. The text of an ``Emit`` is LLVM's, so the same one serves every processor Numba knows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import config
from numba.core import cgutils, types
from numba.core.registry import cpu_target
from numba.extending import intrinsic

# What Numba compiles for, which its own settings may narrow, and not what the processor could do.
_FEATURES = frozenset(one[1:] for one in cpu_target.target_context.codegen().magic_tuple()[2].split(",") if one.startswith("+"))


def _registers() -> tuple[int, int]:
    """Bytes of a vector register of this processor, and how many it has."""
    if "avx512f" in _FEATURES:
        return 64, 32
    if "avx" in _FEATURES:
        return 32, 16
    return (16, 32) if "neon" in _FEATURES else (16, 16)


BYTES, REGISTERS = _registers()
SHIFTS = BYTES == 64
"""Whether neighbouring vectors are shifted into one by one instruction."""
_FUSES = bool(_FEATURES & {"fma", "neon"})
_INT = ir.IntType(64)


class Emit:
    """Vector instructions of one intrinsic, at ``builder``'s place; indices are integers or 64-bit values.

    ``args`` are the intrinsic's: of the arrays among them, ``load``, ``store`` and ``splat`` are given the position. Vectors are of
    the elements of argument ``of``.
    """

    def __init__(self, context: Any, builder: ir.IRBuilder, signature: Any, args: Sequence[ir.Value], of: int = 0) -> None:
        self.b, self.args, element = builder, args, signature.args[of].dtype
        self.itemsize = element.bitwidth // 8
        self.kind = ir.VectorType(context.get_value_type(element), BYTES // self.itemsize)
        self._data = {
            i: context.make_array(kind)(context, builder, value).data
            for i, (kind, value) in enumerate(zip(signature.args, args))
            if isinstance(kind, types.Array)
        }

    def add(self, i: Any, j: Any) -> ir.Value:
        """``i + j``."""
        return self.b.add(self.index(i), self.index(j))

    def mul(self, i: Any, j: Any) -> ir.Value:
        """``i * j``."""
        return self.b.mul(self.index(i), self.index(j))

    def load(self, array: int, at: Any) -> ir.Value:
        """The vector that starts at element ``at``, however it lies in memory."""
        return self.b.load(self._at(array, at, self.kind), align=self.itemsize)

    def store(self, vector: ir.Value, array: int, at: Any) -> None:
        """Write a vector from element ``at`` on."""
        self.b.store(vector, self._at(array, at, self.kind), align=self.itemsize)

    def store_some(self, vector: ir.Value, array: int, at: Any, count: ir.Value) -> None:
        """Write the first ``count`` elements of a vector, and touch nothing behind them."""
        places, flag = ir.VectorType(_INT, self.kind.count), ir.VectorType(ir.IntType(1), self.kind.count)
        first, same = ir.Constant(ir.IntType(32), 0), ir.VectorType(ir.IntType(32), self.kind.count)([0] * self.kind.count)
        nothing = ir.Constant(places, ir.Undefined)
        counts = self.b.shuffle_vector(self.b.insert_element(nothing, count, first), nothing, same)
        wanted = self.b.icmp_unsigned("<", ir.Constant(places, list(range(self.kind.count))), counts)
        to, align = self._at(array, at, self.kind), ir.Constant(ir.IntType(32), self.itemsize)
        kind = ir.FunctionType(ir.VoidType(), [self.kind, to.type, align.type, flag])
        name = f"llvm.masked.store.v{self.kind.count}f{8 * self.itemsize}.p0"
        self.b.call(cgutils.get_or_insert_function(self.b.module, kind, name), [vector, to, align, wanted])

    def doubles(self, array: int, at: Any) -> ir.Value:
        """As many elements from ``at`` on, of either width, as make a vector of float64."""
        wide = ir.VectorType(ir.DoubleType(), BYTES // 8)
        stored = ir.VectorType(self._data[array].type.pointee, wide.count)
        found = self.b.load(self._at(array, at, stored), align=1)
        return found if stored == wide else self.b.fpext(found, wide)

    def keep(self, vector: ir.Value, array: int, at: Any) -> None:
        """Write a vector of float64 from element ``at`` on, rounded to the array's dtype."""
        stored = ir.VectorType(self._data[array].type.pointee, vector.type.count)
        self.b.store(vector if stored == vector.type else self.b.fptrunc(vector, stored), self._at(array, at, stored), align=1)

    def some(self, array: int, at: Any, count: int) -> ir.Value:
        """So many elements from ``at`` on, of whatever width."""
        return self.b.load(self._at(array, at, ir.VectorType(self._data[array].type.pointee, count)), align=1)

    def expect(self, array: int, at: Any, write: bool = False, level: int = 3) -> None:
        """Have what lies round an element, inside the array or not, brought near, to be read or written.

        ``level`` 3 is the nearest cache; 2 is a core's second, for what the first has no room for meanwhile.
        """
        byte, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
        function = cgutils.get_or_insert_function(self.b.module, kind, "llvm.prefetch.p0")
        self.b.call(function, [self.b.bitcast(self._at(array, at, self.kind), byte), flag(int(write)), flag(level), flag(1)])

    def number(self, array: int, at: Any) -> ir.Value:
        """One element of an array of 64-bit integers."""
        return self.b.load(self._at(array, at, _INT))

    def splat(self, array: int, at: Any) -> ir.Value:
        """One element in every lane."""
        one = self.b.load(self._at(array, at, self.kind.element))
        nothing, first = ir.Constant(self.kind, ir.Undefined), ir.Constant(ir.IntType(32), 0)
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), self.kind.count), [0] * self.kind.count)
        return self.b.shuffle_vector(self.b.insert_element(nothing, one, first), nothing, lanes)

    def nexts(self, vectors: Sequence[ir.Value], last: ir.Value) -> list[ir.Value]:
        """Of neighbouring vectors those that begin one element later; ``last`` has in every lane what follows them all."""
        place = ir.Constant(ir.VectorType(ir.IntType(32), self.kind.count), list(range(1, self.kind.count + 1)))
        return [self.b.shuffle_vector(one, other, place) for one, other in zip(vectors, [*vectors[1:], last])]

    def zero(self) -> ir.Constant:
        """0 in every lane."""
        return ir.Constant(self.kind, [0.0] * self.kind.count)

    def multiply_add(self, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
        """``a * b + c``, rounded once where the processor can: always or never, so that equal sums stay equal."""
        if not _FUSES:
            return self.b.fadd(self.b.fmul(a, b), c)
        bits = 64 if a.type.element == ir.DoubleType() else 32
        return self._call(f"llvm.fma.v{a.type.count}f{bits}", a, b, c)

    def extreme(self, which: str, a: ir.Value, b: ir.Value) -> ir.Value:
        """The ``smin``, ``smax``, ``umin`` or ``umax`` of whole numbers; the ``fmin`` or ``fmax`` of floats, neither NaN nor -0.0.

        Said outright: a comparison and what is chosen by it the compiler takes apart where both ends of a pair are asked for, and
        makes two choices of, each slower than a minimum.
        """
        count, bits = a.type.count, 8 * self.itemsize
        if which[0] == "f":
            return self._call(f"llvm.{which[1:]}num.v{count}f{bits}", a, b, fastmath=("nnan", "nsz"))
        return self._call(f"llvm.{which}.v{count}i{bits}", a, b)

    def _call(self, name: str, *values: ir.Value, fastmath: tuple[str, ...] = ()) -> ir.Value:
        """One of the compiler's own functions, of vectors."""
        kind = ir.FunctionType(values[0].type, [value.type for value in values])
        return self.b.call(cgutils.get_or_insert_function(self.b.module, kind, name), values, fastmath=fastmath)

    def index(self, i: Any) -> ir.Value:
        """A 64-bit value."""
        return ir.Constant(_INT, i) if isinstance(i, int) else i

    def _at(self, array: int, i: Any, kind: ir.Type) -> ir.Value:
        return self.b.bitcast(self.b.gep(self._data[array], [self.index(i)]), kind.as_pointer())


def own(
    context: Any, builder: ir.IRBuilder, signature: Any, args: Sequence[ir.Value], write: Callable[[Emit], None], of: int = 0
) -> ir.Value:
    """Have ``write`` fill a function of its own, and call it: where several loops share one, they share its registers, too.

    The compiler would unroll it and copy it to wherever it is called: nothing gained, and slow to compile.
    """
    kind = ir.FunctionType(ir.VoidType(), [value.type for value in args])
    function = ir.Function(builder.module, kind, builder.module.get_unique_name("footprint.loop"))
    function.linkage = "internal"
    set.update(function.attributes, ("noinline", "optsize"))
    inside = ir.IRBuilder(function.append_basic_block("entry"))
    write(Emit(context, inside, signature, function.args, of))
    inside.ret_void()
    builder.call(function, args)
    return context.get_dummy_value()


@intrinsic
def _await_rows(typing_context, x, at, pitch, rows, count):  # type: ignore[no-untyped-def]
    """Have ``rows`` rows of ``count`` elements from (x, at) on, ``pitch`` apart, brought into the core's second cache.

    They are short and far apart, so that the processor does not foresee them. Those that will be written are read all the same:
    having them brought to be written takes longer than it saves.
    """

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        e = Emit(context, builder, signature, args)
        _, at, pitch, rows, count = args
        with cgutils.for_range(builder, rows) as row:
            start = e.add(at, e.mul(pitch, row.index))
            with cgutils.for_range_slice(builder, e.index(0), count, e.index(64 // e.itemsize)) as (column, _):
                e.expect(0, e.add(start, column), level=2)
            e.expect(0, e.add(start, e.add(count, -1)), level=2)
        return context.get_dummy_value()

    n = types.int64
    return types.void(x, n, n, n, n), code


@intrinsic
def fused(typing_context, value, weight, total):  # type: ignore[no-untyped-def]
    """``value * weight + total`` in the weight's type, rounded as `Emit.multiply_add` rounds.

    A loop over it has the same bits whether or not the compiler makes vectors of it.
    """
    kind = types.unliteral(weight)

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        value, total = (context.cast(builder, args[i], signature.args[i], kind) for i in (0, 2))
        if not _FUSES:
            return builder.fadd(builder.fmul(value, args[1]), total)
        known = ir.FunctionType(total.type, [total.type] * 3)
        return builder.call(
            cgutils.get_or_insert_function(builder.module, known, f"llvm.fma.f{kind.bitwidth}"), [value, args[1], total]
        )

    return kind(types.unliteral(value), kind, types.unliteral(total)), code


@intrinsic
def apart(typing_context):  # type: ignore[no-untyped-def]
    """Keep the function this is called in a function of its own: inlined wherever it is called, it is compiled as often."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        set.update(builder.function.attributes, ("noinline", "optsize"))
        return context.get_dummy_value()

    return types.void(), code


@intrinsic
def alone(typing_context):  # type: ignore[no-untyped-def]
    """The same for a short loop that is worth its vector instructions, which `apart` goes without."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), code


@intrinsic
def _within(typing_context):  # type: ignore[no-untyped-def]
    """Put the function this is called in into whatever calls it: called for every pixel, a small one takes most of the time."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        builder.function.attributes.add("alwaysinline")
        return context.get_dummy_value()

    return types.void(), code


def _nothing(*_: Any) -> None: ...


# Kernels whose loops are all their own may run as the Python they are.
PLAIN = bool(config.DISABLE_JIT)  # type: ignore[attr-defined]
within: Any = _nothing if PLAIN else _within
"""``within()``: see `_within`."""
await_rows: Any = _nothing if PLAIN else _await_rows
"""``await_rows(x, at, pitch, rows, count)``: see `_await_rows`."""
