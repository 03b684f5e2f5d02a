"""Half acquisition: kernels and pipeline against the reference, slices against the truth, and what is refused."""

import warnings

import numpy as np
import pytest

import footprint as fp
from footprint.io.phantom import projections, volume
from footprint.ops.backproject import angle_weights
from footprint.ops.base import Table
from footprint.ops.half_acquisition import HalfAcquisition
from footprint.reference.fbp import fbp
from footprint.reference.filters import fast_length, response
from footprint.reference.flatfield import flatfield
from footprint.reference.half_acquisition import field, turn_weights
from tests.backend.kernels import in_turn
from tests.scans import ArrayScan, raw_scan

N_X = 40
CENTERS = [33.2, 36.0, 38.9, 39.0, 39.5, 5.7, 0.0, -0.4, 19.5]


def half_scan(rng, center=33.2, n_angles=60, n_z=3, n_x=N_X, uneven=False, **options):
    """A scan of a whole turn; the head fills the field on both sides of the axis."""
    angles = np.arange(n_angles) * 2 * np.pi / n_angles
    if uneven:
        angles = angles + rng.uniform(-0.04, 0.04, n_angles)
    radius = 0.9 * max(center, n_x - 1 - center)
    scan = raw_scan(projections(n_x, np.linspace(-0.3, 0.3, n_z), angles, center, radius) * 0.02, angles, rng, **options)
    scan.field_of_view = "Half"
    return scan


def reference(scan, center, axis_shifts=None, roi=None, slice_shifts=None):
    n_angles, _, n_x = scan.shape
    op = HalfAcquisition(n_x, center, *(None if shifts is None else Table(shifts) for shifts in (axis_shifts, slice_shifts)))
    lower, upper, weight = scan.flat_weights()
    sinograms = flatfield(scan.raw, np.asarray(scan.flats, "f4"), np.asarray(scan.dark, "f4"), lower, upper, weight, 0)
    shifts = np.zeros((len(sinograms), n_angles)) + (0 if axis_shifts is None else axis_shifts)
    shifts += 0 if slice_shifts is None else slice_shifts[:, None]
    gains = response("ramlak", fast_length(2 * op.width))
    found = []
    for sinogram, moved in zip(sinograms, shifts):
        rows = field(sinogram, center + moved, op.offset, op.width, op.extra, op.side, op.overlap)
        # The reference weighs angles modulo half a turn; each row carries what it should weigh instead.
        rows *= (turn_weights(scan.angles) / angle_weights(scan.angles))[:, None]
        found.append(fbp(rows, scan.angles, gains, op.axis, roi or (0, op.width, 0, op.width), axis_shifts=moved))
    return np.stack(found)


def close(got, want, tolerance=3e-5):
    assert got.shape == want.shape and got.dtype == np.float32
    np.testing.assert_allclose(got, want, atol=tolerance * np.abs(want).max(), rtol=0)


@pytest.mark.parametrize("center", CENTERS)
def test_every_place_of_the_axis(device, rng, center):
    in_turn(device, CENTERS.index(center), 3)
    scan = half_scan(rng, center, uneven=center == 36.0)
    got = fp.reconstruct(scan, center=center, method="direct", device=device)
    assert got.shape[1] == got.shape[2] == np.ceil(2 * max(center, N_X - 1 - center)) + 1
    close(got, reference(scan, center))


@pytest.mark.parametrize("center", [39.9, 40.2, -0.7])
@pytest.mark.filterwarnings("ignore:the rotation axis lies")
def test_an_axis_just_off_the_detector(device, rng, center):
    in_turn(device, (40.2, -0.7, 39.9).index(center), 2)
    scan = half_scan(rng, center)
    with pytest.warns(UserWarning, match=r"lies 0\.\d\d pixels beyond the detector's edge"):
        got = fp.reconstruct(scan, center=center, method="direct", device=device)
    close(got, reference(scan, center))


def test_shifts_rows_regions_and_the_option(device, rng):
    scan = half_scan(rng, 33.2)
    shifts = np.linspace(-1.5, 2, 60)
    options = {"center": 33.2, "method": "direct", "device": device}
    close(fp.reconstruct(scan, axis_shifts=shifts, **options), reference(scan, 33.2, shifts))
    roi = (50, 68, 3, 40)
    close(fp.reconstruct(scan, roi=roi, rows=(1, 2), **options), reference(scan, 33.2, roi=roi)[1:2])
    want = fp.reconstruct(scan, **options)
    scan.field_of_view = None
    np.testing.assert_array_equal(fp.reconstruct(scan, half_acquisition=True, **options), want)
    scan.field_of_view = "Half"
    assert fp.reconstruct(scan, half_acquisition=False, **options).shape == (3, N_X, N_X)


def test_parts_give_the_same_bits(device, rng):
    scan = half_scan(rng, 36.0, n_z=3)
    options = {"center": 36.0, "method": "direct", "device": device}
    plans = []
    whole = fp.reconstruct(scan, on_plan=plans.append, **options)
    with pytest.raises(fp.BudgetError) as caught:
        fp.reconstruct(scan, memory=1, **options)
    rows = fp.reconstruct(scan, memory=plans[0].footprint.total - 1, on_plan=plans.append, **options)
    assert plans[1].n_parts > 1 and plans[1].footprint.total < plans[0].footprint.total
    np.testing.assert_array_equal(rows, whole)
    groups = fp.reconstruct(scan, memory=caught.value.smallest, on_plan=plans.append, **options)
    assert plans[2].n_summed > 1
    close(groups, whole, 1e-5)


@pytest.mark.parametrize("centers", [(34.0, 32.5, 35.25), (4.0, 6.5, 5.25)])
def test_every_slice_about_its_own_axis(device, rng, centers):
    """Blended over the least overlap of all, to the same bits in any rows and parts."""
    centers = np.array(centers)
    mean, shifts = centers.mean(), np.linspace(-0.5, 0.75, 60)
    scan = half_scan(rng, mean)
    options = {"center": centers, "method": "direct", "device": device}
    plans = []
    whole = fp.reconstruct(scan, axis_shifts=shifts, on_plan=plans.append, **options)
    close(whole, reference(scan, mean, shifts, slice_shifts=centers - mean))
    np.testing.assert_array_equal(fp.reconstruct(scan, axis_shifts=shifts, rows=(1, 3), **options), whole[1:])
    parts = fp.reconstruct(scan, axis_shifts=shifts, memory=plans[0].footprint.total - 1, on_plan=plans.append, **options)
    assert plans[1].n_parts > 1
    np.testing.assert_array_equal(parts, whole)
    seen = fp.reconstruct(scan, iterations=3, circle=True, **options | {"method": "sirt"})
    far = np.maximum(centers, N_X - 1 - centers)
    y, x = np.mgrid[: seen.shape[1], : seen.shape[1]] - HalfAcquisition(N_X, mean, None, Table(centers - mean)).axis
    outside = np.hypot(x, y) > far.min() + 0.5
    assert not seen[:, outside].any() and seen[:, ~outside].all(axis=1).any()


def error(slices, truth, width, center):
    """RMS error inside the head's circle, as a share of its range."""
    y, x = np.mgrid[:width, :width] - center
    inside = x**2 + y**2 < (0.85 * width / 2) ** 2
    return np.sqrt(np.mean((slices - truth)[:, inside] ** 2)) / np.ptp(truth)


@pytest.mark.parametrize(("center", "most"), [(140.3, 1.1), (155.0, 1.1), (158.8, 1.2), (159.4, 1.3), (10.3, 1.1)])
def test_half_the_detector_shows_what_the_whole_does(rng, center, most):
    """Reconstructed as a whole field, the error was .045 and .027 where a whole detector has .02."""
    n_x, n_angles, heights = 160, 480, np.array([-0.2, 0.1])
    op = HalfAcquisition(n_x, center)
    angles, radius = np.arange(n_angles) * 2 * np.pi / n_angles, 0.45 * op.width
    wide = projections(op.width, heights, angles, op.axis, radius) * 0.01
    truth = volume(op.width, heights, op.axis, radius) * 0.01
    options = {"method": "direct", "device": "cpu", "filter": "hann"}
    transmissions = np.exp(-wide).astype("f4")
    whole = fp.reconstruct(ArrayScan(transmissions, angles), center=op.axis, **options)
    scan = ArrayScan(np.ascontiguousarray(transmissions[:, :, op.offset : op.offset + n_x]), angles)
    half = fp.reconstruct(scan, center=center, half_acquisition=True, **options)
    assert half.shape == truth.shape
    figures = [error(found, truth, op.width, op.axis) for found in (half, whole)]
    assert figures[0] < most * figures[1], figures
    # No ring where the overlap ends, and no hole at the axis.
    c = round(op.axis)
    near = np.s_[:, c - 6 : c + 7, c - 6 : c + 7]
    assert np.abs((half - whole)[near]).max() < 0.15 * np.ptp(truth)


def test_the_axis_is_found_near_the_edge(rng):
    center = 135.4
    op = HalfAcquisition(160, center)
    angles = np.arange(360) * 2 * np.pi / 360
    wide = projections(op.width, np.linspace(-0.2, 0.2, 4), angles, op.axis, 0.45 * op.width) * 0.01
    scan = raw_scan(np.ascontiguousarray(wide[:, :, :160]), angles, rng)
    scan.field_of_view = "Half"
    assert abs(fp.rotation_axis(scan).center - center) < 0.3
    found = fp.reconstruct(scan, method="direct", device="cpu")
    assert found.shape[2] == op.width
    centers = fp.axis_by_row(scan, search=(0, 159)).centers
    assert np.abs(centers - center).max() < 0.4
    each = {"center": "auto:per-slice", "method": "direct", "device": "cpu"}
    np.testing.assert_allclose(fp.reconstruct(scan, **each).mean(), found.mean(), rtol=0.05)
    assert fp.plan_reconstruct(scan, **each).outputs[0].spec.shape == (4, 319, 319)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"center": 45.0}, "at most 1 pixels off it, -1.5 to 40.5, in a half acquisition; half_acquisition=False"),
        ({"center": np.nan}, "an axis on the detector"),
        ({"half_acquisition": "yes"}, "True, False, or None for what the scan says"),
        ({"filter": "hilbert"}, "a symmetric filter"),
        ({"axis_shifts": np.zeros(3)}, "one per projection"),
    ],
)
def test_what_cannot_be_done_is_refused(rng, change, word):
    with pytest.raises(fp.ArgumentError) as caught:
        fp.reconstruct(half_scan(rng), device="cpu", **{"center": 33.2, **change})
    assert word in str(caught.value)


@pytest.mark.parametrize("angles", [np.arange(60) * np.pi / 60, np.linspace(0, np.deg2rad(340), 60), np.zeros(60)])
def test_half_a_turn_is_not_enough(rng, angles):
    scan = half_scan(rng)
    scan.angles = angles
    with pytest.raises(fp.ArgumentError, match=r"half_acquisition: got angles with a gap of \d+.*wanted a whole turn") as caught:
        fp.reconstruct(scan, center=33.2, device="cpu")
    assert "half_acquisition=False reconstructs only what the detector saw" in str(caught.value)
    assert fp.reconstruct(scan, center=33.2, half_acquisition=False, device="cpu").shape == (3, N_X, N_X)


def test_both_ends_of_the_turn_may_be_there(device, rng):
    """0, 180 and 360 degrees are one direction modulo half a turn: the middle one weighed nothing."""
    scan = half_scan(rng, 36.0, n_angles=61)
    scan.angles = np.linspace(0, 2 * np.pi, 61)
    angles = np.arange(60) * 2 * np.pi / 60
    even = ArrayScan(scan.raw[:60], angles, scan.flats, scan.dark, tuple(w[:60].copy() for w in scan.weights))
    even.field_of_view = "Half"
    assert angle_weights(scan.angles, turn=True)[30] == pytest.approx(np.pi / 60)
    np.testing.assert_allclose(angle_weights(angles, turn=True), turn_weights(angles), rtol=1e-9)
    scan.raw[60], scan.weights[2][60] = scan.raw[0], scan.weights[2][0]
    found, want = (fp.reconstruct(one, center=36.0, method="direct", device=device) for one in (scan, even))
    close(found, want, 1e-5)


def test_a_whole_turn_about_the_edge_without_the_word_is_warned_of(rng):
    scan = half_scan(rng, 36.0)
    scan.field_of_view = None
    with pytest.warns(UserWarning, match=r"axis 36\.00 lies near the edge of the 40 pixels .* half_acquisition=True"):
        fp.reconstruct(scan, center=36.0, device="cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fp.reconstruct(scan, center=22.0, device="cpu")


def test_the_plan_of_an_unknown_axis_is_large_enough(rng):
    scan = half_scan(rng)
    widest = fp.plan_reconstruct(scan, device="cpu", method="direct")
    known = fp.plan_reconstruct(scan, center=33.2, device="cpu", method="direct")
    assert widest.outputs[0].spec.shape == (3, 79, 79) and known.outputs[0].spec.shape == (3, 68, 68)
    assert widest.footprint.total >= known.footprint.total
