"""Launch shapes of moments and boxes: two sweeps over the labels."""

from __future__ import annotations

import numpy as np

from footprint.errors import ShapeError
from footprint.kernels.common.launch import A, Argument, Defines, Launch, Program, W
from footprint.kernels.common.load import c_type
from footprint.kernels.label.gpu import CHUNK
from footprint.kernels.threshold.gpu import groups_for
from footprint.spec import ArraySpec, Limits

KEEPERS = 256
LARGEST = 2**31 - 2


def sum_specs(n: int) -> tuple[ArraySpec, ArraySpec]:
    """Counts, boxes and tops of each label; its six sums."""
    return ArraySpec((n, 9), "uint32"), ArraySpec((n, 6), "uint64")


def _defines(kind: str, chunks: bool, sky: bool, maps: bool = False) -> Defines:
    wide = int(kind == "f64")
    flags = ("WIDE", wide), ("CHUNKS", int(chunks)), ("SKY", int(sky)), ("MAPS", int(maps))
    return ("T", kind), *flags, ("CHUNK", CHUNK), ("NT", KEEPERS)


def launches(
    limits: Limits, pixels: ArraySpec, n: int, arrays: tuple[Argument, ...], work: tuple[W, W], chunks: W | None = None,
    sky: bool = False,
) -> tuple[Launch, ...]:  # fmt: skip
    """Measure labels 1 to n; ``arrays`` are pixels, labels, stats, or a level and a spread of every pixel, moments, boxes; with
    label's ``chunks`` empty ones are passed over, of a ``sky`` the background is subtracted.
    """
    if pixels.size > LARGEST:
        raise ShapeError("image", f"{pixels.size} pixels", f"at most {LARGEST} where a GPU measures it", "measure it on the cpu")
    image, labels, *stats, moments, boxes = arrays
    ints, sums = work
    wide = pixels.itemsize == 8
    defines = _defines(c_type(pixels.dtype), chunks is not None, sky, len(stats) == 2)
    swept = -(-pixels.size // CHUNK) if chunks else groups_for(limits, pixels.size)
    listed = groups_for(limits, n)
    sizes = (np.int64(pixels.size), np.int32(-(-pixels.size // CHUNK)), np.int32(pixels.shape[-1]), np.int32(n))
    args: tuple[Argument, ...] = (image, labels, *stats, chunks or ints, ints, *sizes)

    def launch(entry: str, groups: int, *given: Argument) -> Launch:
        return Launch("measure.knl", entry, (groups, 1, 1), (256, 1, 1), given, defines)

    return (
        launch("measure_open", listed, ints, sums, np.int32(n)),
        launch("measure_extent", swept, *args),
        *((launch("measure_low", swept, *args),) if wide else ()),
        launch("measure_sums", swept, *args, sums),
        launch("measure_close", listed, image, ints, sums, *stats, moments, boxes, sizes[0], *sizes[2:]),
    )


def keep(
    n: int, boxes: Argument, count: Argument, stats: Argument, moments: Argument, min_area: int, seed: float, defines: Defines
) -> Launch:
    """Number the labels of at least ``min_area`` pixels with a peak over ``seed`` times the noise."""
    args = (boxes, count, stats, moments, np.int32(n), np.int32(min(min_area, 2**31 - 1)), np.float64(seed))
    return Launch("measure.knl", "measure_keep", (1, 1, 1), (KEEPERS, 1, 1), args, defines)


def measure_program(
    limits: Limits, image: ArraySpec, labels: ArraySpec, moments: ArraySpec, boxes: ArraySpec, **_: object
) -> Program:
    """See `footprint.kernels.measure.contract` for the arguments."""
    n = boxes.shape[0]
    if n == 0:
        return Program(())
    # Without a sky nothing reads the third array; any stands in for it.
    made = launches(limits, image, n, (A(0), A(1), A(2), A(2), A(3)), (W(0), W(1)))
    return Program(made if image.size else (made[0], made[-1]), sum_specs(n))


def islands_program(
    limits: Limits, image: ArraySpec, labels: ArraySpec, stats: ArraySpec, count: ArraySpec, moments: ArraySpec, boxes: ArraySpec,
    *, min_area: int, seed: float, **_: object,
) -> Program:  # fmt: skip
    """See `footprint.kernels.measure.contract` for the arguments."""
    n = boxes.shape[0]
    made = launches(limits, image, n, (A(0), A(1), A(2), A(4), A(5)), (W(0), W(1)), sky=True)
    return Program((*made, keep(n, A(5), A(3), A(2), A(4), min_area, seed, made[0].defines)), sum_specs(n))


def renumber(limits: Limits, size: int, n: int, labels: Argument, boxes: Argument, out: Argument, defines: Defines) -> Launch:
    """The numbers that were kept for those of ``labels``."""
    args = (labels, boxes, out, np.int64(size), np.int32(n))
    return Launch("measure.knl", "measure_renumber", (groups_for(limits, size), 1, 1), (256, 1, 1), args, defines)


def renumber_program(limits: Limits, labels: ArraySpec, boxes: ArraySpec, out: ArraySpec) -> Program:
    """See `footprint.kernels.measure.contract` for the arguments."""
    return Program((renumber(limits, labels.size, boxes.shape[0], A(0), A(1), A(2), _defines("f32", False, False)),))
