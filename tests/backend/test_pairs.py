"""Sources that were fitted as one and are two: models against SciPy's least squares, and skies whose pairs are known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import least_squares

import footprint as fp
from footprint.api._pairs import _noise
from footprint.backend.registry import device_limits
from footprint.kernels.fit.contract import COLUMNS, ERRORS, HEIGHT, MAJOR, X, Y
from footprint.kernels.pairs import contract, cpu
from footprint.reference.fit import gaussian
from footprint.spec import ArraySpec
from tests.backend.test_fit import FWHM, SKY, S, add, correlated, inverse

POINT = (S**-2, 0.0, S**-2)
RULES = {"flood": 3.0, "connectivity": 8, "deblend": True, "fit": "gaussian", "residual": True, "header": SKY, "device": "cpu"}


def look(window, given, noise, step=2):
    """What the kernel finds in windows."""
    found = np.full((len(window), contract.RESULT), np.nan)
    beam = np.array(POINT)
    specs = [ArraySpec(a.shape, a.dtype) for a in (window, given, beam, noise, found)]
    work = [np.full(spec.shape, np.nan) for spec in contract.split_work(device_limits("cpu"), *specs, step=step)]
    cpu.split(window, given, beam, noise, found, *work, step=step, first=0)
    return found


@pytest.mark.parametrize("second", [(51.0, 1.5, 3.4, *POINT), (75.0, -2.0, -4.0, *inverse(6.0, 2.5, 50))])
def test_models_are_those_of_least_squares(rng, second):
    """Two points, and a point beside a Gaussian, over noise of 2 that is sharper than the beam, above 5."""
    noise, grid = np.array([0.9, 0.3, 0.02, 0.35]), np.mgrid[-12:13, -12:13].astype(float)
    both = [(60.0, -0.7, 0.3, *POINT), second]
    wide = inverse(4.0, 2.6, 60)
    fitted = np.array([72.0, 0.2, 0.1, *wide])
    window = 5 + 2 * (0.3 * correlated(rng, (25, 25)) + sum(gaussian(np.array(p), *grid) for p in both))
    rest = window - gaussian(np.array([144.0, *fitted[1:]]), *grid)
    given = np.array([[100, 200, 5, 2, 144.0, *fitted[1:]], [300, 200, 5, 2, np.nan, *fitted[1:]]])
    found = look(np.stack([rest.ravel(), rest.ravel()]), given, noise)
    assert found[0, 0] == contract.PARTS and not found[1].any()
    y, x = (a.ravel() for a in np.meshgrid(np.arange(-12, 13, 2.0), np.arange(-12, 13, 2.0), indexing="ij"))
    inside = y * y + x * x <= 144
    y, x = y[inside], x[inside]
    dy, dx = np.subtract.outer(y, y), np.subtract.outer(x, x)
    covariance = noise[0] * np.exp(-(noise[1] * dy**2 + 2 * noise[2] * dy * dx + noise[3] * dx**2) / 4)
    np.fill_diagonal(covariance, 1 + contract.NUGGET)
    root, d = cholesky(covariance, lower=True), (window[12 + y.astype(int), 12 + x.astype(int)] - 5) / 2

    def rests(q):
        shape = POINT if len(q) == 6 else tuple(q[6:])
        model = gaussian(np.array([*q[:3], *POINT]), y, x) + gaussian(np.array([*q[3:6], *shape]), y, x)
        return solve_triangular(root, model - d, lower=True)

    one = least_squares(lambda q: solve_triangular(root, gaussian(q, y, x) - d, lower=True), fitted, method="lm", xtol=1e-12)
    fits = [least_squares(rests, [*both[0][:3], *second[: 3 + more]], method="lm", xtol=1e-12) for more in (0, 3)]
    best = min(fits, key=lambda fit: 2 * fit.cost + 2 * len(fit.x))
    assert np.isclose(found[0, 1], 2 * one.cost + 12 - 2 * best.cost - 2 * len(best.x), rtol=1e-3)
    errors = np.sqrt(np.diag(np.linalg.inv(best.jac.T @ best.jac)))
    order = [0, 1] if best.x[0] > best.x[3] else [1, 0]
    for k, at in zip(order, (2, 2 + COLUMNS)):
        told, scale = found[0, at : at + COLUMNS], np.array([2, 1, 1])
        theirs, off = best.x[3 * k : 3 * k + 3] * scale, errors[3 * k : 3 * k + 3] * scale
        assert np.all(np.abs(told[[HEIGHT, Y, X]] - theirs) < 0.01 * off) and np.allclose(
            told[[ERRORS, ERRORS + Y, ERRORS + X]], off, rtol=0.01
        )
    assert (len(best.x) == 9) == (max(found[0, 2 + MAJOR], found[0, 2 + COLUMNS + MAJOR]) > 1.01 * S)


@pytest.mark.parametrize("second", [(0, 1), (1, 0), (0, 0)], ids=["of the fainter", "of the brighter", "of neither"])
@pytest.mark.parametrize("two", [True, False])
def test_two_rows_that_are_near_are_fitted_anew(rng, two, second):
    """A point over what is long, which two Gaussians share wrongly; and what is long, of which two were made."""
    noise, grid = np.array([1.0, S**-2, 0.0, S**-2]), np.mgrid[:60, :60].astype(float)
    true = [(14.0, 31.0, 29.0, *inverse(7.0, 2.5, 35))] + two * [(25.0, 29.0, 28.5, *POINT)]
    image = correlated(rng, (60, 60)) + sum(gaussian(np.array(p), *grid) for p in true)
    rows = [(12.0, 27.6, 26.4, *inverse(3.2, 2.3, 30)), (9.0, 32.8, 32.8, *inverse(4.0, 2.3, 40))]
    rest = image - sum(gaussian(np.array(p), *grid) for p in rows)
    windows, given = [], []
    for of_second, (height, y, x, *shape) in zip(second, rows):
        cy, cx = round(y), round(x)
        windows.append(5 + 2 * rest[cy - 12 : cy + 13, cx - 12 : cx + 13].ravel())
        given.append([cy, cx, 5, 2, 2 * height, y - cy, x - cx, *shape, of_second])
    found = look(np.stack(windows), np.array(given), noise)
    assert not found[1, :-1].any()
    if not any(second):
        assert not found.any()
        return
    assert found[0, 0] == (contract.REFITS if two else contract.JOINED) and found[0, contract.OTHER] == 1
    for p, at in zip(sorted(true, reverse=True), (2, 2 + COLUMNS)):
        told = found[0, at : at + COLUMNS]
        off = told[[HEIGHT, Y, X]] / [2, 1, 1] + [0, 28, 26] - p[:3]
        assert np.all(np.abs(off) < 4 * told[[ERRORS, ERRORS + Y, ERRORS + X]] / [2, 1, 1])


def test_two_rows_become_no_source_below_the_noise(rng):
    """A hole that two rows lie beside: a point takes its place best, and lies below the background."""
    noise, grid = np.array([1.0, S**-2, 0.0, S**-2]), np.mgrid[-12:13, -12:13].astype(float)
    window = 0.1 * correlated(rng, (25, 25)) - gaussian(np.array([40.0, 0.0, 0.0, *POINT]), *grid)
    rows = [(9.0, -1.0, -1.5, *POINT), (8.0, 1.0, 2.0, *POINT)]
    window -= sum(gaussian(np.array(p), *grid) for p in rows)
    given = [[100, 100, 0, 1, *p, second] for p, second in zip(rows, (0, 1))]
    assert not look(np.stack([window.ravel()] * 2), np.array(given), noise)[:, 0].any()


def sky(rng, shape=(1000, 260)):
    """Points in pairs at .8 beams, alone, and what is long, over noise of the beam's; where pairs and others are."""
    image, pairs, others = correlated(rng, shape), [], []
    for n, (y, x) in enumerate((y, x) for y in range(40, shape[0] - 20, 50) for x in range(40, shape[1] - 20, 50)):
        y, x = y + rng.uniform(-1, 1), x + rng.uniform(-1, 1)
        if n % 3:
            add(image, 40.0, y, x, POINT if n % 3 == 1 else inverse(2 * S, S, 25 * n))
            others.append((y, x))
            continue
        turn = rng.uniform(0, np.pi)
        far = 0.4 * FWHM * np.array([np.sin(turn), np.cos(turn)])
        for way, height in ((1, 40.0), (-1, 30.0)):
            add(image, height, y + way * far[0], x + way * far[1], POINT)
        pairs.append([(y + way * far[0], x + way * far[1]) for way in (1, -1)])
    return image.astype("f4"), np.array(pairs), np.array(others)


def test_pairs_are_parted_and_nothing_else_is(rng, monkeypatch):
    """At the smallest budget, by other threads, to the same bits; with one background, and over a mesh."""
    image, pairs, others = sky(rng)
    once = fp.find_sources(image, **RULES)
    table = fp.find_sources(image, pairs=True, **RULES)
    new = table[len(once) :]
    assert table.meta["pairs"] == len(new) >= 0.9 * len(pairs) and np.all(new["flags"] & ~16 == 40) and not new["npix"].any()
    assert np.sum(table["flags"] & 32 > 0) == 2 * len(new) and list(table["label"]) == list(range(1, len(table) + 1))
    places = np.stack([new["fit_y"], new["fit_x"]], 1)
    assert np.all(np.hypot(*(others[:, None] - places).T) > 10)
    for column in ("peak", "flux", "x", "y", "fit_peak_err", "fit_flux_err", "fit_ra", "snr", "fit_chi2"):
        assert np.isfinite(new[column]).all()
    assert np.isnan(new["deconv_a"]).all() and np.isnan(new["flux_err"]).all()
    parted = table[table["flags"] & 32 > 0]
    at = np.stack([parted["fit_y"], parted["fit_x"]], 1)
    off = np.hypot(*(pairs.reshape(-1, 1, 2) - at).T)
    nearest = np.argmin(off, 1)
    true = np.where(nearest % 2, 30.0, 40.0)
    pulls = [(parted["fit_peak"] - true) / parted["fit_peak_err"]]
    pulls += [(parted[f"fit_{a}"] - pairs.reshape(-1, 2)[nearest, k]) / parted[f"fit_{a}_err"] for k, a in enumerate("yx")]
    assert np.median(off.min(1)) < 0.25 and np.all(off.min(1) < 1) and 0.6 < np.std(pulls) < 1.4
    mesh = fp.find_sources(image, pairs=True, background="mesh", **RULES)
    assert abs(mesh.meta["pairs"] - len(new)) <= 2

    foreign, plans = image.astype(">f4"), []
    monkeypatch.setenv("FOOTPRINT_THREADS", "3")
    options = RULES | {"capacity": 120, "pairs": True}
    with pytest.raises(fp.BudgetError) as short:
        fp.find_sources(foreign, memory=1, **options)
    # A few windows at a time, whose rows have neighbours before and after them.
    monkeypatch.setattr("footprint.api._pairs._at_once", lambda rows: (17,))
    other = fp.find_sources(foreign, memory=short.value.smallest, on_plan=plans.append, **options)
    assert any(plan.n_parts > 1 for plan in plans) and max(plan.footprint.total for plan in plans) <= short.value.smallest
    assert all(np.array_equal(table[n], other[n], equal_nan=table[n].dtype.kind == "f") for n in table.colnames)


def test_what_is_joined_leaves_no_gap_and_every_place_is_one(rng, monkeypatch):
    """In a crowd, with few windows at a time and by other threads, to the same bits."""
    image = correlated(rng, (300, 300))
    for y, x in rng.uniform(10, 290, (410, 2)):
        long = rng.random() < 0.2
        add(image, min(4 / rng.random(), 200), y, x, inverse(rng.uniform(4, 7), S, rng.uniform(0, 180)) if long else POINT)
    image = image.astype("f4")
    once = fp.find_sources(image, **RULES)
    table = fp.find_sources(image, pairs=True, **RULES)
    meta = table.meta
    assert meta["refitted"] >= 3 and meta["joined"] >= 2
    more = meta["pairs"] - meta["joined"] - meta["dropped"]
    assert meta["dropped"] and len(table) == len(once) + more and list(table["label"]) == list(range(1, len(table) + 1))
    firsts = [t[t["flags"] & 8 == 0] for t in (once, table)]
    assert all(np.array_equal(firsts[0][name], firsts[1][name]) for name in ("label", "island", "npix", "x", "y", "peak"))
    monkeypatch.setenv("FOOTPRINT_THREADS", "3")
    monkeypatch.setattr("footprint.api._pairs._at_once", lambda rows: (29,))
    other = fp.find_sources(image, pairs=True, memory="5MB", **RULES)
    assert all(np.array_equal(table[n], other[n], equal_nan=table[n].dtype.kind == "f") for n in table.colnames)


def test_noise_tells_how_it_is_correlated(rng):
    windows = lambda image: np.stack(
        [image[y : y + 25, x : x + 25].ravel() for y in range(0, 1000, 40) for x in range(0, 1000, 40)]
    )
    sharp = correlated(rng, (1000, 1000), S / 2**0.5)
    assert np.allclose(_noise(windows(sharp), 2, FWHM), (1, 2 / S**2, 0, 2 / S**2), rtol=0.06, atol=0.02)
    mixed = 0.8 * correlated(rng, (1000, 1000)) + 0.6 * rng.standard_normal((1000, 1000))
    assert np.allclose(_noise(windows(mixed), 2, FWHM), (0.64, S**-2, 0, S**-2), rtol=0.1, atol=0.03)
    assert _noise(windows(rng.standard_normal((1000, 1000))), 2, FWHM)[0] == 0
    assert _noise(windows(mixed + 3 * np.sin(np.arange(1000) / 2)), 2, FWHM) is None
    assert _noise(windows(np.full((1000, 1000), np.nan)), 2, FWHM) is None


def test_what_has_no_pairs_is_refused(rng):
    image = correlated(rng, (60, 60)).astype("f4")
    for changes, words in (
        ({"residual": False}, "pairs: got no shapes from a residual pass, wanted them; give deblend=True"),
        ({"fit": "point"}, "no shapes from a residual pass"),
        ({"header": None}, "pairs: got no beam, wanted an image whose header has the beam"),
        ({"windowed": True, "kron": True}, "pairs: got it together with apertures or kron and windowed"),
        ({"save_model": np.empty(image.shape)}, "it together with save_model or save_residual"),
    ):
        with pytest.raises(fp.ArgumentError, match=words):
            fp.find_sources(image, pairs=True, **RULES | changes)
    meta = fp.find_sources(image, 50, pairs=True, **RULES).meta
    assert meta["pairs"] == meta["refitted"] == meta["joined"] == 0
