"""The only place that reads the environment."""

from __future__ import annotations

import os
from pathlib import Path


def cache_dir() -> Path:
    """Folder of compiled and generated kernels: ``FOOTPRINT_CACHE``, or the user's cache folder."""
    root = os.environ.get("FOOTPRINT_CACHE")
    base = Path(root) if root else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "footprint"
    return base


def default_device() -> str:
    """Device of ``device="auto"``: ``FOOTPRINT_DEVICE``, or empty to look for one."""
    return os.environ.get("FOOTPRINT_DEVICE", "")


def threads() -> int:
    """CPU threads to use: ``FOOTPRINT_THREADS``, or every core this process may run on."""
    text = os.environ.get("FOOTPRINT_THREADS", "")
    if text.isdigit() and int(text) > 0:
        return int(text)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def data_dir() -> Path | None:
    """Folder of real scans and images for the tests in ``tests/real``: ``FOOTPRINT_DATA``."""
    text = os.environ.get("FOOTPRINT_DATA", "")
    return Path(text) if text else None


def kept_bytes() -> int:
    """Bytes that bound plans may keep from call to call: ``FOOTPRINT_KEEP``, or 512 MiB; 0 keeps nothing."""
    text = os.environ.get("FOOTPRINT_KEEP", "")
    return int(text) if text.isdigit() else 512 << 20


def check() -> str:
    """Debug mode of runs: ``FOOTPRINT_CHECK=ledger`` watches every byte range while a plan runs; slow, for tests."""
    return os.environ.get("FOOTPRINT_CHECK", "")
