"""``--exclude-angles --every --binning --flip``: every position that is given or said is one of the detector as it is stored."""

from __future__ import annotations

import json
import shlex

import h5py
import numpy as np
import pytest

import footprint as fp
from footprint.cli.excluded import excluded
from footprint.io.phantom import write_scan
from tests.unit.cli_files import shell

ROWS, N_X, N_ANGLES = 9, 64, 60


@pytest.fixture(scope="module")
def truth(tmp_path_factory):
    truth = write_scan(tmp_path_factory.mktemp("chosen") / "scan.nx", n_angles=N_ANGLES, n_z=ROWS, n_x=N_X)
    with h5py.File(truth.path, "a") as file:
        file["entry/instrument/detector/x_pixel_size"] = 1e-5
    return truth


@pytest.fixture
def said(tmp_path, monkeypatch, truth):
    monkeypatch.chdir(tmp_path)

    def run(words, code=0, job="reconstruct"):
        result = shell([*job.split(), str(truth.path), *shlex.split(words), "--device", "cpu", "--json"], code)
        return result if code else json.loads(result.stdout)

    return run


def volume(path):
    with h5py.File(path) as file:
        group = file["entry/reconstruction"]
        return group["results/data"][()], dict(group.attrs)


def test_the_axis_is_that_of_the_detector(said, truth):
    for n, words in enumerate(("", "--binning 2", "--binning 3 --flip", "--flip")):
        report = said(f"-o {n}.h5 {words}")
        assert abs(report["center"] - truth.center) < 0.5, words
        values, about = volume(f"{n}.h5")
        size = 1 if "binning" not in words else int(words.split()[1])
        assert values.shape == (ROWS // size, N_X // size, N_X // size) and about["center"] == report["center"]
        assert about["pixel_size"] == pytest.approx(1e-3 * size) and about.get("binning", 1) == size
        if words:
            own = (report["center"] + 0.5) / size - 0.5
            own = N_X // size - 1 - own if "flip" in words else own
            assert about["center_of_pixels_taken"] == pytest.approx(own, abs=1e-9)


@pytest.mark.parametrize(
    ("word", "size"),
    [("6.5um", 6.5e-4), ("6.5e-4", 6.5e-4), ("6.5e-3 mm", 6.5e-4), ("1e3nm", 1e-4), ("2µm", 2e-4), ("1e-3cm", 1e-3)],
)
def test_a_pixel_size_has_its_unit_or_counts_centimetres(said, word, size):
    said(f"-o v.h5 --rows 4:5 --center 31.5 --pixel-size '{word}'")
    assert volume("v.h5")[1]["pixel_size"] == pytest.approx(size, rel=1e-12)


def test_a_pixel_of_centimetres_is_warned_of(said):
    with pytest.warns(UserWarning, match=r"a pixel of 6\.5 cm: --pixel-size counts centimetres; give the unit, as 6\.5um"):
        said("-o v.h5 --rows 4:5 --center 31.5 --pixel-size 6.5")
    for word in ("6.5parsec", "um", "6,5"):
        result = said(f"-o w.h5 --center 31.5 --pixel-size {word}", 1)
        assert "wanted centimetres, a length such as 6.5um, auto or none" in str(result.exception)


def test_what_is_given_is_what_the_library_is_given(said, truth, tmp_path):
    shifts = np.linspace(-2, 2, N_ANGLES)
    np.savetxt(tmp_path / "shifts.txt", shifts)
    words = (
        "--exclude-angles 3,10:13,57: --every 2:1 --binning 2 --flip --center 34.5 --rows 3:7 --shifts shifts.txt --pixel-size .1"
    )
    words += " --pixel-size .1 --axis-shifts shifts.txt --direction counterclockwise --angle-offset 30"
    said(f"-o v.h5 {words}")
    with fp.open_scan(truth.path, direction="counterclockwise", angle_offset=30) as scan:
        some = fp.select(scan, exclude=[3, 10, 11, 12, 57, 58, 59], every=2, start=1, binning=2, flip=True)
        how = {"rows": (1, 4), "shifts": some.of(shifts) / 2, "pixel_size": 0.2, "device": "cpu"}
        # Of what is flipped the axis goes the other way.
        how["axis_shifts"] = -how["shifts"]
        want = fp.reconstruct(some, center=some.own_axis(34.5), **how)
    values, about = volume("v.h5")
    np.testing.assert_array_equal(values, want)
    assert about["exclude_angles"] == "3,10:13,57:" and about["every"] == "2:1" and about["flip"] and about["rows"] == "1:4"
    assert said(words, job="plan reconstruct")["nbytes"] > 0
    report = said("-o tries.h5 --binning 2 --center try:34:35:.5 --pixel-size none")
    values, about = volume("tries.h5")
    assert list(about["center_of_pixels_taken"]) == [16.75, 17.0, 17.25] and report["axes"] == ["34.0", "34.5", "35.0"]
    with fp.open_scan(truth.path) as scan:
        want = fp.reconstruct(fp.select(scan, binning=2), center=17.0, rows=(2, 3), device="cpu")
    np.testing.assert_array_equal(values[1], want[0])


@pytest.mark.parametrize("center", ["auto", "35", "try:34:36:1"])
@pytest.mark.parametrize("taken", ["", "--binning 2 --flip", "--every 3:1"])
def test_shifts_that_put_the_axis_too_far_off_the_detector_are_refused(said, tmp_path, center, taken):
    """They made volumes of zeros. A search may find the axis anywhere on the detector."""
    for at, shift in ((40, 1e9), (7, -2 * N_X - 1)):
        np.savetxt(tmp_path / "far.txt", np.where(np.arange(N_ANGLES) == at, shift, 0))
        refused = said(f"-o v.h5 --center {center} {taken} --axis-shifts far.txt", code=1).exception
        assert isinstance(refused, fp.FormatError)
        words = f"far.txt: its shift number {at} is {shift:g} pixels, wanted the axis at most 64 pixels"
        assert words in str(refused) and "-64.5 to 127.5" in str(refused)
    assert not list(tmp_path.glob("v.*"))


def test_shifts_may_put_the_axis_as_far_off_as_it_may_lie(said, tmp_path):
    how = "-o v.h5 --overwrite --rows 4:5 --center 35 --axis-shifts s.txt"
    for shift, code in ((127.5 - 35, 0), (127.6 - 35, 1), (-64.5 - 35, 0), (-64.6 - 35, 1)):
        np.savetxt(tmp_path / "s.txt", np.full(N_ANGLES, shift))
        said(how, code)


def test_the_search_is_drawn_and_said_in_pixels_of_the_detector(said, truth):
    report = said("-o v.h5 --binning 2 --center vo --axis-png a.png")
    with fp.open_scan(truth.path) as scan:
        some = fp.select(scan, binning=2)
        axis = fp.rotation_axis(some, method="vo")
    # The search of the shell has the budget of its run, and may compare fewer rows.
    assert report["center"] == pytest.approx(some.detector_axis(axis.center), abs=0.1)
    assert report["center_of_pixels_taken"] == pytest.approx(axis.center, abs=0.05)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("--binning 0", "--binning: got 0"),
        ("--binning 10", "at most the 9 rows"),
        ("--every 0", "--every: got 0"),
        ("--every 2:x", "--every: got '2:x', wanted N or N:FIRST"),
        ("--every 2:60", "--every: got 60"),
        ("--direction left", "one of clockwise, counterclockwise"),
        ("--exclude-angles 60", "--exclude-angles: got '60'"),
        ("--exclude-angles 5:5", "--exclude-angles: got '5:5'"),
        ("--exclude-angles a", "3,10:20"),
        ("--exclude-angles 0:60", "all 60 projections, wanted at least one that is left"),
        ("--exclude-angles frames=", "frames=FILE, degrees=A:B or degrees=FILE"),
        ("--exclude-angles frames=absent.txt", "absent.txt: there is no such file"),
        ("--exclude-angles degrees=200:210", "a range with projections in it; they go from 0 to 177"),
        ("--exclude-angles degrees=9:3", "A not above B"),
        ("--exclude-angles degrees=360:400", "a range with projections in it; they go from 0 to 177"),
        ("--exclude-angles degrees=-360:-300", "a range with projections in it; they go from 0 to 177"),
        ("--binning 2 --rows 8:9", "rows that --binning 2 leaves, up to 8"),
    ],
)
def test_mistakes(said, tmp_path, words, wanted):
    refused = said(f"-o v.h5 --center 35 {words}", code=1).exception
    assert isinstance(refused, fp.FootprintError) and wanted in str(refused) and not list(tmp_path.iterdir())


def test_projections_are_left_out_by_frame_and_by_angle(said, truth, tmp_path):
    """Frames count flats and darks, as nabu's lists do; angles are the file's, whatever is added to them."""
    with fp.open_scan(truth.path) as scan:
        frames, degrees = scan.times.astype(int), np.degrees(scan.angles)
    assert frames[0] > 0
    (tmp_path / "frames.txt").write_text("\n".join(str(frames[number]) for number in (0, 3, 59)))
    (tmp_path / "flat.txt").write_text(f"{frames[0] - 1}\n{frames[3]}")
    np.savetxt(tmp_path / "angles.txt", degrees[[0, 3, 59]] + (0.4, -0.4, 0.4))
    np.savetxt(tmp_path / "beyond.txt", [degrees[59] + 5])
    how = "--center 35 --direction counterclockwise --angle-offset 30"
    for words, numbers in (
        ("frames=frames.txt", "0,3,59"),
        ("degrees=angles.txt", "0,3,59"),
        (f"degrees={degrees[5]:.4f}:{degrees[9]:.4f}", "5:10"),
        (f"degrees=-1:{degrees[2]:.4f}", "0:3"),
    ):
        said(f"-o a.h5 --overwrite {how} --exclude-angles {words}")
        said(f"-o b.h5 --overwrite {how} --exclude-angles {numbers}")
        np.testing.assert_array_equal(volume("a.h5")[0], volume("b.h5")[0], err_msg=words)
    for words, wanted in (
        ("frames=flat.txt", f"got frame {frames[0] - 1} in flat.txt"),
        ("degrees=beyond.txt", "degrees in beyond.txt"),
    ):
        refused = said(f"-o c.h5 {how} --exclude-angles {words}", code=1).exception
        assert isinstance(refused, fp.FootprintError) and wanted in str(refused), words


def test_angles_of_several_turns_are_those_of_the_file(tmp_path):
    """They were taken modulo 360: all turns were left out for one, and of a list the first turn's; 40 turns were counted from 0."""
    (tmp_path / "list.txt").write_text("725\n362.5\n")
    for last in (1080.0, 14400.0):
        degrees = np.arange(0, last, 2.5)
        np.savetxt(tmp_path / "angles.txt", degrees)
        with fp.open_scan(
            np.ones((len(degrees), 2, 8), "f4"), np.ones((1, 2, 8)), np.zeros((1, 2, 8)), tmp_path / "angles.txt"
        ) as scan:
            np.testing.assert_allclose(np.degrees(scan.stored_angles), degrees, rtol=0, atol=1e-9)
            assert excluded("degrees=360:365", scan) == [144, 145, 146]
            assert excluded("degrees=0:2", scan) == [0]
            assert excluded(f"degrees={tmp_path / 'list.txt'}", scan) == [290, 145]
            with pytest.raises(fp.ArgumentError, match="they go from 0 to"):
                excluded(f"degrees={last}:{last + 90}", scan)
