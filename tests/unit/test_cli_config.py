"""``--config``: a file says what options say; and ``footprint config``, which writes one that changes nothing."""

from __future__ import annotations

import json
import re
import tomllib

import h5py
import numpy as np
import pytest
from click.testing import CliRunner

import footprint as fp
from footprint.cli.config import JOBS
from footprint.cli.main import main
from footprint.io.phantom import write_scan
from tests.unit.cli_files import shell


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    return str(write_scan(tmp_path_factory.mktemp("config") / "scan.nx", n_angles=40, n_z=4, n_x=48).path)


@pytest.fixture
def said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return shell


def volume(path):
    with h5py.File(path) as file:
        group = file["entry/reconstruction"]
        return group["results/data"][()], dict(group.attrs)


def test_a_file_says_what_options_say(said, scan, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "job.toml").write_text(f"""
        [reconstruct]
        scan = "{scan}"
        out = "~/file.h5"  # which no shell has seen
        center = 25.5
        rows = "1:3"
        roi = [2, 40, 0, 30]
        filter = "hann"
        cutoff = 0.8
        circle = true
        pixel_size = "none"  # either spelling
        rings = {{ method = "all", snr = 2.5, size = 31, small = 5 }}
        quiet = true
        [sources]
        sigma = 7
    """)
    said("reconstruct --config job.toml")
    words = "--center 25.5 --rows 1:3 --roi 2,40,0,30 --filter hann --cutoff .8 --circle --pixel-size none"
    said(f"reconstruct {scan} -o options.h5 {words} --rings all:snr=2.5,size=31,small=5 -q")
    (by_file, about), (by_options, other) = volume("file.h5"), volume("options.h5")
    np.testing.assert_array_equal(by_file, by_options)
    assert {k: str(v) for k, v in about.items()} == {k: str(v) for k, v in other.items()}
    # What is given counts more.
    said(f"reconstruct {scan} --config job.toml -o third.h5 --rows 0:1 --filter ramlak")
    with fp.open_scan(scan) as opened:
        how = {"rows": (0, 1), "center": 25.5, "roi": (2, 40, 0, 30), "cutoff": 0.8, "circle": True, "device": "cpu"}
        want = fp.reconstruct(opened, steps=fp.steps(rings={"method": "all", "snr": 2.5, "size": 31, "small": 5}), **how)
    np.testing.assert_array_equal(volume("third.h5")[0], want)
    assert json.loads(said("plan reconstruct --config job.toml --json").stdout)["nbytes"] > 0


def test_flags(said, scan, tmp_path):
    lines = np.random.default_rng(1).random((40, 3, 32)).astype("f4")
    np.save(tmp_path / "lines.npy", lines)
    for text in ("no-log = true\ncircle = false\nfull-acquisition = true", "no-log = true\nhalf-acquisition = false"):
        (tmp_path / "job.toml").write_text(f"[reconstruct]\n{text}\njson = true\ncenter = 15.5\ndevice = 'cpu'\n")
        said("reconstruct lines.npy -o v.h5 --overwrite --config job.toml")
        want = fp.fbp(lines.swapaxes(0, 1), center=15.5, device="cpu")
        np.testing.assert_allclose(volume("v.h5")[0], want, rtol=0, atol=1e-6 * np.abs(want).max())
    (tmp_path / "job.toml").write_text("[reconstruct]\nno-log = false\n")
    said(f"reconstruct {scan} -o w.h5 --config job.toml --center 25 -q")


@pytest.mark.parametrize("job", JOBS)
def test_the_file_that_is_written_changes_nothing_and_has_every_option(said, job, tmp_path):
    said(f"config {job} -o job.toml")
    text = (tmp_path / "job.toml").read_text()
    assert tomllib.loads(text) == {job: {}}
    keys = tomllib.loads(re.sub(r"^# (?=[a-z0-9-]+ = )", "", text, flags=re.M))[job]
    options = {opt[2:] for param in main.get_command(None, job).params for opt in param.opts if opt.startswith("--")}
    assert options - {"config"} <= set(keys)
    assert said(f"config {job}").stdout == text
    assert "already exists" in str(said(f"config {job} -o job.toml", code=1).exception)


def test_the_defaults_written_are_the_defaults(said, scan):
    said("config -o job.toml")
    with open("job.toml", "r+") as file:
        # Examples in capitals have no default.
        text = re.sub(r'^# (?=[a-z0-9-]+ = (?!"[^a-z]*[A-Z]|true))', "", file.read(), flags=re.M)
        file.seek(0)
        file.write(text)
        file.truncate()
    said(f"reconstruct {scan} --config job.toml -o file.h5 --center 25 -q")
    said(f"reconstruct {scan} -o plain.h5 --center 25 -q")
    (by_file, about), (plain, other) = volume("file.h5"), volume("plain.h5")
    np.testing.assert_array_equal(by_file, plain)
    assert {k: str(v) for k, v in about.items()} == {k: str(v) for k, v in other.items()}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("[reconstruct]\nfiltr = 'hann'", "[reconstruct] has the unknown key 'filtr'; did you mean filter?"),
        ("[reconstruct]\nrotation-axis = 9", "unknown key 'rotation-axis'; did you mean center?"),
        ("[reconstruct]\nhalf-acquisition = true\nfull_acquisition = true", "gives full-acquisition twice, or together"),
        ("[reconstruct]\nzzz = 1", "footprint config reconstruct lists all options"),
        ("[reconstruction]\ncenter = 1", "did you mean [reconstruct]?"),
        ("center = 1", "below a line [reconstruct]"),
        ("[reconstruct]\ncircle = 'yes'", "write circle = true or circle = false"),
        ("[reconstruct]\ncenter = true", "it takes a word or a number"),
        ("[reconstruct]\nrings = { snr = 3 }", "write rings = { method = ..., ... }"),
        ("[reconstruct]\ncenter = { a = 3 }", 'write center = "..."'),
        ("[reconstruct\n", "is not valid TOML"),
        pytest.param("x = " + "[" * 9999, "is not valid TOML", id="lists in lists"),
        pytest.param(f"[reconstruct]\nbinning = {'9' * 9999}", "is not valid TOML", id="a number of very many digits"),
        ("[reconstruct]\nconfig = 'x'", "unknown key 'config'"),
    ],
)
def test_mistakes_are_one_sentence(said, scan, tmp_path, text, wanted):
    (tmp_path / "job.toml").write_text(text)
    refused = said(f"reconstruct {scan} -o v.h5 --config job.toml", code=1).exception
    assert isinstance(refused, fp.FormatError) and "job.toml" in str(refused) and wanted in str(refused)


def test_other_mistakes(said, scan, tmp_path):
    assert "no such file" in str(said(f"reconstruct {scan} -o v.h5 --config none.toml", code=1).exception)
    (tmp_path / "job.toml").write_text("[reconstruct]\ncutoff = 'high'\n")
    assert "'--cutoff': 'high' is not a valid float" in said(f"reconstruct {scan} -o v.h5 --config job.toml", code=2).output
    assert "did you mean reconstruct?" in str(said("config reconstrct", code=1).exception)


def test_a_flag_of_the_file_is_unset_on_the_command_line(said, tmp_path):
    """The command line takes precedence, also over a flag: one that was set in the file could not be taken back."""
    np.save("a.npy", np.arange(30, dtype=np.float32).reshape(5, 6))
    np.save("mask.npy", np.array([[1, 2, 3]], np.float32))
    (tmp_path / "job.toml").write_text("[convolve]\ncorrelate = true\noverwrite = true\n")
    job = ["convolve", "a.npy", "mask.npy", "-o", "b.npy", "--quiet"]
    said(job)
    turned = np.load("b.npy")
    said([*job, "--overwrite", "--config", "job.toml"])
    assert not np.array_equal(np.load("b.npy"), turned)
    said([*job, "--config", "job.toml", "--no-correlate"])
    assert np.array_equal(np.load("b.npy"), turned)
    assert "exists" in str(CliRunner().invoke(main, [*job, "--config", "job.toml", "--no-overwrite"]).exception)
    said(["plan", "convolve", "a.npy", "mask.npy", "--config", "job.toml", "--no-correlate"])
