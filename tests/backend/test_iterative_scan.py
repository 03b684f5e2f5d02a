"""Scans reconstructed by iterating: the road there, half acquisitions, whole numbers, the command."""

from __future__ import annotations

import h5py
import numpy as np
import pytest
from click.testing import CliRunner

import footprint as fp
from footprint.cli.main import main
from footprint.io.phantom import projections, volume, write_scan
from footprint.ops.half_acquisition import HalfAcquisition
from tests.scans import ArrayScan, raw_scan

N_X, N_A, CENTER = 40, 24, 20.3
HEIGHTS = np.linspace(-0.3, 0.3, 4)


def scan_of(rng):
    angles = np.linspace(0, np.pi, N_A, endpoint=False)
    lines = (projections(N_X, HEIGHTS, angles, CENTER) * 0.02).astype(np.float32)
    return raw_scan(lines, angles, rng, "f4"), lines


@pytest.mark.parametrize(
    "settings", [{"method": "sirt", "nonnegative": True}, {"method": "cgls"}, {"method": "tv", "weight": 0.01}]
)
def test_a_scan_is_reconstructed_from_its_line_integrals(rng, settings):
    """By rows that fit, too; the scan has a dead column, which is replaced by its neighbours' mean."""
    scan, lines = scan_of(rng)
    options = {"iterations": 4, "device": "cpu", "center": CENTER}
    found = fp.reconstruct(scan, pixel_size=0.5, **settings, **options)
    dead = N_X // 5
    lines[:, :, dead] = (lines[:, :, dead - 1] + lines[:, :, dead + 1]) / 2
    name, rest = settings["method"], {key: value for key, value in settings.items() if key != "method"}
    want = getattr(fp, name)(lines.transpose(1, 0, 2), pixel_size=0.5, **rest, **options)
    np.testing.assert_allclose(found, want, rtol=0, atol=2e-4 * np.abs(want).max())
    with pytest.raises(fp.BudgetError) as caught:
        fp.reconstruct(scan, memory=1, **settings, **options)
    assert "method=" not in str(caught.value)
    parts = fp.reconstruct(scan, pixel_size=0.5, memory=caught.value.smallest, **settings, **options)
    np.testing.assert_array_equal(parts, found)


def test_whole_numbers_and_axes_on_trial(rng):
    scan, _ = scan_of(rng)
    settings = {"method": "sirt", "iterations": 3, "device": "cpu"}
    want = fp.reconstruct(scan, center=CENTER, **settings)
    numbers = fp.reconstruct(scan, center=CENTER, out_dtype="uint8", out_range=(0.0, 0.02), **settings)
    np.testing.assert_allclose(numbers, np.clip(np.round(want / 0.02 * 255), 0, 255), atol=1)
    tried = fp.try_axes(scan, [CENTER - 1, CENTER], row=2, **settings)
    # The same bits on most machines; on one of 16 cores a slice by itself differed by 1e-6 of the largest value.
    np.testing.assert_allclose(tried[1], want[2], rtol=0, atol=1e-5 * np.abs(want).max())


@pytest.mark.parametrize("center", [33.2, 5.7])
def test_half_acquisitions_are_seen_where_the_detector_was(rng, center):
    """Rows are not blended: the slices are the field's, and every ray is explained as it was measured."""
    op, angles = HalfAcquisition(N_X, center), np.arange(90) * 2 * np.pi / 90
    radius = 0.45 * op.width
    lines = projections(op.width, HEIGHTS[:1], angles, op.axis, radius)[:, :, op.offset : op.offset + N_X] * 0.02
    scan = ArrayScan(np.exp(-lines).astype("f4"), angles)
    scan.field_of_view = "Half"
    options = {"center": center, "device": "cpu", "circle": True}
    truth = volume(op.width, HEIGHTS[:1], op.axis, radius) * 0.02
    found = fp.reconstruct(scan, method="sirt", iterations=100, **options)
    assert found.shape == truth.shape
    off = lambda image: np.linalg.norm(image - truth) / np.linalg.norm(truth)
    assert off(found) < off(fp.reconstruct(scan, **options))
    corner = fp.reconstruct(scan, method="sirt", iterations=100, roi=(0, op.width, 0, op.width), **options)
    np.testing.assert_array_equal(corner, found)


def test_the_command_says_how(tmp_path):
    path = str(write_scan(tmp_path / "scan.nx", n_angles=30, n_z=3, n_x=48).path)

    def run(*words):
        line = ["reconstruct", path, "-o", str(tmp_path / "v.h5"), "--center", "24", "--device", "cpu", "-q", "--overwrite"]
        return CliRunner().invoke(main, [*line, *words])

    assert run("--method", "tv", "--weight", "0.01", "--iterations", "3", "--nonnegative").exit_code == 0
    with h5py.File(tmp_path / "v.h5") as file:
        group = file["entry/reconstruction"]
        values, about = group["results/data"][()], dict(group.attrs)
    assert (about["method"], about["weight"], about["iterations"]) == ("tv", 0.01, 3)
    assert values.min() >= 0
    with fp.open_scan(path) as scan:
        how = {"method": "tv", "weight": 0.01, "iterations": 3, "nonnegative": True, "pixel_size": "auto"}
        np.testing.assert_array_equal(fp.reconstruct(scan, center=24, device="cpu", **how), values)
    assert "weight" in str(run("--method", "tv").exception)


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"iterations": 5}, "iterations: got 5, wanted none with method='direct'"),
        ({"method": "fourier", "nonnegative": True}, "nonnegative"),
        ({"method": "sirt", "filter": "hann"}, "filter: got 'hann', wanted none with method='sirt'"),
        ({"method": "sirt", "filter": np.ones(65)}, "filter"),
        ({"method": "sirt", "weight": 0.1}, "weight: got 0.1"),
        ({"method": "cgls", "nonnegative": True}, "nonnegative: got True"),
        ({"method": "tv"}, "weight: got nothing"),
        ({"method": "sirt", "iterations": 10**30}, "got a number of 100 bits, wanted a whole number from 1 to 1,000,000"),
        ({"method": "cgls", "iterations": 10**5000}, "got a number of 16610 bits, wanted"),
        ({"method": "tv", "weight": 1, "iterations": 1_000_001}, "got 1000001, wanted a whole number from 1 to 1,000,000"),
    ],
)
def test_what_a_method_has_no_use_for_is_refused(rng, settings, word):
    scan, _ = scan_of(rng)
    with pytest.raises(fp.ArgumentError, match=word):
        fp.reconstruct(scan, center=CENTER, device="cpu", **settings)
