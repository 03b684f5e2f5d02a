"""The measuring text: moments against SciPy's whatever the range of values, the same to the last bit each time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

import footprint as fp
from footprint.kernels.find_sources.contract import MOMENTS, PIXELS, SUM, SUM_Y, Y_MAX, Y_MIN, Y_PEAK
from footprint.kernels.measure.contract import turns
from footprint.reference.find_sources import find_sources as reference_sources
from footprint.reference.measure import measure as reference

from .kernels import bound, need_gpu, run

pytestmark = pytest.mark.short_runs

BOX = slice(2, 6)


def measure(backend, image, labels, n):
    moments, boxes = np.full((n, 15), np.nan), np.full((n, 8), -9)
    run(backend, "measure", image, labels, moments, boxes, first=0, height=len(image))
    return moments, boxes


def agree(moments, boxes, wanted):
    assert np.array_equal(boxes[:, 1], wanted["npix"]) and np.array_equal(boxes[:, BOX], wanted["box"])
    assert np.array_equal(moments[:, 3], wanted["peak"], equal_nan=True)
    assert np.array_equal(boxes[:, 6], wanted["x_peak"]) and np.array_equal(boxes[:, 7], wanted["y_peak"])
    assert np.allclose(moments[:, 0], wanted["flux"], rtol=1e-12, atol=1e-9)
    weigh = np.abs(wanted["flux"]) > 1e-3
    for column, name in ((1, "x"), (2, "y")):
        with np.errstate(all="ignore"):
            assert np.allclose((moments[:, column] / moments[:, 0])[weigh], wanted[name][weigh], rtol=1e-9, atol=1e-6)
    weigh &= np.abs(wanted["flux"]) > 1e-2 * wanted["npix"]
    for column, name in ((4, "xx"), (5, "yy"), (6, "xy")):
        assert np.allclose(moments[weigh, column], wanted[name][weigh], rtol=1e-6, atol=1e-6), name


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (13, 11), (97, 131)])
def test_equals_the_reference(backend, rng, shape, dtype):
    need_gpu(backend)
    labels, n = ndimage.label(rng.random(shape) < 0.4)
    image = (rng.standard_normal(shape) * 10 + 3).astype(dtype)
    agree(*measure(backend, image, labels.astype(np.int32), n + 1), reference(image, labels, n + 1))


@pytest.mark.parametrize(("scale", "dtype"), [(1e-38, "f4"), (1e-20, "f4"), (1e30, "f4"), (1e-300, "f8"), (1e300, "f8")])
def test_range_of_values(backend, rng, scale, dtype):
    need_gpu(backend)
    labels, n = ndimage.label(rng.random((40, 50)) < 0.3)
    image = (scale * rng.exponential(1, (40, 50)) ** 3).astype(dtype)
    moments, _ = measure(backend, image, labels.astype(np.int32), n)
    wanted = ndimage.sum_labels(image.astype(np.float64), labels, np.arange(1, n + 1))
    assert np.allclose(moments[:, 0], wanted, rtol=1e-13, atol=0)
    x = ndimage.sum_labels(image.astype(np.float64) / scale * np.arange(50), labels, np.arange(1, n + 1))
    assert np.allclose(moments[:, 1] / scale, x, rtol=1e-12, atol=0)


def test_more_pixels_than_groups_take_at_a_time(device, backend):
    """32 work-items then take 2,048 pixels one 256 after the other: islands are those of the processor."""
    need_gpu(backend)
    image = np.random.default_rng(4).standard_normal((2 + 2048 * 33 * max(backend.limits.cores, 1) // 1000, 1000), "f4")
    found = {}
    for where in (device, "cpu"):
        labels = np.full(image.shape, -1, np.int32)
        found[where] = fp.find_sources(image, 2.5, lesson=True, labels=labels, capacity=image.size // 50, device=where), labels
    (ours, labels), (theirs, wanted) = found[device], found["cpu"]
    assert np.array_equal(labels, wanted) and np.array_equal(ours["npix"], theirs["npix"])
    for name in ("flux", "x", "y", "peak"):
        assert np.allclose(ours[name], theirs[name], rtol=1e-9, atol=0), name


def test_what_is_not_finite_stays_in_its_label(backend):
    need_gpu(backend)
    image = np.array([[1.0, np.nan, 2.0, 0.0, 4.0, np.inf]], np.float32)
    moments, boxes = measure(backend, image, np.array([[1, 1, 2, 0, 3, 3]], np.int32), 3)
    assert np.isnan(moments[0, 0]) and moments[1, 0] == 2 and not np.isfinite(moments[2, 0])
    assert moments[0, 3] == 1 and boxes[0, 6] == 0 and moments[2, 3] == np.inf


@pytest.mark.parametrize(
    ("shape", "min_area", "lesson", "connectivity"), [((64, 50), 1, False, 4), ((200, 301), 5, True, 8), ((1, 400), 1, False, 4)]
)
def test_sources(backend, rng, shape, min_area, lesson, connectivity):
    need_gpu(backend)
    image = rng.standard_normal(shape) + (0 if lesson else 5)
    y, x = np.indices(shape)
    for _ in range(image.size // 1500):
        cy, cx = rng.integers(0, shape[0]), rng.integers(0, shape[1])
        image += rng.exponential(60) * np.exp(-((y - cy) ** 2 + (x - cx) ** 2) / 4)
    image[0, :7] = np.nan
    image = image.astype(np.float32)
    labels, n, background, noise = reference_sources(image, 5.0, 3.0, connectivity, min_area, lesson)
    wanted = reference(image.astype(np.float64) - background, labels, n)
    for capacity in (300, 1):
        stats, count, moments, boxes = np.zeros(8), np.zeros(1, int), np.zeros((capacity, 15)), np.zeros((capacity, 8), int)
        stats[5:7] = background, noise
        painted = np.full(shape, -3, np.int32)
        arrays = [image, stats, count, moments, boxes, painted]
        options = {"first": 0, "height": shape[0], "sigma": 5.0, "connectivity": connectivity, "min_area": min_area, "seed": 0.0}
        with bound(backend, "find_sources.labelled", arrays, **options) as once:
            once()
            results = [a.copy() for a in arrays]
            once()
        assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(results, arrays, strict=True))
        assert count[0] >= n
        if count[0] > capacity:
            continue
        met = (boxes[: count[0], 1] > 0) & (boxes[: count[0], 0] > 0)
        assert met.sum() == n and np.array_equal(painted, labels)
        agree(moments[: count[0]][met], boxes[: count[0]][met], wanted)


def test_places_have_all_of_32_bits(backend, rng):
    """A part that begins beyond 2^31 pixels has the sums, places and neighbours of peaks of one that does not."""
    need_gpu(backend)
    image = np.round(rng.standard_normal((40, 1000)), 1).astype("f4")
    labels, n = ndimage.label(image > 0.8)
    rows, kept = len(image), []
    for first in (rows, 3_000_000):
        block, ids, moments, boxes = np.zeros_like(image), np.zeros_like(labels), np.zeros((n, MOMENTS)), np.zeros((n, 8), "i8")
        with bound(backend, "measure", [block, ids, moments, boxes], first=0, height=first + rows) as run_part:
            for turn in range(turns(backend.limits, "float32")):
                block[...], ids[...] = 0, 0
                run_part(first=0, turn=turn)
                block[...], ids[...] = image, labels
                run_part(first=first, turn=turn)
        boxes[:, [Y_MIN, Y_MAX, Y_PEAK]] -= first
        moments[:, SUM_Y] -= first * moments[:, SUM]
        kept.append((moments, boxes))
    (near, places), (far, there) = kept
    assert (places[:, PIXELS] > 0).all() and np.array_equal(places, there)
    # The sum of rows loses what their number takes.
    np.testing.assert_allclose(far[:, SUM_Y], near[:, SUM_Y], rtol=0, atol=1e-6)
    others = [column for column in range(MOMENTS) if column != SUM_Y]
    np.testing.assert_array_equal(far[:, others], near[:, others])


def test_rows_without_sources_do_not_cross(backend, device, rng, monkeypatch):
    need_gpu(backend)
    image = np.zeros((200, 300), "f4")
    image[20:180:40, 20:280:40] = 9
    image += rng.normal(0, 0.1, image.shape).astype("f4")
    crossed = []
    read = type(backend).read
    monkeypatch.setattr(
        type(backend), "read", lambda self, dst, *rest, **how: (crossed.append(dst.shape), read(self, dst, *rest, **how))[1]
    )
    for there, n in ((image, 28), (np.minimum(image, 1), 0)):
        crossed.clear()
        assert len(fp.find_sources(there, 30, lesson=True, capacity=500, device=device)) == n
        assert {shape[0] for shape in crossed if len(shape) == 2} == ({n} if n else set())
