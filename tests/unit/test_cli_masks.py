"""The mask of ``footprint convolve``: planned before it is read, read a block at a time, refused in one sentence."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import footprint as fp
from footprint.__main__ import entry
from footprint.io.image import Image

RNG = np.random.default_rng(5)


@pytest.fixture
def shell(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["footprint", *map(str, words)])
        with pytest.raises(SystemExit) as exit_:
            entry()
        said = capsys.readouterr()
        return exit_.value.code or 0, said.out, said.err

    return run


def sparse(path, shape, dtype="f4"):
    """A file of so many zeros that takes no room."""
    np.lib.format.open_memmap(path, "w+", dtype, shape).flush()


@pytest.mark.parametrize("shape", [(64, 60), (3, 64, 60)])
def test_a_mask_too_large_for_the_budget_is_not_read(shape, shell, tmp_path, monkeypatch):
    np.save("image.npy", np.zeros(shape, "f4"))
    sparse("mask.npy", (20_000, 20_000))
    read = Image.read
    monkeypatch.setattr(Image, "read", lambda self, *a: pytest.fail("read") if "mask" in self.path else read(self, *a))
    code, _, err = shell("convolve", "image.npy", "mask.npy", "-o", "out.npy", "--memory", "20MB", "--device", "cpu", "-q")
    assert code == 2 and "1.5 GiB" in err and not (tmp_path / "out.npy").exists(), err
    code, _, err = shell("plan", "convolve", "image.npy", "mask.npy", "--memory", "20MB", "--device", "cpu")
    assert code == 2 and "1.5 GiB" in err, err


@pytest.mark.parametrize("more", [[], ["--correlate"]])
@pytest.mark.parametrize("kind", [">f8", "i2", "f4"])
@pytest.mark.parametrize("shape", [(5, 4), (1, 7), (90, 101)])
def test_masks_of_files_do_as_arrays_do(shape, kind, more, shell):
    image, mask = RNG.standard_normal((71, 66)).astype("f4"), (50 * RNG.standard_normal(shape)).astype(kind)
    np.save("image.npy", image)
    np.save("mask.npy", mask)
    want = (fp.correlate if more else fp.convolve)(image, mask, boundary="wrap", device="cpu")
    plan_words = ["image.npy", "mask.npy", "-o", "out.npy", "--boundary", "wrap", "--device", "cpu", "--overwrite", "-q", *more]
    for memory in ("10MB", "250KB"):
        code, _, err = shell("convolve", *plan_words, "--memory", memory)
        assert code == 0, err
        np.testing.assert_array_equal(np.load("out.npy"), want)


def test_weights_that_are_no_numbers_are_refused(shell, tmp_path):
    mask = np.ones((5, 5))
    mask[3, 1] = np.nan
    np.save("mask.npy", mask)
    for shape in ((20, 20), (2, 20, 20)):
        np.save("image.npy", np.ones(shape, "f4"))
        code, _, err = shell("convolve", "image.npy", "mask.npy", "-o", "out.npy", "-q")
        assert code == 2 and "mask.npy: holds weights that are NaN" in err and not (tmp_path / "out.npy").exists(), err
