"""Launch shapes of connected components: chunks of pixels in raster order, one group each."""

from __future__ import annotations

import numpy as np

from footprint.errors import ShapeError
from footprint.kernels.common.launch import A, Argument, Defines, Launch, Program, W
from footprint.kernels.threshold.gpu import groups_for
from footprint.spec import ArraySpec, Limits

CHUNK = 2048
LARGEST = 2**31 - 1 - CHUNK


def chunk_specs(size: int) -> tuple[ArraySpec, ArraySpec]:
    """Roots, and where anything is set, of each chunk; a bit a pixel."""
    n = -(-size // CHUNK)
    return ArraySpec((2, n), "uint32"), ArraySpec((n, CHUNK // 32), "uint32")


def launches(
    limits: Limits, pixels: tuple[Argument, ...], kind: str, size: int, width: int, connectivity: int, labels: Argument,
    work: tuple[W, W], count: Argument, at: int, maps: bool = False,
) -> tuple[Launch, ...]:  # fmt: skip
    """Label what is set, and count the components in ``count[at]``; ``kind`` is the C type of a sky's pixels, "" for a mask.

    A sky's ``pixels`` come with stats and sigma, or with ``maps``: a level, a spread and sigma.
    """
    if size > LARGEST:
        raise ShapeError("image", f"{size} pixels", f"at most {LARGEST} where a GPU labels it", "label it in parts, or on the cpu")
    n, (chunks, roots) = -(-size // CHUNK), work
    defines = _defines(limits, connectivity, kind, maps)

    def launch(entry: str, *args: Argument, groups: int = n, items: int = 256) -> Launch:
        return Launch("label.knl", entry, (groups, 1, 1), (items, 1, 1), args, defines)

    sizes = (np.int32(n), np.int32(size))
    return (
        launch("label_runs", *pixels, labels, chunks, roots, np.int32(size), np.int32(width)),
        launch("label_join", labels, chunks, *sizes, np.int32(width)),
        launch("label_flatten", labels, chunks, roots, *sizes),
        launch("label_scan", chunks, count, np.int32(n), np.int32(at), groups=1, items=_scanners(limits)),
        launch("label_number", labels, chunks, roots, *sizes),
        launch("label_resolve", labels, chunks, *sizes),
        launch("label_settle", labels, chunks, *sizes),
    )


def _scanners(limits: Limits) -> int:
    """Work-items of the one group that adds up what all others found."""
    return 1024 if limits.group >= 1024 and limits.cores > 16 else 64


def _defines(limits: Limits, connectivity: int, kind: str, maps: bool = False) -> Defines:
    return (
        ("CHUNK", CHUNK),
        ("REACH", int(connectivity == 8)),
        ("SOURCES", int(bool(kind))),
        ("MAPS", int(maps)),
        ("T", kind or "u8"),
        ("NT", _scanners(limits)),
    )


def label_program(limits: Limits, mask: ArraySpec, labels: ArraySpec, count: ArraySpec, *, connectivity: int) -> Program:
    """See `footprint.kernels.label.contract` for the arguments."""
    made = launches(limits, (A(0),), "", mask.size, mask.shape[-1], connectivity, A(1), (W(0), W(1)), A(2), 0)
    if mask.size == 0:
        made = tuple(one for one in made if one.entry == "label_scan")
    return Program(made, chunk_specs(mask.size))


class _Parts:
    """Launches on a part's components, and on the table of all; `met` counts those of the parts before."""

    def __init__(self, limits: Limits, table: ArraySpec, met: A, connectivity: int = 4) -> None:
        if table.itemsize != 4:
            raise ShapeError("mask", "more than 2147483646 pixels", "fewer where a GPU labels it", "label it on the cpu")
        self.limits, self.met, self.room = limits, met, np.int64(table.size)
        self.defines = _defines(limits, connectivity, "")

    def one(self, entry: str, n: int, *args: Argument) -> Launch:
        """A work-item each."""
        return Launch("label.knl", entry, (groups_for(self.limits, n), 1, 1), (256, 1, 1), args, self.defines)

    def alone(self, entry: str, *args: Argument) -> Launch:
        """One work-item."""
        return Launch("label.knl", entry, (1, 1, 1), (1, 1, 1), args, self.defines)

    def labelled(self, mask: ArraySpec, connectivity: int, first: int, at: int) -> tuple[Launch, ...]:
        """The part's own labels, its components counted in the third work array; the first part begins a count anew."""
        begin = (self.alone("parts_begin", self.met, np.int32(at)),) if first == 0 else ()
        own = launches(self.limits, (A(0),), "", mask.size, mask.shape[-1], connectivity, A(1), (W(0), W(1)), W(2), 0)
        return (*begin, *own)


def _part_work(mask: ArraySpec) -> tuple[ArraySpec, ...]:
    return (*chunk_specs(mask.size), ArraySpec((1,), "int64"))


def gather_program(
    limits: Limits, mask: ArraySpec, labels: ArraySpec, table: ArraySpec, seam: ArraySpec, met: ArraySpec, *, first: int,
    connectivity: int,
) -> Program:  # fmt: skip
    """See `footprint.kernels.label.contract` for the arguments."""
    height, width = mask.shape
    parts = _Parts(limits, table, A(4), connectivity)
    known: tuple[Argument, ...] = (A(4), W(2), parts.room)
    opened = parts.one("parts_open", min(mask.size, table.size), A(2), *known)
    seamed = (parts.one("parts_seam", width, A(2), A(1), A(3), *known, np.int32(width)),) if first else ()
    left = parts.one("parts_leave", width, A(1), A(3), A(4), np.int32((height - 1) * width), np.int32(width))
    met_ = parts.alone("parts_met", A(4), W(2), np.int32(0))
    return Program((*parts.labelled(mask, connectivity, first, 0), opened, *seamed, left, met_), _part_work(mask))


def settle_program(limits: Limits, table: ArraySpec, met: ArraySpec, count: ArraySpec) -> Program:
    """See `footprint.kernels.label.contract` for the arguments."""
    parts = _Parts(limits, table, A(1))
    everywhere = lambda entry: parts.one(entry, table.size, A(0), A(1), parts.room)
    items = (_scanners(limits), 1, 1)
    number = Launch("label.knl", "parts_number", (1, 1, 1), items, (A(0), A(1), A(2), parts.room), parts.defines)
    return Program((everywhere("parts_flatten"), number, everywhere("parts_resolve"), everywhere("parts_turn")))


def paint_program(
    limits: Limits, mask: ArraySpec, labels: ArraySpec, table: ArraySpec, met: ArraySpec, *, first: int, connectivity: int
) -> Program:
    """See `footprint.kernels.label.contract` for the arguments."""
    parts = _Parts(limits, table, A(3), connectivity)
    painted = parts.one("parts_paint", mask.size, A(1), A(2), A(3), parts.room, np.int32(mask.size))
    met_ = parts.alone("parts_met", A(3), W(2), np.int32(1))
    return Program((*parts.labelled(mask, connectivity, first, 1), painted, met_), _part_work(mask))
