"""Launch shapes of source finding where the clip is known: label what stands out, measure; nothing goes to the host in between."""

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
    measured = measure.launches(limits, block, n, (A(0), ids, *sky, moments, boxes), work, chunks[0], sky=True)
    defines = measured[0].defines
    # Over maps the noise is in the moments.
    last: list[Launch] = [measure.keep(n, boxes, count, moments if maps else sky[0], moments, min_area, seed, defines)]
    if labels is not None and (min_area > 1 or seed > 0):
        last.append(measure.renumber(limits, size, n, ids, boxes, ids, defines))
    image = () if labels is not None else (ArraySpec(block.shape, "int32"),)
    return Program((*labelled, *measured, *last), (*label.chunk_specs(size), *measure.sum_specs(n), *image))


def table_program(
    limits: Limits, block: ArraySpec, stats: ArraySpec, count: ArraySpec, moments: ArraySpec, boxes: ArraySpec, **options: object
) -> Program:
    """The catalogue alone; the label image is work memory. See `footprint.kernels.find_sources.contract` for the arguments."""
    return found(limits, block, boxes.shape[0], (A(1),), (A(2), A(3), A(4)), None, **options)  # type: ignore[arg-type]


def labelled_program(
    limits: Limits, block: ArraySpec, stats: ArraySpec, count: ArraySpec, moments: ArraySpec, boxes: ArraySpec, labels: ArraySpec,
    **options: object,
) -> Program:  # fmt: skip
    """The catalogue and the label image."""
    return found(limits, block, boxes.shape[0], (A(1),), (A(2), A(3), A(4)), A(5), **options)  # type: ignore[arg-type]
