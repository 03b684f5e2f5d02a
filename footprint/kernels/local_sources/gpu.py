"""Launch shapes of source finding over maps of background and noise."""

from __future__ import annotations

from footprint.kernels.common.launch import A, Program
from footprint.kernels.find_sources.gpu import found, found_in_part, painted, state_specs
from footprint.spec import ArraySpec, Limits


def table_state(
    limits: Limits, block: ArraySpec, level: ArraySpec, spread: ArraySpec, count: ArraySpec, moments: ArraySpec, boxes: ArraySpec,
    *rest: ArraySpec, height: int, **_: object,
) -> tuple[ArraySpec, ...]:  # fmt: skip
    """As without maps."""
    return state_specs(block, boxes, height)


labelled_state = table_state


def table_program(
    limits: Limits, block: ArraySpec, level: ArraySpec, spread: ArraySpec, count: ArraySpec, moments: ArraySpec, boxes: ArraySpec,
    *state: ArraySpec, height: int, **options: object,
) -> Program:  # fmt: skip
    """The catalogue alone; the label image is work memory. See `footprint.kernels.local_sources.contract` for the arguments."""
    n, sky, tables = boxes.shape[0], (A(1), A(2)), (A(3), A(4), A(5))
    if block.shape[0] < height:
        return found_in_part(limits, block, n, sky, tables, 6, height=height, **options)  # type: ignore[arg-type]
    return found(limits, block, n, sky, tables, None, **options)  # type: ignore[arg-type]


def labelled_program(
    limits: Limits, block: ArraySpec, level: ArraySpec, spread: ArraySpec, count: ArraySpec, moments: ArraySpec, boxes: ArraySpec,
    labels: ArraySpec, **options: object,
) -> Program:  # fmt: skip
    """The catalogue and the label image."""
    return found(limits, block, boxes.shape[0], (A(1), A(2)), (A(3), A(4), A(5)), A(6), **options)  # type: ignore[arg-type]


def paint_program(
    limits: Limits, block: ArraySpec, level: ArraySpec, spread: ArraySpec, count: ArraySpec, boxes: ArraySpec, labels: ArraySpec,
    *state: ArraySpec, **options: object,
) -> Program:  # fmt: skip
    """The labels of a part."""
    return painted(limits, block, boxes.shape[0], (A(1), A(2)), A(4), A(5), 6, **options)  # type: ignore[arg-type]
