"""Products of matrices of halves, on a processor that stands for matrix units: their sums, in parts, and what is not finite."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.ndimage import correlate1d

from footprint.backend.null import PROFILES
from footprint.kernels.matrix.contract import BEYOND, powers, table
from footprint.kernels.matrix.gpu import matrix_program
from tests.backend.gaussians import image_of
from tests.null.emulated import emulate, specs

H100 = PROFILES["h100"]


def summed(weights, image, mode: str, folder: Path, part: tuple[slice, slice] | None = None, cores: int = 1):
    """What launches make of an image, or of what a part's results come from; and the word that tells of what is not finite."""
    places = part or tuple(slice(0, n) for n in image.shape[-2:])
    around = [one.size // 2 + BEYOND for one in weights]
    reads = [slice(max(one.start - n, 0), one.stop + n) for one, n in zip(places, around)]
    planes = image if image.ndim == 3 else image[None]
    out = np.full((len(planes), *(one.stop - one.start for one in places)), np.nan, np.float32)
    tables = [table(one) for one in weights]
    arrays = [np.ascontiguousarray(planes[:, reads[0], reads[1]]), *tables, out]
    program = matrix_program(
        replace(H100, cores=cores),
        *specs(arrays),
        taps=(weights[0].size, weights[1].size),
        powers=powers(*weights),
        y0=places[0].start - reads[0].start - weights[0].size // 2,
        x0=places[1].start - reads[1].start - weights[1].size // 2,
        border_y=mode,
        border_x=mode,
        first_y=places[0].start,
        first_x=places[1].start,
    )
    own = tuple(one for one in program.launches if one.entry.startswith("matrix"))
    folder.mkdir(exist_ok=True)
    work = emulate(replace(program, launches=own), arrays, folder)
    return out.reshape(*image.shape[:-2], *out.shape[1:]), int(work[0][0])


def truth_of(weights, image, mode):
    down = correlate1d(image.astype(float), weights[0].astype(float), -2, mode=mode)
    return correlate1d(down, weights[1].astype(float), -1, mode=mode)


@pytest.mark.parametrize(
    "shape, sizes, dtype, mode",
    [
        ((83, 131), (161, 45), "f4", "reflect"),
        ((70, 100), (129, 3), "u1", "wrap"),
        ((2, 40, 77), (5, 97), "i2", "constant"),
        ((33, 64), (1, 31), "f4", "mirror"),
        ((1, 70), (17, 25), "u2", "nearest"),
        ((20, 66), (25, 9), "b1", "reflect"),
    ],
    ids=["most weights", "bytes", "planes", "one weight", "a row", "bool"],
)
def test_sums_are_those_of_float64(rng, tmp_path, shape, sizes, dtype, mode):
    weights = tuple(rng.standard_normal(n).astype(np.float32) for n in sizes)
    kind = np.dtype(dtype)
    if kind.kind == "f":
        image = (rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 3, shape)).astype(kind)
    else:
        image = image_of(kind.name, shape, rng)
    found, _ = summed(weights, image, mode, tmp_path)
    size = truth_of(tuple(map(np.abs, weights)), np.abs(image.astype(float)), mode)
    assert (np.abs(found - truth_of(weights, image, mode)) <= 1e-6 * size).all()


def test_a_part_has_the_bits_of_the_whole(rng, tmp_path):
    weights = tuple(rng.random(n).astype(np.float32) for n in (33, 47))
    image = rng.standard_normal((190, 260)).astype(np.float32)
    image[100, 100] = 1e7
    whole, _ = summed(weights, image, "reflect", tmp_path / "whole")
    for n, part in enumerate([(slice(67, 131), slice(37, 202)), (slice(90, 91), slice(0, 260)), (slice(0, 190), slice(111, 134))]):
        some, _ = summed(weights, image, "reflect", tmp_path / f"part {n}", part, cores=3 + n)
        np.testing.assert_array_equal(some, whole[part])


def test_what_is_not_finite_counts_as_nothing_and_is_told_of(rng, tmp_path):
    weights, image = tuple(rng.random(n).astype(np.float32) for n in (9, 21)), rng.standard_normal((50, 60)).astype(np.float32)
    _, odd = summed(weights, image, "reflect", tmp_path / "finite")
    spoiled, blank = image.copy(), image.copy()
    spoiled[10, 20:24], blank[10, 20:24] = [np.nan, np.inf, -np.inf, np.nan], 0
    found, told = summed(weights, spoiled, "reflect", tmp_path / "spoiled")
    without, _ = summed(weights, blank, "reflect", tmp_path / "blank")
    assert (odd, told) == (0, 1)
    np.testing.assert_array_equal(found, without)


@pytest.mark.parametrize("scale", [1e-37, 1e30])
def test_numbers_of_any_size(rng, tmp_path, scale):
    weights, image = tuple(rng.random(n).astype(np.float32) for n in (9, 21)), (rng.random((40, 50)) * scale).astype(np.float32)
    found, _ = summed(weights, image, "reflect", tmp_path)
    np.testing.assert_allclose(found, truth_of(weights, image, "reflect"), rtol=1e-6)


def test_sums_across_may_be_larger_than_any_number(rng, tmp_path):
    weights = (rng.random(9) / 60).astype(np.float32), rng.random(21).astype(np.float32)
    image = ((rng.random((40, 50)) + 2) * 1e38).astype(np.float32)
    truth = truth_of(weights, image, "reflect")
    assert truth.max() < np.finfo(np.float32).max < (image.astype(float) * weights[1].sum()).min()
    found, _ = summed(weights, image, "reflect", tmp_path)
    np.testing.assert_allclose(found, truth, rtol=1e-6)
