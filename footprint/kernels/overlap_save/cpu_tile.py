"""What every kernel of overlap-save does with a tile: bring it to the size of 1, store its results, prepare the mask's."""

from __future__ import annotations

import math

from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import BYTES, apart
from footprint.kernels.overlap_save.cpu_dft import carry
from footprint.kernels.overlap_save.cpu_odd import cleared, surveyed


@njit(cache=True, nogil=True, error_model="numpy")
def scale(most, itemsize):
    """The power of two that brings ``most`` to about 1, as an exponent."""
    limit = 126 if itemsize == 4 else 1022
    return min(max(math.frexp(most)[1], -limit), limit) if most > 0 else 0


@njit(cache=True, nogil=True, error_model="numpy")
def multiply(work, at, pitch, rows, columns, exponent):
    """Divide by a power of two."""
    apart()
    factor = work.dtype.type(math.ldexp(1.0, -exponent))
    for r in range(rows):
        line = work[at + r * pitch : at + r * pitch + columns]
        for k in range(columns):
            line[k] *= factor


@njit(cache=True, nogil=True, error_model="numpy")
def brought(work, at, pitch, rows, columns, tile):
    """Bring a tile to the size of 1, with 0 for what is not finite; returns its exponent, and whether anything was."""
    most, odd = surveyed(work, at, pitch, rows, tile, at + 2 * tile * pitch)
    if odd:
        most = cleared(work, at, pitch, rows, columns)
    exponent = scale(most, work.itemsize)
    multiply(work, at, pitch, rows, tile, exponent)
    return exponent, odd


@njit(cache=True, nogil=True, error_model="numpy")
def copied(image, start, width, work, at, pitch, rows, columns, tile, free):
    """Rows of a vector or more of an image into a tile, and 0 behind them; two elements of ``work`` are ``free``.

    Row by row in Python's words each would take longer to begin than to copy.
    """
    work[free] = work[free + 1] = 1
    carry(image, start, width, work, at, pitch, rows, columns, work, free)
    for r in range(tile):
        for k in range(at + r * pitch + (columns if r < rows else 0), at + r * pitch + tile):
            work[k] = 0


@njit(cache=True, nogil=True, error_model="numpy")
def store(work, at, pitch, out, to, columns, rows, count, exponent, add, lost, free):
    """Results of a tile, at their own size; where they add to what is there, ``lost`` keeps what is rounded away."""
    apart()
    half = exponent // 2
    one, other = work.dtype.type(math.ldexp(1.0, half)), work.dtype.type(math.ldexp(1.0, exponent - half))
    if not add and count >= BYTES // work.itemsize:
        work[free], work[free + 1] = one, other
        carry(work, at, pitch, out, to, columns, rows, count, work, free)
        return
    for r in range(rows):
        source = work[at + r * pitch : at + r * pitch + count]
        target = out[to + r * columns : to + r * columns + count]
        if not add:
            for k in range(count):
                target[k] = (source[k] * one) * other
        elif lost.size == 0:
            for k in range(count):
                target[k] += (source[k] * one) * other
        else:
            rest = lost[to + r * columns : to + r * columns + count]
            for k in range(count):
                old, more = target[k], (source[k] * one) * other
                both = old + more
                got = both - old
                rest[k] += (old - (both - got)) + (more - got)
                target[k] = both


@njit(cache=True, nogil=True, error_model="numpy")
def prepare_roots(shared, roots, tile, n1, n2):
    """Roots of unity, for the stages of a transform of ``tile``."""
    apart()
    for n in range(n2):
        for k in range(n1):
            angle = -2 * math.pi * n * k / tile
            shared[roots + 2 * (n * n1 + k)], shared[roots + 2 * (n * n1 + k) + 1] = math.cos(angle), math.sin(angle)


@njit(cache=True, nogil=True, error_model="numpy")
def finish_mask(shared, size, lanes, factor):
    """The conjugate of a mask's transform, of ``size`` numbers, and the factor that transforms there and back leave."""
    apart()
    for at in range(0, size, 2 * lanes):
        for k in range(lanes):
            shared[at + k] *= factor
            shared[at + lanes + k] *= -factor


@njit(cache=True, nogil=True, error_model="numpy")
def settle(out, lost):
    """Add what additions lost; where sums are infinite, that is no number."""
    for k in range(lost.size):
        out[k] += lost[k] if math.isfinite(lost[k]) else 0
