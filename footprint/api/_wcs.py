"""Astropy's WCS of a header, made without a word of astropy's."""

from __future__ import annotations

import copy
import logging
import math
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

# A celestial axis: RA, DEC, or a longitude or latitude such as GLON and ELAT.
_SKY = re.compile(r"RA--|DEC-|.LON|.LAT|..LN|..LT")
# Cards of numbers, by what they number: one axis, a pixel's size, or all of the sky.
_SIZES = re.compile(r"CDELT(\d+)|(?:CD|PC)(\d+)_(\d+)")
_PLACES = re.compile(r"(?:CRVAL|CRPIX|CROTA)(\d+)|PV(\d+)_\d+|LONPOLE|LATPOLE")
_MATRIX = re.compile(r"(CD|PC)(\d+)_(\d+)")
# An equinox in words, which wcslib does not read: B1950, J2000.0, 2000.
_YEAR = re.compile(r"\s*([BJ]?)\s*(\d{4}(?:\.\d*)?)\s*", re.IGNORECASE)
# Degrees from which on a longitude is none: wcslib has no digits left for the places.
_FAR = 1e6


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


def said(header: Any, key: str) -> Any:
    """The value of a header's card; the text of one that is no value, as of CRVAL1 = NaN."""
    try:
        return header[key]
    except Exception:
        # The user's stays as it is.
        card = copy.copy(header.cards[key])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                card.verify("silentfix")
                return card.value
            except Exception:
                return ""


def is_number(value: Any) -> bool:
    """Whether it is one that counts in a header: a text of digits is none, and no more so is infinity."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def sky_numbers(header: Any) -> list[int]:
    """The numbers of a header's celestial axes."""
    kinds = {int(key[5:]): said(header, key) for key in map(str, header) if re.fullmatch(r"CTYPE\d+", key)}
    return sorted(axis for axis, kind in kinds.items() if _SKY.match(str(kind)))


def no_numbers(header: Any, size: bool) -> dict[str, Any]:
    """What a header has for numbers of its celestial axes and is none: of the ``size`` of pixels, or else of places."""
    axes, pattern = set(sky_numbers(header)), _SIZES if size else _PLACES
    found = {}
    for key in map(str, header):
        match = pattern.fullmatch(key)
        if match and axes.issuperset(int(axis) for axis in match.groups() if axis):
            found[key] = said(header, key)
    unused = _unused({key for key in header if _MATRIX.fullmatch(str(key))})
    return {key: value for key, value in found.items() if not is_number(value) and not key.startswith(unused)}


def misplaced(wcs: Any) -> str:
    """Why a WCS of the sky gives no places: infinite numbers, and such as no place has; wcslib makes NaN, 0 or 240 of them."""
    own = wcs.wcs
    for name, values in (("CRVAL", own.crval), ("CRPIX", own.crpix), ("CDELT", own.cdelt)):
        for axis, value in enumerate(values, 1):
            if not math.isfinite(value):
                return f"{name}{axis} is {value}, which is no number"
            if name == "CRVAL" and abs(value) > _FAR:
                return f"{name}{axis} is {value:g} degrees, which is no place on the sky"
    return ""


def _equinox(header: Any) -> dict[str, Any]:
    """The card of the equinox, where it is no number and counts: EPOCH is the old name, and only equators have one."""
    kinds = [str(said(header, f"CTYPE{axis}")) for axis in sky_numbers(header)]
    key = next((key for key in ("EQUINOX", "EPOCH") if key in header), None)
    if key is None or not any(kind.startswith(("RA--", "DEC-")) for kind in kinds):
        return {}
    value = said(header, key)
    return {} if is_number(value) or not str(value).strip() else {key: value}


def no_year(header: Any) -> dict[str, Any]:
    """What a header has for an equinox and is none."""
    return {key: value for key, value in _equinox(header).items() if not _YEAR.fullmatch(str(value))}


def _with_year(header: Any) -> Any:
    """The header with its equinox as a number, where it is said in words; and the frame, which its letter tells."""
    for key, value in _equinox(header).items():
        header = header.copy()
        found = _YEAR.fullmatch(str(value))
        del header[key]
        if found:
            header["EQUINOX"] = float(found[2])
            frame = {"B": "FK4", "J": "FK5"}.get(found[1].upper())
            if frame and not {"RADESYS", "RADECSYS"} & set(header):
                header["RADESYS"] = frame
    return header


def unsuffixed(header: Any) -> list[str]:
    """The CTYPE of celestial axes without the -SIP of the coefficients that astropy takes nevertheless."""
    if not all(is_number(order := said(header, key)) and order > 1 for key in ("A_ORDER", "B_ORDER") if key in header):
        return []
    if not {"A_ORDER", "B_ORDER"} <= set(header):
        return []
    kinds = {f"CTYPE{axis}": str(said(header, f"CTYPE{axis}")).strip() for axis in sky_numbers(header)}
    return [key for key, kind in kinds.items() if not kind.endswith("-SIP")]


def _unused(matrix: set[str]) -> tuple[str, ...]:
    """Names of cards that count for nothing beside a matrix."""
    if not matrix:
        return ()
    return ("CDELT", "CROTA", "PC") if any(key.startswith("CD") for key in matrix) else ("CROTA",)


def sizeless(header: Any) -> str:
    """Why pixels of a header have no size, where its matrix is singular."""
    matrix = {key for key in map(str, header) if _MATRIX.fullmatch(key)}
    unused = _unused(matrix)
    zero = [key for key in map(str, header) if re.fullmatch(r"CDELT\d+", key) and said(header, key) == 0]
    if zero and "CDELT" not in unused:
        return f"{' and '.join(zero)} {'are' if zero[1:] else 'is'} 0"
    return f"its {'CD' if 'CDELT' in unused else 'PC'} matrix is singular"


def wcs_of(header: Any) -> Any:
    """The astropy WCS of a header; raises in as many ways as wcslib refuses one."""
    from astropy.wcs import WCS

    with _quiet():
        header = _single(header)
        header = _with_year(header)
        if bad := no_numbers(header, size=False):
            # Infinity is not taken for 0 by itself.
            header = header.copy()
            for key in bad:
                del header[key]
        return WCS(header)


def _single(header: Any) -> Any:
    """The header whose exponents wcslib reads, too: of 1.0D1 it takes the 1. The same one where there is no D."""
    text = header.tostring()
    if not _SOME.search(text):
        return header
    cards = (text[at : at + _CARD] for at in range(0, len(text), _CARD))
    return type(header).fromstring("".join(_DOUBLE.sub(r"\1E", card) for card in cards))
