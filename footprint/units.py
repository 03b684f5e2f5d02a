"""Bytes in and out of words: ``"4GB"``, ``"4GiB"``, ``"80%"``, ``0.8`` to a number of bytes, and back to ``"3.7 GiB"``."""

from __future__ import annotations

import re
from collections.abc import Sequence

_SCALE = {"": 1, "B": 1}
for _power, _letter in enumerate("KMGTPE", start=1):
    _SCALE[_letter] = _SCALE[_letter + "B"] = 1000**_power
    _SCALE[_letter + "I"] = _SCALE[_letter + "IB"] = 1024**_power

_NUMBER = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([A-Za-z%]*)\s*")


def parse_bytes(text: str | int | float, free: int | None = None) -> int:
    """Read a memory budget.

    Parameters
    ----------
    text
        Bytes as an int, a size with a unit (``"4GB"`` is 4·10⁹, ``"4GiB"`` is 4·2³⁰), or a share of the *free* memory
        (``"80%"``, or a float in (0, 1], also as text: ``"0.8"``).
    free
        The free bytes a share refers to.

    Raises
    ------
    ValueError
        If the text is no size, or is a share and ``free`` is not known.
    """
    share: float | None = None
    size = 0.0
    if isinstance(text, bool):
        raise _bad(text)
    if isinstance(text, float) and 0 < text <= 1:
        share = text
    elif isinstance(text, int | float):
        size = float(text)
    else:
        match = _NUMBER.fullmatch(text) if isinstance(text, str) else None
        if match is None:
            raise _bad(text)
        number, unit = float(match[1]), match[2].upper()
        if not unit and 0 < number <= 1 and not match[1].isdigit():
            # As the float is: a budget of half a byte is nobody's.
            share = number
        elif unit == "%":
            share = number / 100
        elif unit in _SCALE:
            size = number * _SCALE[unit]
        else:
            raise _bad(text)
    if share is not None:
        if not 0 < share <= 1:
            raise _bad(text)
        if free is None:
            raise ValueError(
                f"memory: {text!r} is a share of free memory, which this device does not report; give bytes such as '4GB'."
            )
        return int(share * free)
    if not 1 <= size < 2**63:
        raise _bad(text)
    return int(size)


def _bad(text: object) -> ValueError:
    return ValueError(
        f"memory: got {text!r}, wanted bytes such as '4GB', '4GiB', 4000000000, or a share of free memory such as '80%' or 0.8."
    )


def kind_of(thing: object) -> str:
    """The type of a thing with its article: ``a list``, ``an object``."""
    name = type(thing).__name__
    if thing is None:
        return "None"
    # A name that starts with u is one of uint, ufunc or UUID; n and h are spelt out in ndarray, NDData and HDUList.
    spelt = name[:1].lower() in "aeio" or name[:2].lower() in ("nd", "hd")
    return f"{'an' if spelt else 'a'} {name}"


def counted(number: int | str, things: str) -> str:
    """A number of things in words: ``1 row of a slice``, ``2 rows of a slice``, ``1 entry``."""
    if str(number) != "1" or things == "s":  # seconds
        return f"{number} {things}"
    noun, of, rest = things.partition(" of ")
    one = noun.removesuffix("ies") + "y" if noun.endswith("ies") else noun.removesuffix("s")
    return f"{number} {one}{of}{rest}"


def none_of(names: Sequence[str]) -> str:
    """What is missing, in words: ``no A``, ``no A or B``, ``no A, B or C``."""
    return f"no {' or '.join(filter(None, [', '.join(names[:-1]), names[-1]]))}"


def format_bytes(n: int | float) -> str:
    """Write bytes for people: ``3.7 GiB``, four significant digits at most, exact below one KiB."""
    n = float(n)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"):
        if abs(n) < 1024 or unit == "EiB":
            if abs(n) >= 1e6:
                return f"{n:,.0f} {unit}"
            return f"{int(n)} B" if unit == "B" else f"{n:.0f} {unit}" if 999.5 <= abs(n) < 1e6 else f"{n:.3g} {unit}"
        n /= 1024
    raise AssertionError


def format_seconds(t: float) -> str:
    """Write seconds for people: ``3.2 ms``, ``41 s``, ``2.1 h``."""
    for unit, scale in (("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("min", 60.0)):
        limit = {"us": 1e-3, "ms": 1.0, "s": 120.0, "min": 7200.0}[unit]
        if t < limit:
            return f"{_two_digits(t / scale)} {unit}"
    return f"{_two_digits(t / 3600)} h"


def _two_digits(x: float) -> str:
    """Without an exponent where the number is large."""
    return f"{float(f'{x:.2g}'):.0f}" if abs(x) >= 10 else f"{x:.2g}"
