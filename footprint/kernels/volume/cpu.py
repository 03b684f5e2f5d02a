"""Direct correlation of a volume on the CPU: the inner loops and levels of sums of the kernel ``convolve``, plane after plane."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
from numba import prange

from footprint.kernels.common.borders import NONE
from footprint.kernels.common.few import few
from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import BYTES, apart
from footprint.kernels.convolve import cpu_sums
from footprint.kernels.convolve.contract import SPAN, STRIP
from footprint.kernels.convolve.cpu import blocks, convolve, held
from footprint.kernels.convolve.cpu_lines import fill, source_index
from footprint.kernels.convolve.cpu_thin import IMAGE, goes_thin, thin_for
from footprint.kernels.volume import contract


@njit(cache=True, nogil=True)
def _edge(image, weights, out, work, base, z, y, x, rows, columns, sizes, mask, goal, step, start, codes, cval):
    """One block that reaches beyond an edge, from a copy of a plane at a time."""
    apart()
    image_depth, image_height, image_width = sizes
    depth, height, width = mask
    most, vectors = held(height, width)
    block, plane = vectors * BYTES // image.itemsize, image_height * image_width
    pitch = block + SPAN
    to = base + (most + height - 1) * pitch
    free = to + most * block
    for k in range(depth):
        place = source_index(z + start[0] + k, image_depth, codes[0])
        there = image[max(place, 0) * plane : (max(place, 0) + 1) * plane]
        for j in range(0, width, SPAN):
            n = columns + min(SPAN, width - j) - 1
            for r in range(rows + height - 1):
                # Beyond a constant border every row is.
                row, code = (y + start[1] + r, codes[1]) if place >= 0 else (-1, 0)
                left = x + start[2] + j
                fill(work, base + r * pitch, n, there, image_height, image_width, row, left, code, codes[2], cval)
            stop = min(j + SPAN, width)
            blocks(work, base - j, 0, pitch, weights, mask, k, k + 1, j, stop, work, to, block, 1, work, free)
    for q in range(rows):
        for k in range(columns):
            out[goal + q * step + k] = work[to + q * block + k]


@njit(cache=True, nogil=True)
def _units(image, weights, out, work, base, first, last, sizes, mask, wanted, start, codes, cval):
    """Groups of rows, strip after strip, plane after plane."""
    apart()
    image_depth, image_height, image_width = sizes
    depth, height, width = mask
    _, all_rows, all_columns = wanted
    z0, y0, x0 = start
    most, vectors = held(height, width)
    groups, block = (all_rows + most - 1) // most, vectors * BYTES // image.itemsize
    each = groups * ((all_columns + STRIP - 1) // STRIP)
    plane, free = image_height * image_width, base + (most + height - 1) * (block + SPAN) + most * block
    for unit in range(first, last):
        z, strip, y = unit // each, unit % each // groups * STRIP, unit % groups * most
        rows, stop, goal = min(most, all_rows - y), min(strip + STRIP, all_columns), (z * all_rows + y) * all_columns
        inside = rows == most and y + y0 >= 0 and y + y0 + most + height - 1 <= image_height
        inside = inside and z + z0 >= 0 and z + z0 + depth <= image_depth
        first_inside = max(strip, strip + (-x0 - strip + block - 1) // block * block)
        end = min(stop, image_width - width + 1 - x0)
        count = max(0, (end - first_inside) // block) if inside else 0
        if count > 0:
            at = (z + z0) * plane + (y + y0) * image_width + first_inside + x0
            to = goal + first_inside
            blocks(image, at, plane, image_width, weights, mask, 0, depth, 0, width, out, to, all_columns, count, work, free)
        for x in range(strip, stop, block):
            if count == 0 or not first_inside <= x < first_inside + count * block:
                columns, to = min(block, stop - x), goal + x
                _edge(image, weights, out, work, base, z, y, x, rows, columns, sizes, mask, to, all_columns, start, codes, cval)


@njit(cache=True, parallel=True, nogil=True)
def _all(image, weights, out, work, size, threads, units, sizes, mask, wanted, start, codes, cval):
    for t in prange(threads):
        first, last = units * t // threads, units * (t + 1) // threads
        _units(image, weights, out, work, t * size, first, last, sizes, mask, wanted, start, codes, cval)


def _three(array: np.ndarray) -> tuple[int, int, int]:
    """The shape."""
    planes, rows, columns = array.shape
    return planes, rows, columns


def volume(
    image: np.ndarray,
    weights: np.ndarray,
    out: np.ndarray,
    work: np.ndarray,
    **lies: Unpack[contract.Lies],
) -> None:
    """Correlate; see ``footprint.kernels.volume.contract`` for what is computed."""
    if contract.in_columns(image.shape, weights.shape, out.shape):
        x, w, y = (array.reshape(contract.as_rows(array.shape)) for array in (image, weights, out))
        how: dict[str, Any] = {"y0": lies["z0"], "x0": 0, "border_y": lies["border_z"], "border_x": NONE, "cval": lies["cval"]}
        convolve(x, w, y, work, **how)
        return
    (threads, size), (planes, rows, columns) = work.shape, out.shape
    taps, made, lengths = _three(weights), _three(out), _three(image)
    if goes_thin(taps, made, IMAGE, out.itemsize):
        thin_for(lengths, taps, made, contract.start(lies), contract.codes(lies), float(lies["cval"]))(image, weights, out, work)
        return
    most, _ = cpu_sums.held(*weights.shape[1:])
    units = planes * -(-rows // most) * -(-columns // STRIP)
    flat = image.reshape(-1), weights.reshape(-1), out.reshape(-1), work.reshape(-1)
    numbers = image.shape, weights.shape, out.shape, contract.start(lies), contract.codes(lies), float(lies["cval"])
    if few(out.size * weights.size):
        _units(*flat, 0, 0, units, *numbers)
    else:
        _all(*flat, size, threads, units, *numbers)
