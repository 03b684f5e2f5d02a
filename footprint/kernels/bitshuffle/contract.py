"""Chunks of HDF5 as bitshuffle-LZ4 stores them: blocks, each after its size, that decode apart from each other.

A chunk is 12 bytes (what it decodes to, 64 bits; bytes of a block, 32 bits; both big-endian), then blocks of LZ4 after 32 bits of
their stored size, and last the elements beyond a multiple of 8 as they are. A block decodes to the bits of its elements: for every
byte of an element, from the lowest, 8 planes of a bit each.
"""

from __future__ import annotations

from typing import NamedTuple

HEADER = 12
SLACK = 64
"""Bytes beyond what a buffer holds that are read, or written, and then not used."""

PLACES = 4096
"""Hashes of four bytes that are remembered while a block is encoded."""

DONE, MORE, OURS = 0, 1, -9
"""What `decode` returns beside faults of the chunk: done; bytes from its position on are needed; wrong arguments."""

FAULTS = {
    -1: "runs past the chunk",
    -2: "has literals that run past its end",
    -3: "is cut short",
    -4: "repeats bytes from before its start",
    -5: "repeats bytes past its end",
    -6: "decodes to too few bytes",
    -7: "does not end where the chunk does",
}
"""What is wrong with a block; the last is that after the last block."""


class Layout(NamedTuple):
    """How a chunk is stored: elements in all and in a block, bytes of an element, bytes stored, whether bytes are to be swapped."""

    total: int
    block: int
    width: int
    size: int
    swap: int


class Box(NamedTuple):
    """What is wanted of a chunk and where it goes, in elements: runs of one length, those of a row's, or all, in rows and frames.

    Run ``(f, r)`` starts at ``src + f * src_frame + r * src_row`` of the chunk and at ``dst + f * dst_frame + r * dst_row`` of the
    result; in the chunk they are in order and do not overlap.
    """

    length: int
    rows: int
    frames: int
    src: int
    src_row: int
    src_frame: int
    dst: int
    dst_row: int
    dst_frame: int

    @property
    def last(self) -> int:
        """The element of the chunk behind the last that is wanted."""
        return self.src + (self.frames - 1) * self.src_frame + (self.rows - 1) * self.src_row + self.length


def largest(block: int) -> int:
    """Bytes that LZ4 stores for so many, at most, and their size before them."""
    return block + block // 255 + 16 + 4


def stored_bytes(total: int, width: int, block: int) -> int:
    """Bytes that a chunk of so many elements is stored in, at most, in blocks of so many."""
    return HEADER + -(-total // block) * largest(block * width) + 8 * width
