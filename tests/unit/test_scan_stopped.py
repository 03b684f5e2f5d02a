"""Scans that were stopped, stacks with frames left out, and angles from other files."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import h5py
import numpy as np
import pytest
import tifffile

import footprint as fp
from footprint.cli.measures import ANGLE, ENERGY, METRES
from footprint.errors import ArgumentError, FormatError
from tests.unit.io_files import nxtomo


def test_of_a_scan_that_was_stopped_the_frames_that_are_there_are_taken(tmp_path: Path) -> None:
    frames = nxtomo(tmp_path / "a.nx", [1, 2, 0, 0, 0])
    with h5py.File(tmp_path / "a.nx", "a") as file:
        for name in ("instrument/detector/image_key", "sample/rotation_angle"):
            file[f"entry/{name}_all"] = np.r_[file[f"entry/{name}"][()], [0, 0, 1]] + (0 if "key" in name else np.arange(8.0))
            del file[f"entry/{name}"]
            file.move(f"entry/{name}_all", f"entry/{name}")
        file["entry/sample/rotation_angle"].attrs["units"] = "degree"
        degrees = file["entry/sample/rotation_angle"][2:5]
    with pytest.warns(UserWarning, match="has 8 image keys for 5 frames, as in a scan that was stopped: the first 5 are taken"):
        with fp.open_scan(tmp_path / "a.nx") as scan:
            assert scan.shape[0] == 3
            np.testing.assert_allclose(np.rad2deg(scan.angles), degrees)
            np.testing.assert_array_equal(scan.projection(2), frames[4])


@pytest.mark.parametrize(("unit", "factor"), [("deg", np.pi / 180), ("rad", 1.0), (None, np.pi / 180)])
def test_angles_may_be_a_dataset(tmp_path: Path, unit: str | None, factor: float) -> None:
    angles = np.linspace(0, 3, 6)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["theta"] = angles
        if unit:
            file["theta"].attrs["units"] = unit
    stack = np.ones((6, 2, 4), np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with fp.open_scan(stack, angles=f"{tmp_path}/a.h5:/theta") as scan:
            np.testing.assert_allclose(scan.angles, angles * factor)
        with fp.open_scan(stack[:3], angles=f"{tmp_path}/a.h5:/theta[1:4]") as scan:
            np.testing.assert_allclose(scan.angles, angles[1:4] * factor)
    with pytest.raises(FormatError, match=re.escape('is an HDF5 file; name the dataset of its angles as "')):
        fp.open_scan(stack, angles=tmp_path / "a.h5")
    with pytest.raises(FormatError, match="holds no dataset /none"):
        fp.open_scan(stack, angles=f"{tmp_path}/a.h5:/none")


def test_angles_that_are_assumed_tell_of_files_that_are_missing(tmp_path: Path) -> None:
    for i in range(30):
        if i not in (11, 20):
            tifffile.imwrite(tmp_path / f"proj_{i}.tif", np.ones((2, 4), np.uint16))
    with pytest.warns(UserWarning, match=r"assumed, though proj_10.tif is followed by proj_12.tif and 1 more gap; give angles"):
        fp.open_scan(tmp_path).close()


@pytest.mark.parametrize("names", [range(0, 60, 2), [*range(20), *range(40, 60)][::2], [3, 9, 11, 30]])
def test_only_gaps_in_even_steps_are_spoken_of(tmp_path: Path, names: object) -> None:
    for i in names:  # type: ignore[attr-defined]
        tifffile.imwrite(tmp_path / f"{i:04d}.tif", np.ones((2, 4), np.uint16))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fp.open_scan(tmp_path).close()
    said = [str(one.message) for one in caught if "assumed" in str(one.message)]
    assert len(said) == 1
    assert ("followed" in said[0]) == (len(list(names)) == 20)  # type: ignore[call-overload]


def test_rows_beyond_the_detector_are_refused(tmp_path: Path) -> None:
    nxtomo(tmp_path / "a.nx", [1, 2, *[0] * 8], n_z=4, n_x=16)
    with fp.open_scan(tmp_path / "a.nx") as scan:
        with pytest.raises(ArgumentError, match=r"rows: got \(0, 9\), wanted a pair .* of the 4 rows; stop is 4 at most"):
            fp.reconstruct(scan, center=8.0, rows=(0, 9), device="cpu")


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (ENERGY, "20", 20.0),
        (ENERGY, "20keV", 20.0),
        (ENERGY, " 2e4 eV", 20.0),
        (METRES, "100mm", 0.1),
        (METRES, ".5", 0.5),
        (ANGLE, "-1rad", -180 / np.pi),
        (ANGLE, "90°", 90.0),
        (ANGLE, "-1e1", -10.0),
    ],
)
def test_a_number_may_have_its_unit_behind_it(kind: object, text: str, value: float) -> None:
    assert kind.convert(text, None, None) == pytest.approx(value, rel=1e-12)  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", ["20foo", "keV", "", "1 2", "1e", "--1"])
def test_what_is_no_number_of_a_unit_is_refused(text: str) -> None:
    with pytest.raises(ArgumentError, match="a number of keV, or one with its unit, such as 20000eV"):
        ENERGY.convert(text, None, None)
