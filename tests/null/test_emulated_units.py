"""Wide Gaussians by matrix units, on a processor that stands for them: the sums, and their bits in a part of an image."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from footprint.backend.null import PROFILES
from footprint.kernels.coarse.contract import Wide, tables
from footprint.kernels.coarse.gpu import coarse_program
from footprint.kernels.coarse.ways import UNITS

from .emulated import emulate, specs

H100 = PROFILES["h100"]


def filtered(image: np.ndarray, sigmas: tuple[float, float], mode: str, folder: Path, part: tuple[slice, slice] | None = None):
    """What launches make of an image, or of the rows and columns of results that a part of it has and what they come from."""
    tall, across = (Wide(one, int(4 * one + 0.5), UNITS) for one in sigmas)
    rows, columns = part or (slice(0, image.shape[0]), slice(0, image.shape[1]))
    reads = [slice(max(one.start - wide.around, 0), one.stop + wide.around) for one, wide in zip((rows, columns), (tall, across))]
    window = np.ascontiguousarray(image[tuple(reads)])[None]
    out = np.full((1, rows.stop - rows.start, columns.stop - columns.start), np.nan, np.float32)
    arrays = [window, *map(np.ascontiguousarray, tables(tall, across)), out]
    program = coarse_program(
        replace(H100, cores=3),
        *specs(arrays),
        steps=(tall.step, across.stride, across.step),
        reaches=(tall.reach, across.reach),
        y0=rows.start - reads[0].start,
        x0=columns.start - reads[1].start,
        border_y=mode,
        border_x=mode,
        first_y=rows.start,
        first_x=columns.start,
    )
    own = tuple(one for one in program.launches if one.entry.startswith("coarse"))
    folder.mkdir(exist_ok=True)
    emulate(replace(program, launches=own), arrays, folder)
    return out[0]


@pytest.mark.parametrize(
    "sigmas, mode, dtype, shape",
    [
        ((11.3, 12.0), "reflect", "f4", (150, 260)),
        ((12.0, 23.0), "wrap", "i2", (90, 300)),
        ((120.0, 12.0), "constant", "u1", (200, 140)),
        ((118.0, 12.0), "reflect", "f4", (300, 100)),
    ],
    ids=["reflected", "wrapped", "polynomials", "reflected polynomials"],
)
def test_units_sum_wide_gaussians(rng, tmp_path, sigmas, mode, dtype, shape):
    kind = np.dtype(dtype)
    numbers = rng.random(shape) + 0.5 if kind.kind == "f" else rng.integers(np.iinfo(kind).min, np.iinfo(kind).max, shape)
    image, star = numbers.astype(kind), 0.0
    if kind.kind == "f":
        # At the border: what lies beyond the ends comes of columns beyond it, too.
        image[70, 3] = star = 1e5
    found = filtered(image, sigmas, mode, tmp_path)
    truth, size = (gaussian_filter(one.astype(float), sigmas, mode=mode) for one in (image, np.abs(image.astype(float))))
    largest = 2 / (2 * np.pi * sigmas[0] * sigmas[1])
    assert (np.abs(found - truth) <= 1e-6 * size + 4e-7 * star * largest).all()


def test_a_part_has_the_bits_of_the_whole(rng, tmp_path):
    image = rng.random((210, 330), np.float32)
    image[100, 100] = 1e4
    whole = filtered(image, (11.0, 11.6), "reflect", tmp_path / "whole")
    part = slice(93, 131), slice(37, 222)
    np.testing.assert_array_equal(filtered(image, (11.0, 11.6), "reflect", tmp_path / "part", part), whole[part])
