"""Footprint: scientific image processing that knows its memory footprint before it runs and never exceeds it."""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# Public name -> module that holds it. Looked up at first use, so that importing footprint, and the command line's help,
# load no numerical library.
_HOME = {
    "ArgumentError": "errors",
    "BackendError": "errors",
    "BudgetError": "errors",
    "CapacityError": "errors",
    "FootprintError": "errors",
    "FormatError": "errors",
    "ShapeError": "errors",
    "Plan": "plan.plan",
    "devices": "backend.registry",
    "estimate_max_chunk_size": "api.estimate",
    "estimate_required_memory": "api.estimate",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(f"footprint.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'footprint' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
