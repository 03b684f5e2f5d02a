"""Pixel sizes and energies that cannot be: in another unit than a file says, or than is taken where it says none."""

from __future__ import annotations

import re
from pathlib import Path

import h5py
import pytest

from footprint.io.scan import open_scan
from tests.unit.io_files import nxtomo


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [
        (6.5, None, "x_pixel_size is 6.5 m, the unit where none is written, which cannot be: ignored"),
        (6.5, "m", "x_pixel_size is 6.5 m, which cannot be: ignored"),
        (6.5e-6, "um", "x_pixel_size is 6.5e-06 um, which cannot be: ignored"),
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
