"""A process that was forked after its parent used Footprint gets a sentence, not a hang."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

CODE = """
import multiprocessing, numpy as np, footprint as fp
image, mask = np.ones((64, 64), "f4"), np.ones((3, 3))
fp.convolve(image, mask, device="cpu")

def work(queue):
    try:
        fp.convolve(image, mask, device="cpu")
        queue.put("ran")
    except fp.BackendError as error:
        queue.put(str(error))

context = multiprocessing.get_context("fork")
queue = context.Queue()
process = context.Process(target=work, args=(queue,))
process.start()
print(queue.get(timeout=60))
process.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_is_told_to_spawn():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=120)
    assert "spawn" in done.stdout and "device cpu" in done.stdout, done.stdout + done.stderr
