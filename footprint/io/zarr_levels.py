"""Coarser levels of a volume in OME-Zarr: means of 2 x 2 x 2 pixels, made of the level before from chunk to chunk."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from footprint.io.zarr_chunks import Chunks, chunk_file, lay_out, put_chunk


def make_levels(folder: Path, levels: int) -> None:
    """Make levels 1 to ``levels - 1`` of level 0; what is left over at an odd end is the mean of what there is."""
    for level in range(1, levels):
        _halve(folder / str(level - 1), folder / str(level))


def _halve(fine: Path, coarse: Path) -> None:
    first = Chunks(fine, 0)
    n_z, n_y, n_x = first.whole
    shape = tuple(-(-n // 2) for n in (n_z, n_y, n_x))
    tall = min(first.tall, shape[1])
    lay_out(coarse, shape, first.dtype, tall, first.packing, first.form)
    for z in range(shape[0]):
        slices = [Chunks(fine, i) for i in range(2 * z, min(2 * z + 2, n_z))]
        for chunk, y in enumerate(range(0, shape[1], tall)):
            name = chunk_file(coarse, z, chunk, first.form)
            put_chunk(name, _mean(slices, y, min(y + tall, shape[1])), tall, first.dtype, first.packing)
            with open(name, "rb+") as file:
                os.fsync(file.fileno())


def _mean(slices: list[Chunks], start: int, stop: int) -> np.ndarray:
    """Rows of the coarse slice; sums of eight are exact in float64, and so are those of 8 and 16 bits in float32."""
    n_y, n_x = slices[0].whole[1:]
    dtype = slices[0].dtype
    sums = np.zeros((stop - start, -(-n_x // 2)), np.float32 if dtype.itemsize <= 2 or dtype == np.float32 else np.float64)
    block = np.empty((1, min(slices[0].tall, 2 * (stop - start)), n_x), dtype)
    for one in slices:
        for y in range(2 * start, min(2 * stop, n_y), block.shape[1] - block.shape[1] % 2 or 1):
            rows = block[:, : min(block.shape[1] - block.shape[1] % 2 or 1, min(2 * stop, n_y) - y)]
            one.read(0, 1, slice(y, y + rows.shape[1]), rows)
            _add(sums, rows[0], y - 2 * start, n_y - y)
    sums /= len(slices) * 4
    if dtype.kind != "f":
        np.rint(sums, out=sums)
    return sums.astype(dtype)


def _add(sums: np.ndarray, rows: np.ndarray, at: int, left: int) -> None:
    """Add fine rows, the first of them ``at`` rows further than those that are summed; the last of an odd number counts twice."""
    odd = len(rows) == left and (at + left) % 2 == 1
    shares = [(sums[at // 2 :], rows[::2]), (sums[at // 2 :], rows[1::2])]
    for to, some in [*shares, (sums[-1:], rows[-1:])] if odd else shares:
        share = to[: len(some)]
        share[:, : some[:, ::2].shape[1]] += some[:, ::2]
        share[:, : some[:, 1::2].shape[1]] += some[:, 1::2]
        if some.shape[1] % 2:
            share[:, -1] += some[:, -1]
