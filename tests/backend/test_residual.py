"""What fits leave of an image: drawn against plain sums of Gaussians, searched once more, at any budget to the same bits."""

from __future__ import annotations

import numpy as np
import pytest

import footprint as fp
from footprint.kernels.deblend.contract import COMPONENTS, ISLAND
from footprint.kernels.find_sources.contract import LABEL, PEAK, PIXELS, SPREAD, X_MAX, X_MIN, X_PEAK, Y_MAX, Y_MIN, Y_PEAK
from footprint.kernels.fit.contract import CHI2, COLUMNS, ERRORS, HEIGHT, MAJOR, MINOR, THETA, X, Y
from footprint.kernels.model import cpu
from footprint.reference.fit import gaussian
from tests.backend.test_fit import FWHM, SKY, S, add, inverse
from tests.skies import found, shares, sky

RULES = {"flood": 3.0, "connectivity": 8, "deblend": True, "fit": "gaussian", "header": SKY, "device": "cpu"}


def field(rng, shape=(150, 160)):
    """Points, each with a fainter one that has no summit of its own, and one that is extended."""
    image = rng.standard_normal(shape) * 0.3
    for y in range(25, shape[0] - 20, 45):
        for x in range(25, shape[1] - 20, 50):
            add(image, 100.0, y + 0.3, x, (S**-2, 0, S**-2))
            add(image, 22.0, y, x + 0.95 * FWHM, (S**-2, 0, S**-2))
    add(image, 60.0, 48.0, 74.0, inverse(4.0, 2.5, 30))
    return image


def test_models_are_sums_of_gaussians(rng):
    image = field(rng).astype("f4")
    image[60:64, 100:110] = np.nan
    model, rest = np.empty_like(image), np.empty(image.shape)
    table = fp.find_sources(image, 8, save_model=model, save_residual=rest, **RULES)
    true, grid = np.zeros(image.shape), np.mgrid[: image.shape[0], : image.shape[1]]
    for row in table:
        shape = inverse(row["fit_a"], row["fit_b"], row["fit_theta"])
        true += gaussian(np.array([row["fit_peak"], row["fit_y"], row["fit_x"], *shape]), *grid)
    assert len(table) > 6 and np.abs(model - true).max() < 3e-3 * table["fit_peak_err"].max() + 1e-6 * true.max()
    assert np.allclose(rest, image - model, atol=1e-4, equal_nan=True)


@pytest.mark.parametrize("local", [False, True])
def test_what_has_no_summit_is_found_without_its_neighbour(rng, local):
    image, labels = field(rng).astype("f4"), np.zeros((150, 160), np.int32)
    given = {"background": np.zeros_like(image), "noise": np.full_like(image, 0.3)} if local else {}
    rules = RULES | given | {"sigma": 8.0, "fit": "point"}
    once, twice = fp.find_sources(image, **rules), fp.find_sources(image, residual=True, labels=labels, **rules)
    new = twice[twice["flags"] & 8 > 0]
    assert (
        len(new) >= 6
        and labels.max() == len(once) == len(twice) - len(new)
        and list(twice["label"]) == list(range(1, len(twice) + 1))
    )
    assert not np.any(new["island"]) and not np.any(new["component"]) and np.all(twice["island"][: len(once)] > 0)
    lone = new[np.hypot(new["fit_x"] - 74, new["fit_y"] - 48) > 15]
    assert len(lone) == 9 and np.allclose(lone["fit_flux"], 22, atol=3) and np.all(np.abs(np.diff(lone["fit_x"][:3])) > 40)
    bright = [np.abs(table["fit_flux"][table["fit_flux"] > 80] - 100).mean() for table in (once, twice)]
    assert bright[1] < 0.5 * bright[0]


def test_a_crowd_is_more_complete():
    """Over a mesh, which is that of the residual image then: sources that were found lift neither background nor noise."""
    image, truth = sky(512, 1000)
    seen = {}
    for residual in (False, True):
        table = fp.find_sources(image, residual=residual, background="mesh", **RULES)
        hit, left = found(np.stack([table["fit_x"], table["fit_y"]], 1), truth, 3.5)
        seen[residual] = shares(hit, truth)
        assert left <= 0.01 * len(table)
    assert np.all(seen[True] >= (0.58, 0.84, 0.91, 0.97)) and np.all(seen[True][:2] > seen[False][:2] + (0.12, 0.06)), seen


@pytest.mark.parametrize("maps", [{}, {"background": "mesh", "box": 32}], ids=str)
def test_parts_and_threads_change_no_bit(rng, monkeypatch, maps):
    image = np.tile(field(rng).astype("f4"), (6, 1))
    options = RULES | {"residual": True, "sigma": 6.0, "capacity": 300} | maps
    whole, part = ({name: np.empty(image.shape, "f4") for name in ("save_model", "save_residual")} for _ in range(2))
    one = fp.find_sources(image, **whole, **options)
    assert np.sum(one["flags"] & 8 > 0) > 20
    foreign = image.astype(">f4")
    monkeypatch.setenv("FOOTPRINT_THREADS", "3")
    with pytest.raises(fp.BudgetError) as short:
        fp.find_sources(foreign, memory=1, **part, **options)
    plans, memory = [], short.value.smallest
    other = fp.find_sources(foreign, memory=memory, on_plan=plans.append, **part, **options)
    assert plans[0].footprint.total <= memory and plans[0].n_parts > 1
    assert all(np.array_equal(one[n], other[n], equal_nan=one[n].dtype.kind == "f") for n in one.colnames)
    assert all(np.array_equal(whole[name], part[name]) for name in whole)
    plans.clear()
    again = fp.find_sources(image, on_plan=plans.append, **options | {"capacity": None})
    assert len(again) == len(one)


def test_only_what_is_new_is_joined():
    """Half a fit's height, the box of what was not fitted, and the wings of the bright hide what is there."""
    room = 6
    fits, boxes, moments = np.full((room, COLUMNS), np.nan), np.zeros((room, 8), np.int64), np.zeros((room, 15))
    fits[0, [HEIGHT, Y, X, MAJOR, MINOR, THETA]] = 1000, 20.0, 20.0, 4.0, 2.0, 0.0
    fits[0, ERRORS + HEIGHT] = 1.0
    boxes[:2, [Y_PEAK, X_PEAK]] = (20, 20), (50, 20)
    boxes[1, [X_MIN, X_MAX, Y_MIN, Y_MAX]] = 15, 25, 48, 58
    members, others = np.zeros((room, 4), np.int64), np.zeros((room, 4), np.int64)
    members[:2, ISLAND] = others[:5, ISLAND] = 7
    members[:2, COMPONENTS] = 1
    more, peaks = np.zeros((room, 8), np.int64), np.zeros((room, 15))
    more[:5, [Y_PEAK, X_PEAK]] = (20, 24), (57, 25), (20, 29), (20, 29), (59, 25)
    more[:5, PIXELS] = 9
    # At (20, 29) the fit is 79.6: a share of that beside five noises.
    peaks[:5, PEAK] = 900, 900, 11.5, 11.7, 10.1
    stats = np.array([0, 0, 0, 0, 0, 0, 2.0, 0])
    counts = [np.array([n], np.int64) for n in (2, 5)]
    out = [np.zeros(1, np.int64), np.ones_like(members), np.ones_like(moments), np.ones_like(boxes)]
    work = np.zeros((room, 9)), np.zeros(72, np.int64), np.zeros(room, np.int64)
    tables = (stats, fits, boxes, counts[0], members, moments, counts[1], others, peaks, more)
    cpu.join(*tables, *out, *work, height=70, seed=5.0)
    assert out[0][0] == 4 and list(out[2][:4, PEAK]) == [0, 0, 11.7, 10.1]
    assert list(out[3][2:4, LABEL]) == [3, 4] and list(out[1][:4, ISLAND]) == [7, 7, 0, 0] and not out[3][4:].any()
    for at, count, told in ((0, -9, -9), (1, 11, 11), (0, 6, 8)):
        kept = counts[at][0]
        counts[at][0] = count
        if told == 8:
            boxes[2:6], fits[2:6, HEIGHT] = boxes[0], np.nan
        cpu.join(*tables, *out, *work, height=70, seed=5.0)
        counts[at][0] = kept
        assert out[0][0] == told


def test_what_fits_make_little_of_goes():
    """Of the first search all stay; of the second what is over five noises, five errors, and five times what the fit leaves."""
    room, rows = 9, 7
    fits, boxes, moments = np.full((room, COLUMNS), np.nan), np.zeros((room, 8), np.int64), np.zeros((room, 17))
    members = np.zeros((room, 4), np.int64)
    members[:2, ISLAND], boxes[:rows, LABEL], members[:rows, 3] = 3, np.arange(1, 8), np.arange(1, 8)
    moments[:, PEAK], moments[:, SPREAD] = np.arange(room), 2.0
    fits[1:rows, HEIGHT] = 4, 10.5, 9.5, 20, 20, 20
    fits[1:rows, ERRORS + HEIGHT] = 1, 1, 1, 3.9, 4.1, 1
    fits[1:rows, CHI2] = 1, 0.1, 1, 1, 1, 4.1
    out = [np.ones(1, np.int64), np.ones_like(members), np.ones_like(moments), np.ones_like(boxes)]
    stats = np.array([0, 0, 0, 0, 0, 0, 1.0, 0])
    for count, told in ((rows, 4), (-12, -12), (10, 10)):
        cpu.prune(stats, fits, np.array([count]), members, moments, boxes, *out, seed=5.0)
        assert out[0][0] == told
        if told == 4:
            assert list(out[2][:5, PEAK]) == [0, 1, 2, 4, 0] and list(out[3][:5, LABEL]) == [1, 2, 3, 4, 0]
            assert list(out[1][:5, 3]) == [1, 2, 3, 4, 0] and list(out[1][:4, ISLAND]) == [3, 3, 0, 0]


def test_what_has_no_fits_is_refused(rng):
    image, options = rng.standard_normal((40, 40)), {"device": "cpu"}
    for bad in (
        {"residual": True, "deblend": True},
        {"save_model": np.empty(image.shape)},
        {"save_residual": np.empty(image.shape)},
    ):
        with pytest.raises(fp.ArgumentError, match=r"wanted fits to (subtract from the image|sum, as that image is); give fit="):
            fp.find_sources(image, **bad, **options)
    with pytest.raises(fp.ArgumentError, match="residual: got islands that are not deblended"):
        fp.find_sources(image, residual=True, fit="gaussian", **options)
    both = np.empty(image.shape)
    with pytest.raises(fp.ArgumentError, match="save_residual: got memory shared"):
        fp.find_sources(image, fit="gaussian", save_model=both, save_residual=both, **options)


def test_a_bright_source_keeps_its_light_when_more_is_found_beside_it():
    """Both are fitted together: were the bright one begun as a point, what it leaves of its wings would be the other's for good."""
    image = np.random.default_rng(0).standard_normal((240, 240))
    at = [(y, x) for y in (40, 120, 200) for x in (40, 120, 200)]
    for turn, (y, x), wide in zip(range(0, 180, 20), at, (1.45, 0.92, 1.83, 1.45, 1.18, 1.43, 0.83, 1.78, 1.4)):
        add(image, 958.0 + turn, y + 0.2, x - 0.3, inverse(5.0, S * wide, turn))
        add(image, 701.0, y + 7.1, x + 3.9, inverse(S, S, 0))
    table = fp.find_sources(image.astype("f4"), 5, residual=True, **RULES)
    for turn, (y, x) in zip(range(0, 180, 20), at):
        near = np.hypot(table["fit_y"] - y, table["fit_x"] - x)
        row = table[int(np.argmin(near))]
        assert near.min() < 1 and abs(row["fit_peak"] / (958 + turn) - 1) < 0.025, (turn, row)
