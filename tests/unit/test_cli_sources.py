"""``footprint sources`` on images written here: outputs, reports, and one sentence for each mistake with nothing left behind."""

import json

import numpy as np
import pytest
from astropy.io import fits
from astropy.table import Table

from footprint.cli.main import entry


@pytest.fixture
def image(tmp_path):
    rng = np.random.default_rng(3)
    data = rng.standard_normal((2, 120, 130)).astype(">f4")
    data[:, 30:34, 40:43] += 60
    data[:, 100:102, 10:15] += 40
    data[:, 60:70, 60:90] = np.nan
    header = fits.Header({"BUNIT": "Jy/beam", "BMAJ": 0.01, "BMIN": 0.01, "CTYPE1": "RA---SIN", "CTYPE2": "DEC--SIN"})
    header.update({"CRPIX1": 65, "CRPIX2": 60, "CRVAL1": 10.0, "CRVAL2": -30.0, "CDELT1": -0.002, "CDELT2": 0.002})
    path = tmp_path / "field.fits"
    fits.writeto(path, data[None, :1], header)
    fits.writeto(tmp_path / "cube.fits", data, header)
    return path


def run(monkeypatch, capsys, *words):
    monkeypatch.setattr("sys.argv", ["footprint", "sources", *map(str, words)])
    with pytest.raises(SystemExit) as exit_:
        entry()
    return exit_.value.code, capsys.readouterr()


@pytest.mark.parametrize("suffix", ["ecsv", "fits", "vot", "csv", "reg"])
def test_catalogues(monkeypatch, capsys, image, tmp_path, suffix):
    out = tmp_path / f"out.{suffix}"
    code, printed = run(monkeypatch, capsys, image, "-o", out, "--sigma", 8, "--json")
    report = json.loads(printed.out)
    assert code == 0 and report["sources"] == 2 and report["shape"] == [120, 130]
    assert {"noise", "background", "threshold", "plan_total", "measured_peak", "seconds", "beam_area"} <= set(report)
    if suffix == "reg":
        assert out.read_text().count("circle(") == 2
    else:
        table = Table.read(out)
        assert len(table) == 2 and abs(table["x"][0] - 41) < 0.1 and abs(table["y"][0] - 31.5) < 0.1


def test_all_outputs_and_words(monkeypatch, capsys, image, tmp_path):
    outputs = ("-o", tmp_path / "a.ecsv", "--png", tmp_path / "a.png", "--segmentation", tmp_path / "s.npy")
    code, printed = run(monkeypatch, capsys, tmp_path / "cube.fits", "--plane", 1, *outputs, "--sigma", 8)
    assert code == 0 and printed.out == "" and "2 sources" in printed.err
    labels = np.load(tmp_path / "s.npy")
    assert labels.max() == 2 and (labels == 1).sum() == 12
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    code, printed = run(monkeypatch, capsys, image, "--sigma", 1)
    assert code == 0 and "more; -o FILE writes all" in printed.out and printed.out.splitlines()[3].split()[0].isdigit()
    code, printed = run(monkeypatch, capsys, image, "--quiet")
    assert code == 0 and printed.out == printed.err == ""


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["missing.fits"], "missing.fits"),
        (["cube.fits"], "plane"),
        (["cube.fits", "--plane", "7"], "plane"),
        (["field.fits", "-o", "out.docx"], "out.docx"),
        (["field.fits", "-o", "taken.ecsv"], "taken.ecsv"),
        (["field.fits", "-o", "nowhere/out.ecsv"], "nowhere"),
        (["field.fits", "--segmentation", "taken.fits"], "taken.fits"),
        (["field.fits", "--png", "taken.png"], "taken.png"),
        (["field.fits", "--memory", "9kB"], "needs at least"),
        (["field.fits", "--memory", "lots"], "memory"),
        (["field.fits", "--sigma", "-1"], "sigma"),
        (["field.fits", "--connectivity", "6"], "connectivity"),
        (["field.fits", "--device", "abacus"], "abacus"),
        (["short.fits"], "short.fits"),
        (["void.fits"], "finite"),
        (["field.fits", "--sigma", "0.1", "--capacity", "3"], "capacity"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_one_sentence_and_nothing_left(monkeypatch, capsys, image, tmp_path, words, sentence):
    for name in ("taken.ecsv", "taken.fits", "taken.png"):
        (tmp_path / name).write_text("precious")
    (tmp_path / "short.fits").write_bytes(image.read_bytes()[:20000])
    fits.writeto(tmp_path / "void.fits", np.full((20, 20), np.nan, np.float32))
    if "--segmentation" not in words:
        words = [*words, "--segmentation", "s.fits"]
    before = sorted(p.name for p in tmp_path.iterdir())
    monkeypatch.chdir(tmp_path)
    code, printed = run(monkeypatch, capsys, *words)
    lines = [line for line in printed.err.splitlines() if line.startswith("footprint: ")]
    assert code == 2 and len(lines) == 1 and sentence in lines[0], printed.err
    assert "Traceback" not in printed.err
    assert sorted(p.name for p in tmp_path.iterdir()) == before
    assert (tmp_path / "taken.ecsv").read_text() == "precious"


def test_a_plan_reads_no_pixels(monkeypatch, capsys, image):
    monkeypatch.setattr("sys.argv", ["footprint", "plan", "sources", str(image), "--json", "--memory", "1MB"])
    monkeypatch.setattr("footprint.io.image.Image.read", None)
    with pytest.raises(SystemExit) as exit_:
        entry()
    report = json.loads(capsys.readouterr().out)
    assert not exit_.value.code and report["plan_total"] <= 10**6
