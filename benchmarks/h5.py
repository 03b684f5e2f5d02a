"""Reading HDF5 scans beside h5py with hdf5plugin, and beside preadv: ``python -m benchmarks.h5``.

Files are in the system's cache, so that what is compared is the reading and not the disk. GB/s are of image data.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin
import numpy as np

from benchmarks.timing import compare
from footprint.io.stack import open_frames

CASES: dict[str, dict[str, Any]] = {
    "bitshuffle-LZ4, a frame a chunk": {"compression": hdf5plugin.Bitshuffle(cname="lz4")},
    "bitshuffle-LZ4, chunks of 16 x 128 rows": {"compression": hdf5plugin.Bitshuffle(cname="lz4")},
    "shuffle + gzip, a frame a chunk": {"compression": "gzip", "compression_opts": 1, "shuffle": True},
    "chunks as they are, a frame each": {},
    "contiguous": {},
}


def frame(k: int, side: int) -> np.ndarray:
    """Counts behind a disc, with noise: about 70 % of their size as bitshuffle-LZ4."""
    y, x = np.mgrid[-1 : 1 : side * 1j, -1 : 1 : side * 1j]
    mean = 20000 * np.exp(-y * y / 0.7) * (1 - 0.85 * np.exp(-16 * (x + k / 99) ** 2))
    return np.random.default_rng(k).poisson(np.clip(mean, 3000, None)).astype(np.uint16)


def preadv(file: int, offset: int, step: int, out: np.ndarray) -> None:
    """What the disk, or its cache, gives at most."""
    for k, part in enumerate(out):
        os.preadv(file, [memoryview(part).cast("B")], offset + k * step)


def timed(calls: dict[str, Callable[[], object]], nbytes: int) -> None:
    """Wall and processor time of each, in turns."""
    spent: dict[str, list[float]] = {name: [] for name in calls}

    def counted(name: str) -> Callable[[], None]:
        def call() -> None:
            start = time.process_time()
            calls[name]()
            spent[name].append(time.process_time() - start)

        return call

    timings = compare({name: counted(name) for name in calls}, turns=9, least=0.0)
    ours = next(iter(timings.values()))
    for name, timing in timings.items():
        cpu = float(np.median(spent[name][2:]))
        own = float(np.median(spent[ours.name][2:]))
        line = (
            f"    {name:<10} {1e3 * timing.median:9.1f} ms {nbytes / timing.median / 1e9:6.2f} GB/s, processor {1e3 * cpu:9.1f} ms"
        )
        if timing is not ours:
            line += f"; {ours.ratio(timing):6.2f} x the time, {cpu / own:6.2f} x the processor's"
        print(line, flush=True)


def main() -> None:
    """Write files and read them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=32)
    parser.add_argument("--side", type=int, default=2048)
    given = parser.parse_args()
    n, side = given.frames, given.side
    data = np.stack([frame(k, side) for k in range(n)])
    first = side // 2 - 64
    for name, storage in CASES.items():
        chunks = None if name == "contiguous" else (16, 128, side) if "16" in name else (1, side, side)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "scan.h5"
            with h5py.File(path, "w") as file:
                file.create_dataset("data", data=data, chunks=chunks, **storage)
            frames, raw = open_frames(f"{path}:/data"), os.open(path, os.O_RDONLY)
            with h5py.File(path, rdcc_nbytes=0) as file:
                dataset = file["data"]
                start = dataset.id.get_offset() if chunks is None else dataset.id.get_chunk_info(0).byte_offset
                print(f"{n} x {side} x {side} uint16, {name}, {path.stat().st_size / data.nbytes:.2f} of their size")
                for what, rows in (
                    ("whole frames", slice(0, side)),
                    ("128 rows of all", slice(first, first + 128)),
                    ("16 rows of all", slice(first, first + 16)),
                ):
                    out = np.ones((n, rows.stop - rows.start, side), np.uint16)
                    calls: dict[str, Callable[[], object]] = {
                        "footprint": lambda: frames.read(0, n, rows, out),  # noqa: B023
                        "h5py": lambda: dataset.read_direct(out, np.s_[:, rows]),  # noqa: B023
                    }
                    if not storage:
                        at = start + rows.start * side * 2
                        calls["preadv"] = lambda: preadv(raw, at, 2 * side * side, out)  # noqa: B023
                    print(f"  {what}")
                    timed(calls, out.nbytes)
                    frames.read(0, n, rows, out)
                    assert (out == data[:, rows]).all()
            frames.close()
            os.close(raw)


if __name__ == "__main__":
    main()
