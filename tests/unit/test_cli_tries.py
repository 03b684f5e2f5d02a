"""``--center try:A:B:STEP``: a slice about each axis, which is what its name and metadata say it was made about."""

from __future__ import annotations

import json
import shlex

import h5py
import numpy as np
import pytest
import tifffile
from click.testing import CliRunner
from PIL import Image

import footprint as fp
from footprint.cli.main import main
from footprint.io.phantom import projections, write_scan
from tests.scans import raw_scan
from tests.unit.cli_files import shell

N_X = 48


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    return write_scan(tmp_path_factory.mktemp("tries") / "scan.nx", n_angles=40, n_z=5, n_x=N_X).path


@pytest.fixture
def said(tmp_path, monkeypatch, scan):
    monkeypatch.chdir(tmp_path)

    def run(words, code=0):
        result = shell(["reconstruct", str(scan), *shlex.split(words)], code)
        return json.loads(result.stdout) if not code else result

    return run


def about_axis(scan, center, row=2, **settings):
    with fp.open_scan(scan) as opened:
        return fp.reconstruct(opened, center=center, rows=(row, row + 1), method="direct", device="cpu", **settings)[0]


def test_every_slice_is_about_the_axis_that_is_said(said, scan, tmp_path):
    """Other programs number slices by a step that was rounded: here name, metadata and pixels are compared."""
    words = "--center try:9.5:11.1:.75 --method direct --device cpu --json --pixel-size none"
    report = said(f"{words} -o slices --png sheet.png")
    axes = ["9.50", "10.25", "11.00"]
    assert [float(a) for a in report["axes"]] == [float(a) for a in axes] and report["row"] == 2
    want = [about_axis(scan, float(axis)) for axis in axes]
    files = sorted((tmp_path / "slices").iterdir())
    assert [file.name for file in files] == ["center_09.50.tif", "center_10.25.tif", "center_11.00.tif"]
    for file, axis, slice_ in zip(files, axes, want, strict=True):
        with tifffile.TiffFile(file) as tiff:
            about = json.loads(tiff.pages[0].tags["ImageDescription"].value)
        assert about["center"] == float(axis) and about["row"] == 2
        np.testing.assert_array_equal(tifffile.imread(file), slice_)
    assert said(f"{words} -o v.h5")["shape"] == [3, N_X, N_X]
    with h5py.File("v.h5") as file:
        results = file["entry/reconstruction/results"]
        assert list(results["center"][()]) == [float(a) for a in axes] and list(results.attrs["axes"]) == ["center", ".", "."]
        np.testing.assert_array_equal(results["data"][()], want)
    said(f"{words} -o v.tif --rows 4:5")
    with tifffile.TiffFile("v.tif") as tiff:
        about = json.loads(tiff.pages[0].tags["ImageDescription"].value)
        assert about["center"] == [float(a) for a in axes] and about["row"] == 4
        np.testing.assert_array_equal(tiff.asarray()[1], about_axis(scan, 10.25, 4))
    with Image.open("sheet.png") as sheet:
        assert min(sheet.size) > 2 * N_X and len(sheet.getcolors(1 << 16)) > 50
    # the folder is replaced with what it was made of, and nothing else is
    said(f"{words} -o slices --overwrite")
    (tmp_path / "slices" / "tooth_01.tif").write_text("mine")
    assert "no earlier run wrote" in str(said(f"{words} -o slices --overwrite", code=1).exception)


def test_the_plan_counts_what_is_kept_and_a_small_budget_keeps_nothing(scan):
    plans, axes, how = [], [20.0, 27.5], {"method": "direct", "device": "cpu", "on_plan": lambda plan: plans.append(plan)}
    with fp.open_scan(scan) as opened:
        whole = fp.try_axes(opened, axes, **how)
        small = fp.plan_reconstruct(opened, rows=(2, 3), center=20.0, method="direct", memory="4MB", device="cpu")
        part = fp.try_axes(opened, axes, memory=small.footprint.total, **how)
        with pytest.raises(fp.BudgetError):
            fp.try_axes(opened, axes, memory=1000, **how)
    assert any(one.name == "1 row of all projections" for one in plans[0].libraries)
    assert any("again for every axis" in note for note in plans[1].notes) and plans[1].footprint.total <= small.footprint.total
    np.testing.assert_array_equal(part, whole)
    np.testing.assert_array_equal(whole[1], about_axis(scan, 27.5))


def test_steps_with_neighbours_black_frames_and_half_acquisitions(rng):
    angles = np.linspace(0, 2 * np.pi, 80, endpoint=False)
    lines = projections(40, np.linspace(-0.2, 0.2, 7), angles, 33.0, 30.0) * 0.03
    scan = raw_scan(lines, angles, rng)
    scan.raw[7] = np.round(scan.dark)
    beam = {"delta_beta": 3, "energy": 20, "distance": 0.1, "pixel_size": 5e-6}
    how = {"steps": fp.steps(phase=beam, rings="mean"), "half_acquisition": True, "device": "cpu", "shifts": np.full(80, 0.5)}
    with pytest.warns(UserWarning, match="1 black projection "):
        found = fp.try_axes(scan, [32.0, 33.0], row=3, **how)
    with pytest.warns(UserWarning, match="1 black projection "):
        wide = fp.reconstruct(scan, center=33.0, rows=(3, 4), **how)[0]
    n = found.shape[1]
    assert found.shape == (2, n, n) and n == wide.shape[0] - 2
    np.testing.assert_allclose(found[1], wide[:n, :n], rtol=0, atol=1e-6 * np.abs(wide).max())


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("--center try:9:8:1", "try:A:B:STEP"),
        ("--center try:9:10", "try:A:B:STEP"),
        ("--center try:9:10:0", "try:A:B:STEP"),
        ("--center try:a:b:c", "try:A:B:STEP"),
        ("--center try:0:40:0.001", "at most 1000 axes"),
        ("--center try:9:nan:1", "try:A:B:STEP"),
        ("--center try:9:11:1 --rows 1:3", "one row with --center try:..."),
        ("--center try:9:11:1 --resume", "one of the two"),
        ("--center try:9:1100:10", "off either end"),
        ("--center tries", "try:A:B:STEP"),
    ],
)
def test_mistakes_are_one_sentence(said, tmp_path, words, wanted):
    result = said(f"{words} -o v.h5 --device cpu", code=1)
    assert isinstance(result.exception, fp.FootprintError) and wanted in str(result.exception)
    assert not list(tmp_path.iterdir())


def test_the_axis_search_has_methods_and_a_picture(said, tmp_path, scan):
    with fp.open_scan(scan) as opened:
        want = fp.rotation_axis(opened, method="vo")
    report = said("--center vo -o v.h5 --axis-png axis.png --device cpu --json")
    assert report["center_method"] == "vo" and report["center"] == want.center and report["axis_png"] == "axis.png"
    with h5py.File("v.h5") as file:
        about = dict(file["entry/reconstruction"].attrs)
    assert about["center"] == want.center and about["center_method"] == "vo" and about["center_score"] == want.score
    with Image.open("axis.png") as picture:
        assert (220, 40, 30) in [color for _, color in picture.getcolors(1 << 16)]
    assert "wanted projections of a whole turn" in str(said("--center overlap -o w.h5 --device cpu", code=1).exception)
    refused = str(said("--center 24 -o w.h5 --axis-png a.png", code=1).exception)
    assert "--axis-png: got 'a.png', wanted an axis that is searched" in refused
    assert sorted(p.name for p in tmp_path.iterdir()) == ["axis.png", "v.h5"]


def test_the_plan_of_the_shell(scan):
    words = ["plan", "reconstruct", str(scan), "--center", "try:9.5:11:.5", "--json", "--device", "cpu"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.exception
    found = json.loads(result.stdout)
    assert found["nbytes"] > 0 and any("4 axes" in note for note in found["notes"])


@pytest.mark.parametrize("center", ["try:10:11:1", "10.5"])
def test_a_refusal_counts_what_packs_the_volume(said, center):
    """The budget it names does."""
    words = f"--center {center} --rows 2:3 --device cpu --json --overwrite --compression gzip -o v.h5"
    refused = said(f"{words} --memory 1", code=1).exception
    found = said(f"{words} --memory {refused.smallest}")
    assert found["plan_total"] <= refused.smallest and found["plan_library"] > 1 << 20
    said(f"{words} --memory {refused.smallest - 1}", code=1)
