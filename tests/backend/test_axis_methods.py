"""Every way of finding the axis: kernels against their references, known axes in all kinds of scans, and doubts that are said."""

import warnings

import numpy as np
import pytest

import footprint as fp
from footprint.api.rotation_axis import METHODS
from footprint.backend.registry import open_backend
from footprint.io.phantom import projections
from footprint.kernels.fourier_metric.contract import FINE, STEP
from footprint.ops.base import Table
from footprint.ops.fourier_metric import FourierMetric
from footprint.ops.job import plan_op
from footprint.plan.builder import Builder
from footprint.plan.plan import finish
from footprint.plan.slots import Given
from footprint.reference.fourier_metric import fourier_metric
from footprint.reference.rotation_axis import registration
from footprint.spec import ArraySpec
from tests.scans import ArrayScan, raw_scan

HEIGHTS = np.linspace(-0.2, 0.2, 5)
WHOLE_TURN = [m for m in METHODS if m != "vo"]


@pytest.mark.parametrize(("window", "differ"), [(3, False), (0, True), (5, True)])
def test_windows_and_differences(rng, window, differ):
    sinograms = rng.standard_normal((2, 3, 23)).astype("f4")
    pairs, doubled = np.array([[0, 1], [2, 1]]), np.arange(-1, 47)
    b = Builder(open_backend("cpu").limits)
    lines, out = b.inp(ArraySpec(sinograms.shape)), b.out(ArraySpec((2, len(doubled)), "f8"))
    b.launch("rotation_axis", lines, b.const(pairs), out, first=-1, window=window, differ=differ)
    found = np.full((2, len(doubled)), np.nan)
    with finish(b, "rotation_axis").bind(open_backend("cpu")) as bound:
        bound(sinograms, out=[found])
    for row, (i, j) in zip(found, pairs):
        np.testing.assert_allclose(row, registration(sinograms[:, i], sinograms[:, j], doubled, window, differ), atol=1e-6)


@pytest.mark.parametrize(("n", "n_x"), [(8, 13), (41, 30)])
def test_the_fourier_metric(rng, n, n_x):
    lines = rng.standard_normal((2, n, n_x)).astype("f4")
    op = FourierMetric(Table(np.arange(n) * np.pi / n), n_x, 5, 2 * n_x - 10)
    job = [(ArraySpec(lines.shape), Given())], [(op.out_specs(ArraySpec(lines.shape))[0], Given())]
    found = np.full((2, op.count + FINE + 2), np.nan)
    with plan_op(open_backend("cpu").limits, None, "vo", op, *job).bind(open_backend("cpu")) as bound:
        bound(lines, out=[found])
    for z in range(2):
        settings = (op.padded, op.radius, op.drop)
        want = [fourier_metric(lines[z], (5 + k) / 2, *settings) for k in range(op.count)]
        np.testing.assert_allclose(found[z, : op.count], want, rtol=1e-4)
        fine = [fourier_metric(lines[z], found[z, -2] + k * STEP, *settings) for k in range(0, FINE, 7)]
        np.testing.assert_allclose(found[z, op.count : -2 : 7], fine, rtol=1e-4)
    assert (5 + np.argmin(found[:, : op.count].sum(axis=0))) / 2 == pytest.approx(found[0, -2] + STEP * (FINE // 2))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("span", "n_angles"), [(180, 91), (180, 90), (360, 180)])
@pytest.mark.parametrize("center", [141.85, 120.3])
def test_known_axes(rng, method, span, n_angles, center):
    if method == "overlap" and span == 180:
        pytest.skip("wants a whole turn, see the mistakes below")
    angles = np.deg2rad(np.linspace(-20, span - 20, n_angles, endpoint=n_angles % 2 == 1))[::-1]
    truth = projections(256, HEIGHTS, angles, center, radius=80) * 0.01
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        axis = fp.rotation_axis(raw_scan(truth, angles, rng), method=method)
    assert abs(axis.center - center) < 0.2 and axis.score > 0.8 and axis.spread < 0.2 and axis.method == method
    best = axis.tried[(np.argmin if method == "vo" else np.argmax)(axis.values)]
    assert abs(best - axis.center) <= 0.5 and len(axis.tried) == len(axis.values)


@pytest.mark.parametrize("method", WHOLE_TURN)
@pytest.mark.parametrize("center", [112.3, 121.7, 9.4])
def test_half_acquisitions(rng, method, center):
    angles = np.linspace(0, 2 * np.pi, 240, endpoint=False)
    lines = projections(128, HEIGHTS, angles, center, radius=max(center, 127 - center) - 20) * 0.01
    axis = fp.rotation_axis(raw_scan(lines, angles, rng), method=method, search=(3, 124))
    assert abs(axis.center - center) < (0.1 if method == "overlap" else 0.3)


def test_the_overlap_search_outlasts_noise(rng):
    """One comparison of few noisy pixels may be anywhere; the mean of 64 is not."""
    angles, center = np.linspace(0, 2 * np.pi, 256, endpoint=False), 118.6
    lines = projections(128, HEIGHTS, angles, center, radius=90) * 0.01
    scan = ArrayScan((np.exp(-lines) + rng.normal(0, 0.02, lines.shape)).astype("f4"), angles)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        few, many = (fp.rotation_axis(scan, method=m, search=(3, 124)).center for m in ("registration", "overlap"))
    assert abs(many - center) < 0.4 < abs(few - center)


def test_a_sample_wider_than_the_detector_is_said_to_be_none_of_vos(rng):
    angles = np.linspace(0, np.pi, 120, endpoint=False)
    scan = raw_scan(projections(128, HEIGHTS, angles, 60.3, radius=110) * 0.01, angles, rng)
    with pytest.warns(UserWarning, match=r"is uncertain: rows end at \d+% of their brightest: .* finds the middle; look at some"):
        fp.rotation_axis(scan, method="vo")
    assert abs(fp.rotation_axis(scan, method="sliding-window").center - 60.3) < 0.2


@pytest.mark.parametrize("method", METHODS)
def test_noise_is_doubtful(rng, method):
    noise = rng.integers(900, 1100, (61, 4, 64)).astype("u2")
    scan = ArrayScan(noise, np.linspace(0, 2 * np.pi, 61), np.full((1, 4, 64), 1000))
    with pytest.warns(UserWarning, match=r"doubtful: .*; look at some with footprint.try_axes.*, try another method"):
        assert fp.rotation_axis(scan, method=method).score < 0.35


def test_the_search_is_called_what_it_is_called_where_it_is_asked_for(rng):
    """`rotation_axis` spoke of a ``center=`` that it does not have, and did not know "auto"."""
    angles = np.linspace(0, np.pi, 60, endpoint=False)
    scan = raw_scan(projections(128, HEIGHTS, angles, 60.3, radius=40) * 0.01, angles, rng)
    for verb in fp.rotation_axis, fp.plan_rotation_axis, fp.axis_by_row:
        with pytest.raises(fp.ArgumentError, match=r"^method: got 'overlap', wanted .*; use method='registration'\.$"):
            verb(scan, method="overlap")
    with pytest.raises(fp.ArgumentError, match=r"^center: got 'overlap', wanted .*; use center='registration'\.$"):
        fp.reconstruct(scan, center="overlap", device="cpu")
    auto, named = fp.rotation_axis(scan, method="auto"), fp.rotation_axis(scan)
    assert (auto.center, auto.method) == (named.center, "registration")


def test_the_volume_has_the_axis_of_the_method(rng):
    angles = np.linspace(0, np.pi, 60, endpoint=False)
    scan = raw_scan(projections(64, HEIGHTS, angles, 33.4, radius=25) * 0.02, angles, rng)
    for method in ("vo", "growing-window"):
        # One row's transforms take more than its slice does: the plan has room for the search.
        total = fp.plan_reconstruct(scan, center=method, rows=(1, 2), device="cpu").footprint.total
        assert total >= fp.plan_rotation_axis(scan, method=method, memory=total).footprint.total
        center = fp.rotation_axis(scan, method=method, memory=total).center
        found, want = (fp.reconstruct(scan, center=c, rows=(1, 2), device="cpu") for c in (method, center))
        np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("method", ["overlap", "vo"])
def test_budgets(rng, method):
    angles = np.linspace(0, 2 * np.pi, 120, endpoint=False)
    scan = raw_scan(np.repeat(projections(96, HEIGHTS, angles, 45.3, radius=40), 8, axis=1) * 0.02, angles, rng)
    whole = fp.plan_rotation_axis(scan, method=method).footprint.total
    with pytest.raises(fp.BudgetError) as caught:
        fp.rotation_axis(scan, method=method, memory=100)
    least = caught.value.smallest
    assert least < whole and fp.plan_rotation_axis(scan, method=method, memory=least).footprint.total <= least
    assert abs(fp.rotation_axis(scan, method=method, memory=least).center - 45.3) < 0.3


@pytest.mark.parametrize(
    ("method", "angles", "word"),
    [
        ("overlap", np.linspace(0, np.pi, 40), "projections of a whole turn"),
        ("vo", np.linspace(0, 2, 40), "at least a half turn in equal steps"),
        ("vo", np.linspace(0, 1, 40) ** 2 * np.pi, "at least a half turn in equal steps"),
        ("sift", np.linspace(0, np.pi, 40), "registration, overlap"),
    ],
)
def test_mistakes(rng, method, angles, word):
    scan = ArrayScan(rng.integers(100, 900, (40, 2, 30)).astype("u2"), angles, np.full((1, 2, 30), 1000.0))
    with pytest.raises(fp.ArgumentError, match=word):
        fp.rotation_axis(scan, method=method)
