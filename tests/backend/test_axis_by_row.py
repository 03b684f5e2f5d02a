"""The axis of every row, and the tilt: against scans whose axes are known, and slices against those about each axis alone."""

from __future__ import annotations

import json

import h5py
import numpy as np
import pytest
from click.testing import CliRunner

import footprint as fp
from footprint.api.axis_by_row import fitted
from footprint.cli.main import main
from footprint.io.phantom import projections, write_scan
from footprint.reference.fbp import fbp as plain
from footprint.reference.filters import fast_length, response
from footprint.reference.iterative import sirt
from footprint.reference.project import matrix
from footprint.reference.untilt import untilt as leaning
from tests.scans import ArrayScan, raw_scan
from tests.ways import ways


def drifting(rng, centers, n_x=64, n_angles=60, dtype="f4"):
    angles = np.linspace(0, np.pi, n_angles, endpoint=False)
    lines = projections(n_x, np.linspace(-0.3, 0.3, len(centers)), angles, np.asarray(centers), 0.38 * n_x) * 0.02
    return raw_scan(lines, angles, rng, dtype)


@pytest.mark.parametrize("method", ["direct", "fourier"])
def test_slices_about_axes_of_their_own(device, rng, method):
    """A slice whose axis lies elsewhere is that of a detector moved by as much: the kernels' own table of angles says so."""
    centers = np.array([31.0, 30.25, 33.5, 32.0, 31.75])
    scan = drifting(rng, centers)
    how = {"method": method, "device": device, "circle": method == "direct"}
    found = fp.reconstruct(scan, center=centers, **how)
    mean = centers.mean()
    for z, center in enumerate(centers):
        moved = np.full(60, center - mean)
        want = fp.reconstruct(scan, center=mean, rows=(z, z + 1), axis_shifts=moved, **how | {"circle": False})[0]
        seen = found[z] != 0
        assert seen.mean() > 0.6 and (how["circle"] or seen.mean() > 0.99)
        np.testing.assert_allclose(found[z][seen], want[seen], atol=2e-6 * np.abs(want).max() if method == "direct" else 2e-5)
    # Any rows are those of the whole, in groups of angles and one slice at a time.
    np.testing.assert_array_equal(fp.reconstruct(scan, center=centers, rows=(1, 4), **how), found[1:4])
    budgets = ways(lambda memory: fp.plan_reconstruct(scan, center=centers, memory=memory, **how))
    for way, falling in budgets.items():
        # The least means a thousand parts, which take seconds where each waits for a queue.
        memory = falling[-1 if device == "cpu" else 0]
        small = fp.reconstruct(scan, center=centers, memory=memory, **how)
        # Tiles by the Fourier method have grids of their own, each as near to the plain sum as the whole's.
        atol = 1e-4 if method == "fourier" and "y" in way else 3e-5
        np.testing.assert_allclose(small, found, atol=atol * np.abs(found).max(), err_msg=way)


@pytest.mark.parametrize("settings", [{"method": "sirt", "circle": True}, {"method": "cgls"}, {"method": "tv", "weight": 0.01}])
def test_what_iterates_has_axes_of_its_own(device, rng, settings):
    """Also the sums that steps are divided by: each slice has the bits of one by itself, in any rows and parts."""
    centers = np.array([16.0, 14.25, 17.5])
    scan = drifting(rng, centers, n_x=32, n_angles=20)
    how = settings | {"iterations": 3, "device": device, "roi": (-3, 36, -2, 33)}
    found, mean = fp.reconstruct(scan, center=centers, **how), centers.mean()
    for z, center in enumerate(centers):
        moved = np.full(20, center - mean)
        want = fp.reconstruct(scan, center=mean, rows=(z, z + 1), axis_shifts=moved, **how | {"circle": False})[0]
        seen = found[z] != 0 if "circle" in how else np.full(want.shape, True)
        assert 0.4 < seen.mean() and ("circle" not in how or seen.mean() < 0.7)
        np.testing.assert_array_equal(found[z][seen], want[seen])
    np.testing.assert_array_equal(fp.reconstruct(scan, center=centers, rows=(1, 3), **how), found[1:])
    with pytest.raises(fp.BudgetError) as caught:
        fp.reconstruct(scan, center=centers, memory=1, **how)
    np.testing.assert_array_equal(fp.reconstruct(scan, center=centers, memory=caught.value.smallest, **how), found)


@pytest.mark.parametrize("how", [{"method": "direct"}, {"method": "sirt", "iterations": 2}])
def test_axes_of_their_own_off_the_detector(device, rng, how):
    """Rows are as they are, and slices those about one axis: the mean, with every projection shifted; in tiles, too."""
    angles, centers = np.arange(20) * np.pi / 20, np.array([31.0, 33.5, 36.1])
    scan = ArrayScan(rng.standard_normal((20, 3, 32)).astype("f4"), angles)
    how = how | {"log": False, "roi": (-5, 40, 0, 32), "device": device}
    with pytest.warns(UserWarning, match="4.60 pixels beyond the detector's edge"):
        found = fp.reconstruct(scan, center=centers, **how)
    with pytest.raises(fp.BudgetError) as caught:
        fp.plan_reconstruct(scan, center=centers, memory=1, **how)
    small = fp.reconstruct(scan, center=centers, memory=caught.value.smallest, **how)
    for z, move in enumerate(centers - centers.mean()):
        about = (angles, how["roi"], centers.mean(), np.full(20, move))
        lines = scan.raw[:, z]
        if "iterations" in how:
            want = sirt(matrix(angles, 32, about[2], about[1], about[3]), lines.ravel().astype(float), 2).reshape(32, 45)
        else:
            want = plain(lines, angles, response("ramlak", fast_length(64)), about[2], about[1], axis_shifts=about[3])
        for got in (found, small):
            np.testing.assert_allclose(got[z], want, rtol=0, atol=5e-5 * np.abs(want).max())


def test_rows_around_are_not_the_slices(rng):
    """A step that reads its neighbours' rows: what is left behind before slices are made is not counted among their axes."""
    centers = np.linspace(30, 34, 9)
    scan = drifting(rng, centers)
    how = {"center": centers, "device": "cpu", "steps": fp.steps(zingers=0.5)}
    whole = fp.reconstruct(scan, **how)
    np.testing.assert_array_equal(fp.reconstruct(scan, rows=(4, 6), **how), whole[4:6])


def test_a_drifting_axis_is_found_and_followed(rng):
    centers = 32 + 3 * np.linspace(-1, 1, 24)
    scan = drifting(rng, centers, dtype="u2")
    axis = fp.axis_by_row(scan)
    assert np.abs(axis.centers - centers).max() < 0.2 and axis.spread < 0.2 and axis.score > 0.9 and axis.used.all()
    assert abs(axis.degrees - np.rad2deg(np.arctan(6 / 23))) < 5 * axis.error
    volume = fp.reconstruct(scan, center="auto:per-slice", device="cpu", filter="hann")
    np.testing.assert_array_equal(volume, fp.reconstruct(scan, center=axis.centers, device="cpu", filter="hann"))
    upright = drifting(rng, np.full(24, axis.centers.mean()), dtype="u2")
    want = fp.reconstruct(upright, center=axis.centers.mean(), device="cpu", filter="hann")
    one = fp.reconstruct(scan, center=axis.centers.mean(), device="cpu", filter="hann")
    errors = [np.linalg.norm(v - want) / np.linalg.norm(want) for v in (volume, one)]
    assert errors[0] < 0.3 * errors[1]
    plan = fp.plan_reconstruct(scan, center="auto:per-slice", device="cpu")
    assert any(step.kernel == "slices.slide" for step in plan.steps)


def test_some_heights_may_be_wrong():
    heights = np.linspace(-1, 1, 12)
    found = 5 + 2 * heights - heights**2
    found[[1, 5, 6, 9]] = 40, -3, np.nan, 11
    line = fitted(heights, found, np.isfinite(found), 2)
    np.testing.assert_allclose(line.values, [5, 2, -1], atol=1e-9)
    assert line.used.tolist() == [k not in (1, 5, 6, 9) for k in range(12)] and line.spread < 1e-9


def test_heights_without_light_or_structure_are_left_out(rng):
    centers = 32 + np.linspace(-1, 1, 24)
    scan = drifting(rng, centers)
    scan.raw[:, :7], scan.flats[:, :7] = scan.dark[:7], scan.dark[:7]
    scan.raw[:, 20:] = (scan.flats[0] + 0 * scan.dark)[20:]
    with pytest.warns(UserWarning, match="the axis was not found, or lies elsewhere, at . of 12 heights"):
        axis = fp.axis_by_row(scan)
    assert not axis.used[:2].any() and not axis.used[-2:].any() and abs(axis.centers[12] - centers[12]) < 0.3


def test_a_tilt_is_found(rng, degrees=-2.0):
    """More of it than the slope of the rows shows, in an object that is not the same at all heights."""
    angles = np.linspace(0, np.pi, 60, endpoint=False)
    lines = projections(160, np.linspace(-0.5, 0.5, 128), angles, 81.3, 60) * 0.02
    scan = raw_scan(leaning(lines, -degrees), angles, rng)
    tilt = fp.find_tilt(scan)
    assert abs(tilt.degrees - degrees) < 0.04 and tilt.error < 0.05 and tilt.score > 0.98 and abs(tilt.center - 81.3) < 0.2
    assert abs(fp.axis_by_row(scan).degrees - degrees) > abs(tilt.degrees - degrees)


def test_a_tilt_is_found_though_rows_lean_the_other_way(rng):
    """Edges of an object as flat as a lens are elsewhere a row higher: turning by what the rows show led 8 degrees astray."""
    angles = np.linspace(0, np.pi, 60, endpoint=False)
    lines = projections(160, np.linspace(-0.3, 0.3, 20), angles, 81.3) * 0.01
    scan = raw_scan(leaning(lines, -1.0), angles, rng)
    assert fp.axis_by_row(scan).degrees < -1.0
    tilt = fp.find_tilt(scan)
    assert abs(tilt.degrees - 1.0) < 0.15 and tilt.error < 0.1


def test_the_shell(tmp_path):
    truth = write_scan(tmp_path / "scan.nx", n_angles=60, n_z=24, n_x=64, drift=1.0)

    def run(*words):
        line = ["reconstruct", str(truth.path), "--device", "cpu", "--overwrite", "--json", "-q", *words]
        result = CliRunner().invoke(main, line)
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    target = str(tmp_path / "v.h5")
    told = run("-o", target, "--center", "auto:per-slice", "--rows", "3:21", "--axis-png", str(tmp_path / "a.png"))
    with h5py.File(target) as file:
        group = file["entry/reconstruction"]
        centers, about = group["results/center_of_slice"][()], dict(group.attrs)
    want = truth.center + 1 * (np.arange(3, 21) / 23 - 0.5)
    assert np.abs(centers - want).max() < 0.4 and about["center_method"] == "registration:per-slice"
    assert abs(told["center_of_last_row"] - told["center_of_first_row"] - 1) < 0.5
    told = run("-o", str(tmp_path / "slices"), "--tilt", "auto", "--flip", "--rows", "3:5", "--center", "35")
    tilt = np.rad2deg(np.arctan(1 / 23))
    assert told["tilt_taken_off"] and abs(told["tilt_degrees"] - tilt) < 3 * told["tilt_error"]
    result = CliRunner().invoke(main, ["plan", "reconstruct", str(truth.path), "--tilt", "auto"])
    assert isinstance(result.exception, fp.ArgumentError) and "--tilt 0.5" in str(result.exception)


@pytest.mark.parametrize(
    ("how", "word"),
    [
        ({"center": np.zeros(5)}, r"\(24,\) finite positions"),
        ({"center": np.full(24, np.nan)}, "not finite"),
        ({"center": np.linspace(20, 128, 24)}, "positions from 20 to 128, wanted at most 64 pixels"),
        ({"center": "auto:per-slices"}, "'auto'"),
    ],
)
def test_mistakes(rng, how, word):
    scan = drifting(rng, np.full(24, 31.5))
    with pytest.raises(fp.ArgumentError, match=word):
        fp.reconstruct(scan, device="cpu", **how)


def test_nothing_to_find(rng):
    with pytest.raises(fp.ArgumentError, match="order"):
        fp.axis_by_row(drifting(rng, np.full(3, 31.5)), order=3)
    noise = ArrayScan(rng.integers(900, 1100, (31, 12, 64)).astype("u2"), np.linspace(0, np.pi, 31), np.full((1, 12, 64), 1000))
    with pytest.raises(fp.ArgumentError, match="found at 0 of 12 heights of the detector, wanted one found at 3 or more"):
        fp.axis_by_row(noise)
