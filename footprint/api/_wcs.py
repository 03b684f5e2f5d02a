"""Astropy's WCS of a header, made without a word of astropy's."""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# Filters of astropy's logger are replaced, never changed: another thread may be going through them.
_LOCK = threading.Lock()


class _Mute(logging.Filter):
    """Drops what the thread that made it logs."""

    def __init__(self) -> None:
        super().__init__()
        self.thread = threading.get_ident()

    def filter(self, record: logging.LogRecord) -> bool:
        return threading.get_ident() != self.thread


@contextmanager
def _quiet() -> Iterator[None]:
    """Nothing of astropy's log and no warning from this thread: the log goes to standard output, where there may be JSON."""
    # Of astropy's own class, which it is not where it was asked for before astropy was loaded.
    from astropy import log

    mute = _Mute()
    with _LOCK:
        log.filters = [*log.filters, mute]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        with _LOCK:
            log.filters = [one for one in log.filters if one is not mute]


def wcs_of(header: Any) -> Any:
    """The astropy WCS of a header; raises in as many ways as wcslib refuses one."""
    from astropy.wcs import WCS

    with _quiet():
        return WCS(header)
