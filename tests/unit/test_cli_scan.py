"""``footprint reconstruct`` on scans as they come: line integrals, pixel sizes, parts of a scan, and what outputs say."""

from __future__ import annotations

import json
import subprocess
import sys

import h5py
import numpy as np
import pytest
import tifffile

import footprint as fp
from footprint.io.phantom import projections, write_scan
from tests.scans import ArrayScan
from tests.unit.cli_files import shell
from tests.unit.io_files import nxtomo

N_ANGLES, N_Z, N_X, CENTER = 60, 6, 48, 25.2


@pytest.fixture
def said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(line, code=0):
        result = shell(line, code)
        return json.loads(result.stdout) if "--json" in line else result

    return run


def lines():
    angles = np.arange(N_ANGLES) * np.pi / N_ANGLES
    return projections(N_X, np.linspace(-0.4, 0.4, N_Z), angles, CENTER) * 0.05


def volume(path):
    with h5py.File(path) as file:
        group = file["entry/reconstruction"]
        return group["results/data"][()], dict(group.attrs)


def test_line_integrals_are_reconstructed_as_they_are(said, tmp_path):
    """They were taken for transmissions: 13 times off."""
    given = lines().astype("f4")
    np.save(tmp_path / "lines.npy", given)
    np.save(tmp_path / "sinograms.npy", given.swapaxes(0, 1))
    want = fp.fbp(given.swapaxes(0, 1), center=CENTER, method="direct", device="cpu")
    words = f"--center {CENTER} --method direct --device cpu --json"
    for line in ("lines.npy --no-log", "sinograms.npy --sinograms --no-log"):
        report = said(f"reconstruct {line} -o v.h5 --overwrite {words}")
        assert report["shape"] == [N_Z, N_X, N_X] and report["center"] == CENTER
        np.testing.assert_allclose(volume("v.h5")[0], want, rtol=0, atol=1e-6 * np.abs(want).max())
    assert said(f"plan reconstruct lines.npy --no-log --center {CENTER} --json")["nbytes"] > 0
    found = said("reconstruct sinograms.npy --sinograms --no-log -o v.h5 --overwrite --json")
    assert abs(found["center"] - CENTER) < 0.3
    # Flats that are not used are the scan's: those of the few pixels that warm kernels up were told of, too.
    np.save(tmp_path / "flats.npy", np.ones((4, *given.shape[1:])))
    with pytest.warns(UserWarning, match="the scan's 4 flats") as told:
        said(f"reconstruct lines.npy --no-log --flats flats.npy -o v.h5 --overwrite {words}")
    assert not [one for one in told if "1 flat" in str(one.message)]
    # The same as transmissions of a given open beam.
    np.save(tmp_path / "counts.npy", 500 * np.exp(-given))
    said(f"reconstruct counts.npy --i0 500 -o w.h5 {words}")
    np.testing.assert_allclose(volume("w.h5")[0], want, rtol=0, atol=1e-4 * np.abs(want).max())


def test_line_integrals_without_the_word_are_warned_of():
    noisy = lines() + np.random.default_rng(0).normal(0, 0.01, (N_ANGLES, N_Z, N_X))
    scan = ArrayScan(noisy.astype("f4"), np.arange(N_ANGLES) * np.pi / N_ANGLES)
    with pytest.warns(UserWarning, match=r"are not above 0, as transmissions are: if .* line integrals already, give log=False"):
        fp.reconstruct(scan, center=CENTER, rows=(0, 1), device="cpu")
    scan.flats, scan.n_flats, scan.n_darks = np.ones((1, N_Z, N_X)), 1, 0
    with pytest.warns(UserWarning, match="i0=5.0 is not used: projections are line integrals"):
        with pytest.warns(UserWarning, match="the scan's 1 flat and 0 darks are not used"):
            fp.reconstruct(scan, center=CENTER, rows=(0, 1), log=False, i0=5.0, device="cpu")


def test_counts_without_flats_are_not_taken_for_transmissions_in_silence():
    scan = ArrayScan((777 * np.exp(-lines())).astype("f4"), np.arange(N_ANGLES) * np.pi / N_ANGLES)
    said = "a median of [0-9.]+, where transmissions are below 1: if these are counts, give i0='border'"
    with pytest.warns(UserWarning, match=said):
        fp.reconstruct(scan, center=CENTER, rows=(0, 1), device="cpu")


@pytest.mark.parametrize("kind", ["folder", "tif"])
def test_tiffs_say_how_they_were_made_and_which_rows_they_are(said, tmp_path, kind):
    write_scan(tmp_path / "scan.nx", n_angles=N_ANGLES, n_z=N_Z, n_x=N_X)
    name = "slices" if kind == "folder" else "v.tif"
    words = "--rows 3:6 --center 26.5 --filter hann --pixel-size 0.002 --png p.png"
    report = said(f"reconstruct scan.nx -o {name} {words} --device cpu --json")
    files = sorted((tmp_path / name).iterdir()) if kind == "folder" else [tmp_path / name]
    if kind == "folder":
        assert [file.name for file in files] == [f"slice_{row:05d}.tif" for row in (3, 4, 5)]
    said(f"reconstruct scan.nx -o v.h5 {words.rpartition('--png')[0]} --device cpu --json")
    whole, about = volume("v.h5")
    np.testing.assert_array_equal(np.concatenate([np.atleast_3d(tifffile.imread(f)).reshape(-1, N_X, N_X) for f in files]), whole)
    for i, file in enumerate(files):
        with tifffile.TiffFile(file) as tiff:
            tags = tiff.pages[0].tags
            said_of = json.loads(tags["ImageDescription"].value)
            assert tags["Software"].value == f"footprint {fp.__version__}"
            assert (
                tags["XResolution"].value[0] / tags["XResolution"].value[1] == pytest.approx(500)
                and tags["ResolutionUnit"].value == 3
            )
        assert said_of["rows"] == "3:6" and said_of["center"] == 26.5 and said_of["filter"] == "hann" and said_of["unit"] == "1/cm"
        assert said_of["angles_used"].startswith("60 angles, 0 to 177 degrees") and said_of["scan"] == "scan.nx"
        assert said_of["method"] == report["method"] == about["method"] and said_of.get("row", 3) == 3 + i
    assert {k: v for k, v in said_of.items() if k not in ("shape", "row")}.keys() == about.keys() - {"NX_class", "default"}
    assert (tmp_path / "p.png").stat().st_size > 1000


def test_a_half_acquisition_is_recognised_and_has_slices_of_the_field(said, tmp_path):
    """It was reconstructed as a whole field, without a word."""
    n_x, center = 64, 55.3
    angles = np.arange(120) * 3.0
    lines = projections(n_x, np.linspace(-0.2, 0.2, 3), np.deg2rad(angles), center, 50.0) * 0.02
    key = [2, 1] + [0] * 120
    nxtomo(tmp_path / "half.nx", key, angles=np.r_[0, 0, angles], n_z=3, n_x=n_x, dtype="f4")
    with h5py.File(tmp_path / "half.nx", "a") as file:
        detector = file["entry/instrument/detector"]
        detector["data"][...] = np.concatenate([np.zeros((1, 3, n_x)), np.ones((1, 3, n_x)), np.exp(-lines)])
        detector["field_of_view"] = "Half"
    words = "--method direct --device cpu --json"
    report = said(f"reconstruct half.nx -o v.h5 {words}")
    assert report["shape"] == [3, 112, 112] and abs(report["center"] - center) < 0.2
    values, _ = volume("v.h5")
    with fp.open_scan(tmp_path / "half.nx") as scan:
        want = fp.reconstruct(scan, center=report["center"], method="direct", device="cpu")
    np.testing.assert_array_equal(values, want)
    part = said(f"reconstruct half.nx -o part.h5 --center {report['center']} --roi 70,112,0,100 {words}")
    assert part["shape"] == [3, 100, 42]
    np.testing.assert_allclose(volume("part.h5")[0], want[:, :100, 70:], rtol=0, atol=1e-5 * np.abs(want).max())
    assert "from 0 to 112, the width" in str(said("reconstruct half.nx -o w.h5 --center 55.3 --roi 0,113,0,5", code=1).exception)
    assert said(f"reconstruct half.nx -o full.h5 --full-acquisition --center 55.3 {words}")["shape"] == [3, n_x, n_x]
    assert said("plan reconstruct half.nx --json")["nbytes"] > 0
    np.savetxt(tmp_path / "half.txt", angles / 2)
    found = said("reconstruct half.nx -o w.h5 --center 55.3 --angles half.txt", code=1).exception
    assert "half_acquisition: got angles with a gap of 181.5 degrees, wanted a whole turn" in str(found)


def test_regions_beyond_the_slice_are_refused(said, tmp_path):
    write_scan(tmp_path / "scan.nx", n_angles=N_ANGLES, n_z=2, n_x=N_X)
    for roi in ("0,49,0,5", "-1,5,0,5", "0,5,40,60", "5,5,0,5", "0,5,7,3"):
        result = said(f"reconstruct scan.nx -o v.h5 --center 25 --roi {roi}", code=1)
        assert "from 0 to 48, the width of a slice" in str(result.exception) and not (tmp_path / "v.h5").exists()
    assert said("reconstruct scan.nx -o v.h5 --center 25 --roi 0,48,3,48 --json")["shape"] == [2, 45, 48]


def test_centered_and_larger_slices_say_where_the_axis_is(said, tmp_path):
    write_scan(tmp_path / "scan.nx", n_angles=N_ANGLES, n_z=2, n_x=N_X)
    words = "reconstruct scan.nx --center 25 --device cpu --json"
    report = said(f"{words} -o c.h5 --centered-axis --margin 3")
    values, about = volume("c.h5")
    assert report["shape"] == [2, 54, 54] and report["axis_in_slice"] == list(about["axis_in_slice"]) == [26.5, 26.5]
    with fp.open_scan(tmp_path / "scan.nx") as scan:
        want = fp.reconstruct(scan, center=25, centered=True, margin=3, device="cpu")
    np.testing.assert_array_equal(values, want)
    report = said(f"{words} -o r.h5 --margin 3 --roi -3,20,4,51")
    assert report["shape"] == [2, 47, 23] and report["axis_in_slice"] == [28.0, 21.0]
    result = said("reconstruct scan.nx -o v.h5 --center 25 --margin 3 --roi -4,20,4,51", code=1)
    assert "from -3 to 51, the margin of a slice" in str(result.exception)


def test_an_axis_off_the_detector(tmp_path):
    """In a process of its own, whose warnings name options; what a part of a slice's memory makes is the same."""
    write_scan(tmp_path / "scan.nx", n_angles=N_ANGLES, n_z=2, n_x=N_X)
    words = ["reconstruct", "scan.nx", "-o", "v.h5", "--center", "-4.25", "--device", "cpu", "--json", "--quiet"]
    shell = lambda *more: subprocess.run(
        [sys.executable, "-m", "footprint", *words, *more], cwd=tmp_path, text=True, capture_output=True, timeout=120
    )
    first = shell()
    assert json.loads(first.stdout)["axis_in_slice"] == [-4.25, -4.25]
    assert "3.75 pixels beyond" in first.stderr and "--centered-axis with --margin 29 makes slices" in first.stderr
    refused = shell("--circle", "--overwrite")
    assert refused.returncode == 2 and refused.stderr.startswith(
        "footprint: --circle: got an axis off the detector, wanted one on it: no pixel was seen by all "
        "projections; leave --circle out"
    )
    with fp.open_scan(tmp_path / "scan.nx") as scan, pytest.warns(UserWarning, match="3.75 pixels beyond"):
        want = fp.reconstruct(scan, center=-4.25, device="cpu")
        tried = fp.try_axes(scan, [-4.25, 60.0], row=1, device="cpu")
    np.testing.assert_array_equal(volume(tmp_path / "v.h5")[0], want)
    np.testing.assert_array_equal(tried[0], want[1])


def test_the_files_pixel_size_is_used_and_said(said, tmp_path):
    write_scan(tmp_path / "scan.nx", n_angles=N_ANGLES, n_z=2, n_x=N_X)
    said("reconstruct scan.nx -o pixel.h5 --center 25 --method direct --device cpu --json")
    assert volume("pixel.h5")[1]["unit"] == "1/pixel"
    with h5py.File(tmp_path / "scan.nx", "a") as file:
        file["entry/instrument/detector/x_pixel_size"] = 20.0
        file["entry/instrument/detector/x_pixel_size"].attrs["units"] = "um"
    report = said("reconstruct scan.nx -o cm.h5 --center 25 --method direct --device cpu --json")
    values, about = volume("cm.h5")
    assert report["unit"] == about["unit"] == "1/cm" and about["pixel_size"] == pytest.approx(0.002)
    np.testing.assert_allclose(values, volume("pixel.h5")[0] / 0.002, rtol=1e-5, atol=1e-4)
    report = said("reconstruct scan.nx -o none.h5 --center 25 --pixel-size none --method direct --device cpu --json")
    assert report["unit"] == "1/pixel"
    np.testing.assert_array_equal(volume("none.h5")[0], volume("pixel.h5")[0])
    with fp.open_scan(tmp_path / "scan.nx") as scan:
        mine = fp.reconstruct(scan, center=25, pixel_size="auto", method="direct", device="cpu")
    np.testing.assert_array_equal(mine, values)
    assert "centimetres, a length such as 6.5um, auto or none" in str(
        said("reconstruct scan.nx -o v.h5 --pixel-size wide", code=1).exception
    )


def test_rows_have_the_axis_of_the_whole(said, tmp_path):
    """The search took the middle of the rows asked for, so every part of a scan had an axis of its own."""
    write_scan(tmp_path / "scan.nx", n_angles=N_ANGLES, n_z=40, n_x=N_X)
    centers = {
        said(f"reconstruct scan.nx -o v.h5 --overwrite --json {rows}")["center"] for rows in ("", "--rows 0:3", "--rows 37:40")
    }
    assert len(centers) == 1
    with fp.open_scan(tmp_path / "scan.nx") as scan:
        (center,) = centers
        for rows in (slice(0, 3), slice(30, 33)):
            options = {"rows": rows, "device": "cpu", "method": "direct"}
            found, given = (fp.reconstruct(scan, center=c, **options) for c in ("auto", center))
            np.testing.assert_array_equal(found, given)


def test_an_axis_whose_comparisons_differ_is_warned_of():
    """A sample that moved by a few pixels during the scan: a spread of .4 pixels and more warned nobody."""
    angles = np.arange(90) * 2 * np.pi / 90
    heights, parts = np.linspace(-0.3, 0.3, 4), zip(np.array_split(angles, 3), (31, 31.8, 33.6))
    moved = np.concatenate([projections(64, heights, part, center) for part, center in parts])
    scan = ArrayScan(np.exp(-moved * 0.02).astype("f4"), angles)
    with pytest.warns(UserWarning, match=r"the rotation axis [\d.]+ is uncertain: the comparisons .* differ by [\d.]+ pixels"):
        axis = fp.rotation_axis(scan)
    assert axis.spread > 0.3


def test_a_limit_on_files_met_by_a_cache_is_called_that(tmp_path):
    """The compiled kernels' cache met it first: "File too large"."""
    write_scan(tmp_path / "scan.nx", n_angles=24, n_z=2, n_x=32)
    code = (
        "import errno, os, sys, footprint.io.scan as s\n"
        "def full(*a, **k): raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))\n"
        "s.open_parts = full\n"
        "import resource as r; r.setrlimit(r.RLIMIT_FSIZE, (20480, 20480))\n"
        "sys.argv = ['footprint', 'reconstruct', 'scan.nx', '-o', 'v.h5']\n"
        "from footprint.cli.main import entry; entry()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stderr.strip() == (
        "footprint: a file could not be written (ulimit -f allows this process files of at most 20 KiB)."
    )
