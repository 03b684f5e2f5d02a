"""Which rows of a job are done and durable, so that one that was stopped goes on where it was."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from footprint.plan.rows import RowSet

_LINE = re.compile(rb"(\d+) (\d+)\n|# ([ -~]*)\n")


class DoneSet(RowSet):
    """Rows, not part numbers: a job that goes on may have another budget, so other parts. What a crash has torn is cut off.

    Attributes
    ----------
    notes
        Lines that earlier runs left beside their rows.
    note
        Gives the lines that are to be left with the rows that are done next.
    """

    def __init__(self, path: str | Path) -> None:
        super().__init__()
        self.notes: list[str] = []
        self.note: Callable[[], Iterable[str]] = tuple
        self.path = Path(path)
        text = self.path.read_bytes() if self.path.exists() else b""
        whole = 0
        for line in text.splitlines(keepends=True):
            match = _LINE.fullmatch(line)
            if match is None:
                break
            if match[3] is None:
                super().add(int(match[1]), int(match[2]))
            else:
                self.notes.append(match[3].decode())
            whole += len(line)
        if whole != len(text):
            os.truncate(self.path, whole)

    @property
    def count(self) -> int:
        """How many rows are done."""
        return sum(stop - start for start, stop in self.spans)

    def add(self, start: int, stop: int) -> None:
        """Note that rows are done; they must be durable by now."""
        with open(self.path, "a") as file:
            file.write("".join(f"# {line}\n" for line in self.note()) + f"{start} {stop}\n")
            file.flush()
            os.fsync(file.fileno())
        super().add(start, stop)
