"""The Fourier method as it is compiled for processors with AVX2 and without, beside AVX-512 in all other tests: the same slices."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import numpy as np
import footprint as fp
from footprint.kernels.fourier.cpu_spread import WIDE
from footprint.reference.backproject import angle_weights
from footprint.reference.filters import response
from footprint.reference.fourier import fourier_backproject

rng = np.random.default_rng(1)
x, angles = rng.standard_normal((23, 40), dtype="f4"), rng.uniform(-4, 4, 23)
spectrum = np.fft.rfft(x.astype("f8"), 80) * response("ramlak", 80)
want = fourier_backproject(spectrum, angles, angle_weights(angles), 19.5, (0, 40, 0, 40))
got = fp.fbp(x, angles, method="fourier", interpolation="sinc", device="cpu")
assert np.sqrt(np.mean((got - want) ** 2) / np.mean(want**2)) < 1e-4
print(WIDE)
"""


@pytest.mark.parametrize(
    ("name", "features", "printed"),
    [("generic", "", "False")],
)
def test_every_kind_of_processor(name, features, printed, tmp_path):
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip(f"names of x86 processors mean nothing on {platform.machine()}")
    needed = " avx2 " if features else ""
    cpuinfo = Path("/proc/cpuinfo")
    if needed and not (cpuinfo.exists() and needed in cpuinfo.read_text()):
        pytest.skip(f"this processor is not known to have{needed}")
    settings = {"NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": features, "NUMBA_CACHE_DIR": str(tmp_path)}
    words = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, env=os.environ | settings, timeout=240)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == printed
