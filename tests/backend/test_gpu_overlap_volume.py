"""Transforms of volumes on a GPU: the sums, the same bits in parts, what is bright or not finite, and the choice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import correlate

import footprint as fp
from footprint.kernels.common.table import program
from footprint.kernels.overlap_volume import gpu
from footprint.ops.convolve import Correlate
from footprint.ops.overlap_save import OverlapSave, by_method
from footprint.reference import convolve as reference
from footprint.spec import ArraySpec as S

from .kernels import need_gpu
from .test_gpu_overlap_lines import H100, SMALL, made

# Tiles of 32 everywhere, as every size of tile and dtype is compiled anew: three planes of them, two rows, two columns.
OP = OverlapSave((7, 5, 8), "full", "mirror", tile=32, block=(4, 5, 8), folded=True)
SHAPE = (61, 30, 70)


def filled(rng, shape=SHAPE, taps=OP.taps):
    return rng.standard_normal(shape, "f4"), rng.standard_normal(taps, "f4")


@pytest.mark.parametrize("boundary", ["constant", "nearest", "reflect", "mirror", "wrap"])
def test_tiles_make_the_sums_in_any_parts(boundary, backend, rng, monkeypatch):
    need_gpu(backend)
    (image, mask), op = filled(rng), replace(OP, boundary=boundary, cval=1.5)
    whole, _ = made(backend, op, image, mask)
    want = reference.correlate(image, mask, mode="full", boundary=boundary, cval=1.5)
    np.testing.assert_allclose(whole, want, rtol=0, atol=1e-6 * np.abs(mask).sum() * np.abs(image).max())
    with pytest.raises(fp.BudgetError) as caught:
        made(backend, op, image, mask, budget=1)
    parts, plan = made(backend, op, image, mask, budget=caught.value.smallest)
    assert plan.n_parts > 1
    np.testing.assert_array_equal(parts, whole)
    # Room for one tile at a time.
    monkeypatch.setattr(gpu, "SPECTRA", 1)
    np.testing.assert_array_equal(made(backend, op, image, mask)[0], whole)


def test_a_mask_that_is_wider_than_half_a_tile_and_float64(backend, rng):
    if backend.limits.family == "gpu" and gpu.chip_bytes(64, 8) > backend.limits.local_mem:
        pytest.skip(f"a plane of 64 in float64 takes more than the {backend.limits.local_mem} bytes of this chip")
    taps = (9, 12, 100)
    op = OverlapSave(taps, "valid", tile=64, block=taps, folded=True)
    image, mask = rng.standard_normal((70, 30, 160)), rng.standard_normal(taps)
    got, _ = made(backend, op, image, mask)
    want = correlate(image, mask, "valid", "fft")
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-14 * np.abs(mask).sum() * np.abs(image).max())


def test_a_mask_in_many_blocks_keeps_its_digits(backend):
    """Additions of 27 equal blocks would lose more than the transforms do."""
    image, mask = np.full((40, 33, 70), 6852.7, "f4"), np.full((30, 30, 30), 1 / 27000, "f4")
    op = replace(OP, taps=mask.shape, mode="same", boundary="nearest", block=(10, 10, 10))
    np.testing.assert_allclose(made(backend, op, image, mask)[0], mask.sum(dtype=float) * np.float32(6852.7), rtol=1e-6)


def test_what_is_bright_stays_in_its_tile_and_faint_planes_keep_their_digits(backend, rng):
    image, mask = rng.random(SHAPE, "f4"), rng.random(OP.taps, "f4")
    op = replace(OP, mode="valid", boundary="constant", block=OP.taps)
    exact = correlate(image.astype("f8"), mask.astype("f8"), "valid", "fft")
    for axis, bright in ((0, slice(40, None)), (2, slice(64, None))):
        lit, dark = image.copy(), [slice(None)] * 3
        lit[(slice(None),) * axis + (bright,)] *= 1e6
        # Of the first tile, which none of it reaches.
        dark[axis] = slice(0, min(op.steps[axis], bright.start - op.taps[axis]))
        got, _ = made(backend, op, lit, mask)
        assert np.abs(got - exact)[tuple(dark)].max() < 1e-6 * mask.sum()
    # Planes of one tile, each brought to its own size, then to the largest.
    scale = np.float32(2) ** (np.arange(SHAPE[0]) % 7 * 20 - 60)[:, None, None]
    got, _ = made(backend, op, image * scale, mask)
    want = correlate((image * scale).astype("f8"), mask.astype("f8"), "valid", "fft")
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-6 * mask.sum() * scale.max())


def test_what_is_not_finite_reaches_what_direct_sums_reach(backend, rng):
    image, mask = filled(rng)
    image[30, :, 20], image[50, 15, 60], image[0, 0, 0] = np.nan, np.inf, -np.inf
    mask[0, 0, 3] = 0
    for boundary, cval in (("mirror", 0.0), ("constant", np.inf)):
        op = replace(OP, boundary=boundary, cval=cval, mode="same")
        got, _ = made(backend, op, image, mask)
        direct = fp.correlate(image, mask, boundary=boundary, cval=cval, method="direct", device="cpu")
        finite = np.isfinite(direct)
        assert finite.any() and not finite.all()
        np.testing.assert_array_equal(got[~finite], direct[~finite])
        np.testing.assert_allclose(got[finite], direct[finite], atol=1e-6 * np.abs(mask).sum() * 5)


def test_the_verb_takes_them_by_shapes_and_counts_their_memory():
    tile = lambda limits, taps, n=512: getattr(by_method("auto", Correlate((taps,) * 3), S((n,) * 3), limits), "tile", 0)
    assert [tile(H100, taps) for taps in (3, 5, 7, 15, 31, 63)] == [0, 64, 64, 64, 128, 128]
    assert [tile(SMALL, taps) for taps in (3, 31)] == [0, 64]
    assert tile(replace(H100, cores=16, free=1 << 20), 31, 200) == tile(H100, 31, 200)
    assert tile(replace(H100, local_mem=8 << 10), 31) == 0
    plan = fp.plan_convolve((512, 512, 512), (31, 31, 31), device="null:h100")
    assert "in tiles of 128 x 128 x 256" in str(plan)
    # 1.2 x of input and output, all in all.
    assert plan.footprint.total < 1.2 * 8 * 512**3
    settings = {f"{axis}0": 0 for axis in "zyx"} | {f"border_{axis}": "none" for axis in "zyx"} | {"cval": 0.0, "tile": 64}
    for shape in ((1 << 20, 40, 60), (40, 60, 1 << 24)):
        specs = S(shape), S((9, 9, 9)), S(shape)
        found = program(H100, "overlap_volume", specs, settings | {"block": (9, 9, 9)})
        assert len(found.launches) < 1000
        for launch in found.launches:
            assert launch.grid[0] < 1 << 31 and max(launch.grid[1:]) <= 65535
    assert (
        program(H100, "overlap_volume", (S((0, 5, 5)), S((9, 9, 9)), S((0, 5, 5))), settings | {"block": (9, 9, 9)}).launches == ()
    )
