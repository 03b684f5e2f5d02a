"""``--log FILE``: what a run was asked, planned, warned of, took and made, a line each with its time, added to a plain text."""

from __future__ import annotations

import os
import shlex
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import click

from footprint.errors import ArgumentError, printable, warn


class Log:
    """A file that lines are added to, each by one write: runs that share it do not mix within a line.

    What goes wrong with it once it is open does not end the job it tells of: one warning is given, and no more is written.

    Parameters
    ----------
    path
        The file; made where there is none, and never emptied.
    """

    def __init__(self, path: str) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0)
        if os.path.exists(path) and not os.path.isfile(path):
            raise ArgumentError("--log", repr(path), "the name of a plain file, to which lines are appended")
        try:
            self._file: int | None = os.open(path, flags, 0o666)
        except OSError as error:
            wanted = "a file that can be written"
            raise ArgumentError("--log", f"{path!r} ({os.strerror(error.errno or 0)})", wanted) from None

    def line(self, kind: str, text: str) -> None:
        """Add ``TIME kind text``, one line whatever is in the text."""
        if self._file is None:
            return
        said = f"{datetime.now().astimezone().isoformat(timespec='milliseconds')} {kind} {printable(text)}\n".encode()
        try:
            # A line that is cut is worse than none after it.
            if os.write(self._file, said) != len(said):
                raise OSError("the disk is full")
        except OSError as error:
            self.close()
            warn(f"the log ends here: it could not be written ({error.strerror or error})")

    def close(self) -> None:
        """Close the file; lines are no longer written."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    @contextmanager
    def whole(self) -> Iterator[None]:
        """A job: its command first, how it ended last, the file closed."""
        try:
            _begin(self)
            yield
            self.line("end", "finished")
        except BaseException as error:
            stopped = isinstance(error, KeyboardInterrupt | click.Abort)
            self.line("error", "stopped" if stopped else f"{type(error).__name__}: {error}")
            self.line("end", "failed")
            raise
        finally:
            self.close()

    # -- what a Reporter tells ---------------------------------------------------------------------------------------
    def planned(self, plan: Any) -> None:
        """The plan's table."""
        from footprint.plan.explain import memory_rows, summary_rows

        self.line("plan", f"{plan.name} on {plan.limits.device}, {plan.footprint.total} bytes in all")
        for kind, nbytes, remark in memory_rows(plan)[:-1]:
            self.line("plan", f"{kind}: {nbytes} bytes ({remark})")
        for name, value in summary_rows(plan):
            self.line("plan", f"{name}: {value}")

    def reported(self, title: str, figures: Mapping[str, Any]) -> None:
        """Every figure; lanes apart."""
        for name in ("seconds_predicted", "seconds_measured"):
            for lane, seconds in figures.get(name, {}).items():
                self.line("lane", f"{lane}: {seconds:.6g} s {name.removeprefix('seconds_')}")
        for name, value in figures.items():
            if name in ("output", "png", "axis_png", "report"):
                self.line("output", str(value))
            elif not isinstance(value, dict) and not name.startswith("plan_"):
                self.line("figure", f"{name} = {value}")


@contextmanager
def logged(path: str | None, reporter: Any) -> Iterator[None]:
    """Keep what the job in this block warns of for its reporter; tell a file of it all where there is a path."""
    log = None if path is None else Log(path)
    showing = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, UserWarning):
            reporter.warned.append(str(message))
            if log is not None:
                log.line("warning", str(message))
        showing(message, category, *where, **more)

    warnings.showwarning = show
    try:
        if log is None:
            yield
        else:
            reporter.watchers.append(log)
            with log.whole():
                yield
    finally:
        warnings.showwarning = showing


def _begin(log: Log) -> None:
    """The command, what it runs on, and every parameter."""
    import platform

    from footprint import __version__

    context = click.get_current_context()
    words = context.command_path.split()
    # The program's name may be several words: python -m footprint.
    program = len((context.find_root().info_name or "").split())
    log.line("command", shlex.join([*words, *sys.argv[1 + len(words) - program :]]))
    log.line("version", f"footprint {__version__}, Python {platform.python_version()}, {platform.platform()}")
    for name, value in sorted(context.params.items()):
        log.line("parameter", f"{name} = {value!r}")
