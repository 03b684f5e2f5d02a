"""Projections without light are said and left out: nothing of the result is theirs."""

import warnings

import numpy as np
import pytest

import footprint as fp
from tests.backend.test_reconstruct import CENTER, phantom
from tests.scans import ArrayScan


def darkened(scan, frames, rng):
    scan.raw = scan.raw.copy()
    noise = rng.normal(0, 2, (len(frames), *scan.raw.shape[1:]))
    scan.raw[frames] = np.clip(np.round(scan.dark + noise), 0, None).astype(scan.raw.dtype)
    return scan


def without(scan, frames):
    kept = np.setdiff1d(np.arange(scan.n_angles), frames)
    return ArrayScan(scan.raw[kept], scan.angles[kept], scan.flats, scan.dark, tuple(w[kept] for w in scan.weights))


@pytest.mark.parametrize("frames", [[7], [0, 1, 22, 23, 50]])
@pytest.mark.parametrize("method", ["direct"])
def test_black_frames_are_left_out(device, rng, frames, method):
    """One among 24 passed in silence, and the mean of the volume rose by 9 %."""
    scan = darkened(phantom(rng, n_angles=60), frames, rng)
    options = {"center": CENTER, "method": method, "device": device}
    shifts = np.linspace(-1, 1, 60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        want = fp.reconstruct(without(scan, frames), shifts=np.delete(shifts, frames), **options)
        kept = fp.reconstruct(scan, shifts=shifts, black_frames="keep", **options)
    said = rf"array: {len(frames)} black projections? \({frames[0]}.*\) of 60 (is|are) left out; give black_frames=keep"
    plans, counts = [], []
    with pytest.warns(UserWarning, match=said):
        found = fp.reconstruct(scan, shifts=shifts, on_plan=plans.append, on_counts=counts.append, **options)
    assert counts[0].black == len(frames) and f"({frames[0]}" in str(counts[0]).partition(" left out; ")[0]
    np.testing.assert_array_equal(found, want)
    assert abs(kept.mean() - want.mean()) > 0.02 * abs(want.mean())
    # By groups of angles and row by row, too, where the first rows are read in many turns.
    with pytest.raises(fp.BudgetError) as caught:
        fp.plan_reconstruct(scan, shifts=shifts, memory=1, **options)
    with pytest.warns(UserWarning, match=said):
        groups = fp.reconstruct(scan, shifts=shifts, memory=caught.value.smallest, on_plan=plans.append, **options)
    assert plans[-1].n_summed > 1
    np.testing.assert_allclose(groups, want, rtol=0, atol=1e-5 * np.abs(want).max())


def test_dark_rows_and_faint_frames_are_no_black_frames(rng):
    scan = phantom(rng, n_angles=60)
    scan.raw[20:40] = np.round(scan.dark + 0.08 * (scan.raw[20:40] - scan.dark)).astype("u2")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fp.reconstruct(scan, center=CENTER, device="cpu")
        scan.raw[:] = np.round(scan.dark).astype("u2")
        fp.reconstruct(scan, center=CENTER, device="cpu")
    with pytest.raises(fp.ArgumentError, match="black_frames: got 'burn', wanted one of exclude, keep"):
        fp.reconstruct(scan, center=CENTER, black_frames="burn", device="cpu")


@pytest.mark.parametrize("resume", [False, True])
def test_a_volume_in_a_file_is_written_once_without_them(rng, tmp_path, resume):
    frames = [3, 30]
    scan = darkened(phantom(rng, n_angles=60), frames, rng)
    options = {"center": CENTER, "method": "direct", "device": "cpu"}
    with fp.create_volume(tmp_path / "v.h5", (6, 41, 41), resume=resume) as out:
        with pytest.warns(UserWarning, match="2 black projections"):
            fp.reconstruct(scan, out=out, **options)
    with fp.open_image(f"{tmp_path}/v.h5:/entry/reconstruction/results/data", 2) as image:
        found = np.empty((41, 41), np.float32)
        image.read(slice(0, 41), found)
    np.testing.assert_array_equal(found, fp.reconstruct(without(scan, frames), **options)[2])
