"""Laws of source finding that hold for any image."""

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import footprint as fp
from footprint.reference.label import label as scipy_label
from footprint.reference.sigma_clip import sigma_clip as sorted_clip

SEEDS = st.integers(0, 2**32 - 1)
SHAPES = hnp.array_shapes(min_dims=2, max_dims=2, max_side=40)


def ties(image, sigma):
    """Whether some bound of the clip falls on a value of the image but for rounding: then either answer is right."""
    for turns in range(1, 60 if image.size > 1 else 1):
        clip = sorted_clip(image, sigma, maxiters=turns)
        near = [np.min(np.abs(image - bound)) for bound in (clip["low"], clip["high"])]
        if min(near) <= 1e-9 * (abs(clip["low"]) + abs(clip["high"]) + clip["std"]):
            return True
        if clip["iterations"] < turns:
            return False
    return image.size > 1


@settings(max_examples=40)
@given(SEEDS, SHAPES, st.sampled_from([1.5, 2.0, 3.0]), st.sampled_from(["standard_normal", "standard_cauchy", "random"]))
def test_clip_equals_the_sort(seed, shape, sigma, distribution):
    image = getattr(np.random.default_rng(seed), distribution)(shape).astype(np.float32)
    assume(not ties(image.astype(np.float64), sigma))
    got, wanted = fp.sigma_clip(image, sigma, device="cpu"), sorted_clip(image, sigma)
    assert (got.count, got.iterations, got.median) == (wanted["count"], wanted["iterations"], wanted["median"])


@settings(max_examples=40)
@given(SEEDS, st.integers(-20, 20), st.sampled_from([(61, 67), (128, 300)]))
def test_clip_scales_by_powers_of_two(seed, power, shape):
    image = np.random.default_rng(seed).standard_cauchy(shape).astype(np.float32)
    one, other = fp.sigma_clip(image, device="cpu"), fp.sigma_clip(image * np.float32(2.0**power), device="cpu")
    assert (one.count, one.iterations) == (other.count, other.iterations)
    assert one.median * 2.0**power == other.median and np.isclose(one.std * 2.0**power, other.std, rtol=1e-12)


@settings(max_examples=100)
@given(hnp.arrays(bool, SHAPES), st.sampled_from([4, 8]))
def test_labels_are_scipys(mask, connectivity):
    labels, count = fp.label(mask, connectivity, device="cpu")
    wanted, number = scipy_label(mask, connectivity)
    assert count == number and np.array_equal(labels, wanted)


@settings(max_examples=20)
@given(SEEDS, st.sampled_from([4, 8]), st.floats(0.5, 3), st.integers(1, 4))
def test_the_pipeline_is_its_steps(seed, connectivity, sigma, min_area):
    image = np.random.default_rng(seed).standard_normal((90, 47)).astype(np.float32)
    labels = np.empty(image.shape, np.int32)
    table = fp.find_sources(image, sigma, connectivity=connectivity, min_area=min_area, labels=labels, device="cpu")
    clip = fp.sigma_clip(image, device="cpu")
    mask = fp.threshold(image, sigma * clip.std, background=clip.median, device="cpu")
    steps, count = fp.label(mask, connectivity, device="cpu")
    measured = fp.measure(image.astype(np.float64) - clip.median, steps, device="cpu")
    kept = measured[measured["npix"] >= min_area]
    for name in table.colnames:
        if name in kept.colnames and name != "label":
            assert np.array_equal(table[name], kept[name], equal_nan=True), name
    assert count >= len(table) and np.array_equal(labels > 0, np.isin(steps, kept["label"]))


@settings(max_examples=10)
@given(SEEDS, st.integers(1, 7))
def test_blocks_of_rows_change_nothing(seed, groups):
    image = np.random.default_rng(seed).standard_t(2, (300, 131)).astype(np.float32)

    class File:
        shape, dtype = image.shape, image.dtype

        def read(self, rows, out):
            out[...] = image[rows]

    plans = []
    full = fp.plan_find_sources(image.shape, dtype=">f4", capacity=10_000, device="cpu").footprint.total
    whole = fp.find_sources(image, 2.0, capacity=10_000, device="cpu")
    parts = fp.find_sources(File(), 2.0, capacity=10_000, memory=full - 17_000 * groups, device="cpu", on_plan=plans.append)
    assert plans[0].chunk.size < 300
    assert all(np.array_equal(whole[name], parts[name], equal_nan=True) for name in whole.colnames)
    assert dict(whole.meta) == dict(parts.meta)
