"""Many flats and darks made one: means, medians, the machine's current, saturated values."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

import footprint as fp
from footprint.errors import ArgumentError, FormatError
from footprint.io.reduction import Reduction, saturation_of
from footprint.io.scan import open_scan
from tests.unit.io_files import nxtomo

KEY = [2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 1, 1]
CURRENT = np.array([0, 0, 0, 198, 199, 200, 201, 150, 100, 202, 90, 80.0])


def scan_file(path: Path, current: np.ndarray | None = None, dtype: str = "uint16") -> np.ndarray:
    """A scan whose light follows a current, with a zinger in one flat of the first group."""
    data = nxtomo(path, KEY, dtype=dtype)
    light = np.random.default_rng(0).integers(20, 60, data.shape[1:])
    data[3:] = data[0] + light * CURRENT[3:, None, None]
    data[1:3] = data[0]
    data[4, 1, 2] = 60000
    with h5py.File(path, "r+") as file:
        file["entry/instrument/detector/data"][...] = data
        if current is not None:
            file["entry/control/data"] = current
    return data.astype(float)


@pytest.mark.parametrize("piece", [1 << 13, 7])
def test_medians_of_flats_and_darks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    monkeypatch.setattr("footprint.io.reduction._SORTED", piece)
    data = scan_file(tmp_path / "a.nx")
    with open_scan(tmp_path / "a.nx", flat_reduction="median", dark_reduction="median") as scan:
        want = [np.median(data[3:7, 1:], axis=0), np.median(data[10:, 1:], axis=0)]
        np.testing.assert_array_equal(scan.flat_means(slice(1, 3)), want)
        np.testing.assert_array_equal(scan.dark_mean(), np.median(data[:3], axis=0))
        # All flats of a group are held, and those of both groups.
        assert scan.means_bytes(3) >= 4 * 3 * 5 * 2 + 2 * 15 * 4
    with open_scan(tmp_path / "a.nx", dark_reduction="median") as scan:
        np.testing.assert_allclose(scan.flat_means(), [data[3:7].mean(0), data[10:].mean(0)])


@pytest.mark.parametrize("method", ["mean", "median"])
def test_a_flat_that_is_not_a_number_anywhere_is_none(tmp_path: Path, method: str) -> None:
    frames = np.arange(48, dtype="f4").reshape(4, 3, 4)
    frames[2, 0, 1] = np.nan

    def read(number: int, out: np.ndarray) -> None:
        out[0] = frames[number]

    for level in (None, 40):
        found = Reduction(method, level).reduced(read, np.arange(4), (3, 4), frames.dtype)
        assert np.isnan(found[0, 1]) and np.isfinite(found).sum() == 11


@pytest.mark.parametrize("method", ["mean", "median"])
def test_projections_and_flats_are_divided_by_their_current(tmp_path: Path, method: str) -> None:
    """Light that follows the current, and a sample that takes away nothing: transmissions are 1."""
    data = scan_file(tmp_path / "a.nx", CURRENT)
    with open_scan(tmp_path / "a.nx", flat_reduction=method) as scan:
        flats, dark, (lower, upper, weight) = scan.flat_means(), scan.dark_mean(), scan.flat_weights()
        usual = CURRENT[[3, 4, 5, 6, 10, 11]].mean()
        each = data[0] + (data - data[0]) * usual / np.maximum(CURRENT, 1)[:, None, None]
        many = getattr(np, method)
        np.testing.assert_allclose(flats, [many(each[3:7], axis=0), many(each[10:], axis=0)], rtol=1e-6)
        np.testing.assert_array_equal(scan.current, CURRENT[7:10])
        beam = np.stack([(1 - w) * flats[a] + w * flats[b] for a, b, w in zip(lower, upper, weight)]) - dark
        share = (data[7:10] - dark) / (scan.gain[:, None, None] * beam)
        good = np.ones(share.shape, bool)
        good[:, 1, 2] = method == "median"
        np.testing.assert_allclose(share[good], 1, rtol=1e-6)
        some = fp.select(scan, exclude=[0])
        np.testing.assert_array_equal(some.gain, scan.gain[1:])
    with open_scan(tmp_path / "a.nx", machine_current=False) as scan:
        assert scan.gain is None and scan.current is None


def test_reconstructions_take_the_current(tmp_path: Path) -> None:
    """On the way through the pipeline: nothing in the beam is 0 everywhere, where the beam alone would be -log of the current."""
    scan_file(tmp_path / "a.nx", CURRENT)
    options = {"center": 2.0, "device": "cpu", "black_frames": "keep"}
    with open_scan(tmp_path / "a.nx", flat_reduction="median") as scan:
        assert np.abs(fp.reconstruct(scan, **options)).max() < 1e-6
    with open_scan(tmp_path / "a.nx", flat_reduction="median", machine_current=False) as scan:
        assert np.abs(fp.reconstruct(scan, **options)).max() > 0.03


@pytest.mark.parametrize(
    ("current", "found"),
    [
        (None, "has no machine current of its projections"),
        (CURRENT - 100, "1 of its projections have a machine current that is not above 0"),
    ],
)
def test_currents_that_cannot_be_used(tmp_path: Path, current: np.ndarray | None, found: str) -> None:
    scan_file(tmp_path / "a.nx", current)
    with pytest.raises(FormatError, match=found):
        open_scan(tmp_path / "a.nx", machine_current=True)
    if current is None:
        with open_scan(tmp_path / "a.nx") as scan:
            assert scan.gain is None
        return
    with pytest.warns(UserWarning, match="the machine current is not used"), open_scan(tmp_path / "a.nx") as scan:
        assert scan.gain is None
    with h5py.File(tmp_path / "a.nx", "r+") as file:
        del file["entry/control"]
        file["entry/control/data"] = np.ones(3)
    with pytest.warns(UserWarning, match="has 3 values for 12 frames"), open_scan(tmp_path / "a.nx") as scan:
        assert scan.gain is None


@pytest.mark.parametrize("method", ["mean", "median"])
def test_saturated_flats_are_left_out(tmp_path: Path, method: str) -> None:
    data = scan_file(tmp_path / "a.nx")
    with h5py.File(tmp_path / "a.nx", "r+") as file:
        file["entry/instrument/detector/data"][3:7, 2, 4] = 60001
    with open_scan(tmp_path / "a.nx", flat_reduction=method, saturation=60000) as scan:
        flats = scan.flat_means()
        assert np.isnan(flats[0, 2, 4]) and np.isfinite(flats).sum() == 29
        # One of four is: the others' mean, and the median all the same.
        want = data[[3, 5, 6], 1, 2].mean() if method == "mean" else np.median(data[3:7, 1, 2])
        np.testing.assert_allclose(flats[0, 1, 2], want, rtol=1e-6)


def test_the_level_of_saturation() -> None:
    for dtype, want in (("u2", 65535), ("i2", 32767), ("u1", None), ("f4", None)):
        assert saturation_of("auto", np.dtype(dtype)) == want
    assert saturation_of("4095", np.dtype("u2")) == 4095 and saturation_of("none", np.dtype("u2")) is None
    with pytest.raises(ArgumentError, match="saturation: got 'much', wanted auto, none or a number of counts"):
        saturation_of("much", np.dtype("u2"))


def test_another_word_is_refused(tmp_path: Path) -> None:
    nxtomo(tmp_path / "a.nx", KEY)
    for name in ("flat_reduction", "dark_reduction"):
        with pytest.raises(ArgumentError, match=f"{name}: got 'max', wanted one of mean, median"):
            open_scan(tmp_path / "a.nx", **{name: "max"})
