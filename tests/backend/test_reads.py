"""Who reads a file: several threads for kernels on the host, the lane's own beside a device's lanes, which are in Python."""

from __future__ import annotations

import os
import threading
import time

import numpy as np
from click.testing import CliRunner

from footprint.cli.main import main
from footprint.plan.faces import Copiers


def test_reads_are_shared_on_the_host_alone(device, tmp_path, rng, monkeypatch):
    image = rng.standard_normal((2048, 1024), np.float32)
    np.save(tmp_path / "image.npy", image)
    reads, preadv = [], os.preadv

    # So slow that other threads come by.
    def slow(fd, buffers, offset):
        time.sleep(0.02)
        if sum(memoryview(one).nbytes for one in buffers) > 100_000:
            reads.append(threading.get_ident())
        return preadv(fd, buffers, offset)

    monkeypatch.setattr(Copiers, "workers", property(lambda self: 4))
    monkeypatch.setattr(os, "preadv", slow)
    line = ["convolve", str(tmp_path / "image.npy"), "box:3", "-o", str(tmp_path / "out.npy"), "--device", device]
    result = CliRunner().invoke(main, line)
    assert result.exit_code == 0, result.output
    assert reads
    assert (len(set(reads)) > 1) == (device == "cpu")
