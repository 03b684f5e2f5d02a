"""Many flats and darks made one: means and medians of each group."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from footprint.errors import ArgumentError
from footprint.io.scan import open_scan
from tests.unit.io_files import nxtomo

KEY = [2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 1, 1]


def scan_file(path: Path, **storage: object) -> np.ndarray:
    """A scan with a zinger in one flat of the first group."""
    data = nxtomo(path, KEY, **storage)
    data[4, 1, 2] = 60000
    with h5py.File(path, "r+") as file:
        file["entry/instrument/detector/data"][...] = data
    return data.astype(float)


@pytest.mark.parametrize("piece", [1 << 13, 7])
def test_medians_of_flats_and_darks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    monkeypatch.setattr("footprint.io.reduction._SORTED", piece)
    data = scan_file(tmp_path / "a.nx")
    with open_scan(tmp_path / "a.nx", flat_reduction="median", dark_reduction="median") as scan:
        want = [np.median(data[3:7, 1:], axis=0), np.median(data[10:, 1:], axis=0)]
        np.testing.assert_array_equal(scan.flat_means(slice(1, 3)), want)
        np.testing.assert_array_equal(scan.dark_mean(), np.median(data[:3], axis=0))
        assert scan.means_bytes(3) >= 4 * 3 * 5 * 2 + 2 * 15 * 4
    with open_scan(tmp_path / "a.nx", dark_reduction="median") as scan:
        np.testing.assert_allclose(scan.flat_means(), [data[3:7].mean(0), data[10:].mean(0)])


def test_a_flat_that_is_not_a_number_anywhere_is_none(tmp_path: Path) -> None:
    data = nxtomo(tmp_path / "a.nx", KEY, dtype="f4")
    data[5, 0, 1] = np.nan
    with h5py.File(tmp_path / "a.nx", "r+") as file:
        file["entry/instrument/detector/data"][...] = data
    for method in ("mean", "median"):
        with open_scan(tmp_path / "a.nx", flat_reduction=method) as scan:
            assert np.isnan(scan.flat_means()[0, 0, 1]) and np.isfinite(scan.flat_means()).sum() == 29


def test_another_word_is_refused(tmp_path: Path) -> None:
    nxtomo(tmp_path / "a.nx", KEY)
    for name in ("flat_reduction", "dark_reduction"):
        with pytest.raises(ArgumentError, match=f"{name}: got 'max', wanted one of mean, median"):
            open_scan(tmp_path / "a.nx", **{name: "max"})
