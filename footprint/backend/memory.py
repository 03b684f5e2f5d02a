"""What the operating system says of memory: free, resident now, resident at most."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import mmap
import os
import resource
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# A thread's stack where the system sets no size.
_STACK = 8 << 20
# Where the system tells of control groups, and which of them this process is in.
_GROUPS, _SELF = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


def free_host_bytes() -> int | None:
    """Bytes this process may still take: the system's available memory, or less where a control group or ``ulimit -v`` says so."""
    limits = _field("/proc/meminfo", "MemAvailable"), _group_free(), _address_free()
    free = min((limit for limit in limits if limit is not None), default=None)
    if free is None and hasattr(os, "sysconf"):
        with contextlib.suppress(ValueError, OSError):
            free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(free, 0) if free is not None else None


def _address_free() -> int | None:
    """What is left of the addresses that this process may have, whether memory is behind them or not."""
    limit, used = address_limit(), _field("/proc/self/status", "VmSize")
    return None if limit is None or used is None else limit - used


def address_limit() -> int | None:
    """Bytes of addresses that ``ulimit -v`` allows this process; None where it was not limited."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def threads_that_fit() -> int:
    """How many threads the addresses that are left have room for the stacks of, half of them left to what the threads do."""
    free, stack = _address_free(), resource.getrlimit(resource.RLIMIT_STACK)[0]
    each = (_STACK if stack in (resource.RLIM_INFINITY, 0) else stack) + mmap.PAGESIZE
    return sys.maxsize if free is None else max(free, 0) // 2 // each


# By version: of the files' names those of the limit, of what is taken, and of the pages of files that go first.
_FILES = {1: ("limit_in_bytes", "usage_in_bytes", "total_inactive_file"), 2: ("max", "current", "inactive_file")}


def _group_free() -> int | None:
    """What the tightest of the groups around this process leaves; a batch system's limit is on one far below the root.

    Groups of version 1 lie in a tree for each kind of limit, those of version 2 in one, which may be beside. Pages of files read
    before count as used there, but the system drops the inactive ones first.
    """
    try:
        # NUMBER:KINDS:PATH, where version 2 has the number 0 and no kinds.
        lines = [line.split(":", 2) for line in _SELF.read_text().splitlines()]
    except OSError:
        return None
    free: list[int] = []
    for number, kinds, path in (line for line in lines if len(line) == 3):
        if number == "0" and not kinds:
            trees, version = (_GROUPS, _GROUPS / "unified"), 2
        elif "memory" in kinds.split(","):
            trees, version = (_GROUPS / "memory", _GROUPS / kinds), 1
        else:
            continue
        parts = path.strip("/").split("/")
        for tree in trees:
            # In a container the path may be the host's: then its own group is the tree's root.
            free += (left for depth in range(len(parts) + 1) if (left := _left(tree.joinpath(*parts[:depth]), version)) is not None)
    return min(free, default=None)


def _left(group: Path, version: int) -> int | None:
    """What one group leaves."""
    most, now, inactive = _FILES[version]
    limit, used = _number(group / f"memory.{most}"), _number(group / f"memory.{now}")
    return None if limit is None or used is None else limit - max(used - _dropped(group / "memory.stat", inactive), 0)


def _dropped(path: Path, name: str) -> int:
    try:
        return int(dict(line.split() for line in path.read_text().splitlines())[name])
    except (OSError, ValueError, KeyError):
        return 0


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


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def give_back() -> None:
    """Have the C library return what was freed to the system, where it can: else it stays with the process beside what is next."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


# What `mallopt` calls the limits, and what glibc sets both to by itself in the end where large blocks are freed.
_TRIM, _MMAP, _LATER = -1, -3, 32 << 20
# With 128 KiB as the limit, TIFF strips of 190 KB took half as long again to read; with 512, .fz took a third more memory.
_OWN = 256 << 10
_lock, _inside = threading.Lock(), 0


@contextlib.contextmanager
def pages_return() -> Iterator[None]:
    """Have blocks of the C library's from 256 KiB on be pages of their own, which go when they are freed, inside the block.

    Else glibc takes them from heaps, one for each thread, once it has seen a larger one freed, and what lies between others in a
    heap stays: libraries that decompress files then held up to twice what they use at a time. It is one setting for all threads,
    and costs those that allocate such blocks in quick succession, so it is not for arrays in memory.
    """
    global _inside
    with _lock:
        _inside += 1
        if _inside == 1:
            _set(_OWN)
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                _set(_LATER)


def _set(limit: int) -> None:
    library = ctypes.CDLL(None)
    # Others than glibc have no such limits, or none that is set so.
    if hasattr(library, "mallopt") and hasattr(library, "gnu_get_libc_version"):
        library.mallopt(_MMAP, limit)
        library.mallopt(_TRIM, 2 * limit)


def small_pages() -> None:
    """Have the C library's heap in ordinary pages from now on, where the system tells where it is (Linux).

    NumPy asks for pages of 2 MiB wherever one of its large arrays lies. Where that was in the heap, the array goes and the advice
    stays: the next few bytes put there would take 2 MiB, which no plan can know. It is given anew for every array that is new.
    """
    start, end, advise = _heap()
    if start:
        # Pieces of the heap that are there no more are an error, and the others are advised all the same.
        advise(start, end() - start, mmap.MADV_NOHUGEPAGE)


@functools.cache
def _heap() -> tuple[int, Callable[[], int], Callable[..., Any]]:
    """Where the heap begins (0: not known), and what tells where it ends and advises the system."""
    try:
        library = ctypes.CDLL(None, use_errno=True)
        ends, advise = library.sbrk, library.madvise
        # The name of the program, in brackets, may have blanks; start_brk is the 47th field.
        start = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[44])
    except (OSError, AttributeError, ValueError, IndexError):
        return 0, int, int
    if not hasattr(mmap, "MADV_NOHUGEPAGE"):
        return 0, int, int
    ends.restype, ends.argtypes = ctypes.c_size_t, [ctypes.c_ssize_t]
    advise.argtypes = [ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
    page = mmap.PAGESIZE
    return start // page * page, lambda: ends(0), advise
