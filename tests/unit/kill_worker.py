"""Runs the shell in forks of a process that has imported what it needs, and kills some of them at the moment it is told.

It reads lines of JSON: ``words``; ``out``, where what is printed goes; and ``kill``: the journal, how many rows are done in it
by then, and the seconds after that. It answers with the exit code and the seconds. What a job has imported later ones find there.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import h5py
import numba
import scipy.fft

from footprint.cli import main as shell
from footprint.cli import reconstruct_job
from tests.forks import load

LOADED = (h5py, numba, scipy.fft)
_SECONDS = 120


def _slow_disk() -> None:
    """What has to be durable takes a moment, as it does on a disk: a killed run is likely to be there."""
    fsync = os.fsync

    def slow(file: int) -> None:
        time.sleep(0.002)
        fsync(file)
        time.sleep(0.002)

    os.fsync = slow


def run(words: list[str], out: str, names: int) -> None:
    """One job, in a child; the modules it has in the end, where it comes there."""
    signal.alarm(_SECONDS)
    _slow_disk()
    # It runs before a volume is begun.
    reconstruct_job.warm = lambda *_: None
    os.dup2(os.open(out, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), 1)
    sys.argv = ["footprint", *words]
    try:
        shell.entry()
    finally:
        with open(names, "w") as file:
            file.write("\n".join(sys.modules))


def rows_in(journal: str | Path) -> int:
    """Rows that are done; lines that are not yet whole count for nothing."""
    try:
        lines = Path(journal).read_text().split("\n")[:-1]
    except FileNotFoundError:
        return 0
    return sum(int(stop) - int(start) for start, stop, *_ in (line.split() for line in lines if not line.startswith("# ")))


def killed(child: int, journal: str, rows: int, delay: float) -> int:
    """Kill a child when so many rows are done, and some time later; how it ended."""
    while rows and rows_in(journal) < rows:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        time.sleep(0.001)
    time.sleep(delay)
    # A child that has ended keeps its number until it is waited for.
    os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


def main() -> None:
    for line in sys.stdin:
        asked: dict[str, Any] = json.loads(line)
        told, names = os.pipe()
        begun, child = time.monotonic(), os.fork()
        if not child:
            os.close(told)
            # Ends by SystemExit.
            run(asked["words"], asked["out"], names)
        os.close(names)
        if "kill" in asked:
            status = killed(child, *asked["kill"])
            os.close(told)
        else:
            with open(told) as file:
                load(file.read().split())
            status = os.waitpid(child, 0)[1]
        print(json.dumps({"code": os.waitstatus_to_exitcode(status), "seconds": time.monotonic() - begun}), flush=True)


if __name__ == "__main__":
    main()
