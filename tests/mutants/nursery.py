"""A process that has imported what tests import, and nothing of Footprint: each run of tests is a fork of it, seconds sooner.

It reads a line of JSON a run and answers with one that says how the run ended, and what each of its tests took.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import astropy.io.fits
import astropy.table
import h5py
import hypothesis
import numba
import pytest
import rich
import scipy.fft
import scipy.ndimage
import scipy.signal
import scipy.stats
import tifffile
from numba.core.registry import cpu_target

LOADED = (
    astropy.io.fits,
    astropy.table,
    h5py,
    hypothesis,
    numba,
    rich,
    scipy.fft,
    scipy.ndimage,
    scipy.signal,
    scipy.stats,
    tifffile,
)


class Clock:
    """A plugin that keeps how each test ended and what it took, what it waited for included."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            self.failed.append(report.nodeid)


def child(tree: Path, order: dict[str, Any]) -> int:
    """Run the tests in this process, a fork, which dies by SIGALRM when its time is up."""
    os.setsid()
    signal.alarm(order["limit"])
    said = os.open(tree / ".said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(said, 1)
    os.dup2(said, 2)
    os.environ.update(order["environment"])
    numba.core.config.reload_config()
    # Bytecode of a fault may have the time and size of what is sound.
    sys.dont_write_bytecode = order["fault"]
    clock = Clock()
    stop = ["-x"] if order["fault"] else []
    end = pytest.main([*stop, "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *order["tests"]], plugins=[clock])
    (tree / ".clock").write_text(json.dumps({"seconds": clock.seconds, "failed": clock.failed}), encoding="utf-8")
    return int(end)


def main() -> None:
    # What Numba does before the first function it compiles or finds.
    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()
    tree = Path.cwd()
    sys.path[:] = [str(tree), *(path for path in sys.path if path not in ("", str(tree)))]
    for line in sys.stdin:
        (tree / ".clock").unlink(missing_ok=True)
        pid = os.fork()
        if not pid:
            try:
                end = child(tree, json.loads(line))
                sys.stdout.flush()
            except BaseException as error:
                print(repr(error), flush=True)
                end = 99
            # Not by way of threads that a fault keeps waiting.
            os._exit(end)
        _, status = os.waitpid(pid, 0)
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        clock = tree / ".clock"
        answer = {"end": os.waitstatus_to_exitcode(status), "said": (tree / ".said").read_text(errors="replace")[-2000:]}
        print(json.dumps(answer | (json.loads(clock.read_text()) if clock.is_file() else {})), flush=True)


if __name__ == "__main__":
    main()
