"""What the operating system says of memory: free, resident now, resident at most."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def free_host_bytes() -> int | None:
    """Bytes this process may still take: the system's available memory, or less where a control group says so."""
    free = _field("/proc/meminfo", "MemAvailable")
    limit, used = _number("/sys/fs/cgroup/memory.max"), _number("/sys/fs/cgroup/memory.current")
    if limit is not None and used is not None:
        free = min(free, limit - used) if free is not None else limit - used
    if free is None and hasattr(os, "sysconf"):
        with contextlib.suppress(ValueError, OSError):
            free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(free, 0) if free is not None else None


def resident_bytes() -> int:
    """Bytes of this process in memory now; 0 where the system does not tell."""
    return _field("/proc/self/status", "VmRSS") or 0


class PeakMeter:
    """The growth of the process's resident memory between entering and leaving, at its highest.

    The kernel's own high-water mark is reset on entry where it can be (Linux); elsewhere the growth reads 0 and
    ``known`` is False.
    """

    def __enter__(self) -> PeakMeter:
        self.known = True
        try:
            Path("/proc/self/clear_refs").write_text("5")
        except OSError:
            self.known = False
        self.before = resident_bytes()
        self.growth = 0
        return self

    def __exit__(self, *error: object) -> None:
        peak = _field("/proc/self/status", "VmHWM")
        self.known = self.known and peak is not None
        self.growth = max((peak or 0) - self.before, 0) if self.known else 0


def _field(path: str, name: str) -> int | None:
    try:
        with open(path) as lines:
            for line in lines:
                if line.startswith(name + ":"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        return None
    return None


def _number(path: str) -> int | None:
    try:
        return int(Path(path).read_text())
    except (OSError, ValueError):
        return None
