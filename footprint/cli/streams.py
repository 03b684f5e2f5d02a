"""Standard output and standard error as jobs need them: none fails as nobody can be told of it, none is drawn a letter a line."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

# Columns that tables can be read in, and those of a terminal that says nothing, or none that can be.
_LEAST, _USUAL = 20, 80


class Unwritten(Exception):
    """Standard output cannot be written, for the ``error``; no OSError, as click ends by itself at one of a pipe."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


class _Told(io.FileIO):
    """Standard error: what is closed, full, or read by nobody any more takes nothing."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


class _Made(io.FileIO):
    """Standard output: that it takes nothing is said once, and not again when Python ends."""

    _failed = False

    def write(self, data: Any, /) -> int:
        try:
            return memoryview(data).nbytes if self._failed else super().write(data)
        except OSError as error:
            self._failed = True
            raise Unwritten(error) from error


def guard() -> None:
    """Stand before both streams, where nobody else does; where one is closed no file that is opened takes its number.

    What stands there instead takes nothing, so that whoever asked for an answer learns that there is none.
    """
    while (number := os.open(os.devnull, os.O_RDONLY)) <= 2:
        pass
    os.close(number)
    if sys.stdout is sys.__stdout__:
        sys.stdout = _over(sys.stdout, _Made(1, "w", closefd=False))
    if sys.stderr is sys.__stderr__:
        sys.stderr = _over(sys.stderr, _Told(2, "w", closefd=False))


def _over(stream: Any, raw: io.FileIO) -> io.TextIOWrapper:
    """Text as it was written before, by way of ``raw``."""
    if stream is None:
        return io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8", errors="backslashreplace", line_buffering=True)
    how = {"line_buffering": stream.line_buffering, "write_through": stream.write_through}
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding=stream.encoding, errors=stream.errors, **how)


def console(product: bool = False) -> Any:
    """Where tables and bars are drawn: standard error, or standard output where they are what the command makes."""
    from rich.console import Console

    found = Console(stderr=not product)
    return found if found.width >= _LEAST else Console(stderr=not product, width=_USUAL)
