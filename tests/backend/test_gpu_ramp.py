"""The row filter in on-chip memory: every radix and stage count, every padding, real and complex gains."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from footprint.kernels.common.stages import factors
from footprint.kernels.ramp_filter.fused import fused, tables
from footprint.reference.filters import response
from footprint.reference.ramp_filter import ramp_filter as reference
from footprint.spec import Limits

from .kernels import in_turn, need_gpu, quick_compiler, run

H100 = Limits("null:h100", "gpu", False, local_mem=232448, group=1024, cores=132)
SHAPES = [
    (3, 4, 8), (2, 5, 16), (3, 16, 32), (2, 33, 128), (3, 100, 200), (2, 101, 210), (3, 300, 1024), (2, 600, 1200),
    (2, 1000, 2048), (2, 1050, 2100), (3, 1021, 2048), (2, 2048, 4096), (1, 7999, 16384), (1, 12000, 32768),
    (2, 80, 162), (2, 3990, 8100), (1, 6200, 12500),
]  # fmt: skip

MODES = ["constant", "edge", "reflect", "symmetric", "wrap"]


def check(backend, rng, n, n_x, padded, mode="constant", shape="ramlak"):
    rows = rng.standard_normal((n, n_x)).astype(np.float32)
    gains = response(shape, padded)
    wanted = reference(rows, gains, mode)
    given, filtered = rows.copy(), np.full_like(rows, np.nan)
    for into in (filtered, rows):
        run(backend, "ramp_filter.fused", rows, into, *tables(gains, padded), padded=padded, mode=mode)
        assert np.abs(into - wanted).max() <= 3e-6 * np.abs(wanted).max()
        assert into is rows or np.array_equal(rows, given)
    assert np.array_equal(rows, filtered)


@pytest.mark.parametrize(("n", "n_x", "padded"), SHAPES)
def test_equals_the_reference(backend, rng, n, n_x, padded):
    need_gpu(backend)
    if fused(backend.limits, n_x, padded) is None:
        pytest.skip(f"a line of {padded} does not fit the chip")
    if padded > 12500:
        quick_compiler(backend.limits.device, f"lines of {padded}")
    check(backend, rng, n, n_x, padded)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("n_x", "padded"), [(31, 64), (32, 64), (50, 210), (64, 64)])
def test_paddings(backend, rng, mode, n_x, padded):
    need_gpu(backend)
    in_turn(backend.limits.device, MODES.index(mode) + (31, 32, 50, 64).index(n_x), 2)
    check(backend, rng, 3, n_x, padded, mode)
    check(backend, rng, 2, n_x, padded, mode, "hilbert")


def test_which_lengths_fit():
    assert factors(2048) == (16, 16, 8) and factors(11 * 64) is None and factors(4) == (2, 2)
    assert all(np.prod(factors(m)) == m for m in (*(2**k for k in range(2, 15)), 6, 81, 105, 1050, 3000, 8100, 6561, 12500))
    assert fused(H100, 16384, 32768) is not None and fused(H100, 16384, 65536) is None
    assert fused(dataclasses.replace(H100, local_mem=48 << 10), 4096, 8192) is not None
    assert fused(dataclasses.replace(H100, local_mem=32 << 10), 4096, 8192) is None
    assert fused(Limits(), 512, 1024) is None
