"""For processes that fork to run a job each: what one job has imported, later ones find there."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable

from footprint.backend import process


def load(names: Iterable[str]) -> None:
    """Import what a job has imported; it must not open a device."""
    for name in names:
        if name not in sys.modules and name != "__mp_main__":
            importlib.import_module(name)
    assert not process.OPENED
