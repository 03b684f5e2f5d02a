"""Slices and filters as compiled for processors with AVX2 and without: the same, at all widths that their vectors leave over.

Where there is AVX-512, all other tests run what is compiled for it.
"""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

SUMS = """
import sys
import numpy as np
from footprint.kernels.backproject.contract import backproject_work
from footprint.kernels.backproject import cpu as kernel
from footprint.kernels.common.pairs import FEATURES, LANES
from footprint.kernels.project.contract import project_work
from footprint.kernels.project.cpu import project
from footprint.ops.backproject import Geometry
from footprint.reference.backproject import angle_weights, backproject
from footprint.reference.project import matrix
from footprint.spec import ArraySpec, Limits

rng = np.random.default_rng(1)
spec = lambda a: ArraySpec(a.shape, a.dtype.str)
for n_z, n_a, n_x, roi in ((1, 11, 37, (0, 37, 0, 37)), (5, 9, 70, (-9, 90, 3, 80))):
    rows, angles = rng.random((n_z, n_a, n_x), dtype="f4"), rng.uniform(-4, 4, n_a)
    out = np.empty((n_z, roi[3] - roi[2], roi[1] - roi[0]), "f4")
    table = Geometry(angles, n_x, 0.4 * n_x, roi).table()
    work = [np.empty(w.shape, w.dtype) for w in backproject_work(Limits(threads=2), spec(rows), spec(table), spec(out))]
    kernel.backproject(rows, table, out, *work)
    want = [backproject(r, angles, angle_weights(angles), 0.4 * n_x, roi) for r in rows]
    np.testing.assert_allclose(out, want, atol=2e-5 * np.abs(want).max())
    seen, (turned, line) = np.empty_like(rows), project_work(Limits(threads=2), spec(out), spec(table), spec(rows))
    project(out, table, seen, np.empty(turned.shape, "f4"), np.empty(line.shape, "f4"))
    dense = matrix(angles, n_x, 0.4 * n_x, roi)
    want = (out.reshape(n_z, -1) @ dense.T).reshape(rows.shape)
    np.testing.assert_allclose(seen, want, atol=4e-6 * np.abs(want).max())
print(LANES, "+avx2" in FEATURES)
"""

FOURIER = """
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

FILTERS = """
import numpy as np
import scipy.ndimage
import footprint as fp
from footprint.kernels.common.vectors import BYTES

rng = np.random.default_rng(1)
for width in (*range(1, 40), 63, 130):
    for dtype, size in (("f4", (1, 3)), ("f8", (1, 11))):
        image = rng.standard_normal((13, width)).astype(dtype)
        got = fp.median_filter(image, size, output=np.full_like(image, np.nan), device="cpu")
        np.testing.assert_array_equal(got, scipy.ndimage.median_filter(image, size), f"{dtype} {width}")
    got = fp.gaussian_filter(image.astype("f4"), 1.3, device="cpu")
    np.testing.assert_allclose(got, scipy.ndimage.gaussian_filter(image, 1.3), atol=2e-6)
    got = fp.correlate(image.astype("f4"), np.arange(35.0).reshape(5, 7), boundary="nearest", method="direct", device="cpu")
    want = scipy.ndimage.correlate(image, np.arange(35.0).reshape(5, 7), mode="nearest")
    np.testing.assert_allclose(got, want, atol=1e-3)
for taps in ((1, 5), (1, 20), (7, 1), (50, 1), (7, 3), (9, 9)):
    for dtype in ("f4", "f8"):
        wide, mask = rng.standard_normal((200, 300)).astype(dtype), rng.standard_normal(taps)
        got, want = (fp.correlate(one, mask, mode="valid", method="direct", device="cpu") for one in (wide[:, :27].copy(), wide))
        np.testing.assert_array_equal(got, want[:, : got.shape[1]], f"{dtype} {taps}")
print(BYTES)
"""


@pytest.mark.parametrize(
    ("program", "name", "features", "printed"),
    [
        (FILTERS, "haswell", "+avx,+avx2,+fma", "32"),
        (FILTERS, "generic", "", "16"),
        (SUMS, "haswell", "+avx,+avx2,+fma", "8 True"),
        (SUMS, "generic", "", "8 False"),
        (FOURIER, "generic", "", "False"),
        (FOURIER, "haswell", "+avx,+avx2,+fma", "True"),
    ],
)
def test_every_kind_of_processor(program, name, features, printed, tmp_path):
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip(f"names of x86 processors mean nothing on {platform.machine()}")
    needed = " avx2 " if features else ""
    cpuinfo = Path("/proc/cpuinfo")
    if needed and not (cpuinfo.exists() and needed in cpuinfo.read_text()):
        pytest.skip(f"this processor is not known to have{needed}")
    settings = {"NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": features, "NUMBA_CACHE_DIR": str(tmp_path)}
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, env=os.environ | settings, timeout=240)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == printed
