"""Clip, islands and their measures on a GPU in parts of rows: the bits of the whole, at any budget and in any number of copies."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

import footprint as fp
from footprint.kernels.label import gpu
from tests.ways import lanes_aside

from .kernels import need_gpu


def sky(shape, dtype, step):
    """Smooth noise in steps, so that peaks are met twice; islands of many shapes lie across any cut."""
    rng = np.random.default_rng(3)
    image = ndimage.gaussian_filter(rng.standard_normal(shape), 1.5)
    image[::37, ::29] += 3
    image = np.round(ndimage.gaussian_filter(image, 1.2) / step) * step
    image[0, :9] = np.nan
    image[:, 100] = 1.0
    return image.astype(dtype)


def same(one, other):
    return one.colnames == other.colnames and all(
        np.array_equal(one[n], other[n], equal_nan=one[n].dtype.kind == "f") for n in one.colnames
    )


@pytest.mark.parametrize(
    ("dtype", "options"),
    [("f4", {"connectivity": 8, "min_area": 4, "flood": 1.0}), (">f8", {"background": "mesh", "box": 32, "save_noise": True})],
)
def test_sources_in_parts_are_those_of_the_whole(backend, device, dtype, options):
    need_gpu(backend)
    # What a large device's work-items keep would fill the least budget for a small image.
    image, parts = sky((301 if backend.limits.cores < 16 else 2503, 233), dtype, 0.1), set()

    def found(**more):
        labels, noise, plans = np.full(image.shape, -1, "i4"), np.zeros(image.shape), []
        saved = {"save_noise": noise} if options.get("save_noise") else {}
        table = fp.find_sources(image, 1.5, labels=labels, device=device, on_plan=plans.append, **options | saved | more)
        return table, labels, noise, plans[-1]

    table, labels, noise, plan = found()
    assert len(table) > 200 and plan.n_parts == 1
    with pytest.raises(fp.BudgetError) as caught:
        found(memory=1)
    low = caught.value.smallest
    for memory in (low, (low + 3 * plan.footprint.total) // 4):
        try:
            got = found(memory=memory)
        except fp.BudgetError as error:
            # Smaller parts have more components between them: what is named then does.
            assert error.smallest > memory
            got = found(memory=error.smallest)
        parts.add(got[3].n_parts)
        assert same(table, got[0]) and table.meta == got[0].meta
        assert np.array_equal(labels, got[1]) and np.array_equal(noise, got[2])
    assert max(parts) >= 4


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_measured_in_parts(backend, device, dtype):
    """Labels that are in all parts, of one pixel, without a number, and with their peak where one part ends."""
    need_gpu(backend)
    image = sky((90, 401), dtype, 0.2)
    labels = ndimage.label(image > 0.1)[0]
    labels[:, ::3] = labels.max() + 1
    labels[5, 7], image[5, 7] = labels.max() + 1, np.nan
    labels[9, 8], image[9, 8] = labels.max() + 1, np.inf
    whole = fp.measure(image, labels, device=device)
    plan = lambda memory: fp.plan_measure(image.shape, dtype=dtype, count=labels.max(), memory=memory, device=device)
    with pytest.raises(fp.BudgetError) as caught:
        plan(1)
    assert plan(caught.value.smallest).n_parts == 90
    for memory in (caught.value.smallest, (caught.value.smallest + plan(None).footprint.total) // 2):
        assert plan(memory).n_parts > 1 and same(whole, fp.measure(image, labels, memory=memory, device=device))


def many_passes(monkeypatch):
    """A clip that is thought to need more than the usual two passes is worth the memory in which an image stays."""
    monkeypatch.setattr("footprint.ops.sigma_clip.usual_passes", lambda limits: 5)


def test_parts_that_cross_a_bus_stay_where_there_is_room(backend, device, monkeypatch):
    """Else they come again, pass after pass, to the same bits."""
    need_gpu(backend)
    lanes_aside(monkeypatch)
    many_passes(monkeypatch)
    image = np.nan_to_num(sky((1500, 1500), "f8", 0.01) * 1000 + 1000).clip(0, 60000).astype("u2")
    whole = fp.find_sources(image, 3.5, device=device)

    class File:
        shape, dtype, rows = image.shape, image.dtype, 0

        def read(self, rows, out):
            out[...] = image[rows]
            self.rows += rows.stop - rows.start

    for memory, lanes in (("6MB", 1), ("20MB", 3)):
        for given in (image.astype("f4"), image, file := File()):
            plans = []
            table = fp.find_sources(given, 3.5, memory=memory, device=device, on_plan=plans.append)
            assert plans[-1].n_parts > 1 and len(whole) > 300 and same(whole, table) and whole.meta == table.meta
        assert len(plans[-1].lanes) == lanes
        assert file.rows <= 1500 * len(plans) if lanes == 3 else file.rows > 2 * 1500 * len(plans)
    clips = [fp.sigma_clip(image, maxiters=3, memory=memory, device=device) for memory in (None, "9MB")]
    assert clips[0] == clips[1]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_file_of_the_kernels_own_dtype_stays(backend, device, dtype, monkeypatch):
    """What is read needs no cast, so every part goes straight to its own rows of what stays."""
    need_gpu(backend)
    lanes_aside(monkeypatch)
    many_passes(monkeypatch)
    image = sky((1500, 901), dtype, 0.01)

    class File:
        shape, dtype = image.shape, image.dtype

        def read(self, rows, out):
            out[...] = image[rows]

    clip, table, plans = fp.sigma_clip(image, device=device), fp.find_sources(image, device=device), []
    for memory in ("10MB", "14MB", "20MB"):
        assert fp.sigma_clip(File(), memory=memory, device=device) == clip
        found = fp.find_sources(File(), memory=memory, device=device, on_plan=plans.append)
        assert all(np.array_equal(found[name], table[name]) for name in table.columns)
    # A thread that only reads, of more parts than there are copies: nothing but the rows tells it one part from another.
    apart = [plan for plan in plans if len(plan.lanes) == 3 and plan.n_parts > plan.copies]
    assert any(plan.slots[step.refs[1].slot.id].kind == "kept" for plan in apart for step in plan.steps if step.action == "fill")


def test_more_pixels_than_are_labelled_at_once_go_in_parts(backend, device, monkeypatch):
    """Mosaics have more than a word with a sign counts."""
    need_gpu(backend)
    image, plans = sky((300, 231), "f4", 0.1), []
    with monkeypatch.context() as patched:
        patched.setattr(gpu, "LARGEST", image.size // 2)
        table = fp.find_sources(image, 1.5, connectivity=8, device=device, on_plan=plans.append)
        labels, count = fp.label(image > 1, 8, device=device)
        apart = fp.find_sources(image, 1.5, deblend=True, device=device, on_plan=plans.append)
        patched.setattr(gpu, "LARGEST", image.size // 3)
        with pytest.raises(fp.ShapeError, match=r"image: got .* pixels, wanted at most 23100 where a GPU labels them at once"):
            fp.find_sources(image, 1.5, deblend=True, device=device)
    assert plans[0].n_parts > 1 < plans[-1].n_parts and len(table) > 100
    fp.clear_cache()
    assert same(table, fp.find_sources(image, 1.5, connectivity=8, device=device))
    assert same(apart, fp.find_sources(image, 1.5, deblend=True, device=device))
    want, n = ndimage.label(image > 1, np.ones((3, 3)))
    assert count == n and np.array_equal(labels, want)
