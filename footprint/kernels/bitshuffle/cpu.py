"""Bitshuffle-LZ4 on the CPU: only the blocks that hold what is wanted are decoded, and nothing is allocated.

Every length and distance that a chunk says is checked before it is used. LZ4 works between addresses, signed numbers of 64 bits:
Numba's own indices of arrays wrap around where they are negative.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from footprint.kernels.bitshuffle.contract import DONE, MORE, OURS, SLACK, Box, Layout
from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import alone, apart

_U8 = np.uint64
_I64 = ir.IntType(64)
# A pattern of k < 8 bytes in a word: its mask, what repeats it through the word, and the bytes of it that are whole patterns.
_MASK = np.array([0] + [(1 << 8 * k) - 1 for k in range(1, 8)], np.uint64).view(np.int64)
_REPEAT = np.array([0] + [sum(1 << 8 * j for j in range(0, 8, k)) for k in range(1, 8)], np.uint64).view(np.int64)
_STEP = np.array([0] + [8 // k * k for k in range(1, 8)], np.int64)


def _at(builder, address, bits):
    kind = ir.IntType(bits) if bits < 128 else ir.VectorType(ir.IntType(8), bits // 8)
    return builder.inttoptr(address, kind.as_pointer())


def _load(bits):
    @intrinsic
    def load(typing_context, address):
        def code(context, builder, signature, args):
            found = builder.load(_at(builder, args[0], bits), align=1)
            return found if bits == 64 else builder.zext(found, _I64)

        return types.int64(types.int64), code

    return load


_load8, _load64 = _load(8), _load(64)


@intrinsic
def _store64(typing_context, address, value):
    """Eight bytes."""

    def code(context, builder, signature, args):
        builder.store(args[1], _at(builder, args[0], 64), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), code


@intrinsic
def _copy16(typing_context, to, of):
    """Sixteen bytes."""

    def code(context, builder, signature, args):
        builder.store(builder.load(_at(builder, args[1], 128), align=1), _at(builder, args[0], 128), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), code


@intrinsic
def _copy(typing_context, to, of, count):
    """As many bytes as are counted, which do not overlap."""

    def code(context, builder, signature, args):
        cgutils.raw_memcpy(builder, _at(builder, args[0], 8), _at(builder, args[1], 8), args[2], 1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), code


@njit(nogil=True, cache=True)
def _big32(at):
    """Four bytes, the highest first."""
    return _load8(at) << 24 | _load8(at + 1) << 16 | _load8(at + 2) << 8 | _load8(at + 3)


@njit(nogil=True, cache=True)
def _longer(at, end, length):
    """A length of 15 goes on in the bytes that follow, up to one that is not 255; -1 where they run past the end."""
    while at < end:
        more = _load8(at)
        at += 1
        length += more
        if more != 255:
            return length, at
    return -1, at


@njit(nogil=True, cache=True)
def _repeated(to, distance, stop, room):
    """Repeat the bytes at some distance before ``to`` up to ``stop``; ``room`` is the end of what may be written."""
    of = to - distance
    if stop + 16 > room or 8 <= distance < 16:
        # Exactly: what lies between the two doubles every time.
        while to < stop:
            count = min(to - of, stop - to)
            _copy(to, of, count)
            to += count
    elif distance >= 16:
        while to < stop:
            _copy16(to, of)
            to, of = to + 16, of + 16
    else:
        pattern = (_load64(of) & _MASK[distance]) * _REPEAT[distance]
        while to < stop:
            _store64(to, pattern)
            to += _STEP[distance]


@njit(nogil=True, cache=True)
def _lz4(at, end, start, stop, room):
    """Decode what is stored from ``at`` to ``end`` to ``start``, never past ``stop``; bytes made, or a fault.

    Readable to 16 bytes past ``end``, writable to ``room``, at or past ``stop``.
    """
    alone()
    to = start
    while at < end:
        token = _load8(at)
        at += 1
        count = token >> 4
        if count == 15:
            count, at = _longer(at, end, count)
        if count < 0 or count > min(end - at, stop - to):
            return -2
        if count <= 16 and to + 16 <= room:
            _copy16(to, at)
        else:
            _copy(to, at, count)
        at += count
        to += count
        if at == end:
            return to - start
        if at + 2 > end:
            return -3
        distance = _load8(at) | _load8(at + 1) << 8
        at += 2
        if distance == 0 or distance > to - start:
            return -4
        count = token & 15
        if count == 15:
            count, at = _longer(at, end, count)
        if count < 0 or count + 4 > stop - to:
            return -5
        _repeated(to, distance, to + count + 4, room)
        to += count + 4
    return -3


@njit(nogil=True, cache=True)
def _bytes_of_bits(planes, n, words):
    """8 planes of n bytes of bits, as n words of 8 bytes: 8 x 8 bits are turned in every word."""
    alone()
    a, b, c, d = planes[:n], planes[n : 2 * n], planes[2 * n : 3 * n], planes[3 * n : 4 * n]
    e, f, g, h = planes[4 * n : 5 * n], planes[5 * n : 6 * n], planes[6 * n : 7 * n], planes[7 * n : 8 * n]
    for j in range(n):
        x = _U8(a[j]) | _U8(b[j]) << _U8(8) | _U8(c[j]) << _U8(16) | _U8(d[j]) << _U8(24)
        x |= _U8(e[j]) << _U8(32) | _U8(f[j]) << _U8(40) | _U8(g[j]) << _U8(48) | _U8(h[j]) << _U8(56)
        t = (x ^ (x >> _U8(7))) & _U8(0x00AA00AA00AA00AA)
        x = x ^ t ^ (t << _U8(7))
        t = (x ^ (x >> _U8(14))) & _U8(0x0000CCCC0000CCCC)
        x = x ^ t ^ (t << _U8(14))
        t = (x ^ (x >> _U8(28))) & _U8(0x00000000F0F0F0F0)
        words[j] = x ^ t ^ (t << _U8(28))


@njit(nogil=True, cache=True)
def _woven(planes, n, first, count, width, swap, out, at):
    """Put elements of ``width`` planes of n bytes together, from the last plane where they are to be swapped."""
    alone()
    z, step = first, n
    if swap:
        z, step = first + (width - 1) * n, -n
    into = out[at : at + count * width]
    if width == 2:
        a, b, pairs = planes[z : z + count], planes[z + step : z + step + count], into.view(np.uint16)
        for i in range(count):
            pairs[i] = np.uint16(a[i]) | np.uint16(b[i]) << 8
    elif width == 4:
        a, b = planes[z : z + count], planes[z + step : z + step + count]
        c, d = planes[z + 2 * step : z + 2 * step + count], planes[z + 3 * step : z + 3 * step + count]
        fours = into.view(np.uint32)
        for i in range(count):
            fours[i] = np.uint32(a[i]) | np.uint32(b[i]) << 8 | np.uint32(c[i]) << 16 | np.uint32(d[i]) << 24
    else:
        for k in range(width):
            plane = planes[z + k * step : z + k * step + count]
            for i in range(count):
                into[i * width + k] = plane[i]


@njit(nogil=True, cache=True)
def _plain(stored, first, count, width, swap, out, at):
    """Elements that are stored as they are."""
    apart()
    for i in range(count):
        for k in range(width):
            out[at + i * width + k] = stored[(first + i) * width + (width - 1 - k if swap else k)]


@njit(nogil=True, cache=True)
def _run(box, k):
    """Where the k-th run starts, in the chunk and in the result."""
    f, r = k // box.rows, k % box.rows
    return box.src + f * box.src_frame + r * box.src_row, box.dst + f * box.dst_frame + r * box.dst_row


@njit(nogil=True, cache=True)
def _placed(made, n, first, last, k, layout, box, out):
    """Put what the box wants of elements ``first`` to ``last``, from run ``k`` on: byte planes of n, or elements where n is 0."""
    for j in range(k, box.rows * box.frames):
        src, dst = _run(box, j)
        if src >= last:
            break
        start = max(src, first)
        count, at = min(src + box.length, last) - start, (dst + start - src) * layout.width
        if n:
            _woven(made, n, start - first, count, layout.width, layout.swap, out, at)
        else:
            _plain(made, start - first, count, layout.width, layout.swap, out, at)


@njit(nogil=True, cache=True)
def _fits(held, n, layout, box, out, planes, woven):
    """Whether our own arguments are those of arrays that are large enough."""
    runs, bytes_of = box.rows * box.frames, layout.block * layout.width
    if runs < 1 or box.length < 1 or layout.block < 8 or layout.block % 8 or min(box.src, box.dst, n) < 0:
        return False
    src, dst = _run(box, runs - 1)
    inside = src + box.length <= layout.total and (dst + box.length) * layout.width <= out.size
    return inside and n + SLACK <= held.size and bytes_of + SLACK <= planes.size and bytes_of <= woven.size


@njit(nogil=True, cache=True)
def decode(held, n, pos, block, layout: Layout, box: Box, out, planes, woven, anchors):
    """Decode blocks from ``block`` on, which starts at byte ``pos`` of the chunk, until all of the box is in ``out``.

    ``held[:n]`` are the chunk's bytes from ``pos`` on. ``planes`` and ``woven`` hold a block each, ``planes`` and ``held`` SLACK
    bytes more. ``anchors`` is told where every so many blocks start. All arrays are bytes but the anchors.

    Returns
    -------
    status, block, pos
        See the contract; a fault is that of ``block``.
    """
    if not _fits(held, n, layout, box, out, planes, woven):
        return OURS, block, pos
    width, whole, base, runs, k = layout.width, layout.total // 8 * 8, pos, box.rows * box.frames, 0
    blocks = (whole + layout.block - 1) // layout.block
    stride, known = max((blocks + anchors.size - 1) // anchors.size, 1), min(layout.size, base + n)
    most = layout.block * width + layout.block * width // 255 + 16
    address, made, words = np.int64(held.ctypes.data) - base, np.int64(planes.ctypes.data), woven.view(np.uint64)
    while True:
        first = min(block * layout.block, whole)
        last = min(first + layout.block, whole)
        while k < runs and _run(box, k)[0] + box.length <= first:
            k += 1
        if k == runs:
            return DONE, block, pos
        if block >= blocks:
            # Up to seven elements are left.
            if pos + (layout.total - whole) * width != layout.size:
                return -7, block, pos
            if known < layout.size:
                return MORE, block, pos
            _placed(held[pos - base :], 0, whole, layout.total, k, layout, box, out)
            return DONE, block, pos
        if pos + 4 > known:
            return (-1 if pos + 4 > layout.size else MORE), block, pos
        stored = _big32(address + pos)
        if stored > min(layout.size - pos - 4, most):
            return -1, block, pos
        if _run(box, k)[0] < last:
            if pos + 4 + stored > known:
                return MORE, block, pos
            start, count = address + pos + 4, last - first
            got = _lz4(start, start + stored, made, made + count * width, made + planes.size)
            if got != count * width:
                return min(got, 0) or -6, block, pos
            for b in range(width):
                part = count // 8
                _bytes_of_bits(planes[b * count : (b + 1) * count], part, words[b * part : (b + 1) * part])
            _placed(woven, count, first, last, k, layout, box, out)
        pos += 4 + stored
        block += 1
        if block % stride == 0 and block // stride < anchors.size:
            anchors[block // stride] = pos
