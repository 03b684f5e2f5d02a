"""``footprint filter``: the same numbers as SciPy within any budget, headers that say what was done, mistakes in one sentence."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.ndimage
from astropy.io import fits
from click.testing import CliRunner

from footprint.cli.main import entry, main
from footprint.errors import ArgumentError

JOBS = {
    "median --size 3": lambda x: scipy.ndimage.median_filter(x, 3),
    "minimum --size 2": lambda x: scipy.ndimage.minimum_filter(x, 2),
    "maximum --size 4 --boundary wrap": lambda x: scipy.ndimage.maximum_filter(x, 4, mode="wrap"),
    "minimum --size 31": lambda x: scipy.ndimage.minimum_filter(x, 31),
    "maximum --size 45 --boundary nearest": lambda x: scipy.ndimage.maximum_filter(x, 45, mode="nearest"),
    "percentile --size 3 --percentile 20": lambda x: scipy.ndimage.percentile_filter(x, 20, 3),
    "gaussian --sigma 2.5": lambda x: scipy.ndimage.gaussian_filter(x.astype(float), 2.5),
    "uniform --size 5 --boundary constant": lambda x: scipy.ndimage.uniform_filter(x.astype(float), 5, mode="constant"),
    "sobel --axis 0": lambda x: scipy.ndimage.sobel(x.astype(float), 0),
    "laplace": lambda x: scipy.ndimage.laplace(x.astype(float)),
    "gaussian_laplace --sigma 1": lambda x: scipy.ndimage.gaussian_laplace(x.astype(float), 1),
    "unsharp_mask --sigma 2": lambda x: 2.0 * x - scipy.ndimage.gaussian_filter(x.astype(float), 2),
}


@pytest.fixture
def folder(tmp_path, rng, monkeypatch):
    monkeypatch.chdir(tmp_path)
    header = fits.Header([("BMAJ", 0.01), ("OBJECT", "field"), ("CRPIX1", 12.5)])
    fits.writeto("image.fits", rng.integers(0, 30000, (300, 200)).astype(">i2"), header)
    return tmp_path


def run(line):
    return CliRunner().invoke(main, line.split(), catch_exceptions=False)


@pytest.mark.parametrize("job", JOBS)
def test_scipys_numbers_within_any_budget(job, folder):
    name, *words = job.split()
    image = fits.getdata("image.fits").astype("i2")
    said = run(f"filter {name} image.fits -o whole.npy --json {' '.join(words)}")
    whole = np.load("whole.npy")
    ranks = name in ("median", "minimum", "maximum", "percentile")
    assert whole.dtype == ("i2" if ranks else "f4")
    np.testing.assert_allclose(whole, JOBS[job](image), rtol=0, atol=0 if ranks else 8e-6 * 30000)
    budget = json.loads(said.stdout)["plan_total"] // 2
    said = run(f"filter {name} image.fits -o parts.npy --json --memory {budget} {' '.join(words)}")
    report = json.loads(said.stdout)
    assert report["runs"] > 1 and report["plan_total"] <= budget
    np.testing.assert_array_equal(np.load("parts.npy"), whole)


def test_names_as_other_libraries_write_them(folder):
    run("filter median_filter image.fits -o new.npy --size 3 -q")
    np.testing.assert_array_equal(np.load("new.npy"), scipy.ndimage.median_filter(fits.getdata("image.fits"), 3))
    assert json.loads(run("plan filter gaussian-laplace image.fits --sigma 1 --json").stdout)["plan_total"] > 0


def test_the_header_says_what_was_done_and_keeps_the_rest(folder):
    said = run("filter gaussian image.fits -o new.fits --sigma 2 --quiet").stderr
    assert said.startswith("footprint: warning: new.fits: the beam") and said.count("\n") == 1, "all that a quiet run says"
    header = fits.getheader("new.fits")
    assert (header["OBJECT"], header["CRPIX1"]) == ("field", 12.5)
    assert "BMAJ" not in header
    told = str(header["HISTORY"])
    assert "filtered by gaussian (sigma 2.0)" in told and "BMAJ 0.01" in told


def test_the_plan_is_the_jobs(folder):
    plan = json.loads(run("plan filter median image.fits --size 5 -o new.npy --memory 700KB --json").stdout)
    done = json.loads(run("filter median image.fits --size 5 -o new.npy --memory 700KB --json").stdout)
    assert plan["plan_total"] == done["plan_total"]


@pytest.mark.parametrize(
    ("words", "told"),
    [("median", "size"), ("gaussian --sigma 2 --size 3", "it takes sigma"), ("blur", "one of median"),
     ("median --size 13", "at most 11"), ("percentile --size 3 --percentile 200", "percentile: got 200.0, wanted -100 to 100"),
     ("medain --size 3", r"the nearest is median\.$"), ("image.fits --size 3", "got the file image.fits.* give median IMAGE"),
     ("gaussian --sigma -1", "0 or more"), ("median --size 3 --boundary odd", "nearest")],
)  # fmt: skip
def test_mistakes_are_one_sentence_and_write_nothing(words, told, folder):
    name, *options = words.split()
    with pytest.raises(ArgumentError, match=told):
        run(f"filter {name} image.fits -o new.npy {' '.join(options)}")
    assert not (folder / "new.npy").exists()


@pytest.mark.parametrize(
    "command", ["filter gaussian image.fits -o new.npy --sigma 2", "plan filter gaussian image.fits --sigma 2"]
)
def test_axes_that_there_is_no_choice_of_are_told_so(command, folder, monkeypatch, capsys):
    """They were said to be --axis, which is Sobel's."""
    monkeypatch.setattr("sys.argv", ["footprint", *command.split(), "--axes", "1,2"])
    with pytest.raises(SystemExit) as exit_:
        entry()
    said = capsys.readouterr().err
    assert exit_.value.code == 2 and "no such option '--axes'; every frame is filtered along its own rows and columns" in said
    assert "that is" not in said
