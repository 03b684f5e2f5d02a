"""Projections turned in their plane: against SciPy, in parts, and in a reconstruction about a leaning axis."""

from __future__ import annotations

import h5py
import numpy as np
import pytest
from click.testing import CliRunner

import footprint as fp
from footprint.cli.main import main
from footprint.io.phantom import projections, write_scan
from footprint.reference.untilt import untilt as reference
from tests.scans import raw_scan


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 1, 9), (2, 9, 1), (3, 31, 40), (1, 40, 300)])
@pytest.mark.parametrize("degrees", [0.0, 0.37, -3.0, 10.0])
def test_turning_is_scipys(device, rng, shape, degrees):
    x = rng.random(shape, np.float32)
    found = fp.untilt(x, degrees, device=device)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, reference(x, degrees), rtol=0, atol=3e-6)
    np.testing.assert_array_equal(fp.untilt(x[0].astype(">f8"), degrees, device=device), found[0])


@pytest.mark.parametrize("degrees", [0.8, -5.0])
def test_the_same_bits_at_any_budget(device, rng, degrees):
    x = rng.random((2, 90, 70)).astype(">f4")
    want = fp.untilt(x, degrees, device=device)
    with pytest.raises(fp.BudgetError) as caught:
        fp.plan_untilt(x.shape, degrees, dtype=">f4", memory=1, device=device)
    for memory in (caught.value.smallest, 2 * caught.value.smallest):
        np.testing.assert_array_equal(fp.untilt(x, degrees, memory=memory, device=device), want)


def leaning(rng, degrees=4.0, n_z=40, n_x=64, center=33.0):
    """A scan whose axis leans, and the upright one; projections of a head that changes along z."""
    angles = np.linspace(0, np.pi, 60, endpoint=False)
    lines = projections(n_x, np.linspace(-0.3, 0.3, n_z), angles, center, 24) * 0.02
    return raw_scan(reference(lines, -degrees), angles, rng, "f4"), raw_scan(lines, angles, rng, "f4"), center


def test_an_axis_that_leans_is_set_upright(rng):
    scan, upright, center = leaning(rng)
    tilt = {"degrees": 4.0, "rows": 40, "columns": 64}
    how = {"center": center, "rows": (5, 9), "filter": "hann", "cutoff": 0.6, "device": "cpu"}
    want = fp.reconstruct(upright, **how)
    found = fp.reconstruct(scan, steps=fp.steps(tilt=tilt), **how)
    other = fp.reconstruct(scan, steps=fp.steps(tilt=tilt | {"degrees": -4.0}), **how)
    errors = [np.linalg.norm(v - want) / np.linalg.norm(want) for v in (found, fp.reconstruct(scan, **how), other)]
    assert errors[0] < 0.4 * errors[1] and errors[1] < 0.8 * errors[2]
    # Any rows are those of the whole.
    whole = fp.reconstruct(scan, steps=fp.steps(tilt=tilt), **how | {"rows": None})
    np.testing.assert_array_equal(whole[5:9], found)
    # Where the axis is, by rows: at larger x in rows of larger z.
    high, low = (fp.rotation_axis(scan, rows=rows).center for rows in ((4, 10), (30, 36)))
    assert abs((low - high) / 26 - np.tan(np.deg2rad(4))) < 0.02


def test_the_shell_knows_the_detector_and_flips(tmp_path):
    path = str(write_scan(tmp_path / "scan.nx", n_angles=30, n_z=6, n_x=48).path)

    def volume(*words):
        target = tmp_path / "v.h5"
        line = ["reconstruct", path, "-o", str(target), "--center", "27", "--device", "cpu", "-q", "--overwrite", *words]
        result = CliRunner().invoke(main, line)
        assert result.exit_code == 0, result.exception
        with h5py.File(target) as file:
            group = file["entry/reconstruction"]
            return group["results/data"][()], dict(group.attrs)

    values, about = volume("--tilt", "0.7", "--rows", "1:3")
    assert "Untilt(degrees=0.7, rows=6, columns=48" in about["steps"]
    with fp.open_scan(path) as scan:
        tilt = {"degrees": 0.7, "rows": 6, "columns": 48}
        want = fp.reconstruct(scan, steps=fp.steps(tilt=tilt), rows=(1, 3), center=27, device="cpu")
    np.testing.assert_array_equal(values, want)
    flipped, _ = volume("--tilt", "0.7", "--rows", "1:3", "--flip")
    # Columns in reverse order turn slices by half a turn about the axis, whatever the tilt.
    axis = 47 - 27
    np.testing.assert_allclose(flipped[:, : 2 * axis + 1, : 2 * axis + 1][:, ::-1, ::-1], values[:, 7:, 7:], atol=2e-4)


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"degrees": 11}, "from -10 to 10 degrees"),
        ({"degrees": "much"}, "from -10 to 10 degrees"),
        ({"degrees": 1, "rows": 2.5}, "rows"),
        ({"degrees": 1, "rows": 40, "columns": 63}, "a detector of 40 x 63"),
        ({"degrees": 1, "rows": 39, "columns": 64}, "a detector of 39 x 64"),
    ],
)
def test_mistakes(rng, settings, word):
    scan, _, center = leaning(rng)
    with pytest.raises(fp.ArgumentError, match=word):
        fp.reconstruct(scan, steps=fp.steps(tilt={"rows": 40, "columns": 64} | settings), center=center, device="cpu")
