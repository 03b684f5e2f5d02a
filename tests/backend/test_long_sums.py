"""Sums of many weights along one axis, on the processor: down from copied strips, along rows in place."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import footprint as fp
from footprint.backend.cpu import limits as cpu_limits
from footprint.kernels.common.borders import BORDERS
from footprint.kernels.convolve import contract
from footprint.kernels.convolve import cpu as kernel
from footprint.reference import convolve as reference
from footprint.reference.gaussian_filter import gaussian_filter
from footprint.spec import ArraySpec

DIRECT = {"method": "direct", "device": "cpu"}


@pytest.mark.parametrize(("kind", "digits"), [("f4", 3e-7), ("f8", 1e-15)])
def test_columns_of_every_height_are_summed_under_every_border(kind, digits, rng):
    # Up to 40 weights in place, then in one round of 104, in two, and in many.
    for turn, (shape, taps) in enumerate((((150, 131), 40), ((150, 131), 41), ((7, 3), 105), ((131, 65), 105), ((1, 70), 400))):
        image, mask = rng.standard_normal(shape).astype(kind), rng.standard_normal((taps, 1)).astype(kind)
        for boundary in BORDERS[turn % 2 :: 2]:
            how = {"mode": "full", "boundary": boundary, "cval": 2.5}
            got, want = fp.convolve(image, mask, **how, **DIRECT), reference.convolve(image, mask, **how)
            scale = np.abs(mask).sum(dtype=float) * max(np.abs(image).max(), 2.5)
            np.testing.assert_allclose(got, want, rtol=0, atol=digits * scale)


@pytest.mark.parametrize(("kind", "digits"), [("f4", 3e-7), ("f8", 1e-15)])
def test_masks_of_one_weight_a_plane_are_summed_under_every_border(kind, digits, rng):
    # As images whose rows are planes, from 64 columns on; in place, and from strips.
    for turn, (shape, taps) in enumerate((((50, 5, 13), 3), ((50, 7, 9), 40), ((9, 8, 8), 105), ((60, 11, 12), 41))):
        volume, mask = rng.standard_normal(shape).astype(kind), rng.standard_normal((taps, 1, 1)).astype(kind)
        for boundary in BORDERS[turn % 2 :: 2]:
            for mode in ("same", "full"):
                how = {"mode": mode, "boundary": boundary, "cval": 2.5}
                got, want = fp.convolve(volume, mask, **how, **DIRECT), reference.convolve(volume, mask, **how)
                scale = np.abs(mask).sum(dtype=float) * max(np.abs(volume).max(), 2.5)
                np.testing.assert_allclose(got, want, rtol=0, atol=digits * scale)


def test_they_have_the_same_bits_at_every_budget(rng):
    volume, mask = rng.standard_normal((70, 12, 15)).astype("f4"), rng.standard_normal((41, 1, 1)).astype("f4")
    want = fp.convolve(volume, mask, **DIRECT)
    with pytest.raises(fp.BudgetError) as caught:
        fp.convolve(volume, mask, memory=1, **DIRECT)
    for more in (0, volume.nbytes // 9, volume.nbytes // 2):
        np.testing.assert_array_equal(fp.convolve(volume, mask, memory=caught.value.smallest + more, **DIRECT), want)


def test_columns_have_the_same_bits_at_every_budget_and_keep_nan_apart(rng):
    image, mask = rng.standard_normal((300, 90)).astype("f4"), rng.standard_normal((120, 1)).astype("f4")
    image[200, 40], image[10, 60] = np.nan, np.inf
    want = fp.convolve(image, mask, **DIRECT)
    assert np.isnan(want[141:261, 40]).all() and np.isnan(want).sum() == 120
    assert np.isinf(want[:71, 60]).all() and np.isinf(want).sum() == 71
    with pytest.raises(fp.BudgetError) as caught:
        fp.convolve(image, mask, memory=1, **DIRECT)
    for more in (0, image.nbytes // 7):
        np.testing.assert_array_equal(fp.convolve(image, mask, memory=caught.value.smallest + more, **DIRECT), want)


@pytest.mark.parametrize(("kind", "digits"), [("f4", 3e-7), ("f8", 1e-15)])
def test_rows_of_every_length_of_mask_are_summed_alike_wherever_they_lie(kind, digits, rng):
    # Whole vectors of taps and the next one; more at once than are held; one group of chains, two, and three, which have totals.
    for taps in (
        *range(15, 18),
        *range(31, 34),
        *range(47, 50),
        *range(62, 66),
        79,
        101,
        *range(110, 114),
        127,
        223,
        224,
        447,
        519,
        520,
        1001,
        1040,
    ):
        image, mask = rng.standard_normal((2, 1000 + taps)).astype(kind), rng.standard_normal((1, taps)).astype(kind)
        got, want = fp.convolve(image, mask, mode="valid", **DIRECT), reference.convolve(image, mask, mode="valid")
        scale = np.abs(mask).sum(dtype=float) * np.abs(image).max()
        np.testing.assert_allclose(got, want, rtol=0, atol=digits * scale, err_msg=str(taps))
        # Many blocks side by side, one, and less than one.
        for first, columns in ((0, 900), (3, 290), (5, 129), (7, 20)):
            part = fp.convolve(image[:, first : first + columns + taps - 1], mask, mode="valid", **DIRECT)
            np.testing.assert_array_equal(part, got[:, first : first + columns], err_msg=str((taps, columns)))


@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_rows_in_several_pieces_are_summed_alike_by_any_threads_and_wherever_they_lie(kind, rng):
    limits, digits = cpu_limits(), 3e-7 if kind == "f4" else 1e-14
    for turn, (rows, columns, taps) in enumerate(
        ((1, 13_000, 15), (2, 9001, 101), (3, 4100, 700), (1, 5000, 6001), (2, 1700, 2100))
    ):
        image, mask = rng.standard_normal((rows, columns)).astype(kind), rng.standard_normal((1, taps)).astype(kind)
        boundary = BORDERS[turn % len(BORDERS)]
        numbers = {"y0": 0, "x0": -(taps // 2), "border_y": "none", "border_x": boundary, "cval": 2.5}
        want, results = reference.correlate(image, mask, boundary=boundary, cval=2.5), []
        for threads, skipped in ((1, 0), (2, 0), (3, 5), (5, 11)):
            out = np.empty(rows * columns + skipped, kind)[skipped:].reshape(rows, columns)
            (room,) = contract.convolve_work(
                replace(limits, threads=threads), *(ArraySpec(a.shape, kind) for a in (image, mask, out))
            )
            kernel.convolve(image, mask, out, np.full(room.shape, 3.0, kind), **numbers)
            results.append(out)
            np.testing.assert_array_equal(out, results[0], err_msg=str((columns, taps, threads)))
        scale = np.abs(mask).sum(dtype=float) * max(np.abs(image).max(), 2.5)
        np.testing.assert_allclose(results[0], want, rtol=0, atol=digits * scale, err_msg=str((columns, taps)))


def test_images_of_a_batch_have_the_bits_of_one(rng):
    images, mask = rng.standard_normal((3, 50, 70)).astype("f4"), rng.standard_normal((51, 1)).astype("f4")
    want = np.stack([fp.convolve(image, mask, **DIRECT) for image in images])
    np.testing.assert_array_equal(fp.convolve(images, mask, axes=(1, 2), **DIRECT), want)


def test_columns_keep_their_digits():
    image, mask = np.full((900, 40), 6852.7, "f4"), np.full((800, 1), 1 / 800, "f4")
    got = fp.convolve(image, mask, boundary="nearest", **DIRECT)
    np.testing.assert_allclose(got, mask.sum(dtype=float) * np.float32(6852.7), rtol=1e-6)


def test_what_is_faint_keeps_its_digits_beside_what_is_bright(rng):
    """Along rows, whatever else the row has: a blank of 1e30 is felt where its weights reach, and nowhere else."""
    signal = rng.random(300_000, "f4")
    signal[5000] = 1e30
    got, want = fp.gaussian_filter(signal, 100, device="cpu"), gaussian_filter(signal.astype("f8"), (100,))
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_images_of_few_columns_are_summed_side_by_side_to_the_same_bits(rng):
    """A block of its own for each four of such rows left most lanes empty, and took thirty times as long."""
    wide = rng.standard_normal((150, 400)).astype("f4")
    for turn, (columns, taps) in enumerate(product((1, 2, 3, 8, 20, 58, 63, 64, 65), ((5, 3), (101, 2), (149, 7), (2, 40)))):
        image, mask = wide[:, : columns + taps[1] - 1].copy(), rng.standard_normal(taps)
        got = fp.convolve(image, mask, mode="valid", **DIRECT)
        np.testing.assert_array_equal(
            got, fp.convolve(wide, mask, mode="valid", **DIRECT)[:, :columns], err_msg=str((columns, taps))
        )
        boundary = BORDERS[turn % len(BORDERS)]
        how = {"mode": "full", "boundary": boundary, "cval": 2.5}
        got, want = fp.convolve(image[:37], mask, **how, **DIRECT), reference.convolve(image[:37], mask, **how)
        scale = np.abs(mask).sum() * max(np.abs(image).max(), 2.5)
        np.testing.assert_allclose(got, want, rtol=0, atol=5e-7 * scale, err_msg=str((columns, taps, boundary)))
