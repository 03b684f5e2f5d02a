"""Which rows of a job are done and durable, so that one that was stopped goes on where it was."""

from __future__ import annotations

import os
from pathlib import Path


class DoneSet:
    """Rows, not part numbers: a job that goes on may have another budget, so other parts. A torn last line is cut off."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        text = self.path.read_text() if self.path.exists() else ""
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            os.truncate(self.path, len(whole))
        self._spans: list[tuple[int, int]] = []
        for line in whole.splitlines():
            start, stop = map(int, line.split())
            self._join(start, stop)

    def _join(self, start: int, stop: int) -> None:
        apart = [span for span in self._spans if span[1] < start or span[0] > stop]
        touching = [span for span in self._spans if not (span[1] < start or span[0] > stop)]
        merged = (min([start, *(a for a, _ in touching)]), max([stop, *(z for _, z in touching)]))
        self._spans = sorted([*apart, merged])

    def covers(self, start: int, stop: int) -> bool:
        """Whether all rows from start to stop are done."""
        return any(a <= start and stop <= z for a, z in self._spans)

    def add(self, start: int, stop: int) -> None:
        """Note that rows are done; they must be durable by now."""
        with open(self.path, "a") as file:
            file.write(f"{start} {stop}\n")
            file.flush()
            os.fsync(file.fileno())
        self._join(start, stop)
