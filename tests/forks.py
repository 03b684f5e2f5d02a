"""For processes that fork to run a job each: what one job has imported, later ones find there."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from contextlib import suppress

from footprint.backend import process


def load(names: Iterable[str]) -> None:
    """Import what a job has imported; it must not open a device. Some make modules of their own, which nobody else finds."""
    for name in names:
        if name not in sys.modules and name != "__mp_main__":
            with suppress(ImportError):
                importlib.import_module(name)
    assert not process.OPENED
