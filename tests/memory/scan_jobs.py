"""Jobs of the memory tests on scans as they come: half acquisitions, stacks of line integrals."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import footprint as fp
from footprint.io.packing import Packed
from footprint.io.phantom import write_scan

Job = tuple[Callable[[Any], Any], Callable[[Any], Any]]


def _stack(scale: int, turn: float, name: str, size: tuple[int, int], settings: dict[str, Any], **opened: Any) -> Job:
    """Random line integrals of 120 angles in a ``.npy`` file, to an HDF5 volume of slices of some size."""
    folder = tempfile.TemporaryDirectory()
    n_z, n_x = 4 * scale, 192
    shape = (n_z, 120, n_x) if opened.get("sinograms") else (120, n_z, n_x)
    np.save(Path(folder.name) / name, np.random.default_rng(1).random(shape, np.float32))
    scan = fp.open_scan(Path(folder.name) / name, angles=np.linspace(0, turn, 120, endpoint=False), **opened)
    options = {"method": "direct", "log": False, "device": "cpu", **settings}

    def plan(memory: Any) -> Any:
        return fp.plan_reconstruct(scan, written=True, memory=memory, **options)

    def run(memory: Any) -> None:
        # Parts, in threads of their own, have code of their own, and code is not the job's.
        for budget in [memory, plan(None).footprint.total // 2] if scale == 1 else [memory]:
            with fp.create_volume(Path(folder.name) / "volume.h5", (n_z, *size), overwrite=True) as volume:
                fp.reconstruct(scan, out=volume, memory=budget, **options)

    return plan, run


def reconstruct_rows(scale: int) -> Job:
    """Every slice about an axis of its own."""
    return _stack(scale, np.pi, "rows.npy", (192, 192), {"center": np.linspace(92.0, 97.0, 4 * scale)})


def reconstruct_half(scale: int) -> Job:
    """Slices of nearly twice the detector's width, each about an axis of its own."""
    return _stack(
        scale, 2 * np.pi, "scan.npy", (348, 348), {"center": np.linspace(171.0, 173.2, 4 * scale), "half_acquisition": True}
    )


def reconstruct_sinograms(scale: int) -> Job:
    """Rows of projections lie apart in the file."""
    return _stack(scale, np.pi, "sinograms.npy", (192, 192), {"center": 95.5}, sinograms=True)


def reconstruct_numbers(scale: int) -> Job:
    """Slices of 16 bits: made in float32 first, compressed on their way to the file."""
    folder = tempfile.TemporaryDirectory()
    shape = (2 * scale, 192, 192)
    np.save(Path(folder.name) / "scan.npy", np.random.default_rng(1).random((90, shape[0], 192), np.float32))
    scan = fp.open_scan(Path(folder.name) / "scan.npy", angles=np.linspace(0, np.pi, 90, endpoint=False))
    options: dict[str, Any] = {"center": 95.5, "log": False, "device": "cpu", "out_dtype": "uint16", "out_range": (0, 0.1)}

    packing = {"compression": "gzip"}

    def run(memory: Any) -> None:
        with fp.create_volume(Path(folder.name) / "volume.h5", shape, "uint16", overwrite=True, **packing) as volume:
            fp.reconstruct(scan, out=volume, memory=memory, **options)

    return lambda memory: fp.plan_reconstruct(scan, written=Packed("volume.h5", shape, packing), memory=memory, **options), run


def reconstruct_binned(scale: int) -> Job:
    """A frame of the larger scan, and all its flats of a kind, beside the blocks of the smaller."""
    folder = tempfile.TemporaryDirectory()
    truth = write_scan(Path(folder.name) / "scan.nx", n_angles=20, n_z=4 * scale, n_x=192)
    scan = fp.select(fp.open_scan(truth.path, flat_reduction="median"), binning=2, flip=True)
    options: dict[str, Any] = {"center": 47.5, "method": "direct", "device": "cpu"}

    def run(memory: Any) -> None:
        with fp.create_volume(Path(folder.name) / "volume.h5", (2 * scale, 96, 96), overwrite=True) as volume:
            fp.reconstruct(scan, out=volume, memory=memory, **options)

    return lambda memory: fp.plan_reconstruct(scan, written=True, memory=memory, **options), run


def try_axes(scale: int) -> Job:
    """One row about three axes, kept or read again."""
    folder = tempfile.TemporaryDirectory()
    n_x = 96 * scale
    np.save(Path(folder.name) / "scan.npy", np.random.default_rng(1).random((150, 3, n_x), np.float32))
    scan = fp.open_scan(Path(folder.name) / "scan.npy", angles=np.linspace(0, np.pi, 150, endpoint=False))
    axes, options = [n_x / 2 - 1, n_x / 2, n_x / 2 + 1.5], {"method": "direct", "log": False, "device": "cpu"}

    def plan(memory: Any) -> Any:
        return fp.plan_try_axes(scan, axes, written=True, memory=memory, **options)

    def run(memory: Any) -> None:
        budgets = [memory]
        if scale == 1:
            # The small job loads the code of both ways: the row kept, and read again by tiles.
            try:
                plan(1)
            except fp.BudgetError as error:
                budgets.append(error.smallest)
        for budget in budgets:
            with fp.create_volume(Path(folder.name) / "volume.h5", (3, n_x, n_x), overwrite=True) as volume:
                fp.try_axes(scan, axes, out=volume, memory=budget, **options)

    return plan, run


def axis_by_vo(scale: int) -> Job:
    """Transforms of a row at a time; the region of all rows."""
    folder = tempfile.TemporaryDirectory()
    np.save(Path(folder.name) / "scan.npy", np.random.default_rng(1).random((150 * scale, 4, 400), np.float32))
    scan = fp.open_scan(Path(folder.name) / "scan.npy", angles=np.linspace(0, np.pi, 150 * scale, endpoint=False))
    options: dict[str, Any] = {"method": "vo", "log": False, "search": (195, 205)}

    def run(memory: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fp.rotation_axis(scan, memory=memory, **options)

    return lambda memory: fp.plan_rotation_axis(scan, memory=memory, **options), run


JOBS: dict[str, Callable[[int], Job]] = {
    "reconstruct_half": reconstruct_half,
    "reconstruct_rows": reconstruct_rows,
    "reconstruct_sinograms": reconstruct_sinograms,
    "reconstruct_numbers": reconstruct_numbers,
    "reconstruct_binned": reconstruct_binned,
    "try_axes": try_axes,
    "axis_by_vo": axis_by_vo,
}
