"""Plants every fault of the list in a copy of the tree and runs the tests that must see it; exits with 1 where any survives."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import time
from pathlib import Path
from queue import Empty, Queue
from threading import Lock, Thread

from tests.mutants import Mutant, mutants
from tests.mutants.tree import ROOT, Tree


def key(mutant: Mutant) -> str:
    """A digest of the fault, of the file it stands in and of the tests that must see it."""
    parts = [repr(mutant)] + [(ROOT / name.partition("::")[0]).read_text("utf-8") for name in (mutant.file, *mutant.tests)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def groups(todo: list[Mutant]) -> Queue[list[Mutant]]:
    """Mutants of a file that run alike, the largest groups first."""
    by_file: dict[tuple[str, str, bool], list[Mutant]] = {}
    for mutant in todo:
        by_file.setdefault((mutant.file, mutant.devices, mutant.plain), []).append(mutant)
    found: Queue[list[Mutant]] = Queue()
    for group in sorted(by_file.values(), key=len, reverse=True):
        found.put(group)
    return found


class Tally:
    """What became of the mutants, printed as it is known, and written where a later run finds it."""

    def __init__(self, log: Path | None) -> None:
        self.lock, self.log, self.killed = Lock(), log, 0
        self.problems: list[str] = []
        lines = log.read_text(encoding="utf-8").splitlines() if log and log.is_file() else []
        self.known = {row["key"] for row in map(json.loads, lines) if row["killed"]}

    def add(self, mutant: Mutant, end: str, took: float) -> None:
        """Killed where its tests fail, or do not end in many times what they take without it."""
        killed = end in ("failed", "hung")
        word = ("killed" if end == "failed" else "hung  ") if killed else "ALIVE " if end == "passed" else "NO RUN"
        line = f"{word} {took:5.1f} s  {mutant.file}: {mutant.why or mutant.fault.strip()}"
        with self.lock:
            print(line, flush=True)
            self.killed += killed
            if not killed:
                change = f"    {mutant.text.strip()}\n -> {mutant.fault.strip()}"
                self.problems.append(f"{line}\n{change}\n    {' '.join(mutant.tests)}: {end}")
            if self.log:
                with self.log.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"key": key(mutant), "killed": killed, "line": line, "end": end}) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", help="only mutants whose file, text or reason holds one of these")
    parser.add_argument("-j", type=int, default=2, help="copies of the tree that work side by side")
    parser.add_argument(
        "--log", type=Path, help="a file of what was found: what it says was killed, and has not changed, is not run"
    )
    options = parser.parse_args()
    tally, start = Tally(options.log), time.perf_counter()
    named = [m for m in mutants() if not options.words or any(w in " ".join((m.file, m.text, m.why)) for w in options.words)]
    todo = groups([mutant for mutant in named if key(mutant) not in tally.known])
    before = len(named) - sum(map(len, todo.queue))

    def work(folder: Path) -> None:
        tree = Tree(folder)
        while True:
            try:
                group = todo.get_nowait()
            except Empty:
                return tree.close()
            done = tree.learn(group)
            if done:
                print(f"{done.end} {done.took:5.1f} s  tests of {group[0].file} as it is", flush=True)
            for mutant in group:
                tally.add(mutant, *tree.plant(mutant))

    with tempfile.TemporaryDirectory(prefix="mutants-") as home:
        threads = [Thread(target=work, args=(Path(home) / f"copy{i}",)) for i in range(options.j)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for text in tally.problems:
        print(text)
    known = f", {before} known to be killed" if before else ""
    print(
        f"{len(named)} mutants: {tally.killed} killed in {time.perf_counter() - start:.0f} s{known}, {len(tally.problems)} problems"
    )
    return 1 if tally.problems or tally.killed + before < len(named) else 0


if __name__ == "__main__":
    sys.exit(main())
