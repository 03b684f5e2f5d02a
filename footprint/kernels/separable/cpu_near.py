"""Sums over a pixel and its eight neighbours on the CPU, or the four that share a side: one pass over the image as it is stored.

With so few products the compiler's own vectors keep up with memory. Which products are fused is not left to it, or a pixel's bits
would depend on where in a row it lies.
"""

from __future__ import annotations

import numpy as np
from numba import get_num_threads, prange

from footprint.kernels.common import borders
from footprint.kernels.common.few import few
from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import alone, apart, fused
from footprint.kernels.convolve.cpu_lines import source_index
from footprint.kernels.separable.contract import NEAR_PIECE


@njit(cache=True, nogil=True)
def _three(a, b, c, u, v, w):
    """Three products, summed in one order everywhere."""
    return fused(c, w, fused(b, v, fused(a, u, 0)))


@njit(cache=True, nogil=True)
def _nine(image, a, b, c, weights, out, to, count):
    """Results whose neighbours all lie inside; the rows above, on and below begin at ``a``, ``b`` and ``c``."""
    alone()
    above, here, below, target = image[a : a + count + 2], image[b : b + count + 2], image[c : c + count + 2], out[to : to + count]
    p, q, r, s, t, u, v, w, x = (
        weights[0],
        weights[1],
        weights[2],
        weights[3],
        weights[4],
        weights[5],
        weights[6],
        weights[7],
        weights[8],
    )
    for k in range(target.size):
        one = _three(above[k], above[k + 1], above[k + 2], p, q, r)
        two = _three(here[k], here[k + 1], here[k + 2], s, t, u)
        target[k] = (one + two) + _three(below[k], below[k + 1], below[k + 2], v, w, x)


@njit(cache=True, nogil=True)
def _five(image, a, b, c, weights, out, to, count):
    """The same of a cross. A corner is not even multiplied by 0: a NaN in one stays there."""
    alone()
    above, here, below, target = image[a : a + count + 2], image[b : b + count + 2], image[c : c + count + 2], out[to : to + count]
    q, s, t, u, w = weights[1], weights[3], weights[4], weights[5], weights[7]
    for k in range(target.size):
        ends = fused(below[k + 1], w, fused(above[k + 1], q, 0))
        target[k] = ends + _three(here[k], here[k + 1], here[k + 2], s, t, u)


@njit(cache=True, nogil=True)
def _pixel(image, start, row, column, width):
    """What a constant border stands for is 0."""
    return image[start + row * width + column] if row >= 0 and column >= 0 else 0


@njit(cache=True, nogil=True)
def _one(image, start, rows, x, width, weights, cross, code):
    """One result some of whose neighbours lie outside, as the other loops form it."""
    apart()
    (a, b, c), left, here, right = (
        rows,
        source_index(x, width, code),
        source_index(x + 1, width, code),
        source_index(x + 2, width, code),
    )
    p, q, r = _pixel(image, start, b, left, width), _pixel(image, start, b, here, width), _pixel(image, start, b, right, width)
    middle = _three(p, q, r, weights[3], weights[4], weights[5])
    above, below = _pixel(image, start, a, here, width), _pixel(image, start, c, here, width)
    if cross:
        return fused(below, weights[7], fused(above, weights[1], 0)) + middle
    p, r = _pixel(image, start, a, left, width), _pixel(image, start, a, right, width)
    one = _three(p, above, r, weights[0], weights[1], weights[2])
    p, r = _pixel(image, start, c, left, width), _pixel(image, start, c, right, width)
    return (one + middle) + _three(p, below, r, weights[6], weights[7], weights[8])


@njit(cache=True, nogil=True)
def _units(image, weights, out, first, last, cross, shapes, y0, x0, code_y, code_x):
    """Rows of strips of planes."""
    apart()
    height, width, rows, columns = shapes
    strips = (columns + NEAR_PIECE - 1) // NEAR_PIECE
    for unit in range(first, last):
        plane, strip, y = unit // (rows * strips), unit // rows % strips * NEAR_PIECE, unit % rows
        start, to, stop = plane * height * width, (plane * rows + y) * columns, min(strip + NEAR_PIECE, columns)
        above, here, below = (
            source_index(y + y0, height, code_y),
            source_index(y + y0 + 1, height, code_y),
            source_index(y + y0 + 2, height, code_y),
        )
        # Results from `left` to `right` have all their neighbours inside.
        left = min(max(strip, -x0), stop)
        right = max(min(stop, width - 2 - x0), left) if min(above, here, below) >= 0 else left
        if right > left:
            at = start + left + x0
            if cross:
                _five(image, at + above * width, at + here * width, at + below * width, weights, out, to + left, right - left)
            else:
                _nine(image, at + above * width, at + here * width, at + below * width, weights, out, to + left, right - left)
        for k in range(left - strip + stop - right):
            x = strip + k if strip + k < left else right + k - (left - strip)
            out[to + x] = _one(image, start, (above, here, below), x + x0, width, weights, cross, code_x)


@njit(cache=True, parallel=True, nogil=True)
def _all(image, weights, out, threads, units, cross, shapes, y0, x0, code_y, code_x):
    for t in prange(threads):
        first, last = units * t // threads, units * (t + 1) // threads
        _units(image, weights, out, first, last, cross, shapes, y0, x0, code_y, code_x)


def near(
    image: np.ndarray,
    weights: np.ndarray,
    out: np.ndarray,
    *,
    y0: int,
    x0: int,
    border_y: str,
    border_x: str,
    cross: bool,
) -> None:
    """Sum over neighbours; see ``footprint.kernels.separable.contract`` for what is computed."""
    flat = image.reshape(-1).view(np.uint8) if image.dtype == np.bool_ else image.reshape(-1)
    units = out.shape[0] * out.shape[1] * -(-out.shape[2] // NEAR_PIECE)
    how = cross, (*image.shape[1:], *out.shape[1:]), y0, x0, borders.CODES[border_y], borders.CODES[border_x]
    if few(out.size * 9):
        _units(flat, weights, out.reshape(-1), 0, units, *how)
    else:
        _all(flat, weights, out.reshape(-1), get_num_threads(), units, *how)
