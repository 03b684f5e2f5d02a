"""What needs a real GPU: skipped with the reason where there is none."""

from __future__ import annotations

import os

import pytest

# JAX would otherwise take three quarters of the device at its first array.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


@pytest.fixture(scope="session")
def cuda():
    """CuPy with a device behind it, and nobody else on it."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        pytest.skip("memory is measured on a device that nothing else uses: run make gpu-check")
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        pytest.skip(f"no CUDA device: {error}")
    if count == 0:
        pytest.skip("no CUDA device")
    return cupy
