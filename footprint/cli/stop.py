"""Ctrl-C and polite kills that Python drops: raised in a destructor or a weak reference's callback, they stop the next step."""

from __future__ import annotations

import sys
from typing import Any

_dropped: list[type[BaseException]] = []


def keep(unraisable: Any) -> None:
    """Stand in for ``sys.unraisablehook``: a kernel holds signals back, and what runs first after it may be such a callback."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        _dropped.append(unraisable.exc_type)
    else:
        sys.__unraisablehook__(unraisable)


def check() -> None:
    """Raise KeyboardInterrupt where one was dropped."""
    if _dropped:
        _dropped.clear()
        raise KeyboardInterrupt
