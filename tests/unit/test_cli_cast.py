"""``--output-dtype`` and ``--range``: volumes of whole numbers that say what they stand for."""

from __future__ import annotations

import json
import shlex

import h5py
import numpy as np
import pytest
import tifffile
from click.testing import CliRunner

import footprint as fp
from footprint.cli.main import main
from footprint.io.phantom import write_scan
from tests.unit.cli_files import shell

ROWS, N_X = 6, 48


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    return write_scan(tmp_path_factory.mktemp("cast") / "scan.nx", n_angles=40, n_z=ROWS, n_x=N_X).path


@pytest.fixture
def said(tmp_path, monkeypatch, scan):
    monkeypatch.chdir(tmp_path)

    def run(words, job="reconstruct", code=0):
        line = [*job.split(), str(scan), *shlex.split(words), "--center", "27.2", "--device", "cpu"]
        result = shell(line, code)
        return result if code else json.loads(result.stdout)

    return run


def volume(path):
    with h5py.File(path) as file:
        group = file["entry/reconstruction"]
        return group["results/data"][()], dict(group.attrs)


@pytest.mark.parametrize(("dtype", "most"), [("uint8", 255), ("uint16", 65535)])
def test_numbers_are_what_the_metadata_say(said, dtype, most):
    said("-o float.h5 --json")
    values, _ = volume("float.h5")
    report = said(f"-o v.h5 --output-dtype {dtype} --range=-.002:.02 --json")
    numbers, about = volume("v.h5")
    assert numbers.dtype == dtype and about["output_dtype"] == dtype and report["written_bytes"] == numbers.nbytes
    assert about["value_offset"] == -0.002 and about["value_scale"] == pytest.approx(0.022 / most, rel=1e-12)
    back = about["value_offset"] + about["value_scale"] * numbers.astype(float)
    np.testing.assert_allclose(back, np.clip(values, -0.002, 0.02), rtol=0, atol=0.5001 * about["value_scale"])


def test_a_range_is_found_and_counted(said, tmp_path):
    said("-o float.h5 --json")
    values, _ = volume("float.h5")
    report = said("-o slices --output-dtype uint8 --range 1%:99% --png p.png --json")
    low, high = report["value_offset"], report["value_offset"] + 255 * report["value_scale"]
    # five of the six slices
    np.testing.assert_allclose((low, high), np.percentile(values, (1, 99)), rtol=0.05, atol=0.02 * np.ptp(values))
    for file, want in zip(sorted((tmp_path / "slices").iterdir()), values, strict=True):
        with tifffile.TiffFile(file) as tiff:
            about = json.loads(tiff.pages[0].tags["ImageDescription"].value)
            numbers = tiff.asarray()
        assert numbers.dtype == np.uint8 and about["value_offset"] == low and about["percentiles"] == [1.0, 99.0]
        expected = np.clip((want - low) / report["value_scale"], 0, 255)
        assert np.abs(numbers - expected).max() <= 0.501
    planned = said("--output-dtype uint8 --json", job="plan reconstruct")
    plain = said("--json", job="plan reconstruct")
    assert planned["plan_library"] > plain["plan_library"] and report["plan_library"] == planned["plan_library"]
    assert said("-o d.h5 --output-dtype uint16 --json --memory 8MB")["percentiles"] == [0.05, 99.95]


def test_the_smallest_budget_is_said_with_what_the_range_takes(said):
    words = "-o v.h5 --output-dtype uint8 --rows 1:3"
    refused = said(f"{words} --memory 1MB", code=1).exception
    assert isinstance(refused, fp.BudgetError) and "or the range in numbers" in str(refused)
    assert said(f"{words} --memory {refused.smallest} --json")["plan_total"] <= refused.smallest


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("--output-dtype int8", "--output-dtype"),
        ("--range 0:1", "--range: got '0:1', wanted none without --output-dtype uint8 or uint16"),
        ("--output-dtype uint8 --range 2:1", "the first below the second"),
        ("--output-dtype uint8 --range 1", "A:B such as"),
        ("--output-dtype uint8 --range a:b", "A:B such as"),
        ("--output-dtype uint8 --range 0:nan", "the first below the second"),
        ("--output-dtype uint8 --range 5%:2%", "from 0 to 100"),
        ("--output-dtype uint8 --range 5%:2", "A:B such as"),
    ],
)
def test_mistakes(said, tmp_path, words, wanted):
    refused = said(f"-o v.h5 {words}", code=1).exception
    assert isinstance(refused, fp.FootprintError) and wanted in str(refused) and not list(tmp_path.iterdir())


def test_axes_are_tried_in_float32(scan, tmp_path):
    words = ["reconstruct", str(scan), "-o", str(tmp_path / "v.h5"), "--center", "try:1:2:1", "--output-dtype", "uint8"]
    assert "float32 with --center try" in str(CliRunner().invoke(main, words).exception)
