"""Direct correlation of many images with one mask on the CPU, in one launch; small ones are put side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from footprint.kernels.common import borders
from footprint.kernels.common.few import TOUCH, few
from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import BYTES, apart
from footprint.kernels.convolve.contract import STRIP, UNIT_ROWS, in_strips, stored_strip
from footprint.kernels.convolve.cpu import KINDS, _image_units, _stored_image_units, blocks, convolve, held
from footprint.kernels.convolve.cpu_lines import fill
from footprint.kernels.convolve.cpu_sums import held as held_of
from footprint.kernels.convolve.cpu_tall import tall_sums
from footprint.kernels.convolve.cpu_thin import DOWN, IMAGE, OWN, goes_thin, thin_for
from footprint.kernels.planes.contract import side_by_side


@njit(cache=True, nogil=True)
def _plane_units(image, weights, out, work, base, first, last, units, piece, shapes, y0, x0, code_y, code_x, cval):
    """Groups of rows of images that lie one after another, each of so many ``units``."""
    apart()
    size, made = shapes[0] * shapes[1], shapes[4] * shapes[5]
    for p in range(first // units, (last + units - 1) // units):
        plane, result = image[p * size : (p + 1) * size], out[p * made : (p + 1) * made]
        some = max(first - p * units, 0), min(last - p * units, units)
        _image_units(plane, weights, result, work, base, *some, piece, shapes, y0, x0, code_y, code_x, cval)


@njit(cache=True, nogil=True)
def _stored_plane_units(image, kind, weights, out, work, base, first, last, units, piece, shapes, y0, x0, code_y, code_x, cval):
    """The same of images that are given as bytes."""
    apart()
    made = shapes[4] * shapes[5]
    size = image.size // (out.size // made)
    for p in range(first // units, (last + units - 1) // units):
        plane, result = image[p * size : (p + 1) * size], out[p * made : (p + 1) * made]
        some = max(first - p * units, 0), min(last - p * units, units)
        _stored_image_units(plane, kind, weights, result, work, base, *some, piece, shapes, y0, x0, code_y, code_x, cval)


@njit(cache=True, nogil=True)
def _small_units(image, weights, out, work, base, first, last, many, piece, shapes, y0, x0, code_y, code_x, cval):
    """Groups of ``many`` small images, put side by side with their borders as if they were one."""
    apart()
    image_height, image_width, height, width, rows, columns = shapes
    most, vectors = held(height, width)
    slot, block, images = columns + width - 1, vectors * BYTES // image.itemsize, out.size // (rows * columns)
    count = (many * slot - width + block) // block
    step, made = count * block, (rows + most - 1) // most * most
    pitch = step + width - 1
    to = base + (made + height - 1) * pitch
    free = to + made * step
    for unit in range(first, last):
        n = min(many, images - unit * many)
        for k in range(n):
            start = (unit * many + k) * image_height * image_width
            plane = image[start : start + image_height * image_width]
            for r in range(rows + height - 1):
                at = base + r * pitch + k * slot
                fill(work, at, slot, plane, image_height, image_width, y0 + r, x0, code_y, code_x, cval)
        for y in range(0, made, most):
            args = work, base + y * pitch, 0, pitch, weights, (1, height, width), 0, 1, 0, width
            blocks(*args, work, to + y * step, step, count, work, free)
        for k in range(n):
            for y in range(rows):
                goal, at = ((unit * many + k) * rows + y) * columns, to + y * step + k * slot
                for x in range(columns):
                    out[goal + x] = work[at + x]


@njit(cache=True, parallel=True, nogil=True)
def _small(image, weights, out, work, size, threads, units, many, piece, shapes, y0, x0, code_y, code_x, cval):
    for t in prange(threads):
        first, last = units * t // threads, units * (t + 1) // threads
        _small_units(image, weights, out, work, t * size, first, last, many, piece, shapes, y0, x0, code_y, code_x, cval)


@njit(cache=True, parallel=True, nogil=True)
def _planes(image, weights, out, work, size, threads, all_units, units, piece, shapes, y0, x0, code_y, code_x, cval):
    for t in prange(threads):
        first, last = all_units * t // threads, all_units * (t + 1) // threads
        _plane_units(image, weights, out, work, t * size, first, last, units, piece, shapes, y0, x0, code_y, code_x, cval)


@njit(cache=True, parallel=True, nogil=True)
def _stored_planes(image, kind, weights, out, work, size, threads, all_units, units, piece, shapes, y0, x0, code_y, code_x, cval):
    for t in prange(threads):
        first, last = all_units * t // threads, all_units * (t + 1) // threads
        how = units, piece, shapes, y0, x0, code_y, code_x, cval
        _stored_plane_units(image, kind, weights, out, work, t * size, first, last, *how)


def planes(
    images: np.ndarray,
    weights: np.ndarray,
    out: np.ndarray,
    work: np.ndarray,
    *,
    y0: int,
    x0: int,
    border_y: str,
    border_x: str,
    cval: float,
) -> None:
    """Correlate every image with one mask, in one launch: small ones take less time than launches do."""
    how: dict[str, Any] = {"y0": y0, "x0": x0, "border_y": border_y, "border_x": border_x, "cval": cval}
    if out.size == 0:
        return
    if len(weights) == 1:
        # Under a single row all rows are alike, whatever image they are of.
        convolve(images.reshape(-1, images.shape[2]), weights, out.reshape(-1, out.shape[2]), work, **how)
        return
    strips, stored = in_strips(images.dtype.str, out.dtype.str, weights.shape), images.dtype != out.dtype
    order, taps, made = DOWN if strips else IMAGE, (1, *weights.shape), out.shape
    if goes_thin(taps, made, order, out.itemsize):
        codes = borders.CODES[borders.NONE], borders.CODES[border_y], borders.CODES[border_x]
        kind = KINDS[images.dtype.char] if stored else OWN
        thin_for(images.shape, taps, made, (0, y0, x0), codes, cval, order, kind)(images, weights, out, work)
        return
    if strips:
        tall_sums(images, weights, out, work, **how)
        return
    shapes = (*images.shape[1:], *weights.shape, *out.shape[1:])
    rows, columns = shapes[4:]
    piece, tall = (stored_strip(columns), held_of(*shapes[2:4])[0]) if stored else (STRIP, UNIT_ROWS)
    units = -(-rows // tall) * -(-columns // piece)
    source = (images.reshape(-1).view(np.uint8), KINDS[images.dtype.char]) if stored else (images.reshape(-1),)
    flat, all_units = (*source, weights.reshape(-1), out.reshape(-1), work.reshape(-1)), len(out) * units
    alone, together = (_stored_plane_units, _stored_planes) if stored else (_plane_units, _planes)
    if not stored and (many := side_by_side(shapes[2:4], shapes[4:])):
        alone, together, units, all_units = _small_units, _small, many, -(-len(out) // many)
    numbers = units, piece, shapes, y0, x0, borders.CODES[border_y], borders.CODES[border_x], cval
    threads, size = work.shape
    if few(out.size * max(weights.size, TOUCH)):
        alone(*flat, 0, 0, all_units, *numbers)
    else:
        together(*flat, size, threads, all_units, *numbers)
