"""Source finding in parts of rows, and with a step of a user's own between its steps: the bits of the whole."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

import footprint as fp
from footprint.api._call import call
from footprint.api._image import host
from footprint.api.measure import Islands
from footprint.errors import BudgetError
from footprint.ops.base import Op
from footprint.ops.label import Label
from footprint.ops.pipeline import FUSIONS, Stage
from footprint.ops.search import Rules
from footprint.ops.sigma_clip import SigmaClip
from footprint.plan.ready import clear_cache
from footprint.reference.label import label as scipy_label
from footprint.spec import ArraySpec

SEEDS = st.integers(0, 2**32 - 1)


def smallest(plan, **options):
    with pytest.raises(BudgetError) as caught:
        plan(memory=1, device="cpu", **options)
    return caught.value.smallest


def spiral(n):
    image = np.zeros((n, n), bool)
    for i in range(0, n // 2, 2):
        image[i, i : n - i] = image[i : n - i, n - 1 - i] = image[n - 1 - i, i : n - i] = image[i + 2 : n - i, i] = True
        image[i + 2, i : i + 2] = True
    return image


@settings(max_examples=25)
@given(SEEDS, st.floats(0.2, 0.8), st.sampled_from([4, 8]), st.sampled_from([(40, 33), (97, 5), (64, 130)]), st.floats(0, 1))
def test_labels_in_parts_are_scipys(seed, share, connectivity, shape, where):
    mask = (np.random.default_rng(seed).random(shape) < share).astype("i2") * 256
    low = smallest(lambda **o: fp.plan_label(shape, dtype="i2", **o))
    high = fp.plan_label(shape, dtype="i2", device="cpu").footprint.total
    memory = int(low + where * (high - low))
    wanted, number = scipy_label(mask, connectivity)
    try:
        labels, count = fp.label(mask, connectivity, memory=memory, device="cpu")
    except fp.CapacityError as error:
        assert error.needed > 64 + mask.size // 64 and error.needed <= mask.size
        return
    assert count == number and np.array_equal(labels, wanted)


@pytest.mark.parametrize("connectivity", [4, 8])
@pytest.mark.parametrize("out", ["i4", ">i4", "i8"])
def test_what_joins_late_joins_over_parts(connectivity, out):
    comb = np.zeros((60, 61), bool)
    comb[:, ::2] = comb[-1] = True
    for mask in (spiral(61), ~spiral(61), comb, comb[::-1], np.eye(61, dtype=bool), np.eye(61, dtype=bool)[::-1]):
        shape = mask.shape
        low = smallest(lambda shape=shape, **o: fp.plan_label(shape, dtype="i2", **o))
        plan = fp.plan_label(shape, dtype="i2", memory=low, device="cpu")
        assert plan.n_parts > 4 and plan.footprint.total <= low
        assert fp.plan_label(shape, dtype="i2", memory=low + 2500, device="cpu").n_parts > 1
        target = np.full(shape, -7, out)
        labels, count = fp.label(mask.astype("i2"), connectivity, out=target, memory=low + 2500, device="cpu")
        wanted, number = scipy_label(mask, connectivity)
        assert labels is target and count == number and np.array_equal(labels, wanted)


def test_more_components_than_there_is_room_for(rng):
    mask = (np.indices((300, 301)).sum(0) % 2 == 0).astype("i2")
    low = smallest(lambda **o: fp.plan_label(mask.shape, dtype="i2", **o))
    with pytest.raises(fp.CapacityError, match="give memory=") as caught:
        fp.label(mask, memory=low, device="cpu")
    enough = int(str(caught.value).partition("memory=")[2].split()[0])
    labels, count = fp.label(mask, memory=enough, device="cpu")
    assert count == mask.sum() and caught.value.needed == count and np.array_equal(labels, scipy_label(mask)[0])


@pytest.mark.parametrize("dtype", [">f4", "i2", ">f8"])
def test_measured_in_parts_to_the_same_bits(rng, dtype):
    labels, count = ndimage.label(rng.random((200, 131)) < 0.5)
    image = (rng.standard_normal(labels.shape) * 100).astype(dtype)
    whole = fp.measure(image, labels, device="cpu")
    low = smallest(lambda **o: fp.plan_measure(image.shape, dtype=dtype, count=count, **o))
    plans = fp.plan_measure(image.shape, dtype=dtype, count=count, memory=low, device="cpu")
    assert plans.n_parts == 200
    for memory in (low + 8 * 131, 2 * low):
        parts = fp.measure(image, labels, memory=memory, device="cpu")
        assert all(np.array_equal(whole[name], parts[name], equal_nan=True) for name in whole.colnames)


@dataclass(frozen=True)
class Opening(Op):
    """A binary opening by a cross: a user's own step between threshold and label."""

    axes = ("yx",)

    def out_specs(self, *specs):
        return (ArraySpec(specs[0].shape, "uint8", "yx"),)

    def record(self, b, *refs):
        mask, out = refs
        eroded = b.like(mask, "float32", "eroded")
        image = b.like(mask, "float32", "mask as numbers")
        b.copy(mask, image)
        cross = b.const(np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], np.float32) / 5)
        options = {"y0": -1, "x0": -1, "border_y": "constant", "border_x": "constant", "cval": 0.0}
        b.launch("convolve", image, cross, eroded, **options)
        b.launch("threshold", eroded, out, level=0.9, background=0.0)
        b.copy(out, image)
        b.launch("convolve", image, cross, eroded, **options)
        b.launch("threshold", eroded, out, level=0.1, background=0.0)


def run(op, image, device, capacity, labels):
    count, stats, counts = np.zeros(1, np.int64), np.zeros(8), np.zeros(8, np.int64)
    found, ids = Islands(count), np.full(image.shape, -1, np.int32)
    outs = [host(stats), host(counts), *found.sinks(capacity), host(count), *([host(ids)] if labels else [])]
    call("find_sources", op, [host(image)], outs, device, None)
    return found.columns, ids, int(count[0]), stats


@pytest.mark.parametrize(("min_area", "labels"), [(1, False), (3, True)])
def test_a_step_of_ones_own_stands_between_threshold_and_label(device, rng, min_area, labels):
    image = ndimage.gaussian_filter(rng.standard_normal((120, 131)), 1.5).astype(np.float32)
    clip = SigmaClip()
    op = Rules(clip, 1.0, min_area=min_area, labels=labels).steps(600, Stage(Opening(), ("mask",), ("marks",)))
    columns, ids, met, stats = run(op, image, device, 600, labels)
    background, noise = stats[5:7]
    marks = ndimage.binary_opening(image.astype("f8") - background > noise, ndimage.generate_binary_structure(2, 1))
    pieces, number = scipy_label(marks, 4)
    sizes = np.bincount(pieces.ravel(), minlength=number + 1)[1:]
    kept = np.flatnonzero(sizes >= min_area) + 1
    assert met == number and len(kept) > 20 and columns["label"].tolist() == list(range(1, len(kept) + 1))
    assert np.array_equal(columns["npix"], sizes[kept - 1])
    assert np.allclose(columns["flux"], ndimage.sum_labels(image.astype("f8") - background, pieces, kept), rtol=1e-12)
    if labels:
        numbers = np.zeros(number + 1, int)
        numbers[kept] = np.arange(1, len(kept) + 1)
        assert np.array_equal(ids, numbers[pieces])


@pytest.mark.parametrize("labels", [False, True])
def test_fused_and_step_by_step_are_one(device, rng, monkeypatch, labels):
    image = rng.standard_normal((90, 101)).astype(np.float32)
    op = Rules(sigma=1.0, connectivity=8, min_area=2, labels=labels).steps(3000)
    assert len(op.fused().stages) == 2
    fused = run(op, image, device, 3000, labels)
    for kinds in [kinds for kinds in FUSIONS if Label in kinds]:
        monkeypatch.delitem(FUSIONS, kinds)
    op = Rules(sigma=1.0, connectivity=8, min_area=2, labels=labels).steps(3000)
    assert len(op.fused().stages) == 4 + labels
    clear_cache()
    apart = run(op, image, device, 3000, labels)
    assert len(fused[0]["label"]) > 50
    for name, column in fused[0].items():
        # Pieces of an island are added up in another order than its rows.
        other = apart[0][name]
        near = name in ("x", "y", "flux") and np.allclose(column, other, rtol=1e-13)
        near |= name in ("a", "b") and np.allclose(column**2, other**2, atol=1e-9)
        near |= name == "theta" and np.allclose(column[apart[0]["a"] > 0.1], other[apart[0]["a"] > 0.1], atol=1e-4)
        assert near or np.array_equal(column, other, equal_nan=True), name
    assert np.array_equal(fused[1], apart[1])


@dataclass(frozen=True)
class Same(Opening):
    """A step that any part can do by itself."""

    cut = "y"


def test_a_chain_that_reads_its_own_twice_is_left_whole():
    """Labels are given when all parts were seen, and by then what was made of a part is gone."""
    spec = ArraySpec((100, 100))
    between = Stage(Same(), ("mask",), ("marks",))
    assert Rules().steps(10).cut == "y"
    assert Rules().steps(10, between).cut == ""
    assert Rules().steps(10).grain(spec) == 21


def test_progress_counts_every_pass(rng):
    image, told = rng.standard_normal((700, 257)).astype(">f4"), []
    whole = fp.plan_find_sources(image.shape, dtype=">f4", device="cpu").footprint.total
    fp.find_sources(image, memory=whole // 2, device="cpu", progress=lambda done, total: told.append((done, total)))
    done = [d for d, _ in told]
    assert done == sorted(done) and told[-1][0] == told[-1][1] >= 3 * 700 and all(d <= t for d, t in told)
    assert len(told) > 6
