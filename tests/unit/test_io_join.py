"""Volumes in parts seen as one: what h5py and our readers find there, and parts that are none of one volume."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import h5py
import numpy as np
import pytest
from click.testing import CliRunner

import footprint as fp
from footprint.cli.main import main
from footprint.io.phantom import write_scan
from footprint.io.volume_source import open_volume

DATA = "entry/reconstruction/results/data"


def test_parts_of_a_reconstruction_are_the_whole_of_it(tmp_path):
    """Written in any order, packed and plain, in folders of their own, joined and moved together."""
    scan = write_scan(tmp_path / "scan.nx", n_angles=40, n_z=24, n_x=32).path
    (tmp_path / "a/parts").mkdir(parents=True)
    runs = {"b": ["--rows", "9:24", "--compression", "gzip"], "a": ["--rows", "2:9"]}
    for name, words in runs.items():
        words = ["reconstruct", str(scan), "-o", str(tmp_path / f"a/parts/{name}.h5"), "--center", "auto:per-slice", *words]
        done = CliRunner().invoke(main, [*words, "--quiet", "--device", "cpu"])
        assert done.exit_code == 0, (done.output, done.exception)
    parts = [str(tmp_path / f"a/parts/{name}.h5") for name in runs]
    done = CliRunner().invoke(main, ["join", *parts, "-o", str(tmp_path / "a/v.h5"), "--json"])
    assert done.exit_code == 0 and json.loads(done.stdout)["rows"] == [2, 24], (done.output, done.exception)
    os.rename(tmp_path / "a", tmp_path / "moved")
    path = tmp_path / "moved/v.h5"
    slabs, centers = [], []
    for name in ("a", "b"):
        with h5py.File(tmp_path / f"moved/parts/{name}.h5") as file:
            slabs.append(file[DATA][()])
            centers.append(file["entry/reconstruction/results/center_of_slice"][()])
    with h5py.File(path) as file:
        assert file[DATA].is_virtual and file["entry"].attrs["default"] == "reconstruction"
        np.testing.assert_array_equal(file[DATA][()], np.concatenate(slabs))
        np.testing.assert_array_equal(file["entry/reconstruction/results/center_of_slice"][()], np.concatenate(centers))
        about = file["entry/reconstruction"].attrs
        assert about["rows"] == "2:24" and list(about["parts"]) == ["a.h5", "b.h5"] and about["center_method"].endswith("per-slice")
    source = open_volume(path)
    found = np.empty((22, 32, 32), "f4")
    source.frames.read(0, 22, slice(0, 32), found)
    source.close()
    np.testing.assert_array_equal(found, np.concatenate(slabs))
    (tmp_path / "moved/parts/b.h5").unlink()
    with pytest.raises(fp.FormatError, match=r"assembled from parts/b\.h5, which is missing"):
        open_volume(path)


def part(path, rows="0:2", shape=(2, 4, 5), dtype="f4", each=None, **about):
    with fp.create_volume(path, shape, dtype, attrs={"rows": rows, "filter": "hann", **about}, each=each or {}) as volume:
        volume.write(slice(0, shape[0]), np.ones(shape, dtype))
    return str(path)


@pytest.mark.parametrize(
    ("other", "word"),
    [
        ({"rows": "3:5"}, r"begins with row 3, and .*a\.h5 ends before row 2; rows 2:3 are missing"),
        ({"rows": "1:3"}, r"b\.h5: has rows 1:3, and .*a\.h5 has 0:2"),
        ({"filter": "ramlak"}, r"b\.h5: was made with filter ramlak, .*a\.h5 with hann"),
        ({"cutoff": 0.5}, r"was made with cutoff 0.5, .*a\.h5 with None"),
        ({"value_scale": 2.0}, "--range as two numbers"),
        ({"scan": "/data/other.nx"}, r"scan other\.nx"),
        ({"shape": (2, 4, 6)}, r"b\.h5: got float32 slices of 4 x 6, wanted float32 slices of 4 x 5"),
        ({"dtype": "u2"}, "uint16 slices"),
        ({"rows": "2:5"}, "says its rows are 2:5, and has 2 slices"),
        ({"rows": None}, "does not say which rows"),
        ({"each": {"center_of_slice": [1.0, 2.0]}}, "has center_of_slice for every slice"),
    ],
)
def test_parts_of_different_volumes_are_refused(tmp_path, other, word):
    names = [part(tmp_path / "a.h5"), part(tmp_path / "b.h5", **{"rows": "2:4", **other})]
    with pytest.raises((fp.FormatError, fp.ShapeError), match=word):
        fp.join_volumes(names[::-1], tmp_path / "v.h5")
    assert sorted(os.listdir(tmp_path)) == ["a.h5", "b.h5"]


def test_names_that_cannot_be(tmp_path):
    one = part(tmp_path / "a.h5")
    for parts, out, word in (([one], "v.tif", r"ending in \.h5"), ([one], one, "none of the parts has"), ([], "v.h5", "0 of them")):
        with pytest.raises(fp.ArgumentError, match=word):
            fp.join_volumes(parts, tmp_path / out)
    with h5py.File(tmp_path / "b.h5", "w") as file:
        file["data"] = np.ones((2, 3))
    with pytest.raises(fp.FormatError, match="has no volume at entry/reconstruction"):
        fp.join_volumes([one, tmp_path / "b.h5"], tmp_path / "v.h5")
    with pytest.raises(fp.FormatError, match="already exists"):
        fp.join_volumes([one], tmp_path / "b.h5")
    assert fp.join_volumes([one], tmp_path / "b.h5", overwrite=True) == (0, 2)


@pytest.mark.parametrize("stem", ["a%%b", "50%-", "p%b", "%"])
def test_a_percent_sign_in_a_name_is_one(tmp_path, stem):
    """HDF5 fills in what follows it: all was NaN, without a word, or the volume could not be made."""
    (tmp_path / stem).mkdir()
    names = [part(tmp_path / stem / f"{stem}{i}.h5", f"{2 * i}:{2 * i + 2}") for i in (0, 1)]
    assert fp.join_volumes(names, tmp_path / "v.h5") == (0, 4)
    with h5py.File(tmp_path / "v.h5") as file:
        assert (file[DATA][()] == 1).all()
    open_volume(tmp_path / "v.h5").close()


def test_what_does_not_show_its_parts_is_not_made(tmp_path):
    """HDF5 looks for them elsewhere first where it is told to, and says nothing of what it finds."""
    part(tmp_path / "a.h5"), part(tmp_path / "b.h5", "2:4")
    (tmp_path / "other").mkdir()
    with fp.create_volume(tmp_path / "other/b.h5", (2, 4, 5)) as volume:
        volume.write(slice(0, 2), np.zeros((2, 4, 5), "f4"))
    code = "import sys, footprint as fp; fp.join_volumes(sys.argv[1:], 'v.h5')"
    environment = {**os.environ, "HDF5_VDS_PREFIX": str(tmp_path / "other")}
    words = [sys.executable, "-c", code, "a.h5", "b.h5"]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert "v.h5: does not show what is in b.h5; unset HDF5_VDS_PREFIX, or rename the part." in done.stderr
    assert sorted(os.listdir(tmp_path)) == ["a.h5", "b.h5", "other"]
