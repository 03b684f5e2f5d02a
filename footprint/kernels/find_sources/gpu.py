"""Launch shapes of source finding: clip, label what stands out, measure; nothing goes to the host in between."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.launch import A, Argument, Launch, Program, W
from footprint.kernels.common.load import c_type
from footprint.kernels.label import gpu as label
from footprint.kernels.measure import gpu as measure
from footprint.kernels.sigma_clip import gpu as sigma_clip
from footprint.kernels.threshold.gpu import groups_for
from footprint.spec import ArraySpec, Limits

STATE = 6
"""Work arrays of the clip, which come first."""


def _program(
    limits: Limits, block: ArraySpec, capacity: int, labels: A | None, *, height: int, width: int, sigma: float, kappa: float,
    maxiters: int, connectivity: int, min_area: int, lesson: bool,
) -> Program:  # fmt: skip
    size = height * width
    ids: Argument = W(STATE + 4) if labels is None else labels
    chunks, work = (W(STATE), W(STATE + 1)), (W(STATE + 2), W(STATE + 3))
    clip = sigma_clip.launches(limits, block, size, kappa, maxiters, True)
    end = sigma_clip.end(2, 3, clip[0].defines, 1 if lesson else 0)
    pixels: tuple[Argument, ...] = (A(0), A(2), np.float64(sigma))
    found = label.launches(limits, pixels, c_type(block.dtype), size, width, connectivity, ids, chunks, A(3), 3)
    measured = measure.launches(
        limits, ArraySpec((height, width), block.dtype), capacity, (A(0), ids, A(2), A(4), A(5)), work, chunks[0]
    )
    keep = measured[0]
    n = np.int32(capacity)
    last = [
        Launch("measure.knl", "measure_keep", (1, 1, 1), (measure.KEEPERS, 1, 1),
               (A(5), A(3), n, np.int32(min(min_area, 2**31 - 1)), np.int32(labels is not None)), keep.defines),
    ]  # fmt: skip
    if labels is not None and min_area > 1:
        repaint = (ids, A(5), np.int64(size), n)
        last.append(Launch("measure.knl", "measure_repaint", (groups_for(limits, size), 1, 1), (256, 1, 1), repaint, keep.defines))
    specs = (
        *sigma_clip.state_specs(sigma_clip.shape(limits, size)[0], block.dtype), *label.chunk_specs(size),
        *measure.sum_specs(capacity),
        *((ArraySpec((height, width), "int32"),) if labels is None else ()),
    )  # fmt: skip
    return Program((*clip, end, *found, *measured, *last), specs)


def table_program(
    limits: Limits, block: ArraySpec, where: ArraySpec, stats: ArraySpec, counts: ArraySpec, moments: ArraySpec, boxes: ArraySpec,
    **options: object,
) -> Program:  # fmt: skip
    """The catalogue alone; the label image is work memory. See `footprint.kernels.find_sources.contract` for the arguments."""
    return _program(limits, block, boxes.shape[0], None, **options)  # type: ignore[arg-type]


def labelled_program(
    limits: Limits, block: ArraySpec, where: ArraySpec, stats: ArraySpec, counts: ArraySpec, moments: ArraySpec, boxes: ArraySpec,
    labels: ArraySpec, **options: object,
) -> Program:  # fmt: skip
    """The catalogue and the label image."""
    return _program(limits, block, boxes.shape[0], A(6), **options)  # type: ignore[arg-type]
