"""Planes of a cube by numbers and ranges, and background and noise as numbers, in ``footprint sources``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits
from astropy.table import Table

from footprint.cli.main import entry

SHAPE = (2, 6, 40, 50)


@pytest.fixture
def shell(monkeypatch, capsys, tmp_path):
    """Run a command in a folder with a cube of two long axes, every plane of which has a source at a place of its own."""
    cube = np.random.default_rng(1).standard_normal(SHAPE).astype("f4")
    for number, plane in enumerate(cube.reshape(-1, *SHAPE[2:])):
        plane[20:22, 3 * number : 3 * number + 2] += 80
    fits.writeto(tmp_path / "cube.fits", cube)
    fits.writeto(tmp_path / "one.fits", cube[0])
    monkeypatch.chdir(tmp_path)

    def run(*words):
        monkeypatch.setattr("sys.argv", ["footprint", *map(str, words)])
        with pytest.raises(SystemExit) as exit_:
            entry()
        return exit_.value.code, *capsys.readouterr()

    return run


@pytest.mark.parametrize(
    ("words", "numbers"),
    [("0:3", [0, 1, 2]), ("4:", [4, 5]), ("1,3", [1, 3]), ("0:2,5", [0, 1, 5]), ("::2", [0, 2, 4]), ("5,1:3,2", [1, 2, 5])],
)
def test_planes_by_numbers_and_ranges(shell, words, numbers):
    outputs = ("-o", "c.ecsv", "--segmentation", "s.fits", "--save-noise", "n.fits", "--background", "mesh", "--box", 20)
    code, printed, err = shell("sources", "one.fits", "--plane", words, "--sigma", 10, *outputs, "--json")
    table = Table.read("c.ecsv")
    assert code == 0 and json.loads(printed)["shape"] == [len(numbers), *SHAPE[2:]], err
    assert table["plane"].tolist() == numbers and table["x_min"].tolist() == [3 * number for number in numbers]
    labels, noise = fits.getdata("s.fits"), fits.getdata("n.fits")
    for place, number in enumerate(numbers):
        assert np.argwhere(labels[place])[:, 1].tolist() == [3 * number, 3 * number + 1] * 2
        assert noise[place, table["y_peak"][place], table["x_peak"][place]] == table["noise"][place]
    assert shell("plan", "sources", "one.fits", "--plane", words)[0] == 0


@pytest.mark.parametrize(("words", "numbers"), [("7", [7]), ("7:8", [7]), ("5:8", [5, 6, 7])])
def test_planes_of_several_axes_are_counted_as_all_of_them_are(shell, words, numbers):
    code, _, err = shell("sources", "cube.fits", "--plane", words, "--sigma", 10, "-o", "c.ecsv")
    table = Table.read("c.ecsv")
    assert code == 0 and table["x_min"].tolist() == [3 * number for number in numbers], err
    if len(numbers) == 1:
        assert table.meta["plane"] == 7 and "plane" not in table.colnames
        assert shell("filter", "median", "cube.fits", "--size", 3, "--plane", 7, "-o", "m.fits")[0] == 0
    else:
        assert table["plane"].tolist() == numbers


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("0:9", "got 0:9, which names plane 8, wanted planes from 0 to 5"),
        ("5:5", "of which none is a plane"),
        ("first", "numbers counted from 0 and ranges, such as 3, 0:10 or 0:10,20 (10 excluded), or all"),
        ("0:6:0", "numbers counted from 0 and ranges"),
        ("-2:", "numbers counted from 0 and ranges"),
        ("1,", "numbers counted from 0 and ranges"),
        ("9", "got 9, which names plane 9, wanted planes from 0 to 5"),
    ],
)
def test_other_planes_are_one_sentence(shell, words, said):
    code, _, err = shell("sources", "one.fits", f"--plane={words}", "-o", "c.ecsv")
    assert code == 2 and "--plane: got" in err and said in err and not Path("c.ecsv").exists()


@pytest.mark.parametrize("job", [("filter", "median", "one.fits"), ("convolve", "one.fits", "box:3")])
def test_where_one_plane_or_all_are_taken_a_range_is_told_so(shell, job):
    code, _, err = shell(*job, "--plane", "0:3", "-o", "m.fits")
    assert code == 2 and "--plane: got '0:3', wanted the number of one plane, or one for each axis" in err
    assert "leave --plane out for all of them" in err


@pytest.mark.parametrize("job", [("filter", "median", "cube.fits", "--size", 3), ("convolve", "cube.fits", "box:3")])
def test_one_plane_by_its_place_along_each_axis(shell, job):
    assert shell(*job, "--plane", 7, "-o", "want.npy")[0] == 0
    assert shell(*job, "--plane", "1,1", "-o", "got.npy")[0] == 0
    np.testing.assert_array_equal(np.load("got.npy"), np.load("want.npy"))
    assert shell("plan", *job, "--plane", "1,1")[0] == 0
    code, _, err = shell(*job, "--plane", 99, "-o", "m.npy")
    assert code == 2 and "--plane: got 99, wanted 0 to 11, or one of each of 0 to 1, 0 to 5, for the shape" in err
    # As that says; what there is none of is refused alike.
    for words, said in ("1,6", "got 1,6, wanted 0 to 1, 0 to 5 for"), ("1,2,3", "got 1,2,3, wanted"), ("1,x", "one for each axis"):
        code, _, err = shell(*job, "--plane", words, "-o", "m.npy")
        assert code == 2 and said in err, err
    # A search takes several planes, and says only what it takes.
    code, _, err = shell("sources", "cube.fits", "--plane", 99, "-o", "c.ecsv")
    assert code == 2 and "--plane: got 99, which names plane 99, wanted planes from 0 to 11" in err


def test_a_number_for_a_map_makes_the_threshold_absolute(shell):
    plane = fits.getdata("one.fits")[2].astype("f8") + 1000
    np.save("a.npy", plane.astype("f4"))
    levels = ("--background-map", 1000, "--noise-map", 2.5)
    code, _, err = shell("sources", "a.npy", *levels, "--sigma", 4, "-o", "c.ecsv", "--segmentation", "s.npy")
    assert code == 0 and np.array_equal(np.load("s.npy") > 0, plane.astype("f4") > 1010), err
    table = Table.read("c.ecsv")
    assert table["snr"][0] == pytest.approx(table["peak"][0] / 2.5) and table.meta["noise_map"] == "2.5"
    assert shell("plan", "sources", "a.npy", *levels)[0] == 0
    assert shell("sources", "a.npy", *levels, "--at", "c.ecsv", "--shapes", "catalogue", "-o", "at.ecsv")[0] == 0
    assert shell("plan", "sources", "a.npy", *levels, "--at", "c.ecsv", "--shapes", "catalogue")[0] == 0
    for bad in ("0", "-1", "nan", "inf"):
        code, _, err = shell("sources", "a.npy", f"--noise-map={bad}")
        assert code == 2 and f"--noise-map: got {bad}, wanted a file, or a number above 0." in err
    code, _, err = shell("sources", "a.npy", "--background", "0")
    assert code == 2 and "give the number for all pixels as --background-map 0" in err
