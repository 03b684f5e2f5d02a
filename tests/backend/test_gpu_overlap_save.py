"""Transforms of tiles on a GPU's chip: every size of tile, and which is taken, by shapes and by what the chip holds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import footprint as fp
from footprint.backend.null import PROFILES
from footprint.kernels.overlap_save.contract import chip_bytes, tiles
from footprint.kernels.overlap_save.gpu import TOGETHER, overlap_save_program
from footprint.ops.convolve import Correlate
from footprint.ops.overlap_save import OverlapSave, by_method, tiled
from footprint.reference import convolve as reference
from footprint.spec import ArraySpec as S

from .kernels import need_gpu
from .test_convolve_methods import made

H100 = PROFILES["h100"]
SMALL = replace(H100, local_mem=48 << 10)
"""What OpenCL has on the same chip."""


@pytest.mark.parametrize(("kind", "tile"), [("f4", 64), ("f8", 32)])
def test_tiles_of_smaller_chips(kind, tile, backend, rng):
    need_gpu(backend)
    limits = replace(backend.limits, local_mem=48 << 10)
    mask = rng.standard_normal((45, 38)).astype(kind)
    image = rng.standard_normal((130, 171)).astype(kind)
    assert tile == tiles(limits, image.itemsize)[0]
    op = tiled(Correlate(mask.shape, "full", "mirror"), tile, S(image.shape, kind), S(mask.shape, kind), folded=True)
    scale = np.abs(mask).sum(dtype=float) * np.abs(image).max()
    want = reference.correlate(image, mask, mode="full", boundary="mirror")
    np.testing.assert_allclose(made(backend, op, image, mask), want, rtol=0, atol={"f4": 1e-6, "f8": 1e-14}[kind] * scale)


def test_more_blocks_than_are_kept_at_once(backend, rng):
    """The second launch adds to what the first left, and so do outputs that infinities reach."""
    need_gpu(backend)
    image, mask = rng.standard_normal((40, 200), "f4"), rng.standard_normal((12, 6 * 17), "f4")
    image[20, 100] = np.inf
    op = OverlapSave(mask.shape, "same", "wrap", tile=64, block=(12, 6), folded=True)
    launches = overlap_save_program(
        H100, S(image.shape), S(mask.shape), S(image.shape), y0=0, x0=0, border_y="wrap", border_x="wrap", cval=0.0, tile=64,
        block=(12, 6),
    ).launches  # fmt: skip
    assert len(launches) == 4 and launches[0].grid[0] == TOGETHER
    got, want = made(backend, op, image, mask), fp.correlate(image, mask, boundary="wrap", method="direct", device="cpu")
    finite = np.isfinite(want)
    np.testing.assert_array_equal(got[~finite], want[~finite])
    np.testing.assert_allclose(got[finite], want[finite], atol=1e-6 * np.abs(mask).sum() * 5)


def test_the_choice_goes_by_shapes_and_by_the_chip():
    chosen = lambda limits, taps, n=8192, kind="f4": by_method("auto", Correlate((taps, taps)), S((n, n), kind), limits)
    tile = lambda op: op.tile if isinstance(op, OverlapSave) else 0
    assert [tile(chosen(H100, taps)) for taps in (3, 13, 15, 31, 63, 127)] == [0, 0, 64, 128, 256, 512]
    assert [tile(chosen(SMALL, taps)) for taps in (13, 17, 63)] == [0, 64, 256]
    assert [tile(chosen(H100, taps, kind="f8")) for taps in (13, 31)] == [0, 64]
    assert tile(chosen(H100, 31, 64)) == 0
    for same in (replace(H100, cores=16), replace(H100, free=1 << 20), replace(H100, device="opencl:0", fft="stockham")):
        for taps in (13, 15, 31, 63, 200):
            assert chosen(same, taps, 1500) == chosen(H100, taps, 1500)
    # Nearly as quick on the chip as by way of memory.
    assert [tile(chosen(H100, taps)) for taps in (41, 45, 46)] == [128, 128, 256]
    plan = fp.plan_convolve((8192, 8192), (31, 31), device="null:h100")
    assert "method: fft, in tiles of 128 x 256" in str(plan)


def test_tiles_fit_the_chip_and_the_mask_is_counted():
    long = [256, 512, 1024]
    assert tiles(H100, 4) == [64, 128, *long] and tiles(H100, 8) == [64, *long]
    assert tiles(SMALL, 4) == [64, *long] and tiles(SMALL, 8) == [32, 256, 512]
    assert chip_bytes(128, 4) <= H100.local_mem < chip_bytes(128, 8)
    few = replace(H100, local_mem=8 << 10)
    assert tiles(few, 4) == []
    assert type(by_method("auto", Correlate((63, 63)), S((2048, 2048)), few)) is Correlate
    with pytest.raises(fp.ArgumentError, match="smallest tile takes"):
        by_method("fft", Correlate((63, 63)), S((2048, 2048)), few)
    settings = {"y0": 0, "x0": 0, "border_y": "none", "border_x": "none", "cval": 0.0, "tile": 128}
    work = lambda taps, block: (
        overlap_save_program(H100, S((900, 900)), S((taps, taps)), S((900, 900)), block=(block, block), **settings).work
    )
    assert sum(spec.nbytes for spec in work(63, 63)) == 128 * 128 * 8 + 4
    assert sum(spec.nbytes for spec in work(300, 60)) == TOGETHER * (128 * 128 * 8 + 4) + 900 * 900 * 4


def test_long_images_stay_within_what_grids_allow():
    settings = {"y0": 0, "x0": 0, "border_y": "none", "border_x": "none", "cval": 0.0, "tile": 64, "block": (60, 60)}
    for shape in ((1 << 31, 3), (3, 1 << 33)):
        for launch in overlap_save_program(H100, S(shape), S((60, 60)), S(shape), **settings).launches:
            assert launch.grid[0] < 1 << 31 and max(launch.grid[1:]) <= 65535
    assert overlap_save_program(H100, S((0, 5)), S((60, 60)), S((0, 5)), **settings).launches == ()
