"""Which rows of a job are done and durable, so that one that was stopped goes on where it was."""

from __future__ import annotations

import os
import re
from pathlib import Path

_LINE = re.compile(rb"(\d+) (\d+)\n")


class DoneSet:
    """Rows, not part numbers: a job that goes on may have another budget, so other parts. What a crash has torn is cut off.

    Attributes
    ----------
    spans
        Rows that are done, as ``(start, stop)`` in order, none touching another.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        text = self.path.read_bytes() if self.path.exists() else b""
        self.spans: list[tuple[int, int]] = []
        whole = 0
        for line in text.splitlines(keepends=True):
            match = _LINE.fullmatch(line)
            if match is None:
                break
            self._join(int(match[1]), int(match[2]))
            whole += len(line)
        if whole != len(text):
            os.truncate(self.path, whole)

    def _join(self, start: int, stop: int) -> None:
        apart = [span for span in self.spans if span[1] < start or span[0] > stop]
        touching = [span for span in self.spans if not (span[1] < start or span[0] > stop)]
        merged = (min([start, *(a for a, _ in touching)]), max([stop, *(z for _, z in touching)]))
        self.spans = sorted([*apart, merged])

    def covers(self, start: int, stop: int) -> bool:
        """Whether all rows from start to stop are done."""
        return any(a <= start and stop <= z for a, z in self.spans)

    @property
    def count(self) -> int:
        """How many rows are done."""
        return sum(stop - start for start, stop in self.spans)

    def add(self, start: int, stop: int) -> None:
        """Note that rows are done; they must be durable by now."""
        with open(self.path, "a") as file:
            file.write(f"{start} {stop}\n")
            file.flush()
            os.fsync(file.fileno())
        self._join(start, stop)
