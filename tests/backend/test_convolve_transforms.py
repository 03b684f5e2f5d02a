"""Transforms of signals and volumes: the same sums but for rounding, and the same bits at every budget."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import fftconvolve

import footprint as fp
from footprint.backend.registry import open_backend
from footprint.kernels.common.borders import BORDERS
from footprint.ops.convolve import Correlate
from footprint.ops.job import plan_op
from footprint.ops.overlap_save import OverlapSave, by_method
from footprint.plan.slots import Given
from footprint.reference import convolve as reference
from footprint.spec import ArraySpec, Limits

CPU = Limits("cpu", threads=2)
FFT = {"method": "fft", "device": "cpu"}
DIRECT = {"method": "direct", "device": "cpu"}


@pytest.mark.parametrize("boundary", BORDERS)
@pytest.mark.parametrize(("n", "taps"), [(1, 1), (1, 4), (701, 97), (9001, 32), (40, 90)])
def test_transforms_of_segments_make_the_sums(n, taps, boundary, rng):
    for kind, digits in (("f4", 1e-6), ("f8", 1e-14)):
        signal, mask = rng.standard_normal(n).astype(kind), rng.standard_normal(taps).astype(kind)
        for mode in ("same", "full"):
            options = {"mode": mode, "boundary": boundary, "cval": 2.5}
            got = fp.convolve(signal, mask, **options, **FFT)
            assert got.dtype == kind
            scale = np.abs(mask).sum(dtype=float) * max(np.abs(signal).max(), 2.5)
            np.testing.assert_allclose(got, reference.convolve(signal, mask, **options), rtol=0, atol=digits * scale)


@pytest.mark.parametrize("boundary", BORDERS)
@pytest.mark.parametrize(("shape", "taps"), [((1, 1, 1), (1, 1, 1)), ((9, 67, 131), (4, 3, 2)), ((70, 10, 8), (5, 12, 1))])
def test_transforms_of_volumes_make_the_sums(shape, taps, boundary, rng):
    # One border in float64: every kernel is compiled for it.
    for kind, digits in (("f4", 1e-6), ("f8", 1e-14))[: 2 if boundary == "mirror" else 1]:
        volume, mask = rng.standard_normal(shape).astype(kind), rng.standard_normal(taps).astype(kind)
        for mode in ("same", "full"):
            options = {"mode": mode, "boundary": boundary, "cval": 2.5}
            got = fp.convolve(volume, mask, **options, **FFT)
            scale = np.abs(mask).sum(dtype=float) * max(np.abs(volume).max(), 2.5)
            np.testing.assert_allclose(got, reference.convolve(volume, mask, **options), rtol=0, atol=digits * scale)


@pytest.mark.parametrize("shape", [(1001,), (100_000,), (21, 22, 23)], ids=str)
def test_float32_keeps_its_digits(shape, rng):
    whole = tuple(n + 40 for n in shape)
    for mask in (np.full(shape, 1 / np.prod(shape), "f4"), rng.random(shape, "f4")):
        for values in (np.full(whole, 6852.7, "f4"), rng.random(whole, "f4"), rng.standard_normal(whole, "f4")):
            got = fp.correlate(values, mask, mode="valid", **FFT)
            exact = fftconvolve(values.astype("f8"), np.flip(mask).astype("f8"), "valid")
            scale = fftconvolve(np.abs(values).astype("f8"), np.flip(mask).astype("f8"), "valid")
            assert (np.abs(got - exact) / scale).max() < 1e-6


def made(op, *arrays):
    """By one operation, whatever would be chosen."""
    backend, specs = open_backend("cpu"), [ArraySpec(a.shape, a.dtype.str) for a in arrays]
    out = op.out_specs(*specs)[0]
    result = np.full(out.shape, np.nan, out.dtype)
    plan = plan_op(backend.limits, None, "convolve", op, [(spec, Given()) for spec in specs], [(out, Given())])
    with plan.bind(backend) as bound:
        bound(*arrays, out=[result])
    return result


@pytest.mark.parametrize("shape", [(20_000,), (90, 80, 70)], ids=str)
def test_a_mask_in_many_blocks_keeps_its_digits(shape):
    """Additions of 27 equal blocks would lose more than the transforms do."""
    taps = (2700,) if len(shape) == 1 else (30, 30, 30)
    block = (100,) if len(shape) == 1 else (10, 10, 10)
    image, mask = np.full(shape, 6852.7, "f4"), np.full(taps, 1 / np.prod(taps), "f4")
    got = made(OverlapSave(taps, "same", "nearest", tile=64, block=block), image, mask)
    np.testing.assert_allclose(got, mask.sum(dtype=float) * np.float32(6852.7), rtol=1e-6)


@pytest.mark.parametrize("tile", [64, 128, 256, 512, 1024])
def test_segments_of_every_length(tile, rng):
    # Two segments and the beginning of a third, and a mask in two blocks.
    taps = tile + 3
    signal, mask = rng.standard_normal(2 * tile**2 + 9, "f4"), rng.standard_normal(taps, "f4")
    got = made(OverlapSave((taps,), "valid", tile=tile, block=(tile,)), signal, mask)
    want = fftconvolve(signal.astype("f8"), mask[::-1].astype("f8"), "valid")
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-6 * np.abs(mask).sum() * np.abs(signal).max())


@pytest.mark.parametrize(("shape", "taps"), [((12_000,), (300,)), ((60, 20, 250), (9, 9, 9))], ids=str)
def test_a_bright_tile_does_not_leak_into_the_dark_one_beside_it(shape, taps, rng):
    image, mask = rng.random(shape, "f4"), rng.random(taps, "f4")
    exact = fftconvolve(image.astype("f8"), mask.astype("f8"), "same")
    op = by_method("fft", Correlate(taps), ArraySpec(shape), CPU)
    step, reach = op.steps[-1], taps[-1]
    assert op.tile == 64
    for bright, dark in ((0, 1), (1, 0)):
        lit = image.copy()
        # What only one tile of the pair sees.
        lit[..., bright * step + reach : (bright + 1) * step - reach] *= 1e6
        got = fp.convolve(lit, mask, **FFT)
        seen = (..., slice(dark * step + reach, (dark + 1) * step - reach))
        assert np.abs(got[seen] - exact[seen]).max() < 1e-6 * mask.sum()


@pytest.mark.parametrize(("shape", "taps"), [((9000,), (300,)), ((70, 20, 130), (8, 5, 6))], ids=str)
def test_tiles_are_made_of_integers_as_they_are_stored(shape, taps, rng):
    mask, how = rng.random(taps), {**FFT, "boundary": "constant", "cval": 2.5}
    for kind in ("i1", "u2"):
        image = rng.integers(0, 127, shape).astype(kind)
        np.testing.assert_array_equal(fp.convolve(image, mask, **how), fp.convolve(image.astype("f4"), mask, **how))
    stored, sums = (fp.plan_convolve(shape, taps, dtype=kind, **how).footprint.total for kind in ("u1", "f4"))
    assert stored == sums


@pytest.mark.parametrize(("shape", "taps"), [((9000,), (300,)), ((70, 20, 130), (8, 5, 6))], ids=str)
def test_what_is_not_finite_reaches_what_direct_sums_reach(shape, taps, rng):
    image, mask = rng.standard_normal(shape).astype("f4"), rng.random(taps, "f4")
    last = (0,) * (len(shape) - 1)
    image[(*last, -1)], image[(..., slice(60, 64))] = -np.inf, np.nan
    image[(*(n // 2 for n in shape[:-1]), -30)] = np.inf
    for zero in (False, True):
        mask[(*last, 3)] = 0 if zero else 1
        for cval in (0.0, np.nan, np.inf):
            for mode in ("same", "full"):
                direct, fft = (fp.convolve(image, mask, mode=mode, cval=cval, **how) for how in (DIRECT, FFT))
                finite = np.isfinite(direct)
                np.testing.assert_array_equal(fft[~finite], direct[~finite])
                np.testing.assert_allclose(fft[finite], direct[finite], atol=1e-6 * mask.sum() * 5)


@pytest.mark.parametrize("boundary", ["constant", "mirror", "wrap"])
@pytest.mark.parametrize(("shape", "taps", "kind"), [((31_000,), (333,), ">f4"), ((170, 30, 90), (7, 4, 5), "u2")], ids=str)
def test_the_same_bits_at_every_budget_and_with_any_threads(shape, taps, kind, boundary, rng, monkeypatch):
    import numba

    image, mask = (100 * rng.random(shape)).astype(kind), rng.standard_normal(taps)
    before = numba.get_num_threads()
    for mode in ("same", "full", "valid"):
        how = {"mode": mode, "boundary": boundary, "cval": 1.5} | FFT
        want = fp.convolve(image, mask, **how)
        with pytest.raises(fp.BudgetError) as caught:
            fp.convolve(image, mask, memory=1, **how)
        budget = caught.value.smallest
        plan = fp.plan_convolve(shape, taps, dtype=kind, memory=budget, **how)
        assert plan.n_parts > 1 and plan.footprint.total <= budget
        np.testing.assert_array_equal(fp.convolve(image, mask, memory=budget, **how), want)
        try:
            numba.set_num_threads(1)
            np.testing.assert_array_equal(fp.convolve(image, mask, **how), want)
        finally:
            numba.set_num_threads(before)


@pytest.mark.parametrize(("shape", "taps", "axes"), [((7, 900, 3), (200,), 1), ((3, 80, 90), (20, 21), (1, 2))], ids=str)
def test_along_axes_of_an_array(shape, taps, axes, rng):
    # Of the other byte order: parts are copied, so that it takes less to have more of them.
    cube, mask = rng.standard_normal(shape).astype(">f4"), rng.random(taps, "f4")
    got = fp.convolve(cube, mask, axes=axes, **FFT)
    np.testing.assert_allclose(got, fp.convolve(cube, mask, axes=axes, **DIRECT), atol=1e-6 * mask.sum() * 5)
    with pytest.raises(fp.BudgetError) as caught:
        fp.convolve(cube, mask, axes=axes, memory=1, **FFT)
    budget = caught.value.smallest
    np.testing.assert_array_equal(fp.convolve(cube, mask, axes=axes, memory=budget, **FFT), got)
    # An image of a batch is cut where tiles begin.
    plan = fp.plan_convolve(shape, taps, dtype=">f4", axes=axes, memory=budget, **FFT)
    assert [cut.axis for cut in plan.cuts] == (["b", "y"] if len(taps) == 2 else ["b"])


def test_auto_goes_by_shapes_and_short_masks_keep_their_bits(rng):
    chosen = {
        (shape, taps): isinstance(by_method("auto", Correlate(taps), ArraySpec(shape), CPU), OverlapSave)
        for shape, taps in (
            ((4_000_000,), (101,)), ((4_000_000,), (1001,)), ((300,), (300,)), ((1 << 22,), (100_000,)),
            ((128, 128, 128), (6, 6, 6)), ((128, 128, 128), (41, 41, 41)), ((3, 512, 512), (3, 3, 3)),
        )
    }  # fmt: skip
    assert list(chosen.values()) == [False, True, False, True, False, True, False]
    signal, mask = rng.standard_normal(30_000, "f4"), rng.random(101, "f4")
    np.testing.assert_array_equal(fp.convolve(signal, mask, device="cpu"), fp.convolve(signal, mask, **DIRECT))
    assert "in segments of" in fp.plan_convolve((4_000_000,), (1001,), device="cpu").notes[0]
    # Sums down a column take a new row for every weight where the image is read as it is stored.
    assert "in tiles of" in fp.plan_convolve((1000, 1000), (101, 1), dtype="uint8", device="cpu").notes[0]
    assert "in tiles of" in fp.plan_convolve((1000, 1000), (301, 1), device="cpu").notes[0]
    assert not any(fp.plan_convolve((1000, 1000), taps, device="cpu").notes for taps in ((31, 1), (101, 1), (1, 101)))
    assert "in tiles of 128 x 128 x 128" in fp.plan_convolve((200, 200, 200), (41,) * 3, device="cpu").notes[0]


def test_large_masks_take_no_minute():
    from footprint.plan.rates import rates

    for shape, taps in (((1 << 22,), (100_000,)), ((256, 256, 256), (41, 41, 41))):
        op, specs = Correlate(taps), (ArraySpec(shape), ArraySpec(taps))
        rate = rates(replace(CPU, threads=1))
        chosen = by_method("auto", op, specs[0], CPU)
        assert op.cost(CPU, *specs).seconds(rate) > 5
        assert chosen.cost(CPU, *specs).seconds(rate) < 1


@pytest.mark.parametrize(("n", "taps", "transformed"), [(128, 7, True), (256, 5, True), (128, 5, False), (24, 7, False)])
def test_volumes_are_transformed_where_direct_sums_have_been_measured_to_take_longer(n, taps, transformed):
    kind = OverlapSave if transformed else Correlate
    assert type(by_method("auto", Correlate((taps,) * 3), ArraySpec((n,) * 3), CPU)) is kind
