"""Moments against SciPy's."""

import numpy as np
import pytest
from scipy import ndimage

import footprint as fp
from footprint.reference.measure import measure as reference
from tests.backend.moments import same_covariance


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (13, 11), (97, 131)])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i2", ">f4"])
def test_equals_the_reference(device, rng, shape, dtype):
    labels, count = ndimage.label(rng.random(shape) < 0.4)
    image = (rng.standard_normal(shape) * 10 + 3).astype(dtype)
    table, wanted = fp.measure(image, labels, device=device), reference(image, labels, count)
    assert len(table) == count
    for name in ("label", "npix", "peak", "x_peak", "y_peak"):
        assert np.array_equal(table[name], wanted[name]), name
    box = np.stack([table[n] for n in ("x_min", "x_max", "y_min", "y_max")], 1).reshape(-1, 4)
    assert np.array_equal(box, wanted["box"])
    assert np.allclose(table["flux"], wanted["flux"], rtol=1e-12, atol=1e-9)
    weigh = np.abs(wanted["flux"]) > 1e-3
    for name in ("x", "y"):
        assert np.allclose(table[name][weigh], wanted[name][weigh], rtol=1e-9, atol=1e-6)
    sound = weigh & (wanted["xx"] >= 0) & (wanted["yy"] >= 0) & (wanted["xx"] * wanted["yy"] > wanted["xy"] ** 2 + 1e-6)
    assert same_covariance(table, wanted, sound)


@pytest.mark.parametrize("first", [63, 64, 65, 128])
def test_a_label_that_begins_after_an_empty_stretch_keeps_its_first_pixel(device, first):
    labels = np.zeros((2, 140), np.int32)
    labels[1, first : first + 3] = 1
    table = fp.measure(np.ones(labels.shape, np.float32), labels, device=device)
    assert table["npix"][0] == 3 and table["x_min"][0] == first


def test_centres_are_scipys(rng):
    labels, count = ndimage.label(rng.random((60, 70)) < 0.4)
    image = rng.random((60, 70))
    table = fp.measure(image, labels, device="cpu")
    centres = np.array(ndimage.center_of_mass(image, labels, range(1, count + 1)))
    assert np.allclose(np.stack([table["y"], table["x"]], 1), centres, rtol=1e-12)


def test_a_label_in_pieces_a_missing_one_and_a_sum_of_zero(device):
    image = np.array([[1.0, 2.0, -2.0, 4.0]], np.float32)
    table = fp.measure(image, np.array([[1, 4, 4, 1]]), 5, device=device)
    assert table["npix"].tolist() == [2, 0, 0, 2, 0]
    assert table["flux"].tolist() == [5, 0, 0, 0, 0] and table["x"][0] == 12 / 5
    assert not np.isfinite(table["x"][3])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_peak_of_a_label_without_numbers_and_of_two_zeros_is_its_first_pixel(device, dtype):
    image = np.array([[0, np.nan, -np.nan, 0, -0.0, 0.0, 0, np.nan, -np.inf, -np.inf]], dtype)
    table = fp.measure(image, np.array([[0, 1, 1, 0, 2, 2, 0, 4, 4, 4]]), device=device)
    assert table["x_peak"].tolist() == [1, 4, -1, 8]
    # A label of NaN alone and one without pixels have no peak; minus infinity is one.
    assert np.array_equal(table["peak"], [np.nan, 0, np.nan, -np.inf], equal_nan=True)


def test_pieces_of_a_label_take_the_peak_that_is_a_number(device):
    image = np.array([[np.nan, 0, -np.inf], [np.nan, 0, 0], [-5, 0, np.nan]], np.float32)
    table = fp.measure(image, np.array([[1, 0, 2], [1, 0, 0], [1, 0, 2]]), device=device)
    assert table["peak"].tolist() == [-5, -np.inf] and table["y_peak"].tolist() == [2, 0]


def test_sums_with_infinities_are_those_of_numbers(device):
    image = np.array([[np.inf, 1, 0, -np.inf, 2], [np.inf, 3, 0, 4, np.nan], [np.inf, -np.inf, 0, np.inf, np.nan]], np.float32)
    table = fp.measure(image, np.array([[1, 1, 0, 2, 2], [1, 1, 0, 2, 3], [4, 4, 0, 5, 5]]), device=device)
    assert np.array_equal(table["flux"], [np.inf, -np.inf, np.nan, np.nan, np.nan], equal_nan=True)
    assert np.isnan(table["x"]).all() and np.isnan(table["a"]).all()


def test_empty_and_bad_arguments():
    assert len(fp.measure(np.ones((3, 3)), np.zeros((3, 3), int), device="cpu")) == 0
    assert len(fp.measure(np.ones((0, 3)), np.zeros((0, 3), int), device="cpu")) == 0
    with pytest.raises(fp.ShapeError, match="labels"):
        fp.measure(np.ones((3, 3)), np.zeros((3, 4), int), device="cpu")
    with pytest.raises(fp.ShapeError, match="labels"):
        fp.measure(np.ones((3, 3)), np.zeros((3, 3)), device="cpu")
    with pytest.raises(fp.ArgumentError, match="count"):
        fp.measure(np.ones((3, 3)), np.zeros((3, 3), int), -1, device="cpu")


def test_of_equal_peaks_the_first_in_raster_order_counts(device, rng):
    labels, count = ndimage.label(rng.random((60, 71)) < 0.5)
    image = rng.integers(0, 3, labels.shape).astype("f4")
    table, wanted = fp.measure(image, labels, device=device), reference(image, labels, count)
    for name in ("peak", "x_peak", "y_peak"):
        assert np.array_equal(table[name], wanted[name]), name


def test_an_island_far_from_the_corner_is_measured_as_well_as_one_near_it(device):
    """Sums about the image's corner gave a lone pixel at column 46,400 a size of 5e-4."""
    near, y, x = np.zeros((40, 60), np.float32), *np.mgrid[:40, :60]
    near[14:27, 23:36] = np.exp(-0.5 * ((y - 20.3) ** 2 / 4 + (x - 29.8) ** 2 / 2 + 0.3 * (y - 20) * (x - 30)))[14:27, 23:36]
    near[3, 50] = 3.7
    labels = (near > 0).astype(np.int32)
    labels[3, 50] = 2
    far, away = np.zeros((2, 40, 60_000), np.float32), 59_000
    far[0, :, away : away + 60], far[1, :, away : away + 60] = near, labels
    a, b = fp.measure(near, labels, device=device), fp.measure(far[0], far[1].astype(np.int32), device=device)
    moments = reference(near, labels, 2)
    for table, off in ((a, 0), (b, away)):
        assert np.allclose(table["x"] - off, moments["x"], rtol=0, atol=1e-10) and np.allclose(table["y"], moments["y"])
        assert same_covariance(table, moments, rtol=1e-9, atol=1e-10)
