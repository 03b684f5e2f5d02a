"""Rows to spectra and back on the CPU by transforms of our own, against NumPy's in float64."""

from __future__ import annotations

import numpy as np
import pytest

from footprint.kernels.ramp_filter.lines import factors
from footprint.kernels.transforms import contract, cpu
from footprint.spec import Limits


@pytest.mark.parametrize(
    ("n", "n_x", "padded", "mode", "level"),
    [
        (37, 100, 240, "constant", 0.0),
        (16, 33, 64, "edge", 0.0),
        (3, 5, 24, "constant", 1.0),
        (9, 17, 18, "reflect", 0.0),
        (17, 70, 196, "symmetric", 0.5),
        (20, 50, 210, "constant", 0.0),
    ],
)
def test_rows_there_and_back(n, n_x, padded, mode, level, rng):
    radices = factors(padded)
    tables, work = contract.halves(radices), np.full(contract.room(Limits(threads=3), padded // 2, n).shape, np.nan, "f4")
    rows, found = rng.standard_normal((n, n_x), np.float32), np.full((n, padded // 2 + 1), np.nan, "c8")
    cpu.forward(rows, *tables, found, work, padded=padded, mode=mode, level=level, radices=radices)
    before = (padded - n_x) // 2
    wide = np.pad(rows.astype("f8") - level, ((0, 0), (before, padded - n_x - before)), mode)
    want = np.fft.rfft(np.roll(wide, -before, axis=1))
    np.testing.assert_allclose(found, want, atol=4e-7 * np.abs(want).max())
    # Backwards what is imaginary of the lowest and the highest frequency counts for nothing.
    spectra = (rng.standard_normal(want.shape) + 1j * rng.standard_normal(want.shape)).astype("c8")
    back = np.full((n, n_x), np.nan, "f4")
    cpu.backward(spectra, *tables, back, work, level=level, radices=radices)
    want = padded * np.fft.irfft(spectra.astype("c16"), padded)[:, :n_x] + level
    np.testing.assert_allclose(back, want, atol=4e-7 * np.abs(want).max())


def test_a_row_is_its_own():
    """Others, which may be infinite, and how many there are, change none of its bits."""
    radices, rng = factors(96), np.random.default_rng(1)
    rows = rng.standard_normal((19, 40), np.float32)
    found = []
    for some in (rows, rows[3:8], np.where(np.arange(19)[:, None] == 4, rows, np.inf).astype("f4")):
        spectra = np.empty((len(some), 49), "c8")
        work = np.empty(contract.room(Limits(threads=2), 48, len(some)).shape, "f4")
        cpu.forward(some, *contract.halves(radices), spectra, work, padded=96, mode="constant", level=0.0, radices=radices)
        found.append(spectra[1 if len(some) == 5 else 4].tobytes())
    assert len({*found}) == 1
