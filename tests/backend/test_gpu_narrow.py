"""Narrow and short results on a GPU: tiles take their shape, write nothing beside them, and results keep the bits of wide ones."""

from __future__ import annotations

import numpy as np
import pytest

import footprint as fp
from footprint.kernels.convolve.contract import piece
from footprint.kernels.convolve.gpu import Tile, shaped, tile_bytes
from footprint.reference import convolve as reference
from footprint.spec import ArraySpec

from .kernels import in_turn, need_gpu, run

# Rows of one, many and no whole number of tiles; and more rows than a grid has groups.
SHAPES = [(1, 1), (700, 1), (1, 700), (2, 3000), (3000, 2), (1500, 5), (5, 1500), (333, 17), (17, 333), (300, 70)]
MASKS = [(1, 3), (1, 31), (1, 200), (3, 3), (5, 4), (13, 2), (2, 13), (70, 2), (70, 7), (2, 70), (7, 70), (66, 66)]
CASES = [(shape, mask) for shape in SHAPES for mask in MASKS]
VOLUMES = [((4, 90, 3), (3, 3, 3)), ((3, 2, 90), (2, 2, 5)), ((60, 3, 4), (3, 66, 2)), ((5, 3, 80), (3, 2, 66))]


def lies(mask):
    return {f"{axis}0": -(n // 2) for axis, n in zip("yx", mask)}


@pytest.mark.parametrize(("shape", "mask"), CASES)
def test_sums_are_those_of_the_reference(shape, mask, backend, device, rng):
    need_gpu(backend)
    in_turn(device, CASES.index((shape, mask)), 7)
    image, weights, out = rng.standard_normal(shape, "f4"), rng.standard_normal(mask, "f4"), np.full(shape, np.nan, "f4")
    run(backend, "convolve", image, weights, out, **lies(mask), border_y="reflect", border_x="wrap", cval=0.0)
    wide = np.pad(image, ((0, 0), (mask[1] // 2, (mask[1] - 1) // 2)), "wrap")
    tall = np.pad(wide, ((mask[0] // 2, (mask[0] - 1) // 2), (0, 0)), "symmetric")
    want = reference.correlate(tall, weights, mode="valid")
    np.testing.assert_allclose(out, want, rtol=0, atol=1e-6 * np.abs(weights).sum() * np.abs(image).max())


@pytest.mark.parametrize(("shape", "mask"), VOLUMES)
def test_planes_are_narrow_too(shape, mask, backend, device, rng):
    need_gpu(backend)
    image, weights = rng.standard_normal(shape, "f4"), rng.standard_normal(mask, "f4")
    got = fp.correlate(image, weights, boundary="mirror", method="direct", device=device)
    want = reference.correlate(image, weights, boundary="mirror")
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-6 * np.abs(weights).sum() * np.abs(image).max())


@pytest.mark.parametrize(("width", "mask"), [(800, (1, 3)), (40, (1, 9)), (40, (3, 3)), (3, (9, 1)), (3, (1, 40))])
def test_more_rows_than_a_grid_has_groups(width, mask, backend, rng):
    """What lies behind the result is looked at, too: groups that had no row once wrote theirs there."""
    need_gpu(backend)
    shape = (65_538, width)
    image, weights, out = rng.integers(0, 9, shape, "u1"), rng.standard_normal(mask, "f4"), np.full(shape, np.nan, "f4")
    run(backend, "convolve", image, weights, out, **lies(mask), border_y="nearest", border_x="nearest", cval=0.0)
    across = np.clip(np.arange(-(mask[1] // 2), width + (mask[1] - 1) // 2), 0, width - 1)
    for some in (slice(0, 100), slice(shape[0] - 100, shape[0])):
        around = np.clip(np.arange(some.start - mask[0] // 2, some.stop + (mask[0] - 1) // 2), 0, shape[0] - 1)
        want = reference.correlate(image[np.ix_(around, across)], weights, mode="valid")
        np.testing.assert_allclose(out[some], want, rtol=0, atol=1e-5 * np.abs(weights).sum())


@pytest.mark.parametrize("mask", [(1, 9), (1, 100), (5, 5), (70, 3), (3, 70)])
def test_columns_alone_have_the_bits_of_the_whole(mask, backend, rng):
    need_gpu(backend)
    image, weights = rng.standard_normal((150, 400), "f4"), rng.standard_normal(mask, "f4")
    whole, some = np.empty((150, 400), "f4"), np.empty((150, 6), "f4")
    run(backend, "convolve", image, weights, whole, **lies(mask), border_y="reflect", border_x="reflect", cval=0.0)
    for first in (0, 131, 394):
        places = lies(mask) | {"x0": first - mask[1] // 2}
        run(backend, "convolve", image, weights, some, **places, border_y="reflect", border_x="reflect", cval=0.0)
        np.testing.assert_array_equal(some, whole[:, first : first + 6])


def test_tiles_take_the_shape_of_results():
    def of(shape, mask=(3, 3), t=None):
        return shaped(t or Tile(16, 16, 4, 4, 3), mask, 0, ArraySpec(shape, "f4"), 72 << 10)[:4]

    assert of((4096, 4096)) == of((64, 64)) == (16, 16, 4, 4)
    assert of((4096, 2)) == (1, 256, 4, 1) and of((4096, 17)) == (8, 32, 4, 4)
    assert of((4, 4096)) == (256, 1, 4, 4) and of((9, 4096)) == (64, 4, 4, 4)
    assert of((4, 4)) == (1, 4, 4, 1)
    line = Tile(64, 1, 28, 1, 1)
    assert of((9999, 128), (1, 9), line) == (8, 8, 28, 1) and of((9999, 3), (1, 9), line) == (1, 64, 4, 1)
    assert of((1, 1 << 20), (1, 9), line) == (64, 1, 28, 1) and of((1, 100), (1, 9), line) == (4, 1, 28, 1)
    # A tile that would be too large has fewer rows, and where it has one, fewer columns.
    narrow = of((4096, 2), (63, 63))
    assert narrow[1] < 256 and tile_bytes(Tile(*narrow, 3), (63, 63), 0, 4) <= 72 << 10
    flat = of((1, 700), (64, 8), Tile(16, 16, 4, 1, 1))
    assert flat[:2] == (64, 1) and tile_bytes(Tile(*flat, 1), (64, 8), 0, 4) <= 72 << 10
    assert {piece(mask) for mask in ((64, 4), (99, 1), (5, 64, 3))} == {(64, 4)} and piece((1, 999)) == piece((1, 1, 9)) == (1, 256)
    assert (piece((70, 8)), piece((4, 70)), piece((8, 70)), piece((9, 70))) == ((32, 8), (4, 48), (8, 32), (16, 16))
    assert all(cols % 4 == 0 and (cols <= 52 or rows == 1) for rows, cols in map(piece, MASKS))
