"""Launch shapes of source finding over maps of background and noise."""

from __future__ import annotations

from footprint.kernels.common.launch import A, Program
from footprint.kernels.find_sources.gpu import found
from footprint.spec import ArraySpec, Limits


def table_program(
    limits: Limits, block: ArraySpec, level: ArraySpec, spread: ArraySpec, count: ArraySpec, moments: ArraySpec, boxes: ArraySpec,
    **options: object,
) -> Program:  # fmt: skip
    """The catalogue alone; the label image is work memory. See `footprint.kernels.local_sources.contract` for the arguments."""
    return found(limits, block, boxes.shape[0], (A(1), A(2)), (A(3), A(4), A(5)), None, **options)  # type: ignore[arg-type]


def labelled_program(
    limits: Limits, block: ArraySpec, level: ArraySpec, spread: ArraySpec, count: ArraySpec, moments: ArraySpec, boxes: ArraySpec,
    labels: ArraySpec, **options: object,
) -> Program:  # fmt: skip
    """The catalogue and the label image."""
    return found(limits, block, boxes.shape[0], (A(1), A(2)), (A(3), A(4), A(5)), A(6), **options)  # type: ignore[arg-type]
