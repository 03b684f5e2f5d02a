"""Pixel sizes and energies that cannot be: in another unit than a file says, or than is taken where it says none."""

from __future__ import annotations

import math
import re
import warnings
from pathlib import Path

import h5py
import pytest

from footprint.api._scan import pixel_size_of
from footprint.io.scan import open_scan
from tests.unit.io_files import nxtomo


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [
        (6.5, None, "x_pixel_size is 6.5 m, the unit where none is written, which cannot be: ignored"),
        (6.5, "m", "x_pixel_size is 6.5 m, which cannot be: ignored"),
        (6.5e-6, "um", "x_pixel_size is 6.5e-06 um, which cannot be: ignored"),
        (-1e-6, "m", "x_pixel_size is -1e-06 m, which cannot be: ignored"),
        (0.0, "m", "x_pixel_size is 0 m, which cannot be: ignored"),
        (math.nan, "m", "x_pixel_size is nan m, which cannot be: ignored"),
        (math.inf, "m", "x_pixel_size is inf m, which cannot be: ignored"),
    ],
)
def test_a_pixel_size_in_another_unit_than_it_says_is_no_pixel_size(tmp_path: Path, value: float, unit: str, said: str) -> None:
    nxtomo(tmp_path / "a.nx", [1, 2, 0], pixel=(value, unit or "m"))
    if unit is None:
        with h5py.File(tmp_path / "a.nx", "a") as file:
            del file["entry/instrument/detector/x_pixel_size"].attrs["units"]
    with pytest.warns(UserWarning, match=re.escape(said)), open_scan(tmp_path / "a.nx") as scan:
        assert scan.pixel_size is None


def test_an_energy_without_its_unit_is_no_energy_of_many_mev(tmp_path: Path) -> None:
    nxtomo(tmp_path / "a.nx", [1, 2, 0])
    with h5py.File(tmp_path / "a.nx", "a") as file:
        file["entry/instrument/beam/incident_energy"] = 23000.0
    with pytest.warns(UserWarning, match="incident_energy is 23000 kev, the unit where none is written"):
        with open_scan(tmp_path / "a.nx") as scan:
            assert scan.energy is None


def test_pixels_are_those_that_the_sample_sees_and_distances_those_that_waves_travel(tmp_path: Path) -> None:
    nxtomo(tmp_path / "a.nx", [1, 2, 0], pixel=(6.5e-6, "m"))
    with h5py.File(tmp_path / "a.nx", "a") as file:
        file["entry/instrument/detector/x_magnified_pixel_size"] = 0.65e-6
        file["entry/instrument/detector/distance"] = 0.1
    with open_scan(tmp_path / "a.nx") as scan:
        assert (scan.pixel_size, scan.distance) == (0.65e-6, 0.1)
    with h5py.File(tmp_path / "a.nx", "a") as file:
        file["entry/sample/x_pixel_size"], file["entry/sample/propagation_distance"] = 0.6e-6, 0.02
    with open_scan(tmp_path / "a.nx") as scan:
        assert (scan.pixel_size, scan.distance) == (0.6e-6, 0.02)


def test_pixels_that_are_no_squares_are_warned_of(tmp_path: Path) -> None:
    nxtomo(tmp_path / "a.nx", [1, 2, 0], pixel=(1e-6, "m"))
    with h5py.File(tmp_path / "a.nx", "a") as file:
        file["entry/sample/x_pixel_size"], file["entry/sample/y_pixel_size"] = 1e-6, 2e-6
    with pytest.warns(UserWarning, match="pixels of 1e-06 m by 2e-06 m"), open_scan(tmp_path / "a.nx") as scan:
        assert scan.pixel_size == 1e-6


def test_of_several_energies_none_is_taken(tmp_path: Path) -> None:
    nxtomo(tmp_path / "a.nx", [1, 2, 0])
    with h5py.File(tmp_path / "a.nx", "a") as file:
        file["entry/instrument/beam/incident_energy"] = [20.0, 30.0]
        file["entry/instrument/detector/distance"] = [0.1, 0.1, 0.1]
    with pytest.warns(UserWarning, match="incident_energy has 2 values, from 20 to 30 kev: ignored"):
        with open_scan(tmp_path / "a.nx") as scan:
            assert scan.energy is None
            assert scan.distance == 0.1


@pytest.mark.parametrize(("factor", "unit"), [(1.0, "metres"), (1e3, "millimetres"), (1e6, "micrometres")])
def test_a_pixel_size_in_another_unit_than_centimetres_is_warned_of(factor: float, unit: str) -> None:
    class Scan:
        pixel_size = 5e-6

    with pytest.warns(UserWarning, match=rf"counts centimetres, and may be in {unit}: the scan's own pixels are of 0.0005 cm"):
        assert pixel_size_of(Scan(), factor * 5e-6) == factor * 5e-6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pixel_size_of(Scan(), 5e-4) == pixel_size_of(Scan(), "auto") == pytest.approx(5e-4)
