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


BOUND = """
import os, numpy as np, footprint as fp
from footprint.backend.registry import open_backend
image, mask, out = np.ones((64, 64), "f4"), np.ones((3, 3), "f4"), np.empty((64, 64), "f4")
plan = fp.plan_convolve((64, 64), (3, 3), device="cpu")
bound = plan.bind(open_backend("cpu"))
frames = fp.stream([image] * 3, mask=mask, device="cpu")
next(frames)
run, again = lambda: bound(image, mask, out=[out]), lambda: bound.replay([image, mask, out])
for how in (run, again, lambda: plan.bind(open_backend("cpu"))):
    if os.fork() == 0:
        try:
            how()
        except fp.BackendError as error:
            print(error, flush=True)
        # The interpreter ends as usual: what the parent has open is not waited for.
        raise SystemExit
    assert os.wait()[1] == 0
frames.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_bound_plan_and_a_new_one_are_refused_in_a_forked_process():
    done = subprocess.run([sys.executable, "-c", BOUND], capture_output=True, text=True, timeout=120)
    told = done.stdout.splitlines()
    assert len(told) == 3 and all("device cpu: this process was forked" in line for line in told), done.stdout + done.stderr


LEFT = """
import numpy as np, footprint as fp, sys, time

def camera():
    yield np.zeros((8, 8), "f4")
    yield np.zeros((8, 8), "f4")
    if sys.argv[1] == "blocks":
        time.sleep(3600)
    while True:
        yield np.zeros((8, 8), "f4")

frames = fp.stream(camera(), mask=np.ones((3, 3)), device="cpu")
for frame in frames:
    break
if sys.argv[1] == "raises":
    raise ValueError("a mistake of the caller's")
print("the end")
"""


@pytest.mark.parametrize("how", ["break", "raises", "blocks"])
def test_the_interpreter_ends_although_a_stream_is_open(how):
    done = subprocess.run([sys.executable, "-c", LEFT, how], capture_output=True, text=True, timeout=60)
    assert ("a mistake" in done.stderr) if how == "raises" else (done.stdout == "the end\n" and done.stderr == ""), done.stderr
