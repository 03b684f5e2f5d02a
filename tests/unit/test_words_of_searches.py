"""A search that cannot be made says what the scan has and what is wanted, and names what the user gave: the tilt, or the axis."""

from __future__ import annotations

import shlex
import sys

import numpy as np
import pytest

import footprint as fp
from footprint.cli.main import entry
from footprint.io.phantom import write_scan
from tests.scans import ArrayScan


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("searches")
    for name, rows in (("one", 1), ("two", 2), ("some", 6)):
        write_scan(folder / f"{name}.nx", n_angles=24, n_z=rows, n_x=32)
    return folder


@pytest.mark.parametrize("more", ["", "--zingers 0.2", "--center 15"])
def test_a_tilt_that_cannot_be_found_names_the_tilt(folder, monkeypatch, capsys, more):
    monkeypatch.chdir(folder)
    line = f"footprint reconstruct two.nx -o v.h5 --device cpu --tilt auto {more}"
    monkeypatch.setattr(sys, "argv", shlex.split(line))
    with pytest.raises(SystemExit) as left:
        entry()
    said = [one for one in capsys.readouterr().err.splitlines() if "warning" not in one]
    wanted = "--tilt: got an axis found at 2 of 2 heights of the detector, wanted one found at 3 or more; give the tilt in degrees."
    assert left.value.code == 2 and said == [f"footprint: {wanted}"] and not (folder / "v.h5").exists()


def test_an_axis_by_rows_that_cannot_be_found_names_the_method(folder):
    found = (
        "^method: got an axis found at 1 of 1 height of the detector, wanted one found at 3 or more; search one axis for all rows"
    )
    with fp.open_scan(folder / "one.nx") as scan, pytest.raises(fp.ArgumentError, match=found):
        fp.axis_by_row(scan)
    with (
        fp.open_scan(folder / "one.nx") as scan,
        pytest.raises(fp.ArgumentError, match=r"^tilt: got an axis found at 1 of 1 height"),
    ):
        fp.find_tilt(scan)


def test_a_tilt_of_a_small_detector_names_the_tilt(rng):
    scan = ArrayScan(rng.integers(100, 900, (20, 4, 3)).astype("u2"), np.linspace(0, np.pi, 20), np.full((1, 4, 3), 1000.0))
    with pytest.raises(fp.ArgumentError, match=r"^tilt: got a detector of 3 pixels, wanted at least 4 pixels .*in degrees.$"):
        fp.find_tilt(scan)
    with pytest.raises(
        fp.ArgumentError, match=r"^method: got a detector of 3 pixels, wanted at least 4 pixels to find the axis in;"
    ):
        fp.rotation_axis(scan)


def test_projections_without_opposites_are_told_of(rng):
    scan = ArrayScan(rng.integers(100, 900, (20, 4, 30)).astype("u2"), np.linspace(0, 2, 20), np.full((1, 4, 30), 1000.0))
    found = "^method: got 20 projections over 114.6 degrees, wanted projections 180 degrees apart, which are compared to find"
    with pytest.raises(fp.ArgumentError, match=found):
        fp.rotation_axis(scan)
