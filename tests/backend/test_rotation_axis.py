"""The axis search against the sum-by-sum reference, and against scans whose axis is known."""

import warnings

import numpy as np
import pytest

import footprint as fp
from footprint.backend.registry import open_backend
from footprint.io.phantom import projections, write_scan
from footprint.ops.rotation_axis import opposites
from footprint.plan.builder import Builder
from footprint.plan.plan import finish
from footprint.reference.rotation_axis import registration
from footprint.spec import ArraySpec
from tests.scans import ArrayScan, raw_scan


@pytest.mark.parametrize("shape", [(1, 2, 1), (3, 3, 2), (2, 4, 37)])
def test_correlations(rng, shape):
    sinograms = rng.standard_normal(shape).astype("f4")
    sinograms[0, 0] = 3.0
    pairs = np.array([[0, 1], [1, shape[1] - 1], [1, 1]])
    doubled = np.arange(-1, 2 * shape[2] + 1)
    b = Builder(open_backend("cpu").limits)
    lines, out = b.inp(ArraySpec(shape)), b.out(ArraySpec((3, len(doubled)), "f8"))
    b.launch("rotation_axis", lines, b.const(pairs), out, first=-1)
    found = np.full((3, len(doubled)), np.nan)
    with finish(b, "rotation_axis").bind(open_backend("cpu")) as bound:
        bound(sinograms, out=[found])
    for row, (i, j) in zip(found, pairs):
        np.testing.assert_allclose(row, registration(sinograms[:, i], sinograms[:, j], doubled), atol=1e-6)


def test_opposites():
    half = np.deg2rad(np.arange(0, 180, 1.0))
    assert {(o.base, o.near, o.next) for o in opposites(half)} == {(0, 179, 178), (179, 0, 1)}
    both_ends = opposites(np.deg2rad(np.arange(-90, 91, 2.0)))
    assert [(o.base, o.near) for o in both_ends] == [(0, 90)] and abs(both_ends[0].missed) < 1e-12
    turn = opposites(np.deg2rad(np.arange(0, 360, 1.0)))
    assert len(turn) == 4 and all(o.near == o.base + 180 for o in turn)
    backwards = opposites(-half + 20)
    assert {(o.base, o.near) for o in backwards} == {(0, 179), (179, 0)}
    assert opposites(np.deg2rad(np.arange(0, 170, 1.0))) == [] == opposites([]) == opposites([1.0])


@pytest.mark.parametrize("span", [180, 360])
@pytest.mark.parametrize("n_angles", [91, 180])
@pytest.mark.parametrize("center", [127.5, 120.3, 141.85, 90.0])
def test_known_axis(rng, span, n_angles, center):
    angles = np.linspace(0, np.deg2rad(span), n_angles, endpoint=n_angles % 2 == 1)
    truth = projections(256, np.linspace(-0.2, 0.2, 5), angles, center, radius=80) * 0.01
    axis = fp.rotation_axis(raw_scan(truth, angles, rng))
    assert abs(axis.center - center) < 0.15 and axis.score > 0.97 and axis.spread < 0.2


def test_search_range_half_detector_and_budget(rng):
    # an object of 40 pixels with the dead column on its axis: a quarter of a pixel is what it can tell
    angles = np.linspace(0, np.pi, 61)
    truth = projections(128, np.zeros(30), angles, 24.2, radius=20) * 0.05
    scan = raw_scan(truth, angles, rng)
    assert abs(fp.rotation_axis(scan, search=(10, 40)).center - 24.2) < 0.3
    scan.field_of_view = "Half"
    assert abs(fp.rotation_axis(scan).center - 24.2) < 0.3
    whole = fp.plan_rotation_axis(scan)
    small = fp.plan_rotation_axis(scan, memory=whole.footprint.total // 3)
    assert small.footprint.total <= whole.footprint.total // 3
    with pytest.raises(fp.BudgetError) as caught:
        fp.rotation_axis(scan, memory=100)
    assert abs(fp.rotation_axis(scan, memory=caught.value.smallest).center - 24.2) < 0.3


def test_a_file_of_nearly_opposite_ends(tmp_path):
    truth = write_scan(tmp_path / "scan.nx", n_angles=120, n_z=6, n_x=200)
    with fp.open_scan(truth.path) as scan:
        assert abs(fp.rotation_axis(scan).center - truth.center) < 0.2


@pytest.mark.parametrize("method", ["registration", "growing-window", "vo"])
def test_columns_that_failed_are_not_what_is_registered(rng, method):
    # As a hot column of one dark makes them: without light in the sample, and what a reconstruction replaces.
    angles = np.linspace(0, np.pi, 91)
    lines = projections(128, np.zeros(4), angles, 68.2, radius=50) * 0.02
    counts = np.clip(1000 * np.exp(-lines) + rng.normal(0, 3, lines.shape), 1, None).astype("f4")
    flats, darks = np.full((4, 128), 1000, "f4"), np.zeros((4, 128), "f4")
    counts[:, :, 40:43], darks[:, 40:43] = counts[:, :, 40:43].min(), 950
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scan = fp.open_scan(counts, flats, darks, angles=angles)
        assert abs(fp.rotation_axis(scan, method=method).center - 68.2) < 0.2


def test_noise_is_said_to_be_doubtful(rng):
    scan = ArrayScan(rng.integers(900, 1100, (31, 4, 64)).astype("u2"), np.linspace(0, np.pi, 31), np.full((1, 4, 64), 1000))
    with pytest.warns(UserWarning, match="doubtful"):
        assert fp.rotation_axis(scan).score < 0.5
    # A whole turn may be a half acquisition that nobody declared.
    scan = ArrayScan(scan.raw, np.linspace(0, 2 * np.pi, 31), np.full((1, 4, 64), 1000))
    with pytest.warns(UserWarning, match="doubtful.* or half_acquisition=True if it lies near an end of the detector"):
        fp.rotation_axis(scan)
    scan.field_of_view = "Half"
    with pytest.warns(UserWarning, match="or give center=N$"):
        fp.rotation_axis(scan)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"angles": np.linspace(0, 2, 20)}, "180 degrees apart"),
        ({"raw": np.full((20, 2, 30), 7, "u2")}, "a search by registration, wanted opposite projections that agree somewhere"),
        ({"raw": np.full((20, 2, 30), 7, "u2"), "method": "sliding-window"}, "by sliding-window, wanted"),
        (
            {"raw": np.full((20, 2, 30), 7, "u2"), "angles": np.arange(20) * np.pi / 10},
            "from pixel 6.5 to 22.5; look elsewhere with search=(lo, hi), pixels from 0 to 29, or try another method",
        ),
        ({"raw": np.full((20, 2, 3), 7, "u2")}, "at least 4 pixels"),
        ({"search": (20, 10)}, "first <= last"),
        ({"search": 7}, "a pair"),
        ({"rows": (2, 2)}, "at least one of the 2 rows"),
        ({"flats": np.zeros((1, 2, 30))}, "nowhere brighter"),
    ],
)
def test_bad_input_is_one_clear_sentence(rng, change, word):
    raw = change.pop("raw", rng.integers(100, 900, (20, 2, 30)).astype("u2"))
    angles = change.pop("angles", np.linspace(0, np.pi, 20))
    flats = change.pop("flats", np.full((1, *raw.shape[1:]), 1000.0))
    with pytest.raises(fp.FootprintError) as caught, warnings.catch_warnings():
        fp.rotation_axis(ArrayScan(raw, angles, flats), **change)
    assert word in str(caught.value)


def test_each_verb_tells_of_arguments_that_it_takes():
    """rotation_axis takes no axis and no half_acquisition=, reconstruct no range to search."""
    scan = ArrayScan(np.full((20, 2, 30), 7, "f4"), np.arange(20) * np.pi / 10)
    with pytest.raises(fp.ArgumentError, match=r"^method: got a search by overlap, .*; look elsewhere with search=") as caught:
        fp.rotation_axis(scan, method="overlap", log=False)
    assert "half_acq" not in str(caught.value) and "as a number" not in str(caught.value)
    words = r"^center: got a search by overlap, .* give the axis as a number, or half_acquisition=True if it lies near an end"
    with pytest.raises(fp.ArgumentError, match=words):
        fp.reconstruct(scan, center="overlap", log=False, device="cpu")
