"""Plants every fault of the list in a copy of the tree and runs the tests that must see it; exits with 1 where any survives."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from queue import Empty, Queue
from threading import Lock, Thread

from tests.mutants import Mutant, mutants

ROOT = Path(__file__).resolve().parents[2]
# Seconds after which a run has not failed but hung; that is noticed, too.
PATIENCE = 300


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


def run(tree: Path, tests: tuple[str, ...], how: Mutant) -> tuple[str, float]:
    """How the tests end in a tree: ``passed``, ``failed``, ``hung``, or what is wrong with the run; and seconds."""
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1", "FOOTPRINT_TEST_DEVICES": how.devices}
    environment |= {"NUMBA_CACHE_DIR": str(tree / ".numba"), "NUMBA_DISABLE_JIT": str(int(how.plain))}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]
    start = time.perf_counter()
    try:
        done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return "hung", time.perf_counter() - start
    took = time.perf_counter() - start
    ends = {0: "passed", 1: "failed"}
    return ends.get(done.returncode, f"pytest ended with {done.returncode}: {done.stdout[-1500:]}{done.stderr[-500:]}"), took


def plant(tree: Path, mutant: Mutant) -> tuple[str, float]:
    """Run the mutant's tests with the fault in the tree, and take it out again."""
    path = tree / mutant.file
    sound, stat = path.read_text(encoding="utf-8"), path.stat()
    if sound.count(mutant.text) != 1:
        return f"its text stands {sound.count(mutant.text)} times in {mutant.file}", 0.0
    try:
        path.write_text(sound.replace(mutant.text, mutant.fault), encoding="utf-8")
        return run(tree, mutant.tests, mutant)
    finally:
        path.write_text(sound, encoding="utf-8")
        # The same time, so that kernels compiled from it are found again.
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def groups(words: list[str]) -> Queue[list[Mutant]]:
    """Mutants of a file that run alike, the largest groups first."""
    by_file: dict[tuple[str, str, bool], list[Mutant]] = {}
    for mutant in mutants():
        if not words or any(word in " ".join((mutant.file, mutant.text, mutant.why)) for word in words):
            by_file.setdefault((mutant.file, mutant.devices, mutant.plain), []).append(mutant)
    found: Queue[list[Mutant]] = Queue()
    for group in sorted(by_file.values(), key=len, reverse=True):
        found.put(group)
    return found


class Tally:
    """What became of the mutants, printed as it is known."""

    def __init__(self) -> None:
        self.lock, self.killed = Lock(), 0
        self.problems: list[str] = []

    def add(self, mutant: Mutant, end: str, took: float) -> None:
        """Killed where its tests fail, or never end."""
        killed = end in ("failed", "hung")
        line = f"{'killed' if killed else 'ALIVE '} {took:5.1f} s  {mutant.file}: {mutant.why or mutant.fault.strip()}"
        with self.lock:
            print(line, flush=True)
            self.killed += killed
            if not killed:
                change = f"    {mutant.text.strip()}\n -> {mutant.fault.strip()}"
                self.problems.append(f"{line}\n{change}\n    {' '.join(mutant.tests)}: {end}")

    def sound(self, file: str, end: str, took: float) -> bool:
        """A test that fails without a fault would kill every mutant that names it."""
        with self.lock:
            print(f"{end} {took:5.1f} s  {file} as it is", flush=True)
            if end != "passed":
                self.problems.append(f"{file}, as it is: {end}")
        return end == "passed"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", help="only mutants whose file, text or reason holds one of these")
    parser.add_argument("-j", type=int, default=2, help="copies of the tree that work side by side")
    options = parser.parse_args()
    todo, tally, start = groups(options.words), Tally(), time.perf_counter()

    def work(folder: Path) -> None:
        tree = copy_of_the_tree(folder)
        while True:
            try:
                group = todo.get_nowait()
            except Empty:
                return
            tests = tuple(dict.fromkeys(test for mutant in group for test in mutant.tests))
            if not tally.sound(group[0].file, *run(tree, tests, group[0])):
                continue
            for mutant in group:
                tally.add(mutant, *plant(tree, mutant))

    with tempfile.TemporaryDirectory(prefix="mutants-") as home:
        threads = [Thread(target=work, args=(Path(home) / f"copy{i}",)) for i in range(options.j)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    print(f"{tally.killed} killed in {time.perf_counter() - start:.0f} s, {len(tally.problems)} problems")
    for text in tally.problems:
        print(text)
    return 1 if tally.problems else 0


if __name__ == "__main__":
    sys.exit(main())
