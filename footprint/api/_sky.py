"""Positions and units of a catalogue, from an image's header."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from footprint.errors import ArgumentError
from footprint.units import kind_of

# Sources placed at a time: the library's own arrays are then small, however many there are.
_PLACED = 4096


@dataclass(frozen=True)
class Sky:
    """What an image's header says of its pixels.

    Attributes
    ----------
    wcs
        Celestial astropy WCS, None where there is none.
    unit
        ``BUNIT`` as written.
    beam_area
        Area of the restoring beam in pixels, None where it is not known.
    """

    wcs: Any = None
    unit: str = ""
    beam_area: float | None = None

    def describe(self, table: Any) -> None:
        """Add ra and dec, units, and fluxes in Jy to a catalogue."""
        if self.unit:
            brightness, flux = _units(self.unit)
            table["peak"].unit = table["flux"].unit = brightness
            if flux is not None and self.beam_area:
                # A sum of Jy/beam counts every pixel as a whole beam.
                data = table["flux"].data
                np.divide(data, self.beam_area, out=data)
                table["flux"].unit = flux
        if self.beam_area:
            table.meta["beam_area"] = self.beam_area
        if self.wcs is not None:
            self._place(table)

    def _place(self, table: Any) -> None:
        from astropy.table import Column

        ra, dec = np.empty(len(table)), np.empty(len(table))
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for at in range(0, len(table), _PLACED):
                part = slice(at, at + _PLACED)
                sky = self.wcs.pixel_to_world(np.asarray(table["x"][part]), np.asarray(table["y"][part])).icrs
                ra[part], dec[part] = sky.ra.deg, sky.dec.deg
        after = table.colnames.index("y") + 1
        table.add_columns(
            [Column(ra, "ra", unit="deg", copy=False), Column(dec, "dec", unit="deg", copy=False)],
            indexes=[after, after],
            copy=False,
        )
        table.meta["frame"] = "icrs"


NO_SKY = Sky()


def sky_of(image: Any, header: Mapping[str, Any] | None) -> Sky:
    """From the header given, else from what an opened image says of itself."""
    if header is None:
        beam = getattr(image, "beam", None)
        return Sky(getattr(image, "wcs", None), getattr(image, "unit", "") or "", getattr(beam, "pixels", None))
    from astropy.io.fits import Header
    from astropy.wcs import WCS
    from astropy.wcs.utils import proj_plane_pixel_area

    area = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            cards = header if isinstance(header, Header) else Header(dict(header))
            wcs = WCS(cards).celestial
        except Exception as error:
            why = " ".join(str(error).split())
            raise ArgumentError("header", f"{kind_of(header)} that astropy refuses ({why})", "a FITS header") from error
    if wcs.naxis != 2 or not wcs.has_celestial:
        wcs = None
    major, minor = (_number(cards.get(key)) for key in ("BMAJ", "BMIN"))
    if wcs is not None and major > 0 and minor > 0:
        area = np.pi * major * minor / (4 * np.log(2)) / float(proj_plane_pixel_area(wcs))
    return Sky(wcs, str(cards.get("BUNIT", "")).strip(), area)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return 0.0


def _units(text: str) -> tuple[Any, Any]:
    """The unit of a pixel, and of a flux where it is a brightness per beam."""
    from astropy import units as u

    words = text.replace(" ", "").lower()
    for name, unit in (("jy", u.Jy), ("mjy", u.mJy), ("ujy", u.uJy)):
        if words in (f"{name}/beam", f"{name}beam-1", f"{name}beam^-1", f"{name}.beam-1"):
            return unit / u.beam, unit
    return u.Unit(text, parse_strict="silent"), None
