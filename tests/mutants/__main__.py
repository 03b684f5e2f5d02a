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
PATIENCE = 240


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


def run(tree: Path, tests: tuple[str, ...], devices: str) -> tuple[str, float]:
    """How the tests end in a tree: ``passed``, ``failed``, ``hung``, or what is wrong with the run; and seconds."""
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1", "FOOTPRINT_TEST_DEVICES": devices}
    environment["NUMBA_CACHE_DIR"] = str(tree / ".numba")
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
        return run(tree, mutant.tests, mutant.devices)
    finally:
        path.write_text(sound, encoding="utf-8")
        # The same time, so that kernels compiled from it are found again.
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", help="only mutants whose file, text or reason holds one of these")
    parser.add_argument("-j", type=int, default=2, help="copies of the tree that work side by side")
    options = parser.parse_args()
    chosen = [m for m in mutants() if not options.words or any(w in f"{m.file} {m.text} {m.why}" for w in options.words)]
    todo: Queue[Mutant] = Queue()
    for mutant in chosen:
        todo.put(mutant)
    alive: list[str] = []
    lock, start = Lock(), time.perf_counter()

    def work(folder: Path) -> None:
        tree = copy_of_the_tree(folder)
        while True:
            try:
                mutant = todo.get_nowait()
            except Empty:
                return
            end, took = plant(tree, mutant)
            with lock:
                killed = end in ("failed", "hung")
                line = f"{'killed' if killed else 'ALIVE '} {took:5.1f} s  {mutant.file}: {mutant.why or mutant.fault.strip()}"
                print(line, flush=True)
                if not killed:
                    alive.append(
                        f"{line}\n    {mutant.text.strip()}\n -> {mutant.fault.strip()}\n    {' '.join(mutant.tests)}: {end}"
                    )

    with tempfile.TemporaryDirectory(prefix="mutants-") as home:
        # A test that fails without a fault would kill every mutant that names it.
        tests = tuple(dict.fromkeys(test for mutant in chosen for test in mutant.tests))
        end, took = run(copy_of_the_tree(Path(home) / "sound"), tests, ",".join(sorted({m.devices for m in chosen})))
        if end != "passed":
            print(f"without a fault: {end}; mend the tests first")
            return 1
        print(f"without a fault all {len(tests)} tests named pass ({took:.0f} s)")
        threads = [Thread(target=work, args=(Path(home) / f"copy{i}",)) for i in range(options.j)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    print(f"{len(chosen) - len(alive)} of {len(chosen)} killed in {time.perf_counter() - start:.0f} s")
    for text in alive:
        print(text)
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
