"""The only place that reads the environment."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from footprint.errors import ArgumentError
from footprint.units import parse_bytes

# What every repeated call asks for. Through os.environ a look-up encodes, decodes and, where nothing is set, raises and catches:
# 3 us of a call of 10; the dict within, which every CPython has had since 3.2, costs a hundredth of that.
_WRITTEN = getattr(os.environ, "_data", None)
_DECIDE = tuple(os.environ.encodekey(name) if _WRITTEN is not None else name for name in ("FOOTPRINT_THREADS", "FOOTPRINT_DEVICE"))
_KEPT, _SHARE = 512 << 20, 16
# How often one of GNU's threads looks for work before it sleeps: for about .2 ms. Its own 300,000 looks take 5 ms of a core after
# every kernel, and where other programs have the other cores, several times what the kernels take.
_LOOKS = "10000"


def cache_dir() -> Path:
    """Folder of compiled and generated kernels: ``FOOTPRINT_CACHE``, or the user's cache folder."""
    root = os.environ.get("FOOTPRINT_CACHE")
    base = Path(root) if root else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "footprint"
    return base


def default_device() -> str:
    """Device of ``device="auto"``: ``FOOTPRINT_DEVICE``, or empty to look for one."""
    return os.environ.get("FOOTPRINT_DEVICE", "")


def threads() -> int:
    """CPU threads to use: ``FOOTPRINT_THREADS``, or every core this process may run on.

    Raises
    ------
    ArgumentError
        For what is no number of threads.
    """
    text = os.environ.get("FOOTPRINT_THREADS", "").strip()
    if text.isdecimal() and int(text) > 0:
        return int(text)
    if text:
        fix = "change the environment variable; without it every core is used"
        raise ArgumentError("FOOTPRINT_THREADS", repr(text), "a whole number above 0", fix)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def short_waits() -> Iterator[None]:
    """Have GNU's OpenMP, where it is loaded inside, read how long its threads look for work; what the user has set stays."""
    if os.environ.keys() & {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"}:
        yield
        return
    os.environ["GOMP_SPINCOUNT"] = _LOOKS
    try:
        yield
    finally:
        del os.environ["GOMP_SPINCOUNT"]


def decisive() -> tuple[object, object]:
    """What of the environment decides a run that no argument decides, as it is written there; asked for in every repeated call."""
    ask = os.environ.get if _WRITTEN is None else _WRITTEN.get
    return ask(_DECIDE[0]), ask(_DECIDE[1])


def data_dir() -> Path | None:
    """Folder of real scans and images for the tests in ``tests/real``: ``FOOTPRINT_DATA``."""
    text = os.environ.get("FOOTPRINT_DATA", "")
    return Path(text) if text else None


def kept_bytes(memory: int = 0) -> int:
    """Bytes that may be kept from call to call: ``FOOTPRINT_KEEP``; 0 keeps nothing.

    Unless it is set, 512 MiB, or on a device with so much ``memory`` of its own a sixteenth of that, where it is more.

    Raises
    ------
    ArgumentError
        For what is no size.
    """
    text = os.environ.get("FOOTPRINT_KEEP", "").strip()
    if not text or text == "0":
        return 0 if text else max(_KEPT, memory // _SHARE)
    try:
        return parse_bytes(text)
    except ValueError:
        fix = "change the environment variable; 0 keeps nothing"
        raise ArgumentError("FOOTPRINT_KEEP", repr(text), "bytes such as '512MiB', '1GB' or 1000000000", fix) from None


def notice() -> bool:
    """Whether a call from a terminal or a notebook may say that it compiles: unless ``FOOTPRINT_NOTICE`` is 0."""
    return os.environ.get("FOOTPRINT_NOTICE", "") != "0"


def check() -> str:
    """Debug mode of runs: ``FOOTPRINT_CHECK=ledger`` watches every byte range while a plan runs; slow, for tests."""
    return os.environ.get("FOOTPRINT_CHECK", "")
