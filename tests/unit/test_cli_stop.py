"""A stop that Python drops is raised again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda n: n.name)
@pytest.mark.parametrize("busy", [0.0, 0.3])
def test_a_stop_that_a_destructor_swallows_comes_again_without_a_progress_step(number, busy):
    """Also where the system is so busy that a thread has slept before whoever started it goes on."""
    program = f"""
import os, signal, threading, time
from footprint.cli import main

start = threading.Thread.start
threading.Thread.start = lambda thread: (start(thread), time.sleep({busy}))

class Late:
    def __del__(self):
        os.kill(os.getpid(), {int(number)})
        sum(range(1000))

def job(standalone_mode):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    Late()
    # Not by print: a stop that comes while it is on its way out has what it wrote written again at the end.
    os.write(1, b"dropped\\n")
    for _ in range(100):
        time.sleep(0.1)

main.main = job
main.entry()
"""
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (130, "dropped\n"), done.stderr
    assert done.stderr == "footprint: stopped; nothing half-written was left behind.\n"
    assert time.monotonic() - start < 8
