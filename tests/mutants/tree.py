"""A copy of the tree in which one fault at a time is planted, and the runs of tests in it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.mutants import Mutant

ROOT = Path(__file__).resolve().parents[2]
KERNELS = "footprint/kernels/"
_READS = re.compile(r"footprint\.kernels\.(\w+)")
# Seconds after which a run has hung, and so many times what its tests take without the fault on top.
PATIENCE, TIMES = 100, 8


class Ended(NamedTuple):
    """How a run ended: ``passed``, ``failed``, ``hung``, or what is wrong with it."""

    end: str
    took: float
    seconds: dict[str, float]
    failed: list[str]


def copy_of_the_tree(folder: Path) -> Path:
    """What the tests read, and nothing that git ignores."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True
    )
    for name in listed.stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def readers(tree: Path, changed: str) -> set[str]:
    """The kernels' folders whose machine code may hold what stands in ``changed``, which Numba's cache does not notice."""
    folders = {path.name: path for path in (tree / KERNELS).iterdir() if path.is_dir()}
    reads = {
        name: {of for text in path.glob("*.py") for of in _READS.findall(text.read_text("utf-8"))} for name, path in folders.items()
    }
    found, more = set(), {changed.removeprefix(KERNELS).partition("/")[0]}
    while more:
        found |= more
        more = {name for name, of in reads.items() if of & found} - found
    return found


class Tree:
    """A copy of the tree, a process that runs tests in it, and what is known of its tests as they are."""

    def __init__(self, folder: Path) -> None:
        self.folder = copy_of_the_tree(folder)
        self.sound: dict[tuple[str, bool, str], tuple[str, float]] = {}
        environment = {**os.environ, "PYTHONPATH": str(self.folder)}
        self.nursery = subprocess.Popen(
            [sys.executable, "-m", "tests.mutants.nursery"],
            cwd=self.folder, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def close(self) -> None:
        assert self.nursery.stdin
        self.nursery.stdin.close()
        self.nursery.wait()

    def run(self, tests: tuple[str, ...], how: Mutant, limit: float, fault: bool) -> Ended:
        """Run tests with the devices of ``how``; until the first that fails where a fault is planted."""
        environment = {"FOOTPRINT_TEST_DEVICES": how.devices, "NUMBA_DISABLE_JIT": str(int(how.plain))}
        environment["NUMBA_CACHE_DIR"] = str(self.folder / (".numba-fault" if fault else ".numba"))
        order = {"tests": tests, "environment": environment, "limit": int(limit), "fault": fault}
        assert self.nursery.stdin and self.nursery.stdout
        start = time.perf_counter()
        self.nursery.stdin.write(json.dumps(order) + "\n")
        self.nursery.stdin.flush()
        answer: dict[str, Any] = json.loads(self.nursery.stdout.readline())
        ends = {0: "passed", 1: "failed", -signal.SIGALRM: "hung"}
        # A fault that kills the process is seen, too.
        died = answer["end"] < 0 and fault
        end = ends.get(answer["end"], "failed" if died else f"pytest ended with {answer['end']}")
        said = "" if end in ("passed", "hung") else f": {answer['said']}"
        return Ended(
            end + said * (end != "failed" or not fault),
            time.perf_counter() - start,
            answer.get("seconds", {}),
            answer.get("failed", []),
        )

    def learn(self, group: list[Mutant]) -> Ended | None:
        """Run what this group names as it is, but for what is known; None where all is."""
        how = group[0]
        tests = tuple(dict.fromkeys(t for m in group for t in m.tests if (how.devices, how.plain, t) not in self.sound))
        if not tests:
            return None
        done = self.run(tests, how, 1800, fault=False)
        for test in tests:
            # A file, a function, or one of its parameters' tests.
            mine = [name for name in done.seconds if re.match(re.escape(test) + r"($|\[|::)", name)]
            end = "passed" if mine and not set(mine) & set(done.failed) else done.end if not mine else "failed"
            self.sound[how.devices, how.plain, test] = end, sum(done.seconds[name] for name in mine)
        return done

    def plant(self, mutant: Mutant) -> tuple[str, float]:
        """Run the mutant's tests with the fault in the tree, and take it out again."""
        known = [self.sound[mutant.devices, mutant.plain, test] for test in mutant.tests]
        wrong = [f"{test} as it is: {end}" for test, (end, _) in zip(mutant.tests, known) if end != "passed"]
        if wrong:
            return "; ".join(wrong), 0.0
        sound = (self.folder / mutant.file).read_text(encoding="utf-8")
        if sound.count(mutant.text) != 1:
            return f"its text stands {sound.count(mutant.text)} times in {mutant.file}", 0.0
        with self._fault(mutant, sound):
            done = self.run(mutant.tests, mutant, PATIENCE + TIMES * sum(took for _, took in known), fault=True)
        return done.end, done.took

    @contextmanager
    def _fault(self, mutant: Mutant, sound: str) -> Iterator[None]:
        """Text with the fault, and machine code without what may hold the sound one."""
        path, cache = self.folder / mutant.file, self.folder / ".numba-fault"
        stat = path.stat()
        stale = readers(self.folder, mutant.file) if mutant.file.startswith(KERNELS) and path.suffix == ".py" else set()
        try:
            path.write_text(sound.replace(mutant.text, mutant.fault), encoding="utf-8")
            # Links suffice: Numba replaces its files.
            for folder in (self.folder / ".numba").glob("*"):
                if folder.name.rpartition("_")[0] not in stale:
                    shutil.copytree(folder, cache / folder.name, copy_function=os.link)
            yield
        finally:
            shutil.rmtree(cache, ignore_errors=True)
            path.write_text(sound, encoding="utf-8")
            # The same time, so that kernels compiled from it are found again.
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
