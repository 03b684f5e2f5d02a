"""What a FITS header says of an image's sky: celestial coordinates, pixel area, restoring beam. One code for files and arrays."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from footprint.api._wcs import misplaced, no_numbers, no_year, said, sizeless, sky_numbers, unsuffixed, wcs_of
from footprint.errors import ArgumentError
from footprint.units import kind_of, none_of

# A card is 80 characters, of which the keyword takes 8.
_LINE = 72
# Cards whose value is a number.
_NUMBERS = re.compile(r"(CRVAL|CRPIX|CDELT|CROTA)\d+|(CD|PC|PV)\d+_\d+|LONPOLE|LATPOLE|BMAJ|BMIN|BPA")
# Sines of angles between the sides of a pixel that are none.
_THIN = 1e-12
# A beam is round whose axes differ by no more than this.
_ROUND = 1.001
# AIPS leaves the beam of every CLEAN in the history; the last is the image's.
_AIPS = re.compile(r"BMAJ=\s*(\S+)\s+BMIN=\s*(\S+)\s+BPA=\s*(\S+)")


@dataclass(frozen=True)
class Beam:
    """Restoring beam of a radio image.

    Attributes
    ----------
    major, minor
        Full widths at half maximum in degrees.
    angle
        Position angle of the major axis in degrees, north through east.
    pixels
        Area in pixels, pi major minor / (4 ln 2) over the pixel's; None without a celestial WCS.
    """

    major: float
    minor: float
    angle: float
    pixels: float | None


def fits_header(header: Any) -> Any:
    """A mapping as an astropy Header, without the cards that no FITS header could hold."""
    from astropy.io.fits import Header

    if isinstance(header, Header):
        return header
    if not isinstance(header, Mapping):
        fix = "give the image's own header: a WCS has no beam and no unit" if hasattr(header, "to_header") else ""
        raise ArgumentError("header", kind_of(header), "a FITS header, or a mapping of its keywords to values", fix)
    cards = Header()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for key, value in header.items():
            if not isinstance(key, str) or key.upper() in ("HISTORY", "COMMENT", ""):
                continue
            value = value.item() if isinstance(value, np.generic) else value
            if isinstance(value, float) and not np.isfinite(value) and _NUMBERS.fullmatch(key.upper()):
                # No card holds it, and without one the default would count.
                value = str(value)
            try:
                cards[key] = value
            except (ValueError, TypeError):
                # What is no number, text or truth value says nothing of coordinates.
                continue
        for line in _history(header):
            cards.add_history(line)
    return cards


def celestial(header: Any) -> tuple[Any, str]:
    """The celestial astropy WCS of a header's first two axes, or None and why there is none; "" where none is claimed."""
    if not any(str(key).startswith("CTYPE") for key in header):
        return None, ""
    if bad := no_numbers(header, size=True):
        return None, ", and ".join(f"{key} is {value!r}, which is no number" for key, value in bad.items())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            wcs, why = flat(wcs_of(header))
            if wcs is not None and _singular(wcs.pixel_scale_matrix):
                return None, sizeless(header)
        except Exception as error:
            # wcslib refuses a header in a dozen ways; an image without usable coordinates is still an image.
            if "singular" in str(error):
                return None, sizeless(header)
            told = re.sub(r"ERROR \d+ in \w+\(\) at line \d+ of file \S+:", "", str(error))
            return None, " ".join(told.split()).rstrip(".") or type(error).__name__
    if wcs is not None and not _shown(header, wcs):
        return None, "the axes of the image are not those of the sky"
    return wcs, why


def _singular(matrix: Any) -> bool:
    """Whether a pixel has no area, of whatever size its sides are."""
    (a, b), (c, d) = matrix
    return not abs(a * d - b * c) > _THIN * float(np.hypot(a, c) * np.hypot(b, d))


def unscaled(header: Any) -> list[str]:
    """The keywords without which a celestial axis of a header has pixels of one degree."""
    axes = sky_numbers(header)
    told = re.compile(rf"(CD|PC)0*({'|'.join(map(str, axes))})_\d+")
    if any(told.fullmatch(str(key)) for key in header):
        return []
    return [f"CDELT{axis}" for axis in axes if f"CDELT{axis}" not in header]


def unsaid(header: Any) -> str:
    """What a header does not say of its first two axes that positions hang on, and what counts by FITS's rules; often nothing."""
    scaled = any(re.fullmatch(r"(CD|PC)\d_\d", str(key)) for key in header)
    zero = [f"{key}{axis}" for key in ("CRVAL", "CRPIX") for axis in (1, 2) if f"{key}{axis}" not in header]
    one = [] if scaled else [f"CDELT{axis}" for axis in (1, 2) if f"CDELT{axis}" not in header]
    told = [f"{none_of(keys)} (taken as {value})" for keys, value in ((zero, 0), (one, 1)) if keys]
    for key, value in no_numbers(header, size=False).items():
        told.append(f"{value!r} for {key}, which is no number ({'taken as 0' if key.startswith('CR') else 'left out'})")
    told += [f"{value!r} for {key}, which is no year (left out)" for key, value in no_year(header).items()]
    if kinds := unsuffixed(header):
        told.append(f"SIP coefficients (A_ORDER), which are applied, but no -SIP at the end of {' or '.join(kinds)}")
    return f"the header has {' and '.join(told)}" if told else ""


def _shown(header: Any, wcs: Any) -> bool:
    """Whether the first two axes longer than 1 are the celestial ones."""
    lengths = [_number(header.get(f"NAXIS{i + 1}")) for i in range(int(header.get("NAXIS", 0) or 0))]
    axes = [i for i, length in enumerate(lengths) if length > 1][:2]
    # astropy spells some projections anew, but never what an axis is.
    names = sorted(str(header.get(f"CTYPE{i + 1}", ""))[:4] for i in axes)
    return len(axes) < 2 or names == sorted(str(name)[:4] for name in wcs.wcs.ctype)


def flat(wcs: Any) -> tuple[Any, str]:
    """Its celestial part in the order of the image's axes."""
    longitude, latitude = wcs.wcs.lng, wcs.wcs.lat
    if longitude < 0 or latitude < 0:
        return None, ""
    if wcs.naxis != 2:
        wcs = wcs.sub([axis + 1 for axis in sorted((longitude, latitude))])
    why = misplaced(wcs)
    return (None, why) if why else (wcs, "")


def pixel_area(wcs: Any) -> float | None:
    """Square degrees of a pixel at the reference point; None where the WCS does not tell."""
    if wcs is None:
        return None
    from astropy.wcs.utils import proj_plane_pixel_area

    area = float(proj_plane_pixel_area(wcs))
    return area if np.isfinite(area) and area > 0 else None


def beam_of(header: Any, area: float | None) -> Beam | None:
    """The beam of ``BMAJ BMIN BPA``, or of the last AIPS CLEAN line of the history, with ``area`` square degrees a pixel."""
    major, minor, angle = _beam_numbers(header)
    if not (np.isfinite([major, minor]).all() and major > 0 and minor > 0):
        return None
    pixels = None if area is None else float(np.pi * major * minor / (4 * np.log(2)) / area)
    return Beam(major, minor, angle if np.isfinite(angle) else 0.0, pixels)


def _beam_numbers(header: Any) -> list[float]:
    """Major and minor axis and angle in degrees, NaN where a header does not tell."""
    numbers = [float("nan")] * 3
    for line in _history(header):
        match = _AIPS.search(line)
        if match:
            numbers = [_number(word) for word in match.groups()]
    for i, key in enumerate(("BMAJ", "BMIN", "BPA")):
        if key in header:
            numbers[i] = _number(said(header, key))
    return numbers


def useless_beam(header: Any) -> str:
    """What a header has for a beam and is none; "" where it has one, or none at all: BMAJ = 0 is how that is written, too."""
    if beam_of(header, None) is not None:
        return ""
    written = {key: said(header, key) for key in ("BMAJ", "BMIN") if key in header}
    useless = [f"a {key} of {value!r}" for key, value in written.items() if value is not None and not 0 <= _number(value) < np.inf]
    return " and ".join(useless)


def unturned(header: Any, beam: Beam | None) -> str:
    """That a header does not say how its beam lies, or whose it is, where that is told by other words; often nothing."""
    if beam is not None and header.get("CASAMBM", False) is True:
        fix = "BMAJ, BMIN and BPA are to be those of this plane, without CASAMBM, as open_image has them of a file's table of BEAMS"
        return f"the header says that every channel has a beam of its own (CASAMBM), and has one: {fix}"
    if beam is None or beam.major <= beam.minor * _ROUND or np.isfinite(_beam_numbers(header)[2]):
        return ""
    return "the header has no BPA: the major axis of its beam is taken to point north"


def doubtful_beam(area: float | None, pixels: int) -> str:
    """What makes a beam of ``area`` pixels one that cannot be meant in an image of so many; often nothing."""
    if not area or 1 <= area <= pixels:
        return ""
    return f"the header's beam covers {area:.3g} of the image's {pixels} pixels: BMAJ and BMIN are taken for degrees"


def unit_of(header: Any) -> str:
    """``BUNIT`` as written, empty where there is none."""
    value = header.get("BUNIT", "")
    return value.strip() if isinstance(value, str) else ""


def matched_header(header: Any, mask: Any) -> Any:
    """The header of an image that was convolved to the beam of a `BeamMask`."""
    from footprint import __version__

    made = header.copy()
    beam, before = mask.beam, beam_of(header, None)
    beams_untold(made)
    made["BMAJ"], made["BMIN"], made["BPA"] = beam.major, beam.minor, beam.angle
    lines = [f"footprint {__version__}: convolved to the {mask.path}"]
    if before is not None:
        lines.append(f"the beam before was BMAJ {before.major:.8g}, BMIN {before.minor:.8g}, BPA {before.angle:.8g}")
    if mask.gain != 1:
        lines.append(f"values by the beam are {mask.gain:.8g} times what the Gaussian's mean is")
    add_history(made, lines)
    return made


def add_history(header: Any, lines: list[str]) -> None:
    """Add lines of any length to a header's history."""
    for line in lines:
        for at in range(0, len(line), _LINE):
            header.add_history(line[at : at + _LINE].encode("ascii", "replace").decode())


def beams_untold(header: Any) -> bool:
    """Reword history lines that readers take a beam from; whether there were any."""
    if "HISTORY" not in header:
        return False
    lines = [str(line) for line in header["HISTORY"]]
    reworded = [re.sub(r"BMAJ=(?=\s*\S+\s+BMIN=)", "BMAJ before:", line) for line in lines]
    if reworded == lines:
        return False
    del header["HISTORY"]
    for line in reworded:
        header.add_history(line)
    return True


def _history(header: Any) -> list[str]:
    try:
        lines = header.get("HISTORY", [])
        return [str(line) for line in (lines.splitlines() if isinstance(lines, str) else lines)]
    except Exception:
        # A damaged card fails when it is read, and the history is the least of the header.
        return []


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")
