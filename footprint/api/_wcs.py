"""Astropy's WCS of a header, made without a word of astropy's."""

from __future__ import annotations

import logging
import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# Filters of astropy's logger are replaced, never changed: another thread may be going through them.
_LOCK = threading.Lock()
# A card is 80 characters. FORTRAN's exponents, somewhere in a header and at its place in a card.
_CARD = 80
_SOME = re.compile(r"= *[-+]?[\d.]+[Dd][-+]?\d")
_DOUBLE = re.compile(r"^([A-Z\d_ -]{8}= *[-+]?[\d.]+)[Dd](?=[-+]?\d+ *(?:/|$))")


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
        return WCS(_single(header))


def _single(header: Any) -> Any:
    """The header whose exponents wcslib reads, too: of 1.0D1 it takes the 1. The same one where there is no D."""
    text = header.tostring()
    if not _SOME.search(text):
        return header
    cards = (text[at : at + _CARD] for at in range(0, len(text), _CARD))
    return type(header).fromstring("".join(_DOUBLE.sub(r"\1E", card) for card in cards))
