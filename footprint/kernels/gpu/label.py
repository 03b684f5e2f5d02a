"""Launch shapes of connected components: chunks of pixels in raster order, one group each."""

from __future__ import annotations

import numpy as np

from footprint.errors import ShapeError
from footprint.kernels.launch import A, Argument, Launch, Program, W
from footprint.spec import ArraySpec, Limits

CHUNK = 1024
SCANNERS = 256
LARGEST = 2**31 - 1 - CHUNK


def chunk_specs(size: int) -> ArraySpec:
    """Roots, and whether anything is set, of each chunk."""
    return ArraySpec((2, -(-size // CHUNK)), "uint32")


def launches(
    pixels: tuple[Argument, ...], kind: str, size: int, width: int, connectivity: int, labels: Argument, chunks: Argument, count: Argument,
    at: int,
) -> tuple[Launch, ...]:  # fmt: skip
    """Label what is set; ``kind`` is the C type of a sky's pixels, empty for a mask; the number of components goes to ``count[at]``."""
    if size > LARGEST:
        raise ShapeError("image", f"{size} pixels", f"at most {LARGEST} where a GPU labels it", "label it in parts, or on the cpu")
    n, sizes = -(-size // CHUNK), (np.int32(size), np.int32(width))
    defines = (("CHUNK", CHUNK), ("REACH", int(connectivity == 8)), ("SOURCES", int(bool(kind))), ("T", kind or "u8"), ("NT", SCANNERS))

    def launch(entry: str, *args: Argument, groups: int = n) -> Launch:
        return Launch("label.knl", entry, (groups, 1, 1), (256, 1, 1), args, defines)

    return (
        launch("label_runs", *pixels, labels, chunks, *sizes),
        launch("label_join", labels, chunks, *sizes),
        launch("label_flatten", labels, chunks, sizes[0]),
        launch("label_scan", chunks, count, np.int32(n), np.int32(at), groups=1),
        launch("label_number", labels, chunks, sizes[0]),
        launch("label_resolve", labels, chunks, sizes[0]),
        launch("label_settle", labels, chunks, sizes[0]),
    )


def label_program(limits: Limits, mask: ArraySpec, labels: ArraySpec, count: ArraySpec, *, connectivity: int) -> Program:
    """See `footprint.kernels.label` for the arguments."""
    made = launches((A(0),), "", mask.size, mask.shape[-1], connectivity, A(1), W(0), A(2), 0)
    if mask.size == 0:
        made = tuple(one for one in made if one.entry == "label_scan")
    return Program(made, (chunk_specs(mask.size),))
