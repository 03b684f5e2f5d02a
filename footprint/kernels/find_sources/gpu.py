"""Launch shapes of source finding where the clip is known: label what stands out, measure; nothing goes to the host in between.

An image in parts is seen once to join the components of its parts in a table, then once for every sweep that measures them, each
labelling the part anew: of a part nothing is kept but the row it ends with.
"""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.launch import A, Argument, Launch, Program, W
from footprint.kernels.common.load import c_type
from footprint.kernels.label import gpu as label
from footprint.kernels.measure import gpu as measure
from footprint.spec import ArraySpec, Limits


def found(
    limits: Limits, block: ArraySpec, n: int, sky: tuple[Argument, ...], tables: tuple[A, A, A], labels: A | None,
    *, sigma: float, connectivity: int, min_area: int, seed: float, **_: object,
) -> Program:  # fmt: skip
    """Label what stands out of a ``sky`` (stats, or a level and a spread), and measure it into count, moments and boxes."""
    size, width, maps = block.size, block.shape[1], len(sky) == 2
    count, moments, boxes = tables
    ids: Argument = W(4) if labels is None else labels
    chunks, work = (W(0), W(1)), (W(2), W(3))
    pixels: tuple[Argument, ...] = (A(0), *sky, np.float64(sigma))
    labelled = label.launches(limits, pixels, c_type(block.dtype), size, width, connectivity, ids, chunks, count, 0, maps)
    measured = measure.Sweeps(limits, block, n, (A(0), ids, *sky, moments, boxes), work, chunks[0], sky=True)
    # Over maps the noise is in the moments.
    told = moments if maps else sky[0]
    last: list[Launch] = [measure.keep(n, boxes, count, told, moments, min_area, seed, measured.defines)]
    if labels is not None and (min_area > 1 or seed > 0):
        last.append(measure.renumber(limits, size, n, ids, boxes, ids, measured.defines))
    image = () if labels is not None else (ArraySpec(block.shape, "int32"),)
    return Program((*labelled, *measured.whole(), *last), (*label.chunk_specs(size), *measure.sum_specs(n), *image))


def found_in_part(
    limits: Limits, block: ArraySpec, n: int, sky: tuple[Argument, ...], tables: tuple[A, A, A], state: int,
    *, turn: int, first: int, height: int, sigma: float, connectivity: int, min_area: int, seed: float,
) -> Program:  # fmt: skip
    """One turn of that on a part of an image; what is kept (`state_specs`) begins with array ``state``."""
    count, moments, boxes = tables
    table, seam, met, ints, sums, row = (A(state + i) for i in range(6))
    parts = _parts(limits, block, n, sky, sigma, connectivity, W(3), table, met)
    work, ends = (*label.part_specs(block.size), ArraySpec(block.shape, "int32")), first + block.shape[0] == height
    if turn == 0:
        # Of an island it is the first component that counts, so islands are in the order of their first pixels.
        settled = (parts.everywhere("parts_flatten"), *_counted(parts, count)) if ends else ()
        return Program((*parts.gather(block, seam, first), *settled), work)
    arrays = (A(0), W(3), *sky, moments, boxes)
    measured = measure.Sweeps(limits, block, n, arrays, (ints, sums), W(0), sky=True, first=first, height=height)
    made = (*parts.paint(block, first), *measured.turn(turn - 1, row))
    if not ends or turn < len(measured.sweeps):
        return Program(made, work)
    told = moments if len(sky) == 2 else sky[0]
    return Program((*made, measure.keep(n, boxes, count, told, moments, min_area, seed, measured.defines)), work)


def painted(
    limits: Limits, block: ArraySpec, n: int, sky: tuple[Argument, ...], boxes: A, labels: A, state: int,
    *, first: int, sigma: float, connectivity: int,
) -> Program:  # fmt: skip
    """The labels of a part when all were measured."""
    parts = _parts(limits, block, n, sky, sigma, connectivity, labels, A(state), A(state + 2))
    defines = measure.plain_defines(block.dtype)
    last = measure.renumber(limits, block.size, n, labels, boxes, labels, defines)
    return Program((*parts.paint(block, first), last), label.part_specs(block.size))


def _parts(
    limits: Limits, block: ArraySpec, n: int, sky: tuple[Argument, ...], sigma: float, connectivity: int, labels: Argument,
    table: A, met: A,
) -> label.Parts:  # fmt: skip
    pixels: tuple[Argument, ...] = (A(0), *sky, np.float64(sigma))
    return label.Parts(limits, pixels, c_type(block.dtype), labels, table, met, n, connectivity, len(sky) == 2)


def _counted(parts: label.Parts, count: A) -> tuple[Launch, ...]:
    """The components met, as a result."""
    return parts.alone("parts_begin", count, np.int32(0)), parts.alone("parts_met", count, parts.met, np.int32(0))


def state_specs(block: ArraySpec, boxes: ArraySpec, height: int) -> tuple[ArraySpec, ...]:
    """In parts: what components belong to, the last row's, how many were met; and what measuring keeps."""
    if block.shape[0] == height:
        return ()
    n, width = boxes.shape[0], block.shape[1]
    joined = ArraySpec((n,), "int32"), ArraySpec((width,), "int32"), ArraySpec((2,), "int64")
    return (*joined, *measure.part_specs(block, n))


def table_state(
    limits: Limits, block: ArraySpec, stats: ArraySpec, count: ArraySpec, moments: ArraySpec, boxes: ArraySpec,
    *rest: ArraySpec, height: int, **_: object,
) -> tuple[ArraySpec, ...]:  # fmt: skip
    """See `state_specs`."""
    return state_specs(block, boxes, height)


labelled_state = table_state


def table_program(
    limits: Limits, block: ArraySpec, stats: ArraySpec, count: ArraySpec, moments: ArraySpec, boxes: ArraySpec, *state: ArraySpec,
    height: int, **options: object,
) -> Program:  # fmt: skip
    """The catalogue alone; the label image is work memory. See `footprint.kernels.find_sources.contract` for the arguments."""
    n, sky, tables = boxes.shape[0], (A(1),), (A(2), A(3), A(4))
    if block.shape[0] < height:
        return found_in_part(limits, block, n, sky, tables, 5, height=height, **options)  # type: ignore[arg-type]
    return found(limits, block, n, sky, tables, None, **options)  # type: ignore[arg-type]


def labelled_program(
    limits: Limits, block: ArraySpec, stats: ArraySpec, count: ArraySpec, moments: ArraySpec, boxes: ArraySpec, labels: ArraySpec,
    **options: object,
) -> Program:  # fmt: skip
    """The catalogue and the label image."""
    return found(limits, block, boxes.shape[0], (A(1),), (A(2), A(3), A(4)), A(5), **options)  # type: ignore[arg-type]


def paint_program(
    limits: Limits, block: ArraySpec, stats: ArraySpec, count: ArraySpec, boxes: ArraySpec, labels: ArraySpec, *state: ArraySpec,
    **options: object,
) -> Program:  # fmt: skip
    """The labels of a part."""
    return painted(limits, block, boxes.shape[0], (A(1),), A(3), A(4), 5, **options)  # type: ignore[arg-type]
