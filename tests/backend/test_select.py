"""Scans of fewer projections, larger pixels, or left for right, beside the same done to the arrays."""

import numpy as np
import pytest
from scipy.ndimage import map_coordinates

import footprint as fp
from footprint.io.phantom import projections, volume, write_scan
from tests.scans import ArrayScan, raw_scan

CENTER, N_X = 34.7, 66


@pytest.fixture
def scan(rng):
    angles = np.linspace(0, np.pi, 60, endpoint=False)
    return raw_scan(projections(N_X, np.linspace(-0.2, 0.2, 7), angles, CENTER, 25) * 0.02, angles, rng)


def all_of(scan, dtype="f4"):
    out = np.empty(scan.shape, dtype)
    scan.read(slice(0, scan.shape[1]), out)
    return out


def binned(stack, size):
    n, n_z, n_x = stack.shape
    cut = stack[:, : n_z // size * size, : n_x // size * size].astype(float)
    return cut.reshape(n, n_z // size, size, n_x // size, size).mean(axis=(2, 4))


@pytest.mark.parametrize(("size", "flip"), [(1, True), (2, False), (3, True), (4, False)])
def test_reads_are_those_of_the_arrays(scan, size, flip):
    some = fp.select(scan, exclude=[0, 7, 8, 59], every=2, start=1, binning=size, flip=flip)
    turn = slice(None, None, -1 if flip else None)
    frames = np.setdiff1d(np.arange(60), [0, 7, 8, 59])[1::2]
    want = binned(scan.raw[frames], size)[..., turn]
    assert some.shape == want.shape and some.dtype == ("u2" if size == 1 else "f4")
    np.testing.assert_allclose(all_of(some), want, rtol=1e-6)
    part, last = np.empty((4, 1, some.shape[2]), "f8"), some.shape[1] - 1
    some.read(slice(last, last + 1), part, slice(3, 7))
    np.testing.assert_allclose(part, want[3:7, last:], rtol=1e-6)
    strided = np.empty((some.shape[2], *some.shape[:2])).transpose(1, 2, 0)
    some.read(slice(0, some.shape[1]), strided)
    np.testing.assert_allclose(strided, want, rtol=1e-6)
    np.testing.assert_allclose(some.flat_means(slice(0, 1)), binned(scan.flats, size)[:, :1, turn], rtol=1e-5)
    np.testing.assert_allclose(some.dark_mean(slice(0, 1)), binned(scan.dark[None], size)[0, :1, turn], rtol=1e-5)
    np.testing.assert_array_equal(some.angles, scan.angles[frames])
    for c in (0.0, CENTER):
        assert some.detector_axis(some.own_axis(c)) == pytest.approx(c, abs=1e-9)


def test_fewer_projections_are_those_of_a_scan_without_them(scan):
    kept = np.setdiff1d(np.arange(60), [4, 5])[::3]
    few = ArrayScan(scan.raw[kept], scan.angles[kept], scan.flats, scan.dark, tuple(table[kept] for table in scan.weights))
    how = {"center": CENTER, "device": "cpu"}
    found = fp.reconstruct(fp.select(scan, exclude=(5, 4), every=3), **how)
    np.testing.assert_array_equal(found, fp.reconstruct(few, **how))
    shifts = np.linspace(-1, 1, 60)
    some = fp.select(scan, every=3, exclude=[4, 5])
    moved = fp.reconstruct(some, shifts=some.of(shifts), **how)
    np.testing.assert_array_equal(moved, fp.reconstruct(few, shifts=shifts[kept], **how))


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_object_is_the_object(rng, size, flip):
    """Positions and values against the object itself: half a pixel, or a flip about another place, would show."""
    angles, n_x = np.linspace(0, np.pi, 150, endpoint=False), 96
    scan = raw_scan(projections(n_x, np.full(size, 0.1), angles, 50.2, 35) * 0.02, angles, rng, "f4")
    some = fp.select(scan, binning=size, flip=flip)
    axis = some.own_axis(50.2)
    assert abs(fp.rotation_axis(some).center - axis) < 0.2
    found = fp.reconstruct(some, center=axis, device="cpu")[0] / size
    truth = volume(some.shape[2], np.array([0.1]), axis, 35 / size)[0] * 0.02
    y, x = np.mgrid[: some.shape[2], : some.shape[2]] - axis
    # Rays in reverse order are those of half a turn later.
    if flip:
        truth = map_coordinates(truth, [2 * axis - np.mgrid[: len(truth), : len(truth)][k] for k in (0, 1)], order=1)
    inside = np.hypot(x, y) < 33 / size
    assert np.corrcoef(found[inside], truth[inside])[0, 1] > 0.9
    assert abs(found[inside].mean() / truth[inside].mean() - 1) < 0.02


def test_counts_without_flats_stay_counts(rng):
    """Means of counts are floats, which were taken for transmissions."""
    raw = np.full((20, 4, 32), 1000, "u2")
    raw[:, :, 10:20] = 500
    scan = ArrayScan(raw, np.linspace(0, np.pi, 20, endpoint=False))
    assert fp.reconstruct(fp.select(scan, binning=2), center=7.5, device="cpu").max() > 0.01


def test_files_and_budgets(tmp_path):
    truth = write_scan(tmp_path / "scan.nx", n_angles=60, n_z=9, n_x=64)
    with fp.open_scan(truth.path) as scan:
        some = fp.select(scan, binning=2, flip=True, exclude=[2])
        how = {"center": some.own_axis(truth.center), "device": "cpu"}
        whole = fp.reconstruct(some, **how)
        with pytest.raises(fp.BudgetError) as caught:
            fp.plan_reconstruct(some, written=True, memory=1, **how)
        with fp.create_volume(tmp_path / "v.h5", whole.shape) as out:
            fp.reconstruct(some, out=out, memory=caught.value.smallest, **how)
    with fp.open_image(f"{tmp_path / 'v.h5'}:/entry/reconstruction/results/data", plane=2) as image:
        slice_ = np.empty(image.shape, "f4")
        image.read(slice(0, image.shape[0]), slice_)
    np.testing.assert_allclose(slice_, whole[2], rtol=0, atol=1e-5 * np.abs(whole).max())


@pytest.mark.parametrize(
    ("how", "word"),
    [
        ({"binning": 0}, "binning"),
        ({"binning": 1.5}, "binning"),
        ({"binning": 8}, "at most the 7 rows"),
        ({"every": -1}, "every"),
        ({"start": -1}, "start: got -1, wanted a whole number, 0 or more"),
        ({"start": 60}, "start: got 60, wanted one of the 60 projections"),
        ({"exclude": [60]}, "from 0 to 59"),
        ({"exclude": [0.5]}, "numbers of projections"),
        ({"exclude": range(60)}, "all 60 projections, wanted at least one that is left"),
    ],
)
def test_mistakes(scan, how, word):
    with pytest.raises(fp.ArgumentError, match=word):
        fp.select(scan, **how)
