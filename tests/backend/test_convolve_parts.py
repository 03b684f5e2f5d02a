"""Volumes of which a few planes are more than the memory there is: parts are rows of planes, and have the bits of the whole."""

from __future__ import annotations

import numpy as np
import pytest

import footprint as fp

from .kernels import in_turn

DIRECT, TILES = {"method": "direct"}, {"method": "fft"}
BORDERS, MODES = ("constant", "nearest", "reflect", "mirror", "wrap"), ("same", "full", "valid")


def in_parts(image, mask, device, **how):
    """A convolution whole and in the least memory, and how its parts are cut."""
    whole = fp.convolve(image, mask, device=device, **how)
    with pytest.raises(fp.BudgetError) as caught:
        fp.convolve(image, mask, memory=1, device=device, **how)
    cuts = []
    for memory in (caught.value.smallest, caught.value.smallest * 13 // 10):
        plan = fp.plan_convolve(image.shape, mask, dtype=image.dtype.str, memory=memory, device=device, **how)
        cuts.append({cut.axis: cut.count for cut in plan.cuts})
        some = fp.convolve(image, mask, memory=memory, device=device, **how)
        np.testing.assert_array_equal(some, whole)
    return whole, cuts


@pytest.mark.parametrize("boundary", BORDERS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("how", [DIRECT, TILES], ids=["direct", "fft"])
def test_rows_of_planes_have_the_bits_of_the_whole(boundary, mode, how, device, rng):
    in_turn(device, BORDERS.index(boundary) + 2 * MODES.index(mode), len(BORDERS))
    # Two or three tiles of 64 down a plane, of which a part has one.
    shape, taps = ((9, 31, 22), (3, 5, 4)) if how is DIRECT else ((70, 150, 9), (7, 9, 3))
    image, mask = rng.standard_normal(shape, np.float32), rng.standard_normal(taps, np.float32)
    image[shape[0] // 2, shape[1] // 3, 5], image[1, 1, 1] = 1e6, np.nan
    _, cuts = in_parts(image, mask, device, boundary=boundary, mode=mode, cval=0.5, **how)
    # A processor reads arrays where they lie, and may have enough of planes.
    assert device == "cpu" or cuts[0]["y"] > 1


@pytest.mark.parametrize(
    "how, dtype",
    [
        ({"nan": "interpolate"}, "f4"),
        ({"nan": "ignore", "boundary": "reflect"}, "f8"),
        ({"boundary": "wrap"}, "c8"),
        ({"origin": (1, -2, 0)}, "u2"),
        ({"axes": (1, 2, 3), "boundary": "mirror"}, "f4"),
        ({"axes": (0, 2, 1)}, ">f4"),
        ({"masks": "all", "boundary": "nearest"}, "f4"),
    ],
    ids=["interpolate", "ignore", "complex", "origin", "batch", "other axes", "masks"],
)
def test_whatever_is_made_of_sums_is_cut_as_they_are(how, dtype, device, rng):
    shape, taps = (7, 26, 11), (3, 5, 3)
    image = (30 * rng.standard_normal((2, *shape) if 3 in how.get("axes", ()) else shape)).astype(dtype)
    mask = np.abs(rng.standard_normal((2, *taps) if "masks" in how else taps, np.float32))
    if "nan" in how:
        image[rng.random(image.shape) < 0.1] = np.nan
    _, cuts = in_parts(image, mask, device, **how, **DIRECT)
    assert device == "cpu" or max(one.get("y", 1) for one in cuts) > 1


def test_a_volume_far_larger_than_a_budget_is_filtered_by_the_quickest_method_all_the_same():
    """A row of tiles of 2048 x 2048 planes takes 1.9 GiB, and smaller budgets were refused."""
    for memory in (1e9, 3e8, 1e8):
        plan = fp.plan_convolve((2048, 2048, 2048), (7, 7, 7), memory=memory, device="null:h100")
        assert plan.footprint.total <= memory and "method: fft" in plan.notes[0]
