"""The header and data units of a FITS file, found by their headers alone and within limits.

astropy reads a header to its end, however far that is, and asks for as many axes as NAXIS says: a small file can take it hours.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from footprint.errors import FormatError
from footprint.units import format_bytes

BLOCK = 2880
# Headers of real files end within megabytes, and FITS ends axes at 999.
_LONGEST, _AXES, _UNITS = 16 << 20, 999, 1 << 14
_END = re.compile(rb"END {77}")


class Bytes(Protocol):
    """Where bytes come from."""

    def read_at(self, offset: int, count: int) -> bytes:
        """At most ``count`` bytes from ``offset``."""
        ...


@dataclass(frozen=True)
class Unit:
    """One header and its data.

    Attributes
    ----------
    index
        From 0.
    header
        Its cards, 80 bytes each, whole blocks.
    offset
        Where its data begin.
    """

    index: int
    header: bytes
    offset: int

    def text(self, keyword: str) -> str:
        """The value of a card without quotes, empty where there is none."""
        found = self._cards.get(keyword.encode().ljust(8), b"").decode("ascii", "replace")
        if found.lstrip().startswith("'"):
            return found.lstrip()[1:].replace("''", "\0").partition("'")[0].replace("\0", "'").strip()
        return found.partition("/")[0].strip()

    def number(self, keyword: str, default: int = 0) -> int:
        """The value of a card as a whole number."""
        try:
            return int(self.text(keyword) or default)
        except ValueError:
            return default

    @cached_property
    def _cards(self) -> dict[bytes, bytes]:
        known: dict[bytes, bytes] = {}
        for at in range(0, len(self.header), 80):
            card = self.header[at : at + 80]
            if card[8:9] == b"=" and card[:8] not in known:
                known[card[:8]] = card[9:]
        return known

    def shape(self, prefix: str = "NAXIS") -> tuple[int, ...]:
        """Lengths of the axes, the slowest first."""
        return tuple(self.number(f"{prefix}{i}") for i in range(self.number(prefix), 0, -1))

    @property
    def compressed(self) -> bool:
        """Whether this is an image in tiles, stored as a table."""
        return self.text("XTENSION") == "BINTABLE" and self.text("ZIMAGE") == "T"

    @property
    def is_image(self) -> bool:
        """Whether this holds an image at all."""
        plain = self.index == 0 or self.text("XTENSION") == "IMAGE"
        if plain and self.text("GROUPS") == "T" and self.number("NAXIS1") == 0:
            return False
        return self.number("ZNAXIS") > 0 if self.compressed else plain and self.number("NAXIS") > 0

    @property
    def data_bytes(self) -> int:
        """Bytes of data, without what fills the last block."""
        axes = self.shape()
        if self.text("GROUPS") == "T" and axes and axes[-1] == 0:
            axes = axes[:-1]
        elements = math.prod(axes) if axes else 0
        return abs(self.number("BITPIX")) // 8 * max(self.number("GCOUNT", 1), 1) * (max(self.number("PCOUNT"), 0) + elements)


def units(path: str, source: Bytes) -> Iterator[Unit]:
    """Yield the units of a file one after another; FormatError where a header is endless or no header."""
    at, index = 0, 0
    while index < _UNITS:
        start = source.read_at(at, BLOCK)
        if len(start) < BLOCK or (index and start[:8] != b"XTENSION"):
            if not index:
                raise FormatError(path, "is truncated: it ends inside its header", "copy or write it again")
            # What follows the last unit may be anything.
            return
        unit = Unit(index, _header(path, source, at, start), 0)
        for prefix in ("NAXIS", "ZNAXIS"):
            axes = unit.number(prefix)
            if not 0 <= axes <= _AXES:
                raise FormatError(path, f"has {prefix} = {axes} in header {index}, wanted 0 to {_AXES}", "it may be damaged")
        offset = at + len(unit.header)
        if min(unit.shape(), default=0) < 0:
            raise FormatError(path, f"holds an array of shape {unit.shape()} in extension {index}", "it may be damaged")
        yield Unit(index, unit.header, offset)
        at, index = offset + -(-unit.data_bytes // BLOCK) * BLOCK, index + 1
    raise FormatError(path, f"holds more than {_UNITS} extensions")


def images_in(path: str) -> dict[int, str]:
    """Names of the units that hold an image of two axes or more, by their numbers, in a file that is not compressed as a whole."""
    from footprint.io.inflated import Plain

    source = Plain(path)
    try:
        shapes = ((unit, unit.shape("ZNAXIS" if unit.compressed else "NAXIS")) for unit in units(path, source) if unit.is_image)
        return {unit.index: unit.text("EXTNAME") or "PRIMARY" * (not unit.index) for unit, shape in shapes if len(shape) > 1}
    finally:
        source.close()


def _header(path: str, source: Bytes, at: int, start: bytes) -> bytes:
    """The blocks from ``at`` to the one with the END card."""
    blocks, length = [start], len(start)
    while not any(_END.match(blocks[-1], k) for k in range(0, BLOCK, 80)):
        if length > _LONGEST:
            raise FormatError(path, f"has a header without an END card in its first {format_bytes(_LONGEST)}", "it may be damaged")
        block = source.read_at(at + length, BLOCK)
        if len(block) < BLOCK:
            raise FormatError(path, "is truncated: it ends inside a header", "copy or write it again")
        blocks.append(block)
        length += len(block)
    return b"".join(blocks)
