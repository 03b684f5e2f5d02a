"""Bitshuffle-LZ4 on the CPU, the way there: chunks as `decode` and HDF5's filter 32008 read them. Nothing is allocated.

LZ4 is made greedily: four bytes that were seen before in the block are the start of a repeat, found in a table of their hashes;
the longer nothing repeats, the further the next place that is looked at. Bytes are the same in every run.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from footprint.kernels.bitshuffle.contract import HEADER, PLACES
from footprint.kernels.bitshuffle.cpu import _at, _copy, _load, _load8, _load64
from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import alone

_U8 = np.uint64
_load32 = _load(32)
# LZ4's own: the last bytes are no part of a repeat, and none begins in the last twelve.
_LITERAL, _CALM = 5, 12
# Misses after which the step to the next place grows by one.
_PATIENCE = 6
_HASH, _SHIFT = 2654435761, 32 - PLACES.bit_length() + 1


@intrinsic
def _store8(typing_context, address, value):
    """A byte."""

    def code(context, builder, signature, args):
        builder.store(builder.trunc(args[1], ir.IntType(8)), _at(builder, args[0], 8), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), code


@njit(nogil=True, cache=True)
def _big(to, value, count):
    """A number in so many bytes, the highest first."""
    for k in range(count):
        _store8(to + k, value >> 8 * (count - 1 - k))
    return to + count


@njit(nogil=True, cache=True)
def _more(to, left):
    """What a length of 15 does not say."""
    while left >= 255:
        _store8(to, 255)
        to, left = to + 1, left - 255
    _store8(to, left)
    return to + 1


@njit(nogil=True, cache=True)
def _sequence(to, literals, count, repeat, distance):
    """Literals, and a repeat after them where there is one; the place behind."""
    rest = repeat - 4
    _store8(to, min(count, 15) << 4 | (min(rest, 15) if repeat else 0))
    to += 1
    if count >= 15:
        to = _more(to, count - 15)
    _copy(to, literals, count)
    to += count
    if repeat:
        _store8(to, distance)
        _store8(to + 1, distance >> 8)
        to += 2
        if rest >= 15:
            to = _more(to, rest - 15)
    return to


@njit(nogil=True, cache=True)
def _lz4(src, n, to, table):
    """Store n bytes, at most 65,536, from address ``src`` at ``to``; the place behind them."""
    table[:] = 0
    kept, i, misses = 0, 1, 0
    while i < n - _CALM:
        word = _load32(src + i)
        slot = (word * _HASH & 0xFFFFFFFF) >> _SHIFT
        seen = np.int64(table[slot])
        table[slot] = i
        if _load32(src + seen) != word or seen >= i:
            misses += 1
            i += 1 + (misses >> _PATIENCE)
            continue
        end, far = i + 4, i - seen
        while end + 8 <= n - _LITERAL and _load64(src + end) == _load64(src + end - far):
            end += 8
        while end < n - _LITERAL and _load8(src + end) == _load8(src + end - far):
            end += 1
        to = _sequence(to, src + kept, i - kept, end - i, far)
        kept = i = end
        misses = 0
    return _sequence(to, src + kept, n - kept, 0, 0)


@njit(nogil=True, cache=True)
def _byte(plain, width, byte, plane):
    """One byte of every element."""
    alone()
    if width == 2:
        pairs = plain.view(np.uint16)
        for i in range(plane.size):
            plane[i] = pairs[i] >> np.uint16(8 * byte)
    elif width == 4:
        fours = plain.view(np.uint32)
        for i in range(plane.size):
            plane[i] = fours[i] >> np.uint32(8 * byte)
    else:
        for i in range(plane.size):
            plane[i] = plain[i * width + byte]


@njit(nogil=True, cache=True)
def _bits(words, n, planes):
    """Words of 8 bytes as 8 planes of n bytes of bits: 8 x 8 bits are turned in every word."""
    alone()
    a, b, c, d = planes[:n], planes[n : 2 * n], planes[2 * n : 3 * n], planes[3 * n : 4 * n]
    e, f, g, h = planes[4 * n : 5 * n], planes[5 * n : 6 * n], planes[6 * n : 7 * n], planes[7 * n : 8 * n]
    for j in range(n):
        x = words[j]
        t = (x ^ (x >> _U8(7))) & _U8(0x00AA00AA00AA00AA)
        x = x ^ t ^ (t << _U8(7))
        t = (x ^ (x >> _U8(14))) & _U8(0x0000CCCC0000CCCC)
        x = x ^ t ^ (t << _U8(14))
        t = (x ^ (x >> _U8(28))) & _U8(0x00000000F0F0F0F0)
        x = x ^ t ^ (t << _U8(28))
        a[j], b[j], c[j], d[j] = x, x >> _U8(8), x >> _U8(16), x >> _U8(24)
        e[j], f[j], g[j], h[j] = x >> _U8(32), x >> _U8(40), x >> _U8(48), x >> _U8(56)


@njit(nogil=True, cache=True)
def encode(plain, width, block, out, plane, planes, table):
    """Store a chunk in blocks of so many elements, a multiple of 8.

    Parameters
    ----------
    plain
        Bytes of all elements.
    width
        Of an element in bytes.
    out
        Takes what is stored: as many bytes as ``stored_bytes`` says.
    plane, planes, table
        A word for every 8 elements of a block; its bytes; ``PLACES`` numbers of 16 bits.

    Returns
    -------
    int
        Bytes stored; 0 where the arguments do not fit each other.
    """
    total = plain.size // width
    size = block * width
    blocks = (total // 8 * 8 + block - 1) // block
    fits = size <= min(planes.size, 65536) and block >= 8 and block % 8 == 0 and total * width == plain.size
    fits = fits and plane.itemsize == 8 and 8 * plane.size >= block
    if not fits or table.size != PLACES or out.size < HEADER + blocks * (size + size // 255 + 20) + 8 * width:
        return 0
    start = np.int64(out.ctypes.data)
    made, bytes_of = np.int64(planes.ctypes.data), plane.view(np.uint8)
    to = _big(_big(start, plain.size, 8), size, 4)
    for first in range(0, total // 8 * 8, block):
        count = min(block, total // 8 * 8 - first)
        part, of = count // 8, plain[first * width : (first + count) * width]
        for byte in range(width):
            _byte(of, width, byte, bytes_of[:count])
            _bits(plane, part, planes[byte * count : (byte + 1) * count])
        behind = _lz4(made, count * width, to + 4, table)
        _big(to, behind - to - 4, 4)
        to = behind
    left = total % 8 * width
    _copy(to, np.int64(plain.ctypes.data) + plain.size - left, left)
    return to + left - start
