"""Chunks decoded straight to where their numbers are wanted, in memory that does not grow with them: deflate, bitshuffle-LZ4.

Nothing here trusts a file: what a chunk says of itself is compared with what the dataset declares before it is used.
"""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Iterator

import numpy as np

from footprint.errors import FormatError
from footprint.io.pieces import runs
from footprint.io.raw import filled
from footprint.kernels.bitshuffle.contract import DONE, FAULTS, HEADER, MORE, SLACK, Box, Layout, largest

DEFLATE, SHUFFLE, FLETCHER32, _SZIP, _BLOSC, _LZ4, BITSHUFFLE, _ZSTD = 1, 2, 3, 4, 32001, 32004, 32008, 32015
"""Numbers that HDF5 knows filters by."""

# Stored bytes read and bytes inflated at a time, and zlib's own state beside them. Python gives no more than 32 KiB in one piece:
# what is longer it puts together from several, and holds twice.
_READ, _MADE, _STATE = 1 << 15, 1 << 15, 1 << 16
# What one thread inflates with: what zlib has not yet used is a copy, and a piece is let go when the next is made.
INFLATING = 2 * _READ + 2 * _MADE + _STATE

# Stored bytes read at a time, and the largest blocks that are decoded here: bitshuffle's own are 8 KiB.
_WINDOW, _BLOCK = 1 << 18, 1 << 16
# Places in a chunk that are remembered, 4 bytes each: a read from the middle starts at one of them.
_ANCHORS = 128


# Those that leave numbers as they are, and what others are called.
_HARMLESS = (SHUFFLE, FLETCHER32)
_NAMES = {DEFLATE: "gzip", _SZIP: "szip", 5: "n-bit", 6: "scale-offset", _BLOSC: "blosc", _LZ4: "lz4", BITSHUFFLE: "bitshuffle"}
_NAMES |= {_ZSTD: "zstd", 32000: "lzf", 307: "bzip2"}


def last_of(codes: list[int], path: object, name: str) -> int:
    """Which of a dataset's filters is the last that compresses, -1 for none; FormatError where another does before it."""
    last = len(codes) - (2 if codes[-1:] == [FLETCHER32] else 1)
    if any(code not in _HARMLESS for code in codes[: max(last, 0)]):
        how = " and then by ".join(_NAMES.get(code, f"filter {code}") for code in codes[: last + 1] if code not in _HARMLESS)
        raise FormatError(path, f"{name} is packed twice, by {how}, which is not read", "h5repack it with one of them")
    return last


class Damaged(Exception):
    """A chunk is not what its dataset declares; the words follow its place in a sentence."""


def inflated(fd: int, offset: int, size: int, nbytes: int, until: int = 0) -> Iterator[tuple[int, bytes]]:
    """What a chunk inflates to, piece by piece with its place; Damaged unless that is exactly so many bytes.

    With ``until`` it ends when so many bytes are there, and neither the others nor the checksum of all are looked at.
    """
    engine, done = zlib.decompressobj(), 0
    for at in range(0, size, _READ):
        piece = os.pread(fd, min(_READ, size - at), offset + at)
        made = b"first"
        while not engine.eof and (piece or made):
            try:
                made = engine.decompress(piece, min(_MADE, nbytes - done + 1))
            except zlib.error as error:
                raise Damaged(f"cannot be inflated ({error})") from None
            piece = engine.unconsumed_tail
            if done + len(made) > nbytes:
                raise Damaged(f"inflates to more than {nbytes} bytes, its shape needs {nbytes}")
            if made:
                yield done, made
            done += len(made)
            if until and until <= done < nbytes:
                return
    if done != nbytes or not engine.eof:
        raise Damaged(f"inflates to {done} bytes, its shape needs {nbytes}")


def end_of(box: Box, total: int, width: int, shuffled: bool) -> int:
    """How many of a chunk's bytes have all of a box: who reads, and so checks, the others later has none inflated behind them.

    Shuffled, the first bytes of all numbers come first, then all second ones.
    """
    return box.last + (width - 1) * total if shuffled else box.last * width


def as_it_is(fd: int, offset: int, size: int, nbytes: int) -> Iterator[tuple[int, bytes]]:
    """The bytes of a chunk that was not compressed, in the same way; Damaged unless they are so many."""
    if size != nbytes:
        raise Damaged(f"is {size} bytes, its shape needs {nbytes}")
    for at in range(0, size, _MADE):
        piece = os.pread(fd, min(_MADE, size - at), offset + at)
        if len(piece) != min(_MADE, size - at):
            raise Damaged("ends with the file")
        yield at, piece


def put(
    pieces: Iterator[tuple[int, bytes]], total: int, width: int, shuffled: bool, swap: bool, box: Box, flat: np.ndarray
) -> None:
    """Put what the box wants of the bytes of a chunk of ``total`` elements, given in order, into ``flat``.

    Bytes that are not shuffled are left in the order of the file.
    """
    if shuffled:
        from footprint.kernels.shuffle.cpu import unshuffle

        for at, made in pieces:
            fits = unshuffle(np.frombuffer(made, np.uint8), at, total, width, swap, box, flat)
            assert fits, (at, total, width, box, flat.shape)
        return
    wide = Box(box.length * width, box.rows, box.frames, *(n * width for n in box[3:]))
    for at, made in pieces:
        data = np.frombuffer(made, np.uint8)
        for start, stop, to in runs(wide, at, at + len(data)):
            flat[to : to + stop - start] = data[start - at : stop - at]


class Bitshuffled:
    """Chunks of bitshuffle-LZ4.

    Parameters
    ----------
    total, dtype
        Elements of a chunk, and theirs.
    values
        The filter's own numbers.
    head
        The first bytes of some chunk, empty where there is none.
    threads
        That decode at once.
    """

    def __init__(self, total: int, dtype: np.dtype, values: tuple[int, ...], head: bytes, threads: int) -> None:
        self._total, self._width, self._swap, self._threads = total, dtype.itemsize, int(not dtype.isnative), threads
        # As bitshuffle chooses them, where the file does not say.
        usual = values[3] * self._width if len(values) > 3 and values[3] else max(8192 // self._width // 8 * 8, 128) * self._width
        said = int.from_bytes(head[8:HEADER], "big") if len(head) == HEADER else usual
        self.block = self._bounded(said if self._good(said) else usual)
        self._window = max(min(_WINDOW, 2 * total * self._width), largest(self.block))
        self._places = min(_ANCHORS, -(-total * self._width // max(self.block, 1)))
        self._slots: dict[int, list[np.ndarray]] = {}
        self._anchors = np.zeros((0, 0), np.uint32)

    @staticmethod
    def knows(values: tuple[int, ...], dtype: np.dtype) -> bool:
        """Whether a filter of these numbers is decoded here."""
        lz4 = len(values) > 4 and values[4] == 2 and values[2] == dtype.itemsize
        return lz4 and dtype.itemsize in (1, 2, 4, 8) and sys.byteorder == "little"

    @property
    def small(self) -> bool:
        """Whether blocks are small enough to be decoded in counted memory."""
        return self._good(self.block) and self.block <= _BLOCK

    def host_bytes(self, chunks: int) -> int:
        """Bytes of all threads' buffers, and of what is remembered of so many chunks."""
        return self._threads * (self._window + 2 * self.block + 2 * SLACK) + 4 * self._places * chunks

    def close(self) -> None:
        """Let the memory go."""
        self._slots, self._anchors = {}, np.zeros((0, 0), np.uint32)

    def open(self, chunks: int) -> None:
        """Take the memory that so many chunks are remembered in."""
        if len(self._anchors) != chunks:
            self._anchors = np.zeros((chunks, self._places), np.uint32)

    def decode(self, slot: int, fd: int, entry: int, offset: int, size: int, box: Box, flat: np.ndarray, swap: bool = True) -> None:
        """Put what a box wants of the chunk of that entry into ``flat``, native unless ``swap`` is false."""
        from footprint.kernels.bitshuffle.cpu import decode

        held, planes, woven = self._memory(slot)
        head = os.pread(fd, HEADER, offset) if size >= HEADER else b""
        nbytes, said = int.from_bytes(head[:8], "big"), int.from_bytes(head[8:], "big")
        if nbytes != self._total * self._width or not self._good(said):
            raise Damaged(f"declares {nbytes} bytes in blocks of {said}, its shape needs {self._total * self._width}")
        if self._bounded(said) > self.block:
            raise Damaged(f"has blocks of {said} bytes, others have {self.block}")
        layout = Layout(self._total, self._bounded(said) // self._width, self._width, size, self._swap if swap else 0)
        anchors = self._anchors[entry]
        blocks = -(-(self._total // 8 * 8) // layout.block)
        stride = max(-(-blocks // len(anchors)), 1)
        known = np.flatnonzero(anchors[: box.src // layout.block // stride + 1])
        block, pos = (int(known[-1]) * stride, int(anchors[known[-1]])) if len(known) else (0, HEADER)
        most, status = largest(layout.block * self._width), MORE
        while status == MORE:
            # As much as the blocks up to the last one take if they are like the others, and one at least.
            guess = (-(-box.last // layout.block) - block) * size // max(blocks, 1) * 21 // 20
            n = max(min(max(guess, most), len(held) - SLACK, size - pos), 0)
            if not filled(fd, offset + pos, held[:n]):
                raise Damaged("ends with the file")
            status, block, pos = decode(held, n, pos, block, layout, box, flat, planes, woven, anchors)
        if status in FAULTS:
            raise Damaged(f"cannot be decoded: its block {block} {FAULTS[status]}")
        assert status == DONE, (status, layout, box)

    def _good(self, block: int) -> bool:
        return block > 0 and block % (8 * self._width) == 0

    def _bounded(self, block: int) -> int:
        return min(block, max(self._total // 8 * 8, 8) * self._width)

    def _memory(self, slot: int) -> list[np.ndarray]:
        if slot not in self._slots:
            sizes = self._window + SLACK, self.block + SLACK, self.block
            self._slots[slot] = [np.empty(n, np.uint8) for n in sizes]
        return self._slots[slot]


def announced(code: int, values: tuple[int, ...], head: bytes) -> int | None:
    """Bytes that a filter's own header says a chunk decodes to; None where it does not say."""
    if code == _LZ4 or (code == BITSHUFFLE and len(values) > 4 and values[4]):
        return int.from_bytes(head[:8], "big")
    if code == _BLOSC:
        return int.from_bytes(head[4:8], "little")
    if code == _SZIP:
        return int.from_bytes(head[:4], "little")
    if code == _ZSTD:
        return announced_zstd(head)
    return None


def announced_zstd(head: bytes) -> int:
    """The content size of a Zstandard frame (RFC 8878, 3.1.1.1); -1 where it has none, which its filter would guess at."""
    if len(head) < 6 or head[:4] != b"\x28\xb5\x2f\xfd":
        return -1
    flags = head[4]
    single, code = flags >> 5 & 1, flags >> 6
    wide = (1 if single else 0, 2, 4, 8)[code]
    at = 5 + (not single) + (0, 1, 2, 4)[flags & 3]
    if not wide:
        return -1
    return int.from_bytes(head[at : at + wide], "little") + (256 if wide == 2 else 0)
