"""Gaussians fitted to sources: against SciPy's least squares, and against what images were made of."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import fft

import footprint as fp
from footprint.api._sky import sky_of
from footprint.backend.registry import device_limits
from footprint.kernels.find_sources.contract import LABEL, PEAK, PIXELS, X_PEAK, XX, XY, Y_PEAK, YY
from footprint.kernels.fit import cpu, solver
from footprint.kernels.fit.contract import COLUMNS, ERRORS, HEIGHT, MAJOR, MINOR, SUM, THETA, X, Y, solve_work
from footprint.ops.fit import Fit
from footprint.reference.fit import fit as reference
from footprint.reference.fit import gaussian
from footprint.spec import ArraySpec

FWHM = 5.0
S = FWHM / 2.35482
PIXEL = 2 / 3600
SKY = {
    "CTYPE1": "RA---SIN",
    "CTYPE2": "DEC--SIN",
    "CRPIX1": 200,
    "CRPIX2": 200,
    "CRVAL1": 40.0,
    "CRVAL2": -20.0,
    "BUNIT": "Jy/beam",
}
SKY |= {"CDELT1": -PIXEL, "CDELT2": PIXEL, "CUNIT1": "deg", "CUNIT2": "deg", "BMAJ": FWHM * PIXEL, "BMIN": FWHM * PIXEL}


def correlated(rng, shape, s=S):
    gain = np.exp(-2 * np.pi**2 * s * s * (np.fft.fftfreq(shape[0])[:, None] ** 2 + np.fft.rfftfreq(shape[1]) ** 2))
    noise = fft.irfft2(fft.rfft2(rng.standard_normal(shape)) * gain, shape)
    return noise / noise.std()


def inverse(a, b, degrees):
    """Of a covariance with these standard deviations, from x towards y: yy, yx, xx."""
    turn = np.radians(degrees)
    along, across = np.array([np.sin(turn), np.cos(turn)]), np.array([np.cos(turn), -np.sin(turn)])
    found = np.outer(along, along) / a**2 + np.outer(across, across) / b**2
    return found[0, 0], found[0, 1], found[1, 1]


def workspace(*arrays):
    """What the solver works on, full of what it must not read."""
    specs = solve_work(device_limits("cpu"), *(ArraySpec(a.shape, a.dtype) for a in arrays))
    return [np.full(spec.shape, np.nan if spec.dtype == "float64" else -1, spec.dtype) for spec in specs]


def add(image, height, y, x, shape, reach=24):
    rows, columns = (slice(max(int(c) - reach, 0), int(c) + reach + 1) for c in (y, x))
    grid = np.mgrid[: image.shape[0], : image.shape[1]][:, rows, columns]
    image[rows, columns] += gaussian(np.array([height, y, x, *shape]), *grid)


@pytest.mark.parametrize(("free", "beamed", "dtype"), [(False, True, "f4"), (True, True, "f8"), (True, False, "f8")])
def test_equals_scipys_least_squares(rng, free, beamed, dtype):
    beam = inverse(2.6, 1.9, 25.0)
    image = correlated(rng, (60, 60), 2.0)
    add(image, 40.0, 30.3, 28.8, inverse(3.4, 2.2, 40.0) if free else beam)
    image[33, 30] = np.nan
    image = image.astype(dtype)
    radius = 9
    op = Fit(1, free, radius, beam if beamed else ())
    moments, boxes, fits = np.zeros((1, 15)), np.zeros((1, 8), np.int64), np.zeros((1, COLUMNS))
    boxes[0, [LABEL, PIXELS, Y_PEAK, X_PEAK]] = 1, 120, 30, 29
    moments[0, [PEAK, YY, XX, XY]] = image[30, 29], 4.0, 5.0, 1.0
    stamps, count, stats = np.zeros((1, 19 * 19), dtype), np.ones(1, np.int64), np.array([0, 0, 0, 0, 0, 0.25, 1.5, 0])
    for first in range(0, 60, 7):
        cpu.stamp(image[first : first + 7], boxes, count, stamps, first=first)
    how = {"radius": radius, "free": free, "beamed": beamed}
    given = stats, count, moments, boxes, stamps, np.array(op.beam or (0, 0, 0.0)), op.correlation(), fits
    cpu.solve(*given, *workspace(*given), **how)
    y, x = (grid.ravel() for grid in np.mgrid[21:40, 20:39])
    full = 2.35482 / np.sqrt(np.sqrt(beam[0] * beam[2] - beam[1] ** 2))
    reach = max(np.sqrt(120 / np.pi), 0.9 * full) if free else 0.5 * full
    if not beamed:
        reach = np.sqrt(120 / np.pi)
    values = image[y, x].astype("f8") - 0.25
    inside = ((y - 30) ** 2 + (x - 29) ** 2 <= reach**2) & np.isfinite(values)
    shape = np.array(beam)
    rho = (lambda dy, dx: np.exp(-(beam[0] * dy**2 + 2 * beam[1] * dy * dx + beam[2] * dx**2) / 4)) if beamed else (
        lambda dy, dx: ((dy == 0) & (dx == 0)) * 1.0
    )  # fmt: skip
    p, cov = reference(values[inside], y[inside], x[inside], np.array([40.0, 30, 29, *shape]), free, rho, 1.5)
    err = np.sqrt(np.diag(cov))
    assert np.allclose(fits[0, [HEIGHT, Y, X]], p[:3], atol=2e-3 * err[:3].min())
    assert np.allclose(fits[0, [ERRORS + HEIGHT, ERRORS + Y, ERRORS + X]], err[:3], rtol=2e-3)
    assert np.isclose(fits[0, SUM], p[0] * 2 * np.pi / np.sqrt(p[3] * p[5] - p[4] ** 2), rtol=1e-4)
    spread, axes = np.linalg.eigh(np.linalg.inv([[p[3], p[4]], [p[4], p[5]]]))
    assert np.allclose(fits[0, [MINOR, MAJOR]], np.sqrt(spread), rtol=1e-4)
    assert abs((fits[0, THETA] - np.degrees(np.arctan2(*axes[:, 1])) + 90) % 180 - 90) < 0.02
    if free:
        det = p[3] * p[5] - p[4] ** 2
        slope = np.array([1 / p[0], 0, 0, -p[5] / det / 2, p[4] / det, -p[3] / det / 2]) * fits[0, SUM]
        assert np.isclose(fits[0, ERRORS + SUM], np.sqrt(slope @ cov @ slope), rtol=2e-3)


@pytest.mark.parametrize("fit", ["point", "gaussian"])
def test_fluxes_places_and_errors_of_points_in_noise_of_the_beam(rng, fit):
    image = correlated(rng, (640, 640))
    grid = np.arange(20, 630, 25)
    places = [(y + dy, x + dx) for y in grid for x in grid for dy, dx in [rng.uniform(-0.5, 0.5, 2)]]
    for y, x in places:
        add(image, 40.0, y, x, (S**-2, 0, S**-2), 12)
    table = fp.find_sources(image.astype("f4"), 8, flood=3, connectivity=8, deblend=True, fit=fit, header=SKY, device="cpu")
    assert len(table) == len(places) and not np.any(table["flags"] & 4) and table.meta["fit"] == fit
    order = np.lexsort((np.round(table["x"] / 25), np.round(table["y"] / 25)))
    true = np.array(places)
    background = table.meta["background"]
    for name, value in (("y", true[:, 0]), ("x", true[:, 1]), ("peak", 40 - background), ("flux", 40 - background)):
        found, error = table[f"fit_{name}"][order], table[f"fit_{name}_err"][order]
        pull = (found - value) / error
        # The clip's noise counts the sources' wings in.
        assert 0.85 < np.std(pull) * table.meta["noise"] < 1.15, name
        assert abs(np.mean(found - value)) < 4 * np.std(found - value) / np.sqrt(len(places)) + 0.002 * abs(np.mean(value)), name
    assert str(table["fit_flux"].unit) == "Jy" and str(table["fit_peak"].unit) == "Jy / beam" and str(table["fit_ra"].unit) == "deg"
    assert np.abs(table["fit_dec"] - table["dec"]).max() < 2 * PIXEL
    assert ("fit_a" in table.colnames) == (fit == "gaussian")


def test_points_are_fitted_to_the_pixels_that_are_told_of():
    """Of a beam of 5 pixels the 13 within two: what lies farther changes nothing."""
    found = []
    for dy, dx in ((0, 0), (2, 0), (1, 1), (2, 1)):
        image = np.zeros((40, 40))
        add(image, 40.0, 20.0, 20.0, (S**-2, 0, S**-2))
        image[20 + dy, 20 + dx] *= 0.9 if dy else 1.0
        how = {"background": 0.0, "noise": 1.0, "fit": "point", "header": SKY, "device": "cpu"}
        found.append(float(fp.find_sources(image.astype("f4"), 5, **how)["fit_peak"][0]))
    assert np.allclose(found[0], 40, atol=1e-3) and found[3] == found[0]
    assert found[1] < 39.9 and found[2] < 39.9


def test_neighbours_share_their_light(rng):
    """Of two points 1.6 beams apart the parts of an island have too much or too little; fits have what each was made of."""
    image = rng.standard_normal((300, 300)) * 0.2
    for y in range(20, 290, 40):
        for x in range(20, 290, 40):
            add(image, 100.0, y, x, (S**-2, 0, S**-2))
            add(image, 40.0, y, x + 1.6 * FWHM, (S**-2, 0, S**-2))
    table = fp.find_sources(image, 5, flood=3, connectivity=8, deblend=True, fit="point", header=SKY, device="cpu")
    assert len(table) == 2 * 49 and np.array_equal(table["component"], np.tile([1, 2], 49))
    for component, height in ((1, 100.0), (2, 40.0)):
        rows = table[table["component"] == component]
        assert np.allclose(rows["fit_flux"], height, rtol=0.03) and abs(np.median(rows["fit_flux"]) / height - 1) < 0.004
        assert np.all(np.abs(rows["x"] - rows["fit_x"]) < 1)
    assert abs(np.median(table["flux"][1::2]) / 40 - 1) > 0.01


def test_a_line_through_its_window_has_no_fit(device, rng):
    """It was a Gaussian thousands of pixels long with the light of as many, and took it from all that the line ran through."""
    image = (100 * np.exp(-((np.arange(40) - 20.3) ** 2) / (2 * S**2)) + rng.normal(0, 0.01, (300, 40))).astype("f4")
    image[200, 20] += 1
    how = {"flood": 3, "connectivity": 8, "deblend": True, "fit": "gaussian", "header": SKY, "background": 0.0, "noise": 1.0}
    model = np.zeros_like(image)
    table = fp.find_sources(image, 5, device=device, save_model=model, **how)
    assert len(table) == 1 and np.isnan(table["fit_flux"][0]) and table["flags"][0] & 4 and not model.any()


def test_what_two_take_from_each_other_settles():
    """Started at whole pixels, with the height of both: what the first pass leaves wrong the others mend."""
    image, beam = np.zeros((30, 40)), (S**-2, 0.0, S**-2)
    made = np.array([(100.0, 15.4, 14.4), (60.0, 14.6, 20.5)])
    for height, y, x in made:
        add(image, height, y, x, beam)
    op, moments, boxes, fits = Fit(2, False, 4, beam), np.zeros((2, 15)), np.zeros((2, 8), np.int64), np.zeros((2, COLUMNS))
    boxes[:, [LABEL, PIXELS, Y_PEAK, X_PEAK]] = (1, 40, 15, 14), (2, 30, 15, 21)
    moments[:, PEAK] = image[15, 14], image[15, 21]
    stamps, count, stats = np.zeros((2, 81)), np.full(1, 2), np.array([0, 0, 0, 0, 0, 0, 1.0, 0])
    cpu.stamp(image, boxes, count, stamps, first=0)
    how = {"radius": 4, "free": False, "beamed": True}
    given = stats, count, moments, boxes, stamps, np.array(beam), op.correlation(), fits
    cpu.solve(*given, *workspace(*given), **how)
    assert np.allclose(fits[:, [HEIGHT, Y, X]], made, atol=0.02)


def test_neighbours_come_a_few_at_a_time():
    """Where there is room for two of them at hand, to the same bits as with all."""
    image, beam = np.zeros((60, 60)), (S**-2, 0.0, S**-2)
    ys, xs = (6 * np.mgrid[1:9, 1:9].reshape(2, -1) + np.array([[1], [2]])).astype(np.int64)
    for k, (y, x) in enumerate(zip(ys, xs)):
        add(image, 50.0 + k, y + 0.01 * k - 0.3, x - 0.2, beam)
    op, n = Fit(64, False, 4, beam), len(ys)
    moments, boxes = np.zeros((n, 15)), np.zeros((n, 8), np.int64)
    boxes[:, LABEL], boxes[:, PIXELS], boxes[:, Y_PEAK], boxes[:, X_PEAK] = np.arange(1, n + 1), 30, ys, xs
    boxes[7, PIXELS] = 0
    moments[:, PEAK] = image[ys, xs]
    stamps, count, stats = np.zeros((n, 81)), np.full(1, n), np.array([0, 0, 0, 0, 0, 0, 1.0, 0])
    cpu.stamp(image, boxes, count, stamps, first=0)
    fits = np.zeros((2, n, COLUMNS))
    for at_hand, found in zip((256, 2), fits):
        given = stats, count, moments, boxes, stamps, np.array(beam), op.correlation(), found
        work = workspace(*given)
        work[1] = work[1][:, :at_hand].copy()
        cpu.solve(*given, *work, radius=4, free=False, beamed=True)
    assert np.array_equal(fits[0], fits[1], equal_nan=True) and np.isnan(fits[0, :, HEIGHT]).sum() == 1
    # The seventh's light stays where it was.
    others = np.hypot(ys - ys[7], xs - xs[7]) > 12
    assert np.allclose(fits[0, others, HEIGHT], 50 + np.arange(n)[others], rtol=1e-2)


def test_series_of_a_gaussian_are_its_values():
    """Narrow, wide and leaning ones, near and far, whole and only where they are anything: by series of ratios to 1e-12."""
    for side, far in ((5, 0.0), (11, 21.0), (40, 9.0), (81, 60.0)):
        for a, b, degrees in ((0.36, 0.36, 0), (0.5, 6.0, 50), (2.1, 2.1, 0), (9.0, 3.0, -20), (30.0, 30.0, 0)):
            p = np.array([100.0, 200.3, 300.7, *inverse(a, b, degrees), 0, 0])
            solver.ready(p)
            top, left = round(200 - side / 2 + far), round(300 - side / 2 - far / 3)
            pitch = (side + 3) // 4 * 4
            w = np.zeros(16 * side * pitch + 200)
            solver.take_off(p, top, left, side, w)
            wanted = gaussian(p[:6], *np.mgrid[top : top + side, left : left + side])
            found = -w[: side * pitch].reshape(side, pitch)[:, :side]
            assert np.all(np.abs(found - wanted) <= 1e-12 * wanted + 1e-11), (side, a, b)


def test_extended_sources_budgets_and_threads(rng, monkeypatch):
    image = (rng.standard_normal((1000, 300)) * 0.5).astype(np.float32)
    for y, x, a, b, turn in ((60, 50, 5.0, 3.0, 20), (200, 120, 4.0, 2.5, -60), (330, 60, 3.0, 2.9, 0), (3, 180, 3.0, 2.0, 90)):
        add(image, 200.0, y, x, inverse(a, b, turn))
    options = {"sigma": 20.0, "flood": 5.0, "fit": "gaussian", "capacity": 20, "device": "cpu"}
    labels, again = np.zeros(image.shape, np.int32), np.zeros(image.shape, np.int32)
    table = fp.find_sources(image, labels=labels, **options)
    assert len(table) == 4 and np.allclose(table["fit_a"][1:3], [5, 4], atol=0.02) and not np.isnan(table["fit_peak"]).any()
    assert np.allclose(table["fit_b"][1:3], [3, 2.5], atol=0.02) and np.allclose(table["fit_theta"][1:3], [20, -60], atol=1)
    assert table["fit_chi2"][1] < 1.5 and "flags" not in table.colnames
    foreign = image.astype(">f4")
    for deblend in (False, True):
        whole = fp.find_sources(image, deblend=deblend, **options)
        for threads in ("1", "5"):
            monkeypatch.setenv("FOOTPRINT_THREADS", threads)
            with pytest.raises(fp.BudgetError) as short:
                fp.find_sources(foreign, labels=again, deblend=deblend, memory=1, **options)
            plans, memory = [], short.value.smallest
            part = fp.find_sources(foreign, labels=again, deblend=deblend, memory=memory, on_plan=plans.append, **options)
            assert plans[0].footprint.total <= memory and plans[0].n_parts > 1
            assert all(np.array_equal(whole[n], part[n], equal_nan=whole[n].dtype.kind == "f") for n in whole.colnames)
        assert deblend or np.array_equal(labels, again)


@pytest.mark.parametrize(("east", "degrees"), [(-1, 120), (1, 60)])
def test_the_beam_lies_as_the_header_says(east, degrees):
    """Position angles go from north to east, and east is left in most images."""
    sky = sky_of(None, SKY | {"BMAJ": 6 * PIXEL, "BMIN": 4 * PIXEL, "BPA": 30.0, "CDELT1": east * PIXEL})
    assert np.allclose(sky.inverse_beam, inverse(6 / 2.354820045, 4 / 2.354820045, degrees), rtol=1e-6)
    assert sky_of(None, {"BMAJ": 1.0, "BMIN": 1.0}).inverse_beam == ()


def test_bad_fits_are_named(rng):
    image = rng.standard_normal((40, 40))
    with pytest.raises(fp.ArgumentError, match="fit: got 'point', wanted an image whose header has the beam"):
        fp.find_sources(image, fit="point", device="cpu")
    with pytest.raises(fp.ArgumentError, match="fit: got 'round'"):
        fp.find_sources(image, fit="round", device="cpu")
    assert "fit_x" in fp.find_sources(image, 50, fit="gaussian", device="cpu").colnames


def test_a_pixel_that_drowns_all_others_is_fitted(device, rng):
    """Its Gaussian is round to the last bit, and a round one's angle has no slope: 0 was divided by 0."""
    image = rng.standard_normal((40, 40), np.float32)
    image[20, 20] = 1e36
    found = fp.find_sources(image, deblend=True, fit="gaussian", device=device)
    assert (found["fit_x"][0], found["fit_y"][0]) == (20, 20)
    assert np.isclose(found["fit_a"][0], found["fit_b"][0]) and 0 < found["fit_a_err"][0] < 1e-30
