"""What needs a real GPU: skipped with the reason where there is none."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def cuda():
    """CuPy with a device behind it."""
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        pytest.skip(f"no CUDA device: {error}")
    if count == 0:
        pytest.skip("no CUDA device")
    return cupy
