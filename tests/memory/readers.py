"""Jobs of reading and of catalogues, which the nursery runs in a process each: what was said to be taken, and what grew."""

from __future__ import annotations

import ctypes
import gc
import json
import mmap
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np

import footprint as fp
from footprint.backend.memory import PeakMeter, give_back, pages_return
from footprint.io.image import open_image
from footprint.io.scan import open_scan
from footprint.io.shifts import read_shifts
from footprint.io.stack import open_frames

_POPULATE_READ = 22


def have_code() -> None:
    """Map the code of all libraries, of which a fork has nothing: a page that only a large file needs would count as grown."""
    with open("/proc/self/maps") as file:
        lines = [line.split() for line in file]
    madvise = ctypes.CDLL(None).madvise
    for place, rights, *_, name in lines:
        start, stop = (int(end, 16) for end in place.split("-"))
        if rights.startswith("r") and ".so" in name:
            # Where this is refused, they count.
            madvise(ctypes.c_void_p(start), ctypes.c_size_t(stop - start), _POPULATE_READ)


def _first_rows(name: str, rows: int, dtype: str) -> tuple[Any, Callable[[], Any], int]:
    """A file, what reads its first rows into an array of its own, and how many there are."""
    if ".fits" in name:
        image = open_image(name)
        n_rows = min(rows, image.shape[0])
        out = np.ones((n_rows, image.shape[1]), dtype)
        return image, (lambda: image.read(slice(0, n_rows), out)), n_rows
    frames = open_frames(name)
    n_rows = min(rows, frames.shape[1])
    out = np.ones((frames.shape[0], n_rows, frames.shape[2]), dtype)
    return frames, (lambda: frames.read(0, frames.shape[0], slice(0, n_rows), out)), n_rows


def read(few: str, many: str, rows: str, dtype: str, threads: str) -> None:
    """Read a large file, after a small one that is stored alike."""
    # One reads after another, as the phases of a job do: what the C library keeps of each thread's memory adds up.
    crew, all_there = ThreadPoolExecutor(int(threads)), Barrier(int(threads))

    def in_turn(job: Callable[[], Any]) -> None:
        def once(turn: int) -> None:
            for one in range(int(threads)):
                if one == turn:
                    job()
                all_there.wait()

        list(crew.map(once, range(int(threads))))

    _, warm, _ = _first_rows(few, int(rows), dtype)
    in_turn(warm)
    source, job, n_rows = _first_rows(many, int(rows), dtype)
    # As a plan asks before the first read: nothing is held that was not counted.
    said = source.host_bytes(n_rows, dtype), source.host_bytes(n_rows)
    with PeakMeter() as meter:
        in_turn(job)
    print(json.dumps([meter.growth if meter.known else -1, *said]))


def read_tiles(few: str, many: str, rows: str) -> None:
    """Read an image in compressed tiles, none of it held, as a job does that has no room for it."""
    with pages_return():
        for path in (few, many):
            image = open_image(path)
            image.lean()
            step = min(int(rows), image.shape[0])
            out, said = np.ones((step, image.shape[1]), image.dtype), image.host_bytes(step, image.dtype)
            give_back()
            with PeakMeter() as meter:
                for start in range(0, image.shape[0] - step + 1, step):
                    image.read(slice(start, start + step), out)
            image.close()
    print(json.dumps([meter.growth if meter.known else -1, said]))


def passes(few: str, many: str, rows: str, threads: str) -> None:
    """Read an image once by each of some threads that live side by side, as the passes of a job do; none of it is held."""

    def run(path: str, count: int) -> list[int]:
        with open_image(path) as image, ThreadPoolExecutor(count) as crew:
            image.lean()
            step, all_there = min(int(rows), image.shape[0]), Barrier(count)
            out, said = np.ones((step, image.shape[1]), image.dtype), image.host_bytes(step, image.dtype)

            def once(turn: int) -> None:
                for one in range(count):
                    for start in range(0, image.shape[0] - step + 1, step) if one == turn else ():
                        image.read(slice(start, start + step), out)
                    all_there.wait()

            list(crew.map(lambda turn: all_there.wait(), range(count)))
            give_back()
            with PeakMeter() as meter:
                list(crew.map(once, range(count)))
        return [meter.growth if meter.known else -1, said]

    with pages_return():
        run(few, 1)
        print(json.dumps(run(many, int(threads))))


class _Slices:
    """Takes slices where they are."""

    def __init__(self, out: np.ndarray) -> None:
        self.out = out

    def write(self, slices: slice, array: np.ndarray) -> None:
        self.out[slices] = array


def scan(few: str, many: str, memory: str, rows: str, method: str = "direct") -> None:
    """Reconstruct rows of a large scan, after a small one that is stored alike."""
    warnings.simplefilter("ignore")

    def run(path: str, center: float, memory: str | None, stop: int, method: str = "direct") -> tuple[int, int]:
        # What an earlier job left free would hide what this one takes.
        fp.clear_cache()
        gc.collect()
        give_back()
        with fp.open_scan(path) as scan:
            out = np.ones((stop, scan.n_x, scan.n_x), np.float32)
            given: dict[str, Any] = {"rows": (0, stop), "center": center, "method": method, "memory": memory, "device": "cpu"}
            plan = fp.plan_reconstruct(scan, written=True, **given)
            with PeakMeter() as meter:
                fp.reconstruct(scan, out=_Slices(out), **given)
        return plan.footprint.total, meter.growth if meter.known else -1

    for one in ("direct", "fourier"):
        run(few, 31.0, None, 4, one)
    print(json.dumps(run(many, 195.2, memory, int(rows), method)))


def tables() -> None:
    """Take memory with large tables, in a process whose heap has no room left from what was before."""
    x, out = np.random.default_rng(1).random((1, 16, 1000), np.float32), np.ones((1, 1000, 1000), np.float32)
    options: dict[str, Any] = {"method": "fourier", "device": "cpu"}
    fp.fbp(x, out=out, **options)
    growths: list[int] = []
    # Linux counts a process's pages by cores, and tells of them late: one reading may be some pages off.
    for _ in range(3):
        fp.clear_cache()
        gc.collect()
        give_back()
        with PeakMeter() as meter:
            fp.fbp(x, out=out, **options)
        growths.append(meter.growth)
    plan = fp.plan_fbp(x.shape, **options)
    # What is measured are whole pages, which blocks and tables are provided in: see docs/memory.md.
    kept = [*plan.blocks, *plan.host_blocks, *(one.nbytes for one in plan.libraries)]
    assert sum(kept) == plan.footprint.total
    pages = sum(-(-nbytes // mmap.PAGESIZE) * mmap.PAGESIZE for nbytes in kept)
    print(json.dumps({"known": meter.known, "growth": min(growths), "plan": pages, "constant": plan.footprint.constant}))


def lay_out(folder: str) -> None:
    """Lay out a volume, and have what comes next take memory."""
    for number in range(2):
        with PeakMeter() as meter:
            volume = fp.create_volume(f"{folder}/{number}.h5", (4, 64, 64))
            after = np.ones(1 << 21, np.uint8)
        volume.discard()
    print(json.dumps(meter.growth - after.nbytes if meter.known else None))


def catalogue(verb: str) -> None:
    """Measure a very large number of sources."""
    from astropy.io import fits

    sky = fits.Header({"BUNIT": "Jy/beam", "BMAJ": 0.01, "BMIN": 0.01, "CTYPE1": "GLON-SIN", "CTYPE2": "GLAT-SIN", "CRPIX1": 65})
    sky.update({"CRPIX2": 60, "CRVAL1": 10.0, "CRVAL2": -30.0, "CDELT1": -0.0002, "CDELT2": 0.0002})

    def job(height: int) -> tuple[Any, Callable[[], Any]]:
        image = np.random.default_rng(1).standard_normal((height, 1024), np.float32)
        image[::4, ::4] += 100
        count = height * 256 // 4
        options: dict[str, Any] = {"device": "cpu"}
        if verb == "measure":
            labels = np.zeros(image.shape, np.int32)
            labels[::4, ::4] = np.arange(1, count + 1).reshape(-1, 256)
            return fp.plan_measure(image.shape, count=count, **options), lambda: fp.measure(image, labels, count, **options)
        options |= {"sigma": 20.0, "capacity": count}
        options |= {"header": sky if verb == "placed" else None}
        return fp.plan_find_sources(image.shape, **options), lambda: fp.find_sources(image, **options)

    # So large that all threads work on it, by kernels of their own.
    _, warm = job(512)
    warm()
    plan, run = job(4096)
    with PeakMeter() as meter:
        table = run()
    print(json.dumps({"known": meter.known, "growth": meter.growth, "plan": plan.footprint.total, "rows": len(table)}))


def crowded(few: str, many: str, memory: str) -> None:
    """All that is measured of an image's sources, of which there are more than the first plan has room for."""
    asked: dict[str, Any] = {"deblend": True, "flood": 3.0, "fit": "gaussian", "kron": True, "windowed": True, "apertures": [3, 5]}
    _searched(few, many, memory=memory, **asked)


def columns(few: str, many: str) -> None:
    """A catalogue that has room for little more than it has rows."""
    _searched(few, many, capacity=4120, memory="4MB")


def _searched(*paths: str, **asked: Any) -> None:
    plans: list[int] = []
    for path in paths:
        have_code()
        with open_image(path) as image, PeakMeter() as meter:
            plans.clear()
            told = {"on_plan": lambda plan: plans.append(plan.footprint.total)}
            table = fp.find_sources(image, background="mesh", device="cpu", **told, **asked)
    print(json.dumps({"known": meter.known, "growth": meter.growth, "plans": plans, "rows": len(table)}))


def _scan(path: str) -> None:
    with open_scan(path) as opened:
        opened.read(slice(0, opened.n_z), np.empty(opened.shape, np.float32))


def _image(path: str) -> None:
    with open_image(path) as opened:
        opened.array()


def hostile(path: str, good: str) -> None:
    """Open and read a file that is not what it says, after a good one of its kind, and tell what grew and what was said."""
    warnings.simplefilter("ignore")
    use = {"scan": _scan, "image": _image, "shifts": lambda path: read_shifts(path, 3)}[Path(path).name.partition("-")[0]]
    use(good)
    with PeakMeter() as meter:
        try:
            use(path)
            said = "fine"
        except fp.FootprintError as error:
            said = str(error)
    print(json.dumps([meter.growth if meter.known else 0, said]))


_ALL: tuple[Callable[..., None], ...] = (read, read_tiles, passes, scan, lay_out, catalogue, crowded, columns, tables, hostile)
READERS = {reader.__name__: reader for reader in _ALL}

if __name__ == "__main__":
    READERS[sys.argv[1]](*sys.argv[2:])
