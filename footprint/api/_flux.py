"""Units of an image's pixels, whatever way they are spelt, and what they make of a sum over pixels."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from typing import Any

# Words of radio and optical archives -> astropy's.
_WORDS = {
    "beam": "beam", "beams": "beam", "bm": "beam", "pixel": "pix", "pixels": "pix", "pix": "pix", "px": "pix", "sr": "sr",
    "ster": "sr", "steradian": "sr", "steradians": "sr", "arcsec": "arcsec", "arcmin": "arcmin", "deg": "deg", "degree": "deg",
    "degrees": "deg", "kelvin": "K", "kelvins": "K", "hz": "Hz", "counts": "ct", "count": "ct", "cts": "ct", "ct": "ct",
    "adu": "adu", "dn": "DN", "electrons": "electron", "electron": "electron", "sec": "s", "second": "s", "seconds": "s", "s": "s",
    "km": "km",
}  # fmt: skip
_JANSKY = re.compile(r"(milli|micro|nano|kilo|mega|[mkugn\u00b5\u03bc])?(jy|jansky|janskys|janskies)", re.IGNORECASE)
_PREFIXES = {"milli": "m", "micro": "u", "nano": "n", "kilo": "k", "mega": "M", "\u00b5": "u", "\u03bc": "u"}
_PER_BEAM = re.compile(r"/\s*beam\b")
# In "Jy/b" the letter is a beam, and no bit, as in whatever else it would be.
_SHORT = re.compile(r"(jy|jansky)\s*/\s*b\b", re.IGNORECASE)


@dataclass(frozen=True)
class Flux:
    """What a sum over pixels is: ``factor`` times it, in ``unit``; ``means`` says it in words, ``problem`` why it is no flux."""

    unit: Any = None
    factor: float = 1.0
    means: str = "sum over the pixels less the background"
    problem: str = ""


def parse_unit(text: str) -> Any:
    """An astropy unit of a ``BUNIT``; an unrecognised one, which keeps the text, where nothing knows it; None for no text."""
    if not text.strip():
        return None
    from astropy import units as u

    text = _SHORT.sub(r"\1/beam", text)
    # Capitals alone say mJy where it is by the beam: nobody has millions of janskys in one.
    loud = text.upper() == text
    per_beam = re.search(r"\b(beam|bm)", text, re.IGNORECASE) is not None
    spelt = re.sub(r"[^\W\d_]+", lambda found: _word(found[0], loud, per_beam), text.strip().strip("[]'\""))
    # In "Jy/beam km/s" the beam is all that is below the first line.
    spelt = "beam-1 " + _PER_BEAM.sub(" ", spelt, count=1) if _PER_BEAM.search(spelt) else spelt
    spelt = re.sub(r"(?<=[^\W\d_])\s*\.\s*(?=[^\W\d_])|(?<=\s)\.\s*(?=[^\W\d_])", " ", spelt)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for words, form in ((spelt, "generic"), (spelt, "fits"), (spelt, "cds"), (text, "generic"), (text, "fits"), (text, "cds")):
            try:
                return u.Unit(words, format=form)
            except (ValueError, TypeError):
                continue
        return u.Unit(text, parse_strict="silent")


def by_the_beam(unit: str) -> bool:
    """Whether a ``BUNIT`` speaks of a beam."""
    return re.search(r"beam|bm", _SHORT.sub(r"\1/beam", unit), re.IGNORECASE) is not None


def _word(word: str, loud: bool, per_beam: bool) -> str:
    found = _JANSKY.fullmatch(word)
    if found is None:
        return _WORDS.get(word.lower(), word)
    prefix = found[1] or ""
    if len(prefix) > 1:
        return _PREFIXES[prefix.lower()] + "Jy"
    if prefix == "M" and not (loud and per_beam):
        return "MJy"
    return _PREFIXES.get(prefix, prefix.lower()) + "Jy"


def flux_of(unit: Any, beam_area: float | None, pixel_area: float | None, useless: str = "") -> Flux:
    """What sums over pixels of this unit are, with the beam's area in pixels and the pixel's in square degrees.

    ``useless`` is what a header has for a beam, and is none.
    """
    if unit is None:
        return Flux() if beam_area is None else Flux(problem="the image has a beam but no unit (BUNIT)")
    from astropy import units as u

    if not hasattr(unit, "bases") or isinstance(unit, u.UnrecognizedUnit):
        return Flux(unit, problem=f"the image's unit {unit.to_string()!r} is not known")
    powers = dict(zip(unit.bases, unit.powers))
    if powers.get(u.beam) == -1:
        if beam_area:
            # A sum of Jy/beam counts every pixel as a whole beam.
            return Flux(unit * u.beam, 1 / beam_area, "sum over the pixels less the background, over the beam's area")
        has = f"{useless}, which is no beam" if useless else "no beam (BMAJ, BMIN) or no pixel size"
        return Flux(unit * u.pix, problem=f"the image is in {unit} and its header has {has}")
    if powers.get(u.pix) == -1:
        return Flux(unit * u.pix)
    angles = sum(power for base, power in powers.items() if base.is_equivalent(u.rad))
    solid = sum(power for base, power in powers.items() if base.is_equivalent(u.sr))
    if solid == -1 or angles == -2:
        if pixel_area is None:
            return Flux(unit * u.pix, problem=f"the image is in {unit} and its header has no pixel size")
        found = 1 * unit * (pixel_area * u.deg**2).to(u.sr)
        found = found.to(u.Jy) if found.unit.is_equivalent(u.Jy) else found.decompose(found.unit.bases)
        return Flux(found.unit, float(found.value), "sum over the pixels less the background, times the pixel's solid angle")
    if any(base.is_equivalent(u.K) for base in unit.bases):
        return Flux(unit * u.pix, problem=f"the image is in {unit}")
    return Flux(unit)
