"""Launch shapes of deblending an image in parts of rows, one after the other: what is kept of a part are its basins and one row."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.launch import A, Argument, Launch, Program, W
from footprint.kernels.common.load import c_type
from footprint.kernels.label import gpu as label
from footprint.kernels.threshold.gpu import groups_for
from footprint.spec import ArraySpec, Limits

# Columns of a basin, as `basins.h` has them where there are parts; pointers that a launch follows at once.
_COLUMNS, STEPS = 17, 16
# Places and sums are counted by 32 bits, and a pass has its place and its way in one key.
LARGEST = 2**32 - 2
# Arrays that are kept, in the order of `state`.
_KEPT = 8


def state(block: ArraySpec, room: int) -> tuple[ArraySpec, ...]:
    """Counts, and of basins what is kept of a whole image; heights of old passes; of the row before a part values, what they climb
    to, and basins.
    """
    basins, row = ArraySpec((room,), "float64"), ArraySpec((block.shape[1],), block.dtype)
    return (
        ArraySpec((4,), "int64"), basins, basins, ArraySpec((room, _COLUMNS), "int32"), basins, row, row,
        ArraySpec((block.shape[1],), "int32"),
    )  # fmt: skip


def in_parts(kept: tuple[ArraySpec, ...]) -> bool:
    """Whether arrays are those of an image that comes in parts."""
    return len(kept) == _KEPT


def turns(size: int, room: int) -> tuple[int, int]:
    """Launches that follow the longest slope, and rounds in which the largest forest grows: trees are half as many after each."""
    jumps = 1
    while STEPS**jumps < size:
        jumps += 1
    return jumps, max(1, room.bit_length())


class Part:
    """Launches on one part.

    Parameters
    ----------
    pixels, stats, nodes
        Of the part, of the image, and where its basins are found.
    kept
        Where `state` begins.
    first, height
        The part's first row, and the image's rows.
    """

    def __init__(
        self, limits: Limits, block: ArraySpec, room: int, arrays: tuple[A, A, A], kept: int, *, first: int, height: int,
        sigma: float, connectivity: int,
    ) -> None:  # fmt: skip
        label.check_size(block.size)
        self.limits, self.block, self.kind, self.room, self.first = limits, block, c_type(block.dtype), room, first
        (self.pixels, self.stats, self.nodes), self.sigma, self.connectivity = arrays, sigma, connectivity
        self.met, self.peaks, self.heights, self.basins, self.old, self.last, self.best, self.seam = (A(kept + k) for k in range(8))
        self.chunks, self.roots, self.found, self.flags = (W(k) for k in range(4))
        self.jumps, self.rounds = turns(block.size, room)
        n, width = -(-block.size // label.CHUNK), block.shape[1]
        self.known = (self.met, np.int32(room))
        self.shape = (np.int32(n), np.int32(block.size), np.int32(width))
        self.reach = np.int32(connectivity == 8)
        ends = np.int32(first + block.shape[0] < height)
        self.around = (self.pixels, self.last, self.seam, np.int64(first), ends, self.reach, *self.shape)
        self.swept, self.across = min(n, 16 * max(1, limits.cores)), groups_for(limits, width)
        self.listed = groups_for(limits, room)

    @property
    def work(self) -> tuple[ArraySpec, ...]:
        """Of a part while it is there."""
        return *label.chunk_specs(self.block.size), ArraySpec((1,), "int64"), ArraySpec((self.jumps + self.rounds + 1,), "int32")

    def launch(self, entry: str, *args: Argument, groups: int = 0, items: int = 256, text: str = "parts") -> Launch:
        """An entry of a text, on all pixels unless told otherwise."""
        defines = (("T", self.kind), ("WIDE", int(self.kind == "f64")), ("CHUNK", label.CHUNK), ("STEPS", STEPS), ("PARTS", 1))
        return Launch(f"{text}.knl", f"{text}_{entry}", (groups or self.swept, 1, 1), (items, 1, 1), args, defines)

    def own(self, at: int) -> tuple[Launch, ...]:
        """The part's basins, numbered from 1, and counted behind those of earlier parts."""
        sky = (self.pixels, self.stats, np.float64(self.sigma))
        size, width = self.block.size, self.block.shape[1]
        named = (self.nodes, (self.chunks, self.roots), self.found, 0)
        runs, _joined, *numbered = label.launches(self.limits, sky, self.kind, size, width, self.connectivity, *named)
        jump = (self.nodes, self.chunks, self.flags)
        followed = (self.launch("jump", *jump, np.int32(turn), *self.shape[:2], text="deblend") for turn in range(self.jumps))
        n_flags = np.int32(self.jumps + self.rounds + 1)
        climbed = self.launch("climb", *self.around, self.nodes, self.chunks, self.flags, n_flags)
        counted = (self.met, self.found, np.int64(self.first), np.int32(at))
        return runs, climbed, *followed, *numbered, self.launch("count", *counted, groups=1, items=1)

    def gather(self, seed: float) -> Program:
        """Its basins, and the forest with those of earlier parts."""
        begun, nodes, chunks = np.int32(self.jumps), self.nodes, self.chunks
        made = [*self.own(0)]
        if self.first:
            marked = (self.basins, self.seam, self.flags, *self.known, begun, np.int64(self.first), self.shape[2])
            made.append(self.launch("mark", *marked, groups=self.across))
        renewed = (self.basins, self.heights, self.old, *self.known, np.int64(self.first))
        made.append(self.launch("renew", *renewed, groups=self.listed))
        tables = (self.roots, self.peaks, self.basins, *self.known, self.stats, np.float64(seed))
        made.append(self.launch("basins", *self.around, nodes, chunks, *tables))
        if self.first:
            made.append(self.launch("link", *self.around, nodes, self.best, self.basins, *self.known, groups=self.across))
        marks = (self.pixels, nodes, chunks, self.roots, self.flags, *self.known, begun, self.reach, *self.shape)
        made.append(self.launch("borders", *marks, groups=int(self.shape[0]), text="deblend"))
        for turn in range(self.jumps, self.jumps + self.rounds):
            made += self._round(np.int32(turn))
        left = (*self.around, nodes, self.best, self.basins, *self.known)
        return Program((*made, self.launch("leave", *left, groups=self.across), self.keep), self.work)

    def _round(self, turn: np.int32) -> list[Launch]:
        """Every component finds its best pass, and is hooked to what lies across."""
        forest = (
            *self.around,
            self.nodes,
            self.chunks,
            self.roots,
            self.basins,
            self.heights,
            self.old,
            self.met,
            self.flags,
            turn,
        )
        found = ("high", *(("low",) if self.kind == "f64" else ()), "place", "way", "ends")
        many = max(self.swept, self.listed)
        joined = (self.basins, self.flags, *self.known, turn)
        return [
            *(self.launch(entry, *forest, groups=many) for entry in found),
            *(self.launch(entry, *joined, groups=self.listed) for entry in ("hook", "join")),
        ]

    @property
    def keep(self) -> Launch:
        """The row that the next part begins below."""
        args = (self.pixels, self.nodes, self.last, self.seam, *self.known, *self.shape[1:])
        return self.launch("keep", *args, groups=self.across)

    def again(self) -> tuple[Launch, ...]:
        """The basins once more, when all parts were through."""
        return *self.own(3), self.keep
