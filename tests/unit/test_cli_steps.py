"""Options that put steps into ``footprint reconstruct``: what they do, what the volume says of them, and what they refuse."""

from __future__ import annotations

import shutil

import h5py
import numpy as np
import pytest
from click.testing import CliRunner

import footprint as fp
from footprint.cli.main import main
from footprint.io.phantom import write_scan

ROWS = 4
BEAM = {"delta_beta": 50, "energy": 20, "distance": 0.1, "pixel_size": 5e-6}


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    return str(write_scan(tmp_path_factory.mktemp("steps") / "scan.nx", n_angles=40, n_z=ROWS, n_x=48).path)


def volume(scan, target, words):
    line = ["reconstruct", scan, "-o", str(target), "--center", "23.5", "--quiet", "--device", "cpu", *words.split()]
    done = CliRunner().invoke(main, line)
    assert done.exit_code == 0, done.output
    with h5py.File(target) as file:
        return file["entry/reconstruction/results/data"][()], dict(file["entry/reconstruction"].attrs)


@pytest.mark.parametrize(
    ("words", "settings", "said"),
    [
        ("--rings sorting", {"rings": "sorting"}, "method='sorting', size=21"),
        (
            "--rings all:snr=2.5,size=31,small=5",
            {"rings": {"method": "all", "snr": 2.5, "size": 31, "small": 5}},
            "small=5, snr=2.5",
        ),
        ("--rings fw:level=3", {"rings": {"method": "fw", "level": 3}}, "wavelet='sym16', level=3, sigma=1.0"),
        ("--phase 50 --energy 20 --distance .1 --pixel-size 5e-4", {"phase": BEAM}, "Paganin(length=0.993"),
        ("--phase 50:padding=air,energy=20,distance=.1,pixel_size=5e-6", {"phase": BEAM | {"padding": "air"}}, "padding='air'"),
        ("--zingers .001:size=5", {"zingers": {"threshold": 0.001, "size": 5}}, "RemoveZingers(threshold=0.001, size=5)"),
        ("--unsharp 2:sigma=0.8", {"unsharp": {"amount": 2, "sigma": 0.8}}, "Unsharp(amount=2.0, sigma=0.8)"),
        ("--rings vo-all", {"rings": "all"}, "method='all', size=61"),
        ("--sino-normalization chebyshev", {"normalization": "chebyshev"}, "Normalize(method='chebyshev'"),
    ],
)
def test_options_are_the_steps_of_the_library(scan, tmp_path, words, settings, said):
    made, about = volume(scan, tmp_path / "volume.h5", words)
    options = {"center": 23.5, "device": "cpu", "pixel_size": 5e-4 if "--pixel-size" in words else None}
    with fp.open_scan(scan) as source:
        want = fp.reconstruct(source, **options, steps=fp.steps(**settings))
        plain = fp.reconstruct(source, **options)
    np.testing.assert_array_equal(made, want)
    assert np.abs(want - plain).max() > 1e-4, "the step did nothing"
    assert said in about["steps"]


def test_sinograms_are_divided_by_an_array_of_a_file(scan, tmp_path):
    """A row in HDF5, rows as an image, both in NumPy's file, and in a table of TOML."""
    rows = np.random.default_rng(1).uniform(0.5, 2, (40, 48))
    np.save(tmp_path / "rows.npy", rows)
    np.save(tmp_path / "row.npy", rows[0])
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["entry/row"], file["entry/rows"] = rows[0], rows
    for array, names in ((rows, ("rows.npy", "a.h5:/entry/rows")), (rows[0], ("row.npy", "a.h5:/entry/row"))):
        with fp.open_scan(scan) as source:
            chosen = fp.steps(normalization={"method": "division", "array": array})
            want = fp.reconstruct(source, center=23.5, device="cpu", steps=chosen)
        for k, name in enumerate(names):
            text = f"[reconstruct]\nsino-normalization = {{ method = 'division', file = '{tmp_path / name}' }}\n"
            (tmp_path / "c.toml").write_text(text)
            words = f"--config {tmp_path / 'c.toml'}" if k else f"--sino-normalization division:file={tmp_path / name}"
            made, _ = volume(scan, tmp_path / "volume.h5", f"{words} --overwrite")
            np.testing.assert_array_equal(made, want)


def test_the_beam_is_the_scans_where_it_says(scan, tmp_path):
    path = tmp_path / "told.nx"
    shutil.copy(scan, path)
    with h5py.File(path, "a") as file:
        entry = file["entry"]
        entry["instrument/beam/incident_energy"] = 20.0
        detector = entry["instrument/detector"]
        for name, value in (("distance", 0.1), ("x_pixel_size", 5e-6), ("y_pixel_size", 5e-6)):
            if name in detector:
                del detector[name]
            detector[name] = value
    made, about = volume(str(path), tmp_path / "volume.h5", "--phase 50 --pixel-size none")
    told, _ = volume(scan, tmp_path / "told.h5", "--phase 50:energy=20,distance=0.1,pixel_size=5e-6")
    np.testing.assert_array_equal(made, told)
    nearer, other = volume(str(path), tmp_path / "nearer.h5", "--phase 50 --distance 0.05 --pixel-size none")
    assert about["steps"] != other["steps"] and np.abs(nearer - made).max() > 1e-4


def test_no_steps_are_the_usual_ones(scan, tmp_path):
    made, about = volume(scan, tmp_path / "volume.h5", "--rings none")
    plain, _ = volume(scan, tmp_path / "plain.h5", "")
    np.testing.assert_array_equal(made, plain)
    assert "steps" not in about


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("--phase 50", "--energy none give"),
        ("--phase 50 --energy 20", "--distance none give"),
        ("--energy 20", "--energy 20.0 --phase"),
        ("--phase much --energy 20 --distance 1 --pixel-size .1", "delta_beta 'much' number"),
        ("--zingers few", "threshold 'few' share"),
        ("--rings best", "rings 'best' sorting"),
        ("--rings sorting:size", "--rings 'size' size=31"),
        ("--rings sorting:size=wide", "size 'wide' whole"),
        ("--rings sorting:scale=3", "rings 'scale' snr"),
        ("--rings sorting:snr=3", "rings 'snr' only 'sorting' size."),
        ("--sino-normalization division", "normalization division without array"),
        ("--sino-normalization division:file=gone.npy", "gone.npy no such file"),
        ("--sino-normalization division:array=3", "--sino-normalization file=FILE"),
    ],
)
@pytest.mark.parametrize("job", ["reconstruct", "plan reconstruct"])
def test_mistakes_are_one_sentence(scan, tmp_path, job, words, wanted):
    target = f"-o {tmp_path / 'new.h5'}" if job == "reconstruct" else ""
    done = CliRunner().invoke(main, f"{job} {scan} {target} {words}".split())
    assert isinstance(done.exception, fp.FootprintError), done.output
    missing = [word for word in wanted.split() if word not in str(done.exception)]
    assert not missing, f"no {missing} in: {done.exception}"
