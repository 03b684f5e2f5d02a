"""Decode damaged bitshuffle-LZ4 with every array beside a page that nobody may touch. Run as a child: a stray access ends it."""

from __future__ import annotations

import ctypes
import mmap
import sys

import h5py
import hdf5plugin
import numpy as np

from footprint.kernels.bitshuffle.contract import DONE, FAULTS, HEADER, SLACK, Box, Layout
from footprint.kernels.bitshuffle.cpu import decode

MAPS: list[mmap.mmap] = []
EMPTY = 0xA5


def guarded(count: int, before: bool) -> np.ndarray:
    """So many bytes that begin, or end, at a page that cannot be read or written."""
    page = mmap.PAGESIZE
    size = -(-count // page) * page
    MAPS.append(mmap.mmap(-1, size + 2 * page))
    start = ctypes.addressof(ctypes.c_char.from_buffer(MAPS[-1]))
    for at in (start, start + page + size):
        assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(at), page, 0) == 0
    return np.frombuffer(MAPS[-1], np.uint8)[page:-page][slice(0, count) if before else slice(size - count, size)]


class Case:
    """A chunk as HDF5's own filter stores it, and memory to decode it in."""

    def __init__(self, dtype: str, total: int, block: int, mean: float, before: bool) -> None:
        rng = np.random.default_rng(total)
        self.values = rng.poisson(np.where(np.arange(total) % 900 < 450, mean, 4), total).astype(dtype)
        with h5py.File("chunk", "w", driver="core", backing_store=False) as file:
            storage = hdf5plugin.Bitshuffle(nelems=block, cname="lz4")
            data = file.create_dataset("data", data=self.values, chunks=(total,), compression=storage)
            file.flush()
            self.stored = np.frombuffer(data.id.read_direct_chunk((0,))[1], np.uint8)
        self.width, self.total, self.block = self.values.itemsize, total, min(block, total // 8 * 8)
        nbytes = self.block * self.width
        self.held = guarded(len(self.stored) + SLACK, before)
        self.before = before
        self.planes, self.woven = guarded(nbytes + SLACK, before), guarded(nbytes, before)
        self.out, self.anchors = guarded(total * self.width, before), guarded(4 * 16, before).view(np.uint32)

    def decode(self, stored: np.ndarray, start: int, stop: int) -> int:
        """Decode some elements of what may be damaged; what lies around them must stay as it was."""
        size = len(stored)
        held = self.held[: size - HEADER + SLACK] if self.before else self.held[len(self.held) - (size - HEADER + SLACK) :]
        held[: size - HEADER], held[size - HEADER :] = stored[HEADER:], EMPTY
        self.out[:], self.anchors[:] = EMPTY, 0
        box = Box(stop - start, 1, 1, start, 0, 0, start, 0, 0)
        layout = Layout(self.total, self.block, self.width, size, 0)
        status, _, _ = decode(held, size - HEADER, HEADER, 0, layout, box, self.out, self.planes, self.woven, self.anchors)
        a, b = start * self.width, stop * self.width
        assert (self.out[:a] == EMPTY).all() and (self.out[b:] == EMPTY).all()
        return int(status)


def damaged(stored: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One to four of: bits, telling bytes, zeros, ones, noise, a piece of another place, an end that is missing."""
    found = stored.copy()
    for _ in range(rng.integers(1, 5)):
        # The size of the first block is as good a place as any.
        at, kind = HEADER if rng.random() < 0.1 else int(rng.integers(HEADER, len(found))), rng.integers(7)
        piece = found[at : at + int(rng.integers(1, 40))]
        if kind == 0:
            piece[:1] ^= np.uint8(1 << rng.integers(8))
        elif kind == 1:
            piece[:1] = rng.choice(np.array([0, 1, 15, 16, 0xF0, 0xFF], np.uint8))
        elif kind == 2:
            piece[:] = 0
        elif kind == 3:
            piece[:] = 255
        elif kind == 4:
            piece[:] = rng.integers(0, 256, len(piece))
        elif kind == 5:
            other = int(rng.integers(HEADER, len(found) - len(piece) + 1))
            piece[:] = found[other : other + len(piece)].copy()
        elif len(found) > 64:
            found = found[: max(at, 50)].copy()
    return found


def main(count: int) -> None:
    rng = np.random.default_rng(3)
    kinds = (("<u2", 9005, 2048, 3000), ("<u4", 5003, 1024, 5), ("<f8", 1203, 64, 9), ("u1", 4099, 4096, 100))
    cases = [Case(*kind, before) for kind in kinds for before in (False, True)]
    for case in cases:
        assert case.decode(case.stored, 0, case.total) == DONE
        assert (case.out.view(case.values.dtype) == case.values).all()
    seen = {"refused": 0, "decoded": 0}
    for i in range(count):
        case = cases[i % len(cases)]
        start, stop = sorted(map(int, rng.integers(0, case.total + 1, 2)))
        status = case.decode(damaged(case.stored, rng), *((0, case.total) if start == stop or i % 3 else (start, stop)))
        assert status == DONE or status in FAULTS, status
        seen["decoded" if status == DONE else "refused"] += 1
    print(seen["refused"], seen["decoded"])


if __name__ == "__main__":
    main(int(sys.argv[1]))
