"""``--log``: what a run was asked, planned, took and made is in a plain text, with its errors."""

from __future__ import annotations

import datetime
import os
import re

import numpy as np
import pytest
from click.testing import CliRunner

import footprint as fp
from footprint.cli.log import Log
from footprint.cli.main import main
from footprint.io.phantom import write_scan


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    return str(write_scan(tmp_path_factory.mktemp("log") / "scan.nx", n_angles=24, n_z=3, n_x=32).path)


def lines(path):
    """Kind and text of every line, whose times are times and do not go back."""
    found = [line.split(" ", 2) for line in path.read_text().splitlines()]
    times = [datetime.datetime.fromisoformat(time) for time, *_ in found]
    assert times == sorted(times) and all(time.tzinfo for time in times)
    return [(kind, text) for _, kind, text in found]


def run(scan, *words, code=0):
    done = CliRunner().invoke(main, ["reconstruct", str(scan), "--device", "cpu", *map(str, words)])
    assert done.exit_code == code, (done.output, done.exception)
    return done


def test_a_run_is_told_and_the_next_is_added(scan, tmp_path):
    log, out = tmp_path / "run.log", tmp_path / "v.h5"
    log.write_text("what was there\n")
    run(scan, "-o", out, "--center", "auto", "--rings", "sorting", "--log", log, "-q")
    text = log.read_text()
    assert text.startswith("what was there\n")
    log.write_text(text.partition("\n")[2])
    told = lines(log)
    assert [kind for kind, _ in told][:2] == ["command", "version"] and told[-1] == ("end", "finished")
    assert ("parameter", "rings = 'sorting'") in told and ("parameter", "cutoff = 1.0") in told
    assert ("output", str(out)) in told
    said = "\n".join(f"{kind} {text}" for kind, text in told)
    for wanted in ("plan reconstruct on cpu", "plan arena: [0-9]+ bytes", "plan device: cpu", "figure center = [0-9.]+"):
        assert re.search(f"^{wanted}", said, re.M), wanted
    for kind in ("predicted", "measured"):
        assert re.search(f"^lane compute: [0-9.e-]+ s {kind}$", said, re.M)
    run(scan, "-o", out, "--overwrite", "--center", 15, "--log", log, "-q")
    assert lines(log)[: len(told)] == told and [kind for kind, _ in lines(log)].count("end") == 2


@pytest.mark.parametrize("program", ["footprint", "python -m footprint"])
def test_the_command_is_told_whole(scan, tmp_path, monkeypatch, program):
    log = tmp_path / "run.log"
    words = ["reconstruct", str(scan), "-o", str(tmp_path / "v.h5"), "--rows", "9:7", "--log", str(log)]
    monkeypatch.setattr("sys.argv", ["...", *words])
    with pytest.raises(fp.ArgumentError):
        main(words, prog_name=program, standalone_mode=False)
    assert lines(log)[0] == ("command", f"{program} {' '.join(words)}")


def test_errors_and_warnings_land_in_it_in_one_line_each(scan, tmp_path):
    log = tmp_path / "run.log"
    refused = run(scan, "-o", tmp_path / "v.h5", "--roi", "0,99,0,5", "--center", 15, "--log", log, code=1).exception
    assert isinstance(refused, fp.ArgumentError)
    assert lines(log)[-2:] == [("error", f"ArgumentError: {refused}"), ("end", "failed")]
    gone = run("two\nlines.nx", "-o", tmp_path / "v.h5", "--log", log, code=1).exception
    assert lines(log)[-2] == ("error", f"FormatError: {gone}")
    np.save(tmp_path / "lines.npy", np.ones((24, 3, 32), "f4"))
    with pytest.warns(UserWarning, match="has no angles") as caught:
        run(tmp_path / "lines.npy", "-o", tmp_path / "v.h5", "--no-log", "--center", 15, "--log", log, "-q")
    assert ("warning", str(caught[0].message)) in lines(log)


def test_a_log_that_is_none_is_refused_and_one_that_breaks_ends_no_job(scan, tmp_path):
    for bad in (tmp_path, tmp_path / "no folder" / "run.log"):
        refused = run(scan, "-o", tmp_path / "v.h5", "--log", bad, code=1).exception
        assert isinstance(refused, fp.ArgumentError) and "--log" in str(refused)
    same = run(scan, "-o", tmp_path / "v.h5", "--log", scan, code=1).exception
    assert "is read by this job" in str(same) and not (tmp_path / "v.h5").exists()
    log = Log(str(tmp_path / "run.log"))
    log.line("one", "a\nb\x1b[31m")
    reading = os.open(tmp_path / "run.log", os.O_RDONLY)
    os.dup2(reading, log._file)
    os.close(reading)
    with pytest.warns(UserWarning, match="the log ends here"):
        log.line("two", "lost")
    log.line("three", "lost, and not said again")
    assert [kind for kind, _ in lines(tmp_path / "run.log")] == ["one"]
    assert lines(tmp_path / "run.log")[0][1] == r"a\nb\x1b[31m"
