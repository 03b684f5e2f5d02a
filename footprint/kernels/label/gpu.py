"""Launch shapes of connected components: chunks of pixels in raster order, one group each."""

from __future__ import annotations

import numpy as np

from footprint.errors import LimitError
from footprint.kernels.common.launch import A, Argument, Defines, Launch, Program, W
from footprint.kernels.threshold.gpu import groups_for
from footprint.spec import ArraySpec, Limits

CHUNK = 2048
LARGEST = 2**31 - 1 - CHUNK


def chunk_specs(size: int) -> tuple[ArraySpec, ArraySpec]:
    """Roots, and where anything is set, of each chunk; a bit a pixel."""
    n = -(-size // CHUNK)
    return ArraySpec((2, n), "uint32"), ArraySpec((n, CHUNK // 32), "uint32")


def check_size(size: int) -> None:
    """LimitError where a signed word does not count so many pixels, and what is beyond them."""
    if size > LARGEST:
        raise LimitError("image", f"{size} pixels", f"at most {LARGEST} where a GPU labels them at once", "do it on the cpu")


def sweepers(limits: Limits, chunks: int) -> int:
    """Groups that go through what is set in so many chunks: enough to fill the device, no more."""
    return min(chunks, 32 * max(1, limits.cores))


def launches(
    limits: Limits, pixels: tuple[Argument, ...], kind: str, size: int, width: int, connectivity: int, labels: Argument,
    work: tuple[W, W], count: Argument, at: int, maps: bool = False,
) -> tuple[Launch, ...]:  # fmt: skip
    """Label what is set, and count the components in ``count[at]``; ``kind`` is the C type of a sky's pixels, "" for a mask.

    A sky's ``pixels`` come with stats and sigma, or with ``maps``: a level, a spread and sigma.
    """
    check_size(size)
    n, (chunks, roots) = -(-size // CHUNK), work
    defines = _defines(limits, connectivity, kind, maps)

    def launch(entry: str, *args: Argument, groups: int = sweepers(limits, n), items: int = 256) -> Launch:
        return Launch("label.knl", entry, (groups, 1, 1), (items, 1, 1), args, defines)

    sizes = (np.int32(n), np.int32(size))
    return (
        launch("label_runs", *pixels, labels, chunks, roots, np.int32(size), np.int32(width), groups=n),
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


class Parts:
    """Launches on a part's components, and on the table of all.

    Parameters
    ----------
    pixels, kind, maps, labels
        As in `launches`: what is labelled, and where.
    table, met
        What components of all parts belong to; how many were met, and painted.
    room
        Components the table holds.
    """

    def __init__(
        self, limits: Limits, pixels: tuple[Argument, ...], kind: str, labels: Argument, table: Argument, met: Argument, room: int,
        connectivity: int = 4, maps: bool = False,
    ) -> None:  # fmt: skip
        self.limits, self.pixels, self.kind, self.maps = limits, pixels, kind, maps
        self.labels, self.table, self.met, self.room = labels, table, met, np.int64(room)
        self.connectivity, self.defines = connectivity, _defines(limits, connectivity, kind, maps)
        # The part's own: its chunks, and how many components it has.
        self.chunks, self.found = (W(0), W(1)), W(2)

    def one(self, entry: str, n: int, *args: Argument) -> Launch:
        """A work-item each."""
        return Launch("label.knl", entry, (groups_for(self.limits, n), 1, 1), (256, 1, 1), args, self.defines)

    def alone(self, entry: str, *args: Argument) -> Launch:
        """One work-item."""
        return Launch("label.knl", entry, (1, 1, 1), (1, 1, 1), args, self.defines)

    def own(self, block: ArraySpec, first: int, at: int) -> tuple[Launch, ...]:
        """The part's own labels, its components counted; the first part begins a count anew."""
        begin = (self.alone("parts_begin", self.met, np.int32(at)),) if first == 0 else ()
        shape = block.size, block.shape[-1], self.connectivity
        made = launches(self.limits, self.pixels, self.kind, *shape, self.labels, self.chunks, self.found, 0, self.maps)
        return (*begin, *made)

    def gather(self, block: ArraySpec, seam: Argument, first: int) -> tuple[Launch, ...]:
        """Give the part's components places in the table, and join them with those of the part before along its last row."""
        height, width = block.shape
        own = self.own(block, first, 0)
        known: tuple[Argument, ...] = (self.met, self.found, self.room)
        opened = self.one("parts_open", min(block.size, int(self.room)), self.table, *known)
        seamed = (self.one("parts_seam", width, self.table, self.labels, seam, *known, np.int32(width)),) if first else ()
        left = self.one("parts_leave", width, self.labels, seam, self.met, np.int32((height - 1) * width), np.int32(width))
        met = self.alone("parts_met", self.met, self.found, np.int32(0))
        return (*own, opened, *seamed, left, met)

    def everywhere(self, entry: str) -> Launch:
        """On every component of the table."""
        return self.one(entry, int(self.room), self.table, self.met, self.room)

    def paint(self, block: ArraySpec, first: int) -> tuple[Launch, ...]:
        """Label the part once more, by what the table says."""
        own = self.own(block, first, 1)
        painted = self.one("parts_paint", block.size, self.labels, self.table, self.met, self.room, np.int32(block.size))
        return (*own, painted, self.alone("parts_met", self.met, self.found, np.int32(1)))


def part_specs(size: int) -> tuple[ArraySpec, ...]:
    """The work arrays of a part of so many pixels."""
    return (*chunk_specs(size), ArraySpec((1,), "int64"))


def _of_mask(limits: Limits, table: ArraySpec, where: A, met: A, connectivity: int = 4) -> Parts:
    return Parts(limits, (A(0),), "", A(1), where, met, table.size, connectivity)


def gather_program(
    limits: Limits, mask: ArraySpec, labels: ArraySpec, table: ArraySpec, seam: ArraySpec, met: ArraySpec, *, first: int,
    connectivity: int,
) -> Program:  # fmt: skip
    """See `footprint.kernels.label.contract` for the arguments."""
    parts = _of_mask(limits, table, A(2), A(4), connectivity)
    return Program(parts.gather(mask, A(3), first), part_specs(mask.size))


def settle_program(limits: Limits, table: ArraySpec, met: ArraySpec, count: ArraySpec) -> Program:
    """See `footprint.kernels.label.contract` for the arguments."""
    parts = _of_mask(limits, table, A(0), A(1))
    items = (_scanners(limits), 1, 1)
    number = Launch("label.knl", "parts_number", (1, 1, 1), items, (A(0), A(1), A(2), parts.room), parts.defines)
    return Program((parts.everywhere("parts_flatten"), number, parts.everywhere("parts_resolve"), parts.everywhere("parts_turn")))


def paint_program(
    limits: Limits, mask: ArraySpec, labels: ArraySpec, table: ArraySpec, met: ArraySpec, *, first: int, connectivity: int
) -> Program:
    """See `footprint.kernels.label.contract` for the arguments."""
    return Program(_of_mask(limits, table, A(2), A(3), connectivity).paint(mask, first), part_specs(mask.size))
