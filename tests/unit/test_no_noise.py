"""An image without noise has no threshold, however its noise is measured; one whose noise is given has."""

from __future__ import annotations

import shlex
import sys

import numpy as np
import pytest
from astropy.io import fits
from astropy.table import Table

from footprint.cli.main import entry
from tests.unit.cli_files import listing


@pytest.fixture
def say(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    constant = np.full((64, 64), 7, np.float32)
    spot = constant.copy()
    spot[20:23, 20:23] = 50
    noise = np.random.default_rng(1).standard_normal((64, 64)).astype(np.float32)
    noise[30:33, 30:33] += 50
    np.save("constant.npy", constant)
    np.save("spot.npy", spot)
    fits.writeto("cube.fits", np.stack([constant, noise]))

    def run(line):
        monkeypatch.setattr(sys, "argv", ["footprint", *shlex.split(line), "--device", "cpu", "-q"])
        with pytest.raises(SystemExit) as left:
            entry()
        said = capsys.readouterr().err.splitlines()
        return left.value.code, [one for one in said if one.startswith("footprint: ") and "warning" not in one]

    return run


@pytest.mark.parametrize("how", ["", "--background mesh", "--background mesh --box 16", "--background-map 0"])
@pytest.mark.parametrize("image", ["constant", "spot"])
def test_no_noise_is_no_catalogue(say, tmp_path, image, how):
    before = listing(tmp_path)
    code, said = say(f"sources {image}.npy -o s.ecsv --segmentation s.fits --report s.html {how}")
    assert code == 2 and len(said) == 1 and said[0].startswith(f"footprint: {image}.npy: has ") and "noise" in said[0], said
    assert listing(tmp_path) == before


@pytest.mark.parametrize("image", ["constant", "spot"])
def test_a_noise_that_is_given_is_a_threshold(say, image):
    assert say(f"sources {image}.npy -o s.ecsv --noise-map 1") == (0, [])
    assert len(Table.read("s.ecsv")) == (image == "spot")


@pytest.mark.parametrize("how", ["", "--background mesh --box 16"])
def test_a_plane_without_noise_costs_no_others(say, how):
    code, said = say(f"sources cube.fits --plane all -o s.ecsv {how}")
    assert code == 0 and set(Table.read("s.ecsv")["plane"]) == {1}, said
