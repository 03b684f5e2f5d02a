"""Launch shapes of connected components: chunks of pixels in raster order, one group each."""

from __future__ import annotations

import numpy as np

from footprint.errors import ShapeError
from footprint.kernels.common.launch import A, Argument, Launch, Program, W
from footprint.spec import ArraySpec, Limits

CHUNK = 2048
LARGEST = 2**31 - 1 - CHUNK


def chunk_specs(size: int) -> tuple[ArraySpec, ArraySpec]:
    """Roots, and where anything is set, of each chunk; a bit a pixel."""
    n = -(-size // CHUNK)
    return ArraySpec((2, n), "uint32"), ArraySpec((n, CHUNK // 32), "uint32")


def launches(
    limits: Limits, pixels: tuple[Argument, ...], kind: str, size: int, width: int, connectivity: int, labels: Argument,
    work: tuple[W, W], count: Argument, at: int,
) -> tuple[Launch, ...]:  # fmt: skip
    """Label what is set, and count the components in ``count[at]``; ``kind`` is the C type of a sky's pixels, "" for a mask."""
    if size > LARGEST:
        raise ShapeError("image", f"{size} pixels", f"at most {LARGEST} where a GPU labels it", "label it in parts, or on the cpu")
    n, scanners = -(-size // CHUNK), 1024 if limits.group >= 1024 and limits.cores > 16 else 64
    chunks, roots = work
    defines = (
        ("CHUNK", CHUNK),
        ("REACH", int(connectivity == 8)),
        ("SOURCES", int(bool(kind))),
        ("T", kind or "u8"),
        ("NT", scanners),
    )

    def launch(entry: str, *args: Argument, groups: int = n, items: int = 256) -> Launch:
        return Launch("label.knl", entry, (groups, 1, 1), (items, 1, 1), args, defines)

    sizes = (np.int32(n), np.int32(size))
    return (
        launch("label_runs", *pixels, labels, chunks, roots, np.int32(size), np.int32(width)),
        launch("label_join", labels, chunks, *sizes, np.int32(width)),
        launch("label_flatten", labels, chunks, roots, *sizes),
        launch("label_scan", chunks, count, np.int32(n), np.int32(at), groups=1, items=scanners),
        launch("label_number", labels, chunks, roots, *sizes),
        launch("label_resolve", labels, chunks, *sizes),
        launch("label_settle", labels, chunks, *sizes),
    )


def label_program(limits: Limits, mask: ArraySpec, labels: ArraySpec, count: ArraySpec, *, connectivity: int) -> Program:
    """See `footprint.kernels.label.contract` for the arguments."""
    made = launches(limits, (A(0),), "", mask.size, mask.shape[-1], connectivity, A(1), (W(0), W(1)), A(2), 0)
    if mask.size == 0:
        made = tuple(one for one in made if one.entry == "label_scan")
    return Program(made, chunk_specs(mask.size))
