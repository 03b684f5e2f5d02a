"""What an option asks for is done or refused: a constant where none lies outside, a device compared with itself."""

from __future__ import annotations

import shlex
import sys

import numpy as np
import pytest

import footprint as fp
from footprint.cli.main import entry

IMAGE = np.arange(48, dtype=np.float32).reshape(6, 8)


@pytest.fixture
def say(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.save("image.npy", IMAGE)

    def run(line):
        monkeypatch.setattr(sys, "argv", ["footprint", *shlex.split(line)])
        with pytest.raises(SystemExit) as left:
            entry()
        return left.value.code, [one for one in capsys.readouterr().err.splitlines() if one.startswith("footprint: ")]

    return run


JOBS = ("convolve image.npy box:3", "filter uniform image.npy --size 3")


@pytest.mark.parametrize("job", JOBS)
@pytest.mark.parametrize("verb", ["", "plan "])
@pytest.mark.parametrize("border", ["reflect", "nearest", "wrap", "symmetric"])
def test_a_constant_that_no_border_asks_for_is_refused(say, tmp_path, verb, job, border):
    code, said = say(f"{verb}{job} -o out.npy --boundary {border} --cval 5 --device cpu")
    found = f"footprint: --cval: got 5 with --boundary {border}, wanted it with --boundary constant alone"
    assert code == 2 and len(said) == 1 and said[0].startswith(found), said
    assert said[0].endswith("give --boundary constant, or leave --cval out.") and not (tmp_path / "out.npy").exists()


def test_the_default_border_counts_as_any(say):
    code, said = say(f"{JOBS[1]} -o out.npy --cval 5 --device cpu")
    assert code == 2 and "--cval: got 5 with --boundary reflect" in said[0]
    code, said = say(f"{JOBS[0]} -o out.npy --cval 5 --device cpu -q")
    assert code == 0 and not said


@pytest.mark.parametrize("border", ["constant", "fill", "zeros"])
def test_a_constant_lies_outside_by_any_name(say, border):
    code, said = say(f"{JOBS[1]} -o out.npy --boundary {border} --cval 5 --device cpu -q")
    assert code == 0 and not said
    np.testing.assert_array_equal(np.load("out.npy"), fp.uniform_filter(IMAGE, 3, mode="constant", cval=5, device="cpu"))


def test_a_constant_in_a_file_is_refused_unless_its_border_is_overruled(say, tmp_path):
    (tmp_path / "job.toml").write_text('[filter]\nboundary = "wrap"\ncval = 5\n')
    code, said = say(f"{JOBS[1]} -o out.npy --config job.toml --device cpu")
    assert code == 2 and "--cval: got 5 with --boundary wrap" in said[0]
    (tmp_path / "job.toml").write_text('[filter]\nboundary = "constant"\ncval = 5\n')
    for line in ("--boundary wrap", ""):
        code, said = say(f"{JOBS[1]} -o out.npy --config job.toml --device cpu -q --overwrite {line}")
        assert code == 0 and not said
    code, said = say(f"{JOBS[1]} -o out.npy --config job.toml --device cpu --overwrite --boundary wrap --cval 5")
    assert code == 2 and "--cval: got 5 with --boundary wrap" in said[0]


def test_a_device_is_not_compared_with_itself(say, monkeypatch):
    monkeypatch.setattr("footprint.api.verify._job", lambda *given: pytest.fail("ran"))
    monkeypatch.setattr("footprint.api.verify.running_backend", lambda name: None)
    code, said = say("verify fbp --devices cpu,cpu")
    assert code == 2 and len(said) == 1
    assert said[0].startswith("footprint: --devices: got 'cpu' again, wanted devices that differ, as each agrees with itself")
    with pytest.raises(fp.ArgumentError, match="got 'cuda' and 'cuda:0', which are one device"):
        fp.verify("fbp", ["cpu", "cuda", "cuda:0"])
