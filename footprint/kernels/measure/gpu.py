"""Launch shapes of moments and boxes: two sweeps over the labels."""

from __future__ import annotations

import numpy as np

from footprint.errors import ShapeError
from footprint.kernels.common.launch import A, Argument, Launch, Program, W
from footprint.kernels.common.load import c_type
from footprint.kernels.label.gpu import CHUNK
from footprint.kernels.threshold.gpu import groups_for
from footprint.spec import ArraySpec, Limits

KEEPERS = 256
LARGEST = 2**31 - 2


def sum_specs(n: int) -> tuple[ArraySpec, ArraySpec]:
    """Counts, boxes and tops of each label; its three sums."""
    return ArraySpec((n, 9), "uint32"), ArraySpec((n, 3), "uint64")


def launches(
    limits: Limits, pixels: ArraySpec, n: int, arrays: tuple[Argument, Argument, Argument, Argument, Argument], work: tuple[W, W],
    chunks: W | None = None,
) -> tuple[Launch, ...]:  # fmt: skip
    """Measure labels 1 to n; ``arrays`` are pixels, labels, stats, moments, boxes; sources have stats and label's ``chunks``."""
    if pixels.size > LARGEST:
        raise ShapeError("image", f"{pixels.size} pixels", f"at most {LARGEST} where a GPU measures it", "measure it on the cpu")
    image, labels, stats, moments, boxes = arrays
    ints, sums = work
    wide = pixels.itemsize == 8
    defines = (
        ("T", c_type(pixels.dtype)),
        ("WIDE", int(wide)),
        ("SOURCES", int(chunks is not None)),
        ("CHUNK", CHUNK),
        ("NT", KEEPERS),
    )
    swept = -(-pixels.size // CHUNK) if chunks else groups_for(limits, pixels.size)
    listed = groups_for(limits, n)
    sizes = (np.int64(pixels.size), np.int32(-(-pixels.size // CHUNK)), np.int32(pixels.shape[-1]), np.int32(n))
    args: tuple[Argument, ...] = (image, labels, stats, chunks or ints, ints, *sizes)

    def launch(entry: str, groups: int, *given: Argument) -> Launch:
        return Launch("measure.knl", entry, (groups, 1, 1), (256, 1, 1), given, defines)

    return (
        launch("measure_open", listed, ints, sums, np.int32(n)),
        launch("measure_extent", swept, *args),
        *((launch("measure_low", swept, *args),) if wide else ()),
        launch("measure_sums", swept, *args, sums),
        launch("measure_close", listed, ints, sums, stats, moments, boxes, np.int32(pixels.shape[-1]), np.int32(n)),
    )


def measure_program(limits: Limits, image: ArraySpec, labels: ArraySpec, moments: ArraySpec, boxes: ArraySpec) -> Program:
    """See `footprint.kernels.measure.contract` for the arguments."""
    n = boxes.shape[0]
    if n == 0:
        return Program(())
    # Without sources nothing reads the third array; any stands in for it.
    made = launches(limits, image, n, (A(0), A(1), A(2), A(2), A(3)), (W(0), W(1)))
    return Program(made if image.size else (made[0], made[-1]), sum_specs(n))
