"""Lines of the Fourier grid that stay on the chip, against NumPy's transform: rows in, columns back, lines of the image."""

from __future__ import annotations

import numpy as np
import pytest

from footprint.kernels.common.stages import stages, turns
from footprint.kernels.fourier.contract import MARGIN

from .kernels import need_gpu, run

# Powers of two, an odd number, and several turns of the work-items, the last of which not all of them take.
NUMBERS = [64, 81, 1500]


def numbers(rng, *shape):
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(np.complex64)


def close(got, want):
    assert np.abs(got - want).max() < 1e-6 * np.abs(want).max()


def need_chip(backend, m):
    need_gpu(backend)
    if stages(backend.limits, m) is None:
        pytest.skip(f"a line of {m} does not fit the chip")


@pytest.mark.parametrize("m", NUMBERS)
def test_spectra_of_rows(backend, rng, m):
    """With the weight, the phase of the axis, gains that are complex, and samples conjugated where the angle points left."""
    need_chip(backend, m)
    x, gains, x0, y0 = rng.standard_normal((3, m - 7), np.float32), numbers(rng, m + 1), 3, 5
    table = np.column_stack([[0.6, -0.8, 1.0], [0.8, 0.6, 0.0], [11.3, -4.2, 40.1], [0.5, 1.5, 2.0]])
    found = np.empty((3, m + 1), np.complex64)
    run(backend, "fourier.rows", x, table, turns(m), gains, found, mode="constant", x0=x0, y0=y0)
    c, s, offset, weight = table.T
    moved = np.exp(1j * np.pi / m * np.outer(offset + x0 * c + y0 * s, np.arange(m + 1)))
    want = np.fft.rfft(x.astype("f8"), 2 * m) * moved * gains * weight[:, None]
    close(found, np.where(c[:, None] < 0, want.conj(), want))


@pytest.mark.parametrize("m", NUMBERS)
def test_columns_back_and_what_lies_beyond_the_half_plane(backend, rng, m):
    need_chip(backend, m)
    cells, first, last = 20, m // 3, m // 4
    grid = numbers(rng, 2 * MARGIN + cells // 2 + 1, m)
    want = grid.astype("c16")
    mirrored = np.conj(np.roll(want[:, ::-1], 1, axis=1))
    for j in range(1, MARGIN):
        want[MARGIN + j] += mirrored[MARGIN - j]
        want[MARGIN + cells // 2 - j] += mirrored[MARGIN + cells // 2 + j]
    want = (np.fft.ifft(want, axis=1) * m)[MARGIN:-MARGIN]
    run(backend, "fourier.columns", grid, turns(m), cells=cells, kept=(first, last))
    close(grid[MARGIN:-MARGIN, :first], want[:, :first])
    close(grid[MARGIN:-MARGIN, -last:], want[:, -last:])


@pytest.mark.parametrize("m", NUMBERS)
@pytest.mark.parametrize("even", [True, False])
def test_lines_of_the_image(backend, rng, m, even):
    """Five columns, out of order: a group does not take all, and one has but one."""
    need_chip(backend, m)
    cells, width = 2 * m, m + even
    grid, columns = numbers(rng, m + 1, 9), np.array([7, 8, 0, 1, 4], np.int32)
    down, across, found = rng.random(5, np.float32), rng.random(width, np.float32), np.empty((5, width), np.float32)
    run(backend, "fourier.image", grid, turns(m), columns, down, across, found)
    lines = grid[:, columns].T * down[:, None].astype("f8")
    lines[:, [0, -1]] = 2 * lines[:, [0, -1]].real
    samples = np.fft.irfft(lines, cells) * cells
    close(found, np.roll(samples, width // 2, axis=1)[:, :width] * across)
