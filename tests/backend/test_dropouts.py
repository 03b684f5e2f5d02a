"""Pixels that fail in single projections: kernels against the reference, and slices without their arcs."""

import numpy as np
import pytest

import footprint as fp
from footprint.api._black import Watch
from footprint.io.phantom import projections
from footprint.kernels.dropouts.contract import LONGEST
from footprint.ops.dropouts import Dropouts
from footprint.reference.dropouts import dropouts
from tests.backend.kernels import run
from tests.scans import ArrayScan, raw_scan


def mended(rows, level, backend):
    out = np.full(rows.shape, np.nan, np.float32)
    run(backend, "dropouts", rows.copy(), out, level=level)
    return out


@pytest.mark.parametrize("level", [0.0, 13.8])
@pytest.mark.parametrize("n_x", [1, 2, 5, 6, 255, 256, 257, 261, 513, 1030])
def test_short_runs_are_mended_wherever_they_lie(backend, rng, level, n_x):
    rows = rng.uniform(1, 3, (3, 7, n_x)).astype("f4")
    for row in rows.reshape(-1, n_x):
        for start in rng.integers(0, n_x, max(1, n_x // 20)):
            row[start : start + rng.integers(1, LONGEST + 3)] = level and 13.8155
    # Around the ends of a tile.
    for k, start in enumerate(range(250, min(n_x, 259))):
        rows[k % 3, k % 7, start : start + LONGEST] = level and 13.8155
    want = dropouts(rows, level, LONGEST)
    np.testing.assert_allclose(mended(rows, level, backend), want, rtol=0, atol=2e-6)


def test_zeros_draw_no_arcs(device, rng):
    """A pixel that fails for a third of the turn, and single ones: they were the logarithm of the lowest transmission."""
    angles = np.arange(120) * np.pi / 120
    scan = raw_scan(projections(128, np.array([-0.2, 0.0, 0.2]), angles, 64.2) * 0.02, angles, rng)
    options = {"center": 64.2, "method": "direct", "device": device}
    want = fp.reconstruct(scan, **options)
    scan.raw = scan.raw.copy()
    scan.raw[40:80, :, 75] = 0
    scan.raw[[3, 11, 100], :, [40, 90, 91]] = 0
    with pytest.warns(UserWarning, match=r"dropouts, pixels without light among others: 43 of 15360 in row 1, and .* neighbours"):
        found = fp.reconstruct(scan, **options)
    arcs = fp.reconstruct(scan, steps=lambda steps: [step for step in steps if not isinstance(step, Dropouts)], **options)
    errors = [np.sqrt(np.mean((volume - want) ** 2)) / np.ptp(want) for volume in (found, arcs)]
    assert errors[0] < 0.005 and errors[1] > 20 * errors[0], errors


def test_zeros_in_sinograms_of_line_integrals(rng):
    lines = np.asarray(rng.uniform(2, 3, (60, 3, 41)), "f4")
    scan = ArrayScan(lines.copy(), np.arange(60) * np.pi / 60)
    scan.raw[20:40, :, 25] = 0
    options = {"center": 20.3, "method": "direct", "device": "cpu", "log": False}
    with pytest.warns(UserWarning, match="20 of 2460 in row 1"):
        found = fp.reconstruct(scan, **options)
    want = fp.fbp(dropouts(scan.raw, 0.0, LONGEST).astype("f4").swapaxes(0, 1), center=20.3, method="direct", device="cpu")
    np.testing.assert_allclose(found, want, rtol=0, atol=1e-5 * np.abs(want).max())
    # Tiles of a slice read the same rows, group of angles by group: they were counted for each tile.
    watch = Watch(scan, 0, False, False)
    for start in (0, 30) * 3:
        watch((slice(start, start + 30), slice(0, 1), slice(0, 41)), scan.raw[start : start + 30, :1])
    with pytest.warns(UserWarning, match="20 of 2460 in row 0"):
        watch.say("scan")


@pytest.mark.parametrize("log", [True, False])
def test_what_is_no_number_is_said_and_counted(rng, log):
    """A projection of NaN counted as air in silence."""
    raw = np.asarray(rng.uniform(0.2, 0.8, (30, 3, 41)), "f4")
    angles, options = np.arange(30) * np.pi / 30, {"center": 20.0, "device": "cpu", "log": log}
    fp.reconstruct(ArrayScan(raw, angles), **options)
    raw[4, :, 7], raw[5, :, 20:22] = np.nan, np.inf
    with pytest.warns(UserWarning, match=r"NaN or infinite: 3 of 1230 in row 1, .* from their neighbours along the row$"):
        fp.reconstruct(ArrayScan(raw, angles), **options)
    raw[9] = np.nan
    with pytest.warns(UserWarning, match="infinite: 44 of 1230 .* but 1 projection without any other there must count as air"):
        found = fp.reconstruct(ArrayScan(raw, angles), **options)
    raw[9] = 1 if log else 0
    with pytest.warns(UserWarning, match="NaN or infinite: 3 of"):
        np.testing.assert_array_equal(found, fp.reconstruct(ArrayScan(raw, angles), **options))
