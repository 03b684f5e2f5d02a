"""Jobs of the memory tests: each makes its inputs and touched outputs, and says how to plan and how to run within a budget.

Run as ``python -m tests.memory.jobs VERB BUDGET``: prints one JSON object with the plan's bytes and the process's measured growth.
"""

from __future__ import annotations

import atexit
import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import footprint as fp
from footprint.api.convolve_rows import convolve_rows, plan_convolve_rows
from footprint.backend.memory import PeakMeter
from footprint.io.image_writer import create_image, writing_bytes
from footprint.io.phantom import write_scan
from tests.memory import convolve_jobs, filter_jobs, frame_jobs, scan_jobs, source_jobs, step_jobs
from tests.memory.source_jobs import foreign_image, opened

Job = tuple[Callable[[Any], Any], Callable[[Any], Any]]
RNG = np.random.default_rng(3)


def image(n: int, m: int) -> np.ndarray:
    return RNG.standard_normal((n, m), np.float32)


def touched(*shape: int, dtype: str = "f4") -> np.ndarray:
    return np.ones(shape, dtype)


def convolve_file(scale: int) -> Job:
    """Rows of an image, of what is masked and of weights, each from a file."""
    source, mask, out = opened(foreign_image(scale)), np.ones((9, 9), "f4") / 81, touched(512 * scale, 1024)
    masked, weight = opened((image(*source.shape) > 1).astype("u1")), opened(np.abs(image(*source.shape)))

    def read(start: int, stop: int, block: np.ndarray) -> None:
        source.read(slice(start, stop), block)

    def write(start: int, stop: int, block: np.ndarray) -> None:
        out[start:stop] = block

    about: tuple[Any, ...] = (source.shape, source.dtype.str)
    options: dict[str, Any] = {"reading": source.host_bytes, "boundary": "reflect", "device": "cpu"}
    options |= {"masked": masked, "weight": weight}
    return (
        lambda memory: plan_convolve_rows(source.shape, mask.shape, dtype=about[1], memory=memory, **options),
        lambda memory: convolve_rows(read, *about, mask, write, memory=memory, **options),
    )


def convolve_to_fits(scale: int, dtype: str = "f4") -> Job:
    """From memory to a FITS file, whose bytes are the other way round."""
    x, mask = image(512 * scale, 1024).astype(dtype), np.ones((9, 9), dtype) / 81
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    about: tuple[Any, ...] = (x.shape, x.dtype.str)
    result = np.dtype("f8" if dtype == "f8" else "f4")
    target = Path(folder) / "image.fits"

    def read(start: int, stop: int, block: np.ndarray) -> None:
        block[...] = x[start:stop]

    def run(memory: Any) -> None:
        with create_image(target, x.shape, result, overwrite=True) as writer:
            convolve_rows(
                read,
                *about,
                mask,
                lambda start, stop, block: writer.write(slice(start, stop), block),
                writing=writer.host_bytes(result),
                memory=memory,
                device="cpu",
            )

    writing = writing_bytes(target, x.shape, result)
    return lambda memory: plan_convolve_rows(x.shape, mask.shape, dtype=about[1], writing=writing, memory=memory, device="cpu"), run


def find_sources_to_fits(scale: int) -> Job:
    """The label image goes to a FITS file."""
    x = foreign_image(scale)
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    target = Path(folder) / "labels.fits"

    def run(memory: Any) -> None:
        with create_image(target, x.shape, "int32", overwrite=True) as writer:
            fp.find_sources(x, labels=writer, memory=memory, device="cpu")

    options: dict[str, Any] = {"labels": "file", "writing": writing_bytes(target, x.shape, "int32")}
    return lambda memory: fp.plan_find_sources(x.shape, dtype=">f4", memory=memory, device="cpu", **options), run


def background(scale: int) -> Job:
    x, out, about = foreign_image(scale), [touched(512 * scale, 1024) for _ in "ab"], {"dtype": ">f4", "box": 32, "device": "cpu"}
    return lambda memory: fp.plan_background(x.shape, memory=memory, **about), lambda memory: fp.background(
        x, 32, out=out, memory=memory, device="cpu"
    )


def find_sources_mesh(scale: int) -> Job:
    """Over a mesh, with the background and the labels as results, and over maps of another dtype."""
    x, ids, level = foreign_image(scale), touched(512 * scale, 1024).view(np.int32), touched(512 * scale, 1024)
    about: dict[str, Any] = {"background": "mesh", "box": 32, "device": "cpu"}
    return (
        lambda memory: fp.plan_find_sources(x.shape, dtype=">f4", labels=True, save_background=True, memory=memory, **about),
        lambda memory: fp.find_sources(x, labels=ids, save_background=level, memory=memory, **about),
    )


def find_sources_maps(scale: int) -> Job:
    """Image and maps from files, the noise over a mesh to one."""
    source, level = opened(foreign_image(scale)), opened(np.zeros((512 * scale, 1024), ">f4"))
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    target = Path(folder) / "noise.fits"

    def run(memory: Any) -> None:
        with create_image(target, source.shape, "float32", overwrite=True) as writer:
            fp.find_sources(source, background=level, save_noise=writer, memory=memory, device="cpu")

    options: dict[str, Any] = {"streamed": True, "reading": source.host_bytes, "background": "map", "save_noise": True}
    options["writing"] = writing_bytes(target, source.shape, "float32")
    return lambda memory: fp.plan_find_sources(source.shape, dtype=source.dtype.str, memory=memory, device="cpu", **options), run


def find_sources_file(scale: int) -> Job:
    source = opened(foreign_image(scale))
    options: dict[str, Any] = {"streamed": True, "reading": source.host_bytes}
    return (
        lambda memory: fp.plan_find_sources(source.shape, dtype=source.dtype.str, memory=memory, device="cpu", **options),
        lambda memory: fp.find_sources(source, memory=memory, device="cpu"),
    )


def sigma_clip(scale: int) -> Job:
    x = foreign_image(scale)
    return (
        lambda memory: fp.plan_sigma_clip(x.shape, dtype=">f4", memory=memory, device="cpu"),
        lambda memory: fp.sigma_clip(x, memory=memory, device="cpu"),
    )


def threshold(scale: int) -> Job:
    x, out = foreign_image(scale), np.ones((512 * scale, 1024), bool)
    return (
        lambda memory: fp.plan_threshold(x.shape, dtype=">f4", memory=memory, device="cpu"),
        lambda memory: fp.threshold(x, 5.0, out=out, memory=memory, device="cpu"),
    )


def label(scale: int) -> Job:
    x, out = foreign_image(scale), touched(512 * scale, 1024, dtype="i4")
    mask = (x > 5).astype(">i2")
    if scale == 1:
        # Parts have kernels of their own, and code is not the job's.
        fp.label(mask, out=out, memory=x.size // 4, device="cpu")
    return (
        lambda memory: fp.plan_label(x.shape, dtype=">i2", memory=memory, device="cpu"),
        lambda memory: fp.label(mask, out=out, memory=memory, device="cpu"),
    )


def measure(scale: int) -> Job:
    x = foreign_image(scale)
    labels = (np.arange(x.size, dtype="i4").reshape(x.shape) // 500) % 2000
    return (
        lambda memory: fp.plan_measure(x.shape, dtype=">f4", count=2000, memory=memory, device="cpu"),
        lambda memory: fp.measure(x, labels, 2000, memory=memory, device="cpu"),
    )


def find_sources(scale: int) -> Job:
    x, out = foreign_image(scale), touched(512 * scale, 1024, dtype="i4")
    return (
        lambda memory: fp.plan_find_sources(x.shape, dtype=">f4", labels=True, memory=memory, device="cpu"),
        lambda memory: fp.find_sources(x, labels=out, memory=memory, device="cpu"),
    )


def fbp(scale: int, method: str = "direct") -> Job:
    # By the Fourier method angles take time, and hardly memory: tiles have grids of their own in every group of them.
    angles = 30 if method == "fourier" else 90
    x, out = RNG.random((2, angles * scale, 100 * scale), np.float32), touched(2, 100 * scale, 100 * scale)
    return (
        lambda memory: fp.plan_fbp(x.shape, method=method, memory=memory, device="cpu"),
        lambda memory: fp.fbp(x, method=method, out=out, memory=memory, device="cpu"),
    )


def fbp_fourier(scale: int) -> Job:
    return fbp(scale, "fourier")


def ramp_filter(scale: int) -> Job:
    x, out = image(400 * scale, 2000), touched(400 * scale, 2000)
    return (
        lambda memory: fp.plan_ramp_filter(x.shape, padding="edge", memory=memory, device="cpu"),
        lambda memory: fp.ramp_filter(x, padding="edge", out=out, memory=memory, device="cpu"),
    )


def vertical_shift(scale: int) -> Job:
    x, out = RNG.integers(0, 9, (20 * scale, 64, 512)).astype("u2"), touched(20 * scale, 64, 512)
    shifts = np.linspace(-3, 3, 20 * scale)
    return (
        lambda memory: fp.plan_vertical_shift(x.shape, dtype="u2", memory=memory, device="cpu"),
        lambda memory: fp.vertical_shift(x, shifts, out=out, memory=memory, device="cpu"),
    )


def pad(scale: int) -> Job:
    x, out = foreign_image(scale), touched(512 * scale + 60, 1024 + 60)
    return (
        lambda memory: fp.plan_pad(x.shape, 30, "reflect", dtype=">f4", memory=memory, device="cpu"),
        lambda memory: fp.pad(x, 30, "reflect", out=out, memory=memory, device="cpu"),
    )


def pad_signal(scale: int) -> Job:
    x, out = convolve_jobs.signal(625_000 * scale), touched(625_000 * scale + 20)
    return (
        lambda memory: fp.plan_pad(x.shape, 10, "reflect", dtype=">f4", memory=memory, device="cpu"),
        lambda memory: fp.pad(x, 10, "reflect", out=out, memory=memory, device="cpu"),
    )


def pad_thin(scale: int) -> Job:
    x, out = convolve_jobs.signal(625_000 * scale, 3), touched(625_000 * scale + 20, 23)
    return (
        lambda memory: fp.plan_pad(x.shape, 10, "wrap", dtype=">f4", memory=memory, device="cpu"),
        lambda memory: fp.pad(x, 10, "wrap", out=out, memory=memory, device="cpu"),
    )


def muladd(scale: int) -> Job:
    x, other = foreign_image(scale), foreign_image(scale)
    return (
        lambda memory: fp.plan_muladd(x.shape, dtype=">f4", memory=memory, device="cpu"),
        lambda memory: fp.muladd(x, other, 0.5, 2, memory=memory, device="cpu"),
    )


def reconstruct(scale: int, method: str = "direct") -> Job:
    folder, angles = tempfile.TemporaryDirectory(), 48 if method == "fourier" else 180
    scan = fp.open_scan(write_scan(Path(folder.name) / "scan.nx", n_angles=angles, n_z=4 * scale, n_x=256).path)
    shifts = np.linspace(-1.5, 1.5, angles)

    def run(memory: Any) -> None:
        with fp.create_volume(Path(folder.name) / "volume.h5", (4 * scale, 256, 256), overwrite=True) as volume:
            fp.reconstruct(scan, method=method, shifts=shifts, out=volume, memory=memory, device="cpu")

    return (
        lambda memory: fp.plan_reconstruct(scan, method=method, shifts=shifts, written=True, memory=memory, device="cpu"),
        run,
    )


def reconstruct_fourier(scale: int) -> Job:
    return reconstruct(scale, "fourier")


def reconstruct_tiles(scale: int) -> Job:
    """Few angles of wide rows: a slice is far larger than its projections, so small budgets make it in tiles."""
    folder = tempfile.TemporaryDirectory()
    n_x = 64 * scale
    scan = fp.open_scan(write_scan(Path(folder.name) / "scan.nx", n_angles=24, n_z=1, n_x=n_x).path)

    def run(memory: Any) -> None:
        with fp.create_volume(Path(folder.name) / "volume.h5", (1, n_x, n_x), overwrite=True) as volume:
            fp.reconstruct(scan, center=n_x / 2, method="direct", out=volume, memory=memory, device="cpu")

    return (
        lambda memory: fp.plan_reconstruct(scan, method="direct", written=True, memory=memory, device="cpu"),
        run,
    )


JOBS: dict[str, Callable[[int], Job]] = {
    "convolve_file": convolve_file,
    "convolve_to_fits": convolve_to_fits,
    **convolve_jobs.JOBS,
    "find_sources_to_fits": find_sources_to_fits,
    "sigma_clip": sigma_clip,
    "threshold": threshold,
    "label": label,
    "measure": measure,
    "find_sources": find_sources,
    "find_sources_file": find_sources_file,
    "find_sources_mesh": find_sources_mesh,
    "find_sources_maps": find_sources_maps,
    "background": background,
    "fbp": fbp,
    "fbp_fourier": fbp_fourier,
    "ramp_filter": ramp_filter,
    "vertical_shift": vertical_shift,
    **frame_jobs.JOBS,
    **filter_jobs.FILTERS,
    "pad": pad,
    "pad_signal": pad_signal,
    "pad_thin": pad_thin,
    "muladd": muladd,
    "reconstruct": reconstruct,
    "reconstruct_fourier": reconstruct_fourier,
    "reconstruct_tiles": reconstruct_tiles,
    **step_jobs.JOBS,
    **scan_jobs.JOBS,
    **source_jobs.JOBS,
}


def main(verb: str, budget: str) -> None:
    """Warm up on a small job of the same kind, then measure the large one."""
    memory = None if budget == "none" else int(budget)
    _, warm = JOBS[verb](1)
    warm(None)
    plan, run = JOBS[verb](8)
    try:
        total = plan(memory).footprint.total
    except fp.BudgetError as error:
        # The error's own word is put to the test: the smallest budget works. What runs has a little more, which may take a
        # hundredth of the parts: tens of thousands tell no more of memory.
        assert plan(error.smallest).footprint.total <= error.smallest
        memory = min(error.smallest * 51 // 50, plan(None).footprint.total)
        total = plan(memory).footprint.total
    with PeakMeter() as meter:
        run(memory)
    print(json.dumps({"plan": total, "growth": meter.growth, "known": meter.known, "budget": memory}))


if __name__ == "__main__":
    main(*sys.argv[1:])
