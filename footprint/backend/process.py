"""Whether this process may run anything: one that was forked from a process that had opened a device may not."""

from __future__ import annotations

import os

from footprint.errors import BackendError

OPENED: list[bool] = []
"""Filled when a backend is made."""
FORKED: list[bool] = []
"""Filled in a child of such a process: looking at it costs a call nothing."""


def check(device: str) -> None:
    """Raise BackendError in a forked process: threads, locks and a GPU's context do not survive, and what uses them hangs."""
    if FORKED:
        problem = "this process was forked from one that had already used Footprint, and threads do not survive a fork"
        raise BackendError(device, problem, "start workers with the spawn method: multiprocessing.get_context('spawn')")


def _after_fork() -> None:
    if OPENED:
        FORKED.append(True)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
