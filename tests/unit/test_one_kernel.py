"""Kernels of the CPU are not compiled once for every mask."""

from __future__ import annotations

import numpy as np

import footprint as fp
from footprint.kernels.convolve import cpu


def test_masks_of_all_sizes_share_one_kernel():
    """A kernel a mask height took 2 to 3 s to compile, for every new one."""
    functions = (cpu._image_units, cpu.line_units, cpu._images, cpu.lines)
    image = np.ones((40, 50), "f4")
    fp.convolve(image, np.ones((3, 3)), device="cpu")
    fp.convolve(image, np.ones((1, 3)), device="cpu")
    before = [len(function.signatures) for function in functions]
    for height in (1, *range(2, 40, 3)):
        fp.convolve(image, np.ones((height, 4)), device="cpu")
    assert [len(function.signatures) for function in functions] == before
