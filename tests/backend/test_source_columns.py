"""Shapes, interpolated peaks, errors, names, seeds and smallest areas of sources."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from astropy.table import Column, QTable, Table, vstack
from scipy import ndimage
from scipy.special import ive

import footprint as fp
from footprint.api._bessel import scaled_bessel
from footprint.api._errors import noise_of_centres, noise_of_sums
from footprint.api._names import LENGTH, names
from footprint.api._search import rules_of
from footprint.api._table import Columns

SKY = {"CTYPE1": "RA---SIN", "CTYPE2": "DEC--SIN", "CRPIX1": 65, "CRPIX2": 60, "CRVAL1": 0.01, "CRVAL2": -0.02, "BUNIT": "Jy/beam"}
SKY |= {"CDELT1": -0.001, "CDELT2": 0.001, "CUNIT1": "deg", "CUNIT2": "deg", "BMAJ": 0.005, "BMIN": 0.005}
AREA = np.pi * 25 / (4 * np.log(2))


def gaussian(shape, x, y, peak, a, b, degrees):
    rows, columns = np.indices(shape)
    turn = np.radians(degrees)
    u = (columns - x) * np.cos(turn) + (rows - y) * np.sin(turn)
    v = (rows - y) * np.cos(turn) - (columns - x) * np.sin(turn)
    return peak * np.exp(-(u**2 / a**2 + v**2 / b**2) / 2)


def correlated(rng, shape, fwhm=5.0):
    noise = ndimage.gaussian_filter(rng.standard_normal(shape), fwhm / 2.35482, mode="wrap", truncate=6)
    return noise / noise.std()


@pytest.mark.parametrize("dtype", ["f4", ">f8"])
def test_a_bright_gaussian_is_what_it_was_made_of(device, rng, dtype):
    image = rng.standard_normal((120, 131))
    made = [(30.3, 40.6, 3.0, 2.0, 30.0), (90.0, 80.45, 4.0, 2.5, -50.0), (60.8, 20.2, 2.2, 2.1, 80.0)]
    for x, y, a, b, degrees in made:
        image += gaussian(image.shape, x, y, 1e6, a, b, degrees)
    table = fp.find_sources(image.astype(dtype), 50.0, device=device)
    table.sort("x")
    for row, (x, y, a, b, degrees) in zip(table, sorted(made), strict=True):
        assert abs(row["x_interp"] - x) < 0.06 and abs(row["y_interp"] - y) < 0.06
        assert abs(row["peak_interp"] / 1e6 - 1) < 0.01 and row["peak_interp"] >= row["peak"]
        assert abs(row["a"] / a - 1) < 0.01 and abs(row["b"] / b - 1) < 0.01
        assert abs((row["theta"] - degrees + 90) % 180 - 90) < (10 if a < 2.3 else 0.5)


def test_an_upright_gaussian_is_interpolated_to_rounding(device):
    image = np.random.default_rng(1).standard_normal((60, 60)) * 1e-9
    image += gaussian(image.shape, 30.3, 20.8, 7.0, 2.0, 3.0, 0)
    (row,) = fp.find_sources(image - 1e-3, kappa=3, lesson=True, sigma=1e6, device=device)
    assert abs(row["x_interp"] - 30.3) < 1e-2 and abs(row["y_interp"] - 20.8) < 1e-2
    (row,) = fp.measure(image, (image > 1e-3).astype(int), device=device)
    assert np.allclose([row["x_interp"], row["y_interp"], row["peak_interp"]], [30.3, 20.8, 7.0], atol=1e-6)


def test_peaks_at_ends_and_beside_nothing(device):
    image = np.array([[5.0, 1, 0, -2, 3, -2], [2, 0, 0, np.nan, 1, 9], [0, 0, 0, 0, 0, 0]])
    table = fp.measure(image, np.array([[1, 1, 0, 0, 2, 0], [1, 0, 0, 0, 0, 3], [0, 0, 0, 0, 0, 0]]), device=device)
    # On an edge nothing is interpolated across it; a parabola of the values where a logarithm cannot be.
    assert table["x_interp"].tolist() == [0, 4, 5] and table["y_interp"][0] == 0
    assert np.isclose(table["y_interp"][2], 1 + (0 - -2) / (2 * (18 - 0 + 2)))
    assert table["peak_interp"][0] == 5 and np.all(table["peak_interp"] >= table["peak"])


def test_one_pixel_and_a_line_have_no_width(device):
    image = np.zeros((40, 3000), np.float32)
    image[20, 2900], image[30, 2500:2503] = 7, 5
    table = fp.measure(image, (image == 7) + 2 * (image == 5), device=device)
    assert np.allclose(table["a"], [0, np.sqrt(2 / 3)], atol=1e-3) and np.allclose(table["b"], 0, atol=1e-3)
    assert abs(table["theta"][1]) < 0.1 and table["theta"].unit == "deg"


def test_columns_are_the_same_by_parts(rng):
    image = (correlated(rng, (300, 131)) + 0).astype(">f4")
    options = {"sigma": 2.0, "flood": 1.0, "min_area": 4, "device": "cpu", "capacity": 1000}
    plans = []
    whole = fp.find_sources(image, on_plan=plans.append, **options)
    with pytest.raises(fp.BudgetError) as short:
        fp.find_sources(image, memory=1, **options)
    part = fp.find_sources(image, memory=short.value.smallest + 20_000, on_plan=plans.append, **options)
    assert plans[1].n_parts > 5 and len(whole) > 30
    assert all(np.array_equal(whole[name], part[name], equal_nan=True) for name in whole.colnames)
    native = fp.find_sources(image.astype("f4"), **options)
    assert all(np.array_equal(whole[name], native[name], equal_nan=True) for name in whole.colnames)


@pytest.mark.parametrize(("connectivity", "min_area"), [(4, 1), (8, 5)])
def test_islands_flood_down_from_a_seed(device, rng, connectivity, min_area):
    image = correlated(rng, (160, 131)).astype(np.float32)
    labels = np.full(image.shape, -1, np.int32)
    options = {"connectivity": connectivity, "min_area": min_area, "device": device}
    table = fp.find_sources(image, 3.0, flood=1.5, labels=labels, **options)
    clip = fp.sigma_clip(image, device=device)
    value = image.astype(float) - clip.median
    pieces, count = ndimage.label(value > 1.5 * clip.std, np.ones((3, 3)) if connectivity == 8 else None)
    index = np.arange(1, count + 1)
    keep = (ndimage.maximum(value, pieces, index) > 3 * clip.std) & (ndimage.sum_labels(value * 0 + 1, pieces, index) >= min_area)
    numbers = np.concatenate([[0], np.where(keep, np.cumsum(keep), 0)])
    assert 3 < len(table) == keep.sum() < count and np.array_equal(labels, numbers[pieces])
    assert table.meta["sigma"] == 3 and table.meta["flood"] == 1.5
    with pytest.raises(fp.ArgumentError, match="flood"):
        fp.find_sources(image, 3.0, flood=4.0)


def test_the_smallest_area_by_the_beam(rng):
    image = correlated(rng, (128, 130)).astype(np.float32)
    for words, pixels in (("0.3 beam", np.ceil(0.3 * AREA)), ("beam", np.ceil(AREA)), ("7", 7), (7, 7)):
        table = fp.find_sources(image, 2.0, min_area=words, header=SKY, device="cpu")
        assert table.meta["min_area"] == pixels and table["npix"].min() >= pixels
    for words in ("0 beam", "2 apples", "-1", 0, 1.5, "1.5"):
        with pytest.raises(fp.ArgumentError, match="min_area"):
            fp.find_sources(image, min_area=words, header=SKY, device="cpu")
    with pytest.raises(fp.ArgumentError, match="no known beam"):
        fp.find_sources(image, min_area="1 beam", device="cpu")


def test_the_smallest_area_is_half_of_what_a_point_at_the_threshold_covers(rng):
    """No point that is found is lost by it, in noise of the beam's shape; pixels that stand alone are."""
    image, spikes = correlated(rng, (480, 480)), 11
    image += np.tile(gaussian((40, 40), 20.3, 19.8, 6.2, 2.1233, 2.1233, 0), (12, 12))
    image[40:480:40, 40] = 9
    options = {"flood": 3.0, "header": SKY, "device": "cpu"}
    every, large = (fp.find_sources(image, min_area=n, **options) for n in (1, "auto"))
    wanted = np.floor(AREA * np.log(5 / 3) / 2)
    assert large.meta["min_area"] == wanted == 7 and every.meta["min_area"] == 1
    kept = every[every["npix"] >= wanted]
    assert len(kept) == len(large) <= len(every) - spikes // 2
    at_points = lambda table: np.sum(np.hypot(table["x"] % 40 - 20.3, table["y"] % 40 - 19.8) < 2)
    assert at_points(every) == at_points(large) > 100
    # A reliability may choose any threshold from 3 up; without a flood, or a beam, an area would only be a higher threshold.
    for changes in ({"chosen": True}, {"flood": None}, {"beam_area": None}):
        given = {"sigma": 5.0, "flood": 3.0, "beam_area": AREA} | changes
        assert rules_of(**given, kappa=3, maxiters=None, connectivity=4, lesson=False, levels=None, min_area="auto").min_area == 1


def test_bessel_functions_have_the_last_digits_of_scipys():
    u = np.concatenate([10.0 ** np.linspace(-3, 7, 1000), np.linspace(39, 41, 200)]).reshape(2, -1)
    for order, found in enumerate(scaled_bessel(u)):
        np.testing.assert_allclose(found, ive(order, u), rtol=4e-15)


@pytest.mark.parametrize("radius", [1.5, 2.5, 4.0, 8.0])
@pytest.mark.parametrize("beam", [True, False])
def test_noise_of_sums_and_centres_over_discs(rng, radius, beam):
    noise = correlated(rng, (1500, 1500)) if beam else rng.standard_normal((1500, 1500))
    y, x = np.mgrid[-9:10, -9:10]
    disc = (x**2 + y**2 <= radius**2).astype(float)
    area = AREA if beam else None
    sums, moments = (ndimage.correlate(noise, weights, mode="wrap").std() for weights in (disc, disc * x))
    assert abs(sums / noise_of_sums(disc.sum(), area, edge=False) - 1) < 0.03
    assert abs(moments / noise_of_centres(disc.sum(), area, edge=False) - 1) < 0.08


@pytest.mark.parametrize("most", [60, 10**6])
@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_noise_of_many_sums_is_that_of_each(rng, most, kind):
    pixels = rng.uniform(1, most, 5000).astype(kind)
    some = rng.integers(0, 5000, 50)
    for noise in (noise_of_sums, noise_of_centres):
        assert np.array_equal(noise(pixels, AREA)[some], [noise(one, AREA) for one in pixels[some]])


@pytest.mark.parametrize("peak", [25, 100])
def test_errors_of_point_sources_are_what_they_say(rng, peak):
    """Their scatter over that, in noise correlated by the beam; an interpolated peak is the flux, to the noise."""
    shape, found, truth = (640, 640), [], []
    for _ in range(3):
        image = correlated(rng, shape)
        for y in range(20, 640, 40):
            for x in range(20, 640, 40):
                truth.append((x + rng.uniform(-0.5, 0.5), y + rng.uniform(-0.5, 0.5)))
                at = truth[-1][0] - x + 20, truth[-1][1] - y + 20
                image[y - 20 : y + 20, x - 20 : x + 20] += gaussian((40, 40), *at, peak, 2.1233, 2.1233, 0)
        table = fp.find_sources(image, 5.0, min_area=4, header=SKY, device="cpu")
        found.append(table[np.lexsort((table["x"] // 40, table["y"] // 40))])
        assert np.allclose(table["ra_err"], table["x_err"] * 0.001) and table["flux_err"].unit == table["flux"].unit
    column = lambda name: np.concatenate([table[name] for table in found])
    x, y = np.array(truth).T
    for pull in ((column("x") - x) / column("x_err"), (column("y") - y) / column("y_err")):
        assert 0.93 < np.std(pull) < 1.15 and abs(np.mean(pull)) < 0.15
    assert 0.93 < np.std(column("flux")) / np.mean(column("flux_err")) < 1.12
    # A vertex is where the gradient of the noise takes it: the beam's sigma over sqrt 2 and the peak over the noise.
    expected = 2.1233 / np.sqrt(2) / peak
    assert np.std(column("x_interp") - x) < 1.15 * expected and np.std(column("y_interp") - y) < 1.15 * expected
    assert abs(np.mean(column("peak_interp")) / peak - 1) < 0.004 and 0.93 < np.std(column("peak_interp")) < 1.08


def test_names_are_cut_off_and_never_rounded():
    ra = np.array([359.99999, 0.0, 266.41683, 15.0, np.nan, 83.6330833])
    dec = np.array([-0.0001, 89.99999, -29.00781, 30 + 1 / 60, 1.0, 22.0145])
    out = np.empty(len(ra), f"S{LENGTH}")
    names(ra, dec, out)
    wanted = ["J235959.99-000000.3", "J000000.00+895959.9", "J174540.03-290028.1", "J010000.00+300100.0", "", "J053431.93+220052.2"]
    assert out.astype(str).tolist() == wanted


def test_a_catalogue_has_names(rng):
    image = correlated(rng, (128, 130)).astype(np.float32)
    table = fp.find_sources(image, 3.0, header=SKY, device="cpu")
    assert len(table) > 3 and all(str(name).startswith(("J0000", "J2359")) and len(str(name)) == LENGTH for name in table["name"])
    assert table.colnames[:2] == ["label", "name"]


def test_a_table_is_what_astropy_makes_of_its_columns():
    columns = {"label": np.arange(1, 6, dtype=np.int32), "x": np.arange(5.0)[::-1].copy(), "name": np.full(5, b"J0")}
    parts, want, ra = Columns(columns, {"ra": "deg"}), Table(columns, copy=False), np.linspace(0, 1, 5)
    parts.insert({"label": {"ra": ra, "dec": -ra}})
    made = parts.table()
    want.add_columns([Column(ra, "ra", unit="deg"), Column(-ra, "dec")], indexes=[1, 1])
    want.add_index("x")
    made.add_index("x")
    for table in (made, pickle.loads(pickle.dumps(made)), made.copy(), made[:], vstack([made[:2], made[2:]])):
        assert table.colnames == want.colnames and table.pformat() == want.pformat() and type(table) is Table
        for name, column in table.columns.items():
            other = want[name]
            assert (column.unit, column.format, column.meta) == (other.unit, None, {})
            assert type(column) is Column and column.dtype == other.dtype and column.parent_table is table
            assert column.info.name == name and np.array_equal(column, other)
    assert np.shares_memory(made["x"].data, columns["x"]) and QTable(made)["ra"].unit == "deg"
    assert made.loc[3.0]["label"] == want.loc[3.0]["label"] == 2
    made.rename_column("x", "y")
    made["snr"] = 1.0
    made.sort("y")
    assert made["label"].tolist() == [5, 4, 3, 2, 1] and len(made[made["dec"] < -0.4]) == 3
