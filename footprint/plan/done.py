"""Which rows of a job are done and durable, so that one that was stopped goes on where it was."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from footprint.plan.rows import RowSet

_LINE = re.compile(rb"(\d+) (\d+)(?: (\d+))?\n|# ([ -~]*)\n")


class DoneSet(RowSet):
    """Rows, not part numbers: a job that goes on may have another budget, so other parts. What a crash has torn is cut off.

    Attributes
    ----------
    notes
        Lines that earlier runs left beside their rows.
    note
        Gives the lines that are to be left with the rows that are done next.
    size
        Bytes that rows take in files of their own; None where they have none, or one of them is not there.
    """

    def __init__(self, path: str | Path) -> None:
        super().__init__()
        self.notes: list[str] = []
        self.note: Callable[[], Iterable[str]] = tuple
        self.size: Callable[[int, int], int | None] = lambda start, stop: None
        # What the journal says of rows, until it was compared with what is there.
        self._told: list[tuple[int, int, int | None]] = []
        self.path = Path(path)
        text = self.path.read_bytes() if self.path.exists() else b""
        whole = 0
        for line in text.splitlines(keepends=True):
            match = _LINE.fullmatch(line)
            if match is None:
                break
            if match[4] is None:
                self._told.append((int(match[1]), int(match[2]), None if match[3] is None else int(match[3])))
                super().add(*self._told[-1][:2])
            else:
                self.notes.append(match[4].decode())
            whole += len(line)
        if whole != len(text):
            os.truncate(self.path, whole)

    @property
    def count(self) -> int:
        """How many rows are done."""
        return sum(stop - start for start, stop in self.spans)

    def add(self, start: int, stop: int) -> None:
        """Note that rows are done; they must be durable by now."""
        self._write("a", [*(f"# {line}" for line in self.note()), _line(start, stop, self.size(start, stop))])
        super().add(start, stop)

    def compare(self) -> int:
        """Forget rows whose files are not as they were when the rows were done, and say how many those are.

        What was noted beside them stays: it is of what was read, not of what was written.
        """
        before, told, self._told = self.count, self._told, []
        good = [(start, stop, size) for start, stop, size in told if (now := self.size(start, stop)) is not None and now == size]
        if len(good) < len(told):
            self.clear()
            for start, stop, _ in good:
                super().add(start, stop)
            # Emptied first: where this is cut short rows are made again, and none counts that is not there.
            self._write("w", [*(f"# {line}" for line in self.notes), *(_line(*line) for line in good)])
        return before - self.count

    def _write(self, mode: str, lines: list[str]) -> None:
        with open(self.path, mode) as file:
            file.write("".join(f"{line}\n" for line in lines))
            file.flush()
            os.fsync(file.fileno())


def _line(start: int, stop: int, size: int | None) -> str:
    return f"{start} {stop}" if size is None else f"{start} {stop} {size}"
