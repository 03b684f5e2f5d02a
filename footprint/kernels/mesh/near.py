"""Counts, sums and ranks of a cell's values: what lies near a bound is listed, and only the list is looked at as the bound moves.

A pass over all values by vectors takes a tenth of the time of laying them by bins. Values are float32, and so are bounds of lists:
an interval is from ``low``, which belongs to it, to ``high``, which does not. Behind its end a list has NaN, which lies nowhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from footprint.kernels.common.bits import counted, lowest
from footprint.kernels.common.digits import in_turn
from footprint.kernels.common.jit import njit
from footprint.kernels.mesh.contract import AT_ONCE, SAMPLE

# Deviations of the sample that values are said to reach to either side, where they are not all one.
REACH = 6.0
FAR = 3e38
# Values of a list that are put in order one by one, and how often one is narrowed down to so few.
_LINE, _TURNS = 32, 4
# Values that are put on a list together.
_TOGETHER = 6


def _bits(outside: bool) -> Any:
    """The intrinsic that tells which of the next `AT_ONCE` values lie in an interval, or outside of it, as the bits of a number."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        kind, lane = ir.VectorType(ir.FloatType(), AT_ONCE), ir.IntType(32)
        same, nothing = ir.Constant(ir.VectorType(lane, AT_ONCE), [0] * AT_ONCE), ir.Constant(kind, ir.Undefined)
        low, high = (builder.shuffle_vector(builder.insert_element(nothing, bound, lane(0)), nothing, same) for bound in args[2:])
        values = builder.load(builder.bitcast(builder.gep(data, [args[1]]), kind.as_pointer()), align=4)
        if outside:
            found = builder.or_(builder.fcmp_ordered("<", values, low), builder.fcmp_ordered(">=", values, high))
        else:
            found = builder.and_(builder.fcmp_ordered(">=", values, low), builder.fcmp_ordered("<", values, high))
        return builder.bitcast(found, ir.IntType(AT_ONCE))

    @intrinsic
    def bits(typing_context, values, at, low, high):  # type: ignore[no-untyped-def]
        return types.uint64(values, types.int64, types.float32, types.float32), code

    return bits


_inside, _outside = _bits(False), _bits(True)


@njit(cache=True, nogil=True)
def at_least(bound):
    """The least float32 that is not under a bound: what is under the one is under the other."""
    near = np.float32(bound)
    return np.nextafter(near, np.float32(np.inf)) if np.float64(near) < bound else near


@njit(cache=True, nogil=True)
def beyond(bound):
    """The least float32 that is over a bound: what is under that is the bound at most."""
    near = np.float32(bound)
    return np.nextafter(near, np.float32(np.inf)) if np.float64(near) <= bound else near


@njit(cache=True, nogil=True)
def _padded(n):
    """As far as vectors look: of the few values of a list, those beyond whole vectors would take most of the time."""
    return np.uint64((n + AT_ONCE - 1) // AT_ONCE) * np.uint64(AT_ONCE)


@njit(cache=True, nogil=True)
def close(a, n):
    """Lay NaN behind the end of a list, as far as vectors look."""
    for i in range(n, -(-n // AT_ONCE) * AT_ONCE):
        a[i] = np.nan


@njit(cache=True, nogil=True)
def _put(a, i, bits, k, out):
    """Put what bits tell of the values from ``i`` on behind the ``k`` first of a list; how many it has then.

    Several at a time, whether or not there are as many: how many there are nobody can foretell, and what is behind the last is
    written over by those that follow.
    """
    many, to, one = counted(bits), k, np.uint64(1)
    for _ in range(_TOGETHER):
        out[to] = a[np.uint64(i) + lowest(bits)]
        to += one
        bits &= bits - one
    while bits:
        out[to] = a[np.uint64(i) + lowest(bits)]
        to += one
        bits &= bits - one
    return k + many


@njit(cache=True, nogil=True)
def listed(a, n, low, high, out, outside=False):
    """List what lies in an interval, or ``outside`` of it, in order; how many. ``a`` and ``out`` have room for `AT_ONCE` more."""
    k = np.uint64(0)
    for i in range(0, n, AT_ONCE):
        k = _put(a, i, _outside(a, i, low, high) if outside else _inside(a, i, low, high), k, out)
    close(out, np.int64(k))
    return np.int64(k)


@njit(cache=True, nogil=True)
def narrowed(few, m, low, high):
    """Leave of a list what lies in an interval; how many."""
    k = np.uint64(0)
    for i in range(np.uint64(m)):
        v = few[i]
        few[k] = v
        k += np.uint64((v >= low) & (v < high))
    close(few, np.int64(k))
    return np.int64(k)


@njit(cache=True, nogil=True)
def under(a, n, bound):
    """How many of a list are under a bound."""
    count = np.int32(0)
    for i in range(_padded(n)):
        count += np.int32(a[i] < bound)
    return np.int64(count)


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def summed(a, n, low, high, centre):
    """Count, sum and sum of squares, about the centre, of what lies in an interval. Without a branch, as it would be a toss."""
    count, total, squares = np.int64(0), 0.0, 0.0
    for i in range(_padded(n)):
        v = np.float64(a[i])
        taken = (v >= low) & (v < high)
        d = v - centre if taken else 0.0
        count += np.int64(taken)
        total += d
        squares += d * d
    return count, total, squares


@njit(cache=True, nogil=True)
def _ranked(few, m, first, second, third):
    """The values of three ranks among few: of those that no more lie under, the one that most do. Vectors count them."""
    lower = middle = upper = few[0]
    most_lower = most_middle = most_upper = np.int32(-1)
    for i in range(m):
        v, below = few[i], np.int32(0)
        for j in range(np.uint64(m)):
            below += np.int32(few[j] < v)
        if most_lower < below <= first:
            lower, most_lower = v, below
        if most_middle < below <= second:
            middle, most_middle = v, below
        if most_upper < below <= third:
            upper, most_upper = v, below
    return np.float64(lower), np.float64(middle), np.float64(upper)


@njit(cache=True, nogil=True)
def extent(a, n, few):
    """Where most of the values lie: a centre, and how far they reach, by a sample; that is 0 where all values are one."""
    # By the golden section: neighbours, and what lies in one column, may be alike.
    m, step = min(n, SAMPLE), np.int64(0.618034 * n) | 1
    for i in range(m):
        few[i] = a[i * step % n]
    lower, centre, upper = _ranked(few, m, (16 * m) // 100, m // 2, (84 * m) // 100)
    half = REACH * 0.5 * (upper - lower)
    if half == 0.0:
        least, largest = a[0], a[0]
        for i in range(n):
            least, largest = min(least, a[i]), max(largest, a[i])
        half = max(np.float64(largest) - centre, centre - np.float64(least))
    # What no float32 holds lies at its end.
    return min(max(centre, -FAR), FAR), min(half, FAR)


@njit(cache=True, nogil=True)
def ordered(few, m):
    """Put a list in order: a general sort takes several times as long over few values."""
    if m > _LINE:
        least, largest = few[0], few[0]
        for i in range(m):
            least, largest = min(least, few[i]), max(largest, few[i])
        if least < largest:
            few[:m].sort()
        return
    in_turn(few[:m])


@njit(cache=True, nogil=True)
def _about(r, a, n, guess, wide, few):
    """List what has ranks about ``r``, looked for about a guess; how many are under them, how many they are, and their interval."""
    while wide < FAR:
        low, high = np.float32(guess - wide), np.float32(guess + wide)
        below = under(a, n, low)
        m = listed(a, n, low, high, few) if below <= r else 0
        if below <= r < below + m:
            return below, m, np.float64(low), np.float64(high)
        wide *= 8
        if wide == 0.0:
            break
    for i in range(n):
        few[i] = a[i]
    close(few, n)
    return np.int64(0), np.int64(n), -np.inf, np.inf


@njit(cache=True, nogil=True)
def rank_of(r, a, n, guess, wide, few, start, stop):
    """The value of a rank, and of which ranks ``few`` has the values then, in order; ``start`` and ``stop``: which it had."""
    if start <= r < stop:
        return np.float64(few[r - start]), start, stop
    start, m, low, high = _about(r, a, n, guess, wide, few)
    doubt = 1.0
    for _ in range(_TURNS):
        if m <= _LINE or not high - low < FAR:
            break
        # As if they lay evenly: not far from its place by that, a rank is where it is expected.
        each = (high - low) / m
        middle, reach = low + each * (r - start + 0.5), doubt * each * (4 + np.sqrt(m))
        first, last = np.float32(max(middle - reach, low)), np.float32(min(middle + reach, high))
        before, upto = under(few, m, first), under(few, m, last)
        if before <= r - start < upto:
            m, low, high = narrowed(few, m, first, last), np.float64(first), np.float64(last)
            start += before
        else:
            doubt *= 2
    ordered(few, m)
    return np.float64(few[r - start]), start, start + m


@njit(cache=True, nogil=True)
def median_of(i, j, a, n, guess, wide, few, start, stop):
    """The median of ranks from i to j, and of which ranks ``few`` has the values; see `rank_of`."""
    low, start, stop = rank_of(i + (j - i - 1) // 2, a, n, guess, wide, few, start, stop)
    high, start, stop = rank_of(i + (j - i) // 2, a, n, guess, wide, few, start, stop)
    return 0.5 * (low + high), start, stop
