"""What a format library takes on its own, beside the arrays it fills: measured in a fresh process."""

from __future__ import annotations

import subprocess
import sys

import h5py
import numpy as np
import pytest

_JOB = """
import sys
import numpy as np
from footprint.backend.memory import PeakMeter
from footprint.io.scan import open_frames

few = open_frames(sys.argv[1] + ":/few")
few.read(0, 8, slice(0, 2), np.empty((8, 2, 8), np.uint16))
frames = open_frames(sys.argv[1] + ":/many")
out = np.ones((frames.shape[0], 2, 8), np.uint16)
with PeakMeter() as meter:
    frames.read(0, frames.shape[0], slice(0, 2), out)
print(meter.growth if meter.known else -1, frames.host_bytes(2))
"""


def test_many_chunks_take_no_more_than_reading_says(tmp_path):
    with h5py.File(tmp_path / "scan.h5", "w") as file:
        for name, n in (("few", 8), ("many", 6000)):
            file.create_dataset(name, data=np.zeros((n, 2, 8), np.uint16), chunks=(1, 2, 8))
    done = subprocess.run([sys.executable, "-c", _JOB, str(tmp_path / "scan.h5")], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    growth, said = map(int, done.stdout.split())
    if growth < 0:
        pytest.skip("this system does not tell the process's peak")
    assert growth <= said, f"reading took {growth / 2**20:.1f} MiB, it said {said / 2**20:.1f} MiB"
