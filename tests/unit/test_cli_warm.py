"""Kernels: compiled in silence for a second at most, and not once for every mask."""

from __future__ import annotations

import time

import numpy as np
import pytest

import footprint as fp
from footprint.cli import render
from footprint.kernels.convolve import cpu


@pytest.mark.parametrize("silent", [False, True])
def test_a_line_says_that_kernels_are_compiled(silent, capsys, monkeypatch):
    monkeypatch.setattr(render, "_PATIENCE", 0.05)
    reporter = render.Reporter(as_json=silent)
    reporter.warm(lambda: time.sleep(0.3))
    reporter.warm(lambda: None)
    assert capsys.readouterr().err.count("compiling kernels") == (not silent)
    with pytest.raises(ValueError, match="bad"):
        reporter.warm(lambda: int("bad"))
    time.sleep(0.1)
    assert "compiling" not in capsys.readouterr().err


def test_masks_of_all_sizes_share_one_kernel():
    """A kernel a mask height took 2 to 3 s to compile, for every new one."""
    functions = (cpu._image_units, cpu._line_units, cpu._images, cpu._lines)
    image = np.ones((40, 50), "f4")
    fp.convolve(image, np.ones((3, 3)), device="cpu")
    fp.convolve(image, np.ones((1, 3)), device="cpu")
    before = [len(function.signatures) for function in functions]
    for height in (1, *range(2, 40, 3)):
        fp.convolve(image, np.ones((height, 4)), device="cpu")
    assert [len(function.signatures) for function in functions] == before
