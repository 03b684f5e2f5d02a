"""ducc0's own memory, which no plan can place: measured in a process of its own, it stays within the bound the plan counts."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import json, sys
import numpy as np
from footprint.backend.memory import PeakMeter
from footprint.kernels.fourier.cpu import coords, nufft
from footprint.kernels.fourier.contract import EPSILON, library_bytes
from footprint.ops.backproject import Geometry
import numba

n_a, n_x, n = map(int, sys.argv[1:])
angles = np.linspace(0, np.pi, n_a, endpoint=False)
n_f, table = n_x + 1, Geometry(angles, n_x, n / 2).table()
where, points = np.empty((n_a * n_f, 2), "f4"), np.ones(n_a * n_f, "c8")
coords(table, where, padded=2 * n_x)
grid = np.ones((n, n), "c8")
nufft(points[:10], where[:10], np.ones((8, 8), "c8"), epsilon=EPSILON)
with PeakMeter() as meter:
    nufft(points, where, grid, epsilon=EPSILON)
bound = library_bytes(n_a * n_f, n, n, numba.get_num_threads())
print(json.dumps({"growth": meter.growth, "known": meter.known, "bound": bound, "points": n_a * n_f}))
"""


# Few points on a large grid, many on a small one, and crowded ones, for which the library would take its largest oversampling.
@pytest.mark.parametrize(("n_a", "n_x", "n"), [(60, 1000, 1000), (4000, 512, 512), (6000, 800, 300), (900, 1200, 30), (5, 3, 7)])
def test_the_transforms_memory_is_within_its_bound(n_a, n_x, n):
    pytest.importorskip("ducc0", reason="ducc0 (the extra fourier) is not installed")
    words = [sys.executable, "-c", PROGRAM, str(n_a), str(n_x), str(n)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    if not found["known"]:
        pytest.skip("this system does not tell the process's peak")
    assert found["growth"] <= found["bound"], found
    # A bound that is far off would cost the user slices: where points dominate it is close.
    if found["points"] > 2_000_000:
        assert found["growth"] > 0.6 * found["bound"], found
