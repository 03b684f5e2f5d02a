"""Heights of Gaussians that are held: against linear least squares, at given places, and on other images than theirs."""

from __future__ import annotations

import numpy as np
import pytest
from astropy.io import fits as files
from astropy.table import Table

import footprint as fp
from footprint.backend.registry import device_limits
from footprint.kernels.fit.contract import COLUMNS, MAJOR, MINOR, THETA, X, Y
from footprint.kernels.held import contract, cpu, solver
from footprint.kernels.held.contract import CHI2, ERROR, HEIGHT, LEAST, PIXELS
from footprint.ops.fit import correlation
from footprint.reference.held import heights
from footprint.spec import ArraySpec
from tests.backend.test_fit import PIXEL, SKY, S, add, correlated, inverse

BEAM = inverse(2.6, 1.9, 25.0)
WITHIN = 2 * np.log(2)
RULES = {"sigma": 8.0, "flood": 4.0, "connectivity": 8, "header": SKY, "device": "cpu"}


def solved(image, fits, beam=BEAM, within=WITHIN, radius=8, rows=17):
    """What the kernels make of a table of fits, the image in parts."""
    n = len(fits)
    places, noises = np.zeros((n, contract.PLACE)), np.zeros(n)
    stamps, found = np.zeros((n, (2 * radius + 1) ** 2), image.dtype), np.zeros((n, contract.FOUND))
    rho, one = correlation(beam, 3 * radius), np.full((1, 1), 0.25)
    for first in range(0, len(image), rows):
        count, beams = np.array([n]), np.array(beam or (0, 0, 0.0))
        cpu.places(count, fits, beams, np.zeros(3), places, first=first, beamed=bool(beam))
        cpu.stamp(image[first : first + rows], one, one * 6, places, stamps, noises, first=first)
    specs = contract.solve_work(
        device_limits("cpu"), *(ArraySpec(a.shape, a.dtype.str) for a in (places, stamps, noises, rho, found))
    )
    work = [np.zeros(one.shape, one.dtype) for one in specs]
    cpu.solve(places, stamps, noises, rho, found, *work, within=within, far=30.0)
    return places, found


def crowd(rng, n):
    """Gaussians of many shapes, some of them close, over an end of the image, or with pixels that have no data."""
    image = correlated(rng, (90, 80), 2.0) * 1.5 + 0.25
    fits = np.full((n, COLUMNS), np.nan)
    fits[:, Y], fits[:, X] = rng.uniform(-1, 90, n), rng.uniform(-1, 80, n)
    fits[1, [Y, X]], fits[3, [Y, X]] = fits[0, [Y, X]] + 2.0, fits[2, [Y, X]] + 0.3
    fits[:, MAJOR], fits[:, MINOR], fits[:, THETA] = rng.uniform(2.6, 4, n), rng.uniform(1.5, 2.6, n), rng.uniform(-90, 90, n)
    for row, height in zip(fits, rng.uniform(-5, 50, n)):
        add(image, height, row[Y], row[X], inverse(row[MAJOR], row[MINOR], row[THETA]))
    image[40:43, 20:50], image[:, 70] = np.nan, np.inf
    return image.astype("f4"), fits


def test_equals_linear_least_squares(rng):
    """All at once, whatever overlaps; an error is that with the neighbours unknown."""
    image, fits = crowd(rng, 24)
    places, found = solved(image, fits)
    shapes = np.array([inverse(*row[[MAJOR, MINOR, THETA]]) for row in fits])
    assert np.allclose(places, np.column_stack([fits[:, [Y, X]], shapes]), rtol=1e-9, atol=1e-12)
    rho = lambda dy, dx: np.exp(-(BEAM[0] * dy**2 + 2 * BEAM[1] * dy * dx + BEAM[2] * dx**2) / 4)
    told = found[:, PIXELS] > 0
    image[np.isinf(image)] = np.nan
    wanted, error = heights(image.astype("f8") - 0.25, places[told], WITHIN, LEAST, rho, 1.5)
    assert told.sum() > 20 and np.allclose(found[told, HEIGHT], wanted, atol=1e-6 * error.min())
    assert np.allclose(found[told, ERROR], error, rtol=5e-3)
    assert np.isnan(found[~told, HEIGHT]).all() and 0.05 < np.nanmedian(found[:, CHI2]) < 2


def test_places_within_a_pixel_of_each_other_take_few_steps(rng, monkeypatch):
    image, fits = crowd(rng, 60)
    fits[30:] = fits[:30]
    fits[30:, [Y, X]] += rng.normal(0, 0.3, (30, 2))
    wanted = solved(image, fits)[1][:, HEIGHT]
    monkeypatch.setattr(solver, "TURNS", 12)
    assert np.array_equal(solved(image, fits)[1][:, HEIGHT], wanted, equal_nan=True) and np.isfinite(wanted).sum() > 50


def test_heights_that_are_not_settled_are_not_told(rng, monkeypatch):
    image, fits = crowd(rng, 24)
    wanted = solved(image, fits)[1][:, HEIGHT]
    monkeypatch.setattr(solver, "TURNS", 0)
    found = solved(image, fits)[1][:, HEIGHT]
    told = np.isfinite(found)
    assert (np.isfinite(wanted) & ~told).any() and np.allclose(found[told], wanted[told], atol=1e-4 * np.nanmax(np.abs(wanted)))


def points(rng, heights, wide=S, step=30, shape=(330, 240)):
    """Points on a grid, those of a height in one image each, in noise of the beam; and where they are, x and y."""
    places = [(x + 0.3, y - 0.2) for y in range(20, shape[0] - 15, step) for x in range(20, shape[1] - 15, step)]
    images = [correlated(rng, shape, wide) for _ in heights]
    for image, height in zip(images, heights):
        for x, y in places:
            add(image, height, y, x, (wide**-2, 0, wide**-2), 14)
    return [image.astype("f4") for image in images], np.array(places)


def equal(a, b):
    assert a.colnames == b.colnames and len(a) == len(b)
    for name in a.colnames:
        assert np.array_equal(a[name], b[name], equal_nan=a[name].dtype.kind == "f"), name


def by_parts(verb, image, *rest, **options):
    """The same in the smallest budget there is."""
    foreign, plans = image.astype(">f4"), []
    with pytest.raises(fp.BudgetError) as short:
        verb(foreign, *rest, memory=1, **options)
    part = verb(foreign, *rest, memory=short.value.smallest, on_plan=plans.append, **options)
    assert plans[0].footprint.total <= short.value.smallest and plans[0].n_parts > 1
    return part


def test_what_is_known_is_measured(rng, monkeypatch):
    """At places in pixels and on the sky; heights, fluxes and errors are true, and parts and threads change no bit."""
    [image], at = points(rng, [12.0])
    about = {"header": SKY, "apertures": [4], "device": "cpu"}
    table = fp.measure_at(image, at, **about)
    pull = (table["fit_peak"] - (12 - table.meta["background"])) / table["fit_peak_err"]
    assert abs(pull.mean()) < 0.4 and 0.8 < pull.std() < 1.2 and 1.0 < np.median(table["fit_peak_err"]) / table.meta["noise"] < 1.12
    assert table["fit_flux"].unit == "Jy" and np.allclose(table["fit_flux"], table["fit_peak"], rtol=1e-6)
    discs = fp.apertures(image, at, [4], background=table.meta["background"], noise=table.meta["noise"], header=SKY, device="cpu")
    assert np.allclose(table["aper1_flux"], discs["aper1_flux"]) and np.allclose(table["aper1_flux_err"], discs["aper1_flux_err"])
    again = fp.measure_at(image, Table({"name": ["a"] * len(at), "RA": table["ra"], "dec": table["dec"]}), **about)
    assert again.colnames[0] == "name" and np.allclose(again["x"], at[:, 0], atol=1e-6)
    assert np.allclose(again["fit_peak"], table["fit_peak"], atol=1e-5)
    monkeypatch.setenv("FOOTPRINT_THREADS", "3")
    equal(table, by_parts(fp.measure_at, image, at, **about))


def test_places_stay_to_the_last_bit_what_they_were_given_as(rng):
    """A WCS counts from 1 in the array that it is given: places on the sky came from the caller's own."""
    image, at = rng.standard_normal((60, 50)), rng.uniform(1, 48, (300, 2))
    before = at.copy()
    table = fp.measure_at(image, at, header=SKY, device="cpu")
    assert np.array_equal(at, before) and np.array_equal(table["x"], before[:, 0]) and np.array_equal(table["y"], before[:, 1])


def test_places_without_data_and_two_at_one(rng):
    [image], at = points(rng, [12.0])
    image[10:34, 10:34] = np.nan
    more = np.vstack([at, at[5], [[-900, 3], [np.nan, 3], [1e300, 3]]])
    table = fp.measure_at(image, more, shapes=(S, S, 0), noise=np.ones_like(image), background=np.zeros_like(image), device="cpu")
    lost = np.isnan(table["fit_peak"])
    assert list(np.flatnonzero(lost)) == [0, 5, *range(len(at), len(more))] and not table["fit_npix"][0]
    assert np.median(np.abs(table["fit_peak"][~lost] - 12)) < 1 and table["fit_flux"].unit is None
    assert len(fp.measure_at(image, np.empty((0, 2)), header=SKY, device="cpu")) == 0


def test_found_on_one_and_measured_on_others(rng):
    """Other bands of the same sky: fluxes, peaks and fits of the same sources, also where another beam has seen them."""
    (first, second), at = points(rng, [40.0, 15.0])
    [wide], _ = points(rng, [25.0], 3.0)
    header = files.Header(SKY | {"BMAJ": 3 * 2.35482 * PIXEL, "BMIN": 3 * 2.35482 * PIXEL})
    others = {"same": first, "b": second + np.float32(3), "wide": files.ImageHDU(wide, header)}
    options = RULES | {"fit": "gaussian", "deblend": True, "apertures": [4], "measure_on": others}
    table = fp.find_sources(first, **options)
    assert len(table) == len(at)
    for name in ("flux", "peak", "snr", "aper1_flux", "aper1_flux_err"):
        assert np.allclose(table[f"{name}_same"], table[name], rtol=1e-9), name
    assert np.allclose(table["fit_peak_same"], table["fit_peak"], rtol=0.03) and table["fit_flux_b"].unit == "Jy"
    for name, height in (("b", 15), ("wide", 25)):
        left = table[f"fit_peak_{name}"] - (height - (table.meta[f"background_{name}"] - 3 * (name == "b")))
        pull = left / table[f"fit_peak_err_{name}"]
        assert abs(pull.mean()) < 0.5 and 0.75 < pull.std() < 1.3, name
        assert abs(np.median(table[f"fit_flux_{name}"]) / height - 1) < 0.06
    alone = fp.find_sources(first, **options | {"measure_on": None})
    equal(alone, table[alone.colnames])
    equal(table, by_parts(fp.find_sources, first, **options | {"capacity": 200}))


def test_islands_over_a_mesh_are_measured_on_others(rng):
    (first, second), at = points(rng, [40.0, 15.0])
    steep = second + np.linspace(0, 20, 330, dtype="f4")[:, None]
    options = RULES | {"flood": 3.0, "background": "mesh", "box": 55, "measure_on": [first, steep], "fit": "point"}
    table, labels = fp.find_sources(first, **options), np.zeros(first.shape, "i4")
    for name in ("flux", "peak", "snr", "noise", "background"):
        assert np.allclose(table[f"{name}_1"], table[name], rtol=1e-6), name
    assert len(table) == len(at) and abs(np.median(table["fit_peak_2"]) - 15) < 0.7
    plain = fp.find_sources(first, **options | {"labels": labels, "fit": None})
    summed = fp.measure(second, labels)
    assert np.array_equal(plain["flux_1"], table["flux_1"])
    assert np.allclose(plain["flux_2"] * plain.meta["beam_area"], summed["flux"], rtol=0.3)
    equal(table, by_parts(fp.find_sources, first, **options | {"capacity": 400}))


def test_places_that_sextractor_counts_from_one(rng):
    image = rng.standard_normal((30, 40)).astype("f4")
    table = Table({"NUMBER": [7, 9], "X_IMAGE": [11.5, 21.0], "Y_IMAGE": [16.0, 9.25]})
    found = fp.measure_at(image, table, shapes=(2, 2, 0), device="cpu")
    wanted = fp.measure_at(image, [(10.5, 15.0), (20.0, 8.25)], shapes=(2, 2, 0), device="cpu")
    assert found["NUMBER"].tolist() == [7, 9] and all(np.array_equal(found[name], wanted[name]) for name in wanted.colnames)


@pytest.mark.parametrize("names", ["RAJ2000 DEJ2000", "ALPHA_J2000 DELTA_J2000", "ra_deg_cont dec_deg_cont"])
def test_places_by_the_names_that_others_give_them(rng, names):
    image = rng.standard_normal((30, 40)).astype("f4")
    places = fp.find_sources(image, 2.5, header=SKY, device="cpu")["ra", "dec"]
    wanted = fp.measure_at(image, places, header=SKY, device="cpu")["fit_peak"]
    places.rename_columns(("ra", "dec"), names.split())
    assert np.array_equal(fp.measure_at(image, places, header=SKY, device="cpu")["fit_peak"], wanted, equal_nan=True)


def test_columns_of_places_and_shapes_have_units_of_their_own(rng):
    image = rng.standard_normal((30, 40)).astype("f4")
    places, angle = fp.find_sources(image, 2.5, header=SKY, device="cpu")["ra", "dec"], np.array([30.0])
    one = Table({"ra": places["ra"][:1], "dec": places["dec"][:1], "a": [3.0], "b": [2.0], "theta": angle})
    turned = Table({name: one[name] if name in "ab" else np.radians(one[name]) for name in one.colnames})
    for name in ("ra", "dec", "theta"):
        turned[name].unit = "rad"
    wanted, found = (fp.measure_at(image, table, shapes="catalogue", header=SKY, device="cpu") for table in (one, turned))
    assert np.isfinite(wanted["fit_peak"][0]) and np.isclose(found["fit_peak"][0], wanted["fit_peak"][0], rtol=1e-6)
    turned["a"].unit = "arcsec"
    with pytest.raises(fp.ArgumentError, match="the column a in arcsec, wanted pixels"):
        fp.measure_at(image, turned, shapes="catalogue", header=SKY, device="cpu")


def test_bad_places_are_named(rng):
    image = np.ones((20, 20), "f4")
    for given, sentence in (
        ({"positions": "a.fits"}, "positions: got the name 'a.fits', wanted a table.*read_catalog"),
        ({"positions": Table({"ra": [1.0]})}, r"positions: got a table with neither ra and dec nor x and y \(ra\)"),
        ({"positions": Table({"x": ["1h"], "y": [2]})}, "positions: got '1h' in the column x, wanted numbers.*SkyCoord"),
        ({"positions": [(1, 2)]}, "shapes: got none, wanted an image whose header has the beam"),
        ({"positions": [(1, 2)], "shapes": (1, 2)}, "shapes"),
    ):
        with pytest.raises((fp.ArgumentError, fp.ShapeError), match=sentence):
            fp.measure_at(image, **given, device="cpu")
    for others, sentence in (({"a": image[1:]}, "measure_on: got 'a' of shape"), ([], "measure_on: got no image")):
        with pytest.raises((fp.ArgumentError, fp.ShapeError), match=sentence):
            fp.find_sources(image, measure_on=others, device="cpu")
