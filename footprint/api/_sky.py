"""Positions and units of a catalogue, from an image's header."""

from __future__ import annotations

import math
import threading
import warnings
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from footprint.api._ellipses import OnSky
from footprint.api._errors import tie_of
from footprint.api._flux import Flux, flux_of, parse_unit
from footprint.api._header import Beam, beam_of, celestial, fits_header, flat, pixel_area, unit_of, unsaid, unturned, useless_beam
from footprint.api._names import LENGTH, names
from footprint.api._onsky import Told, on_sky
from footprint.api._table import Columns
from footprint.plan.exact import Latest, exact

# Sources named at a time: the arrays of their letters are then small, however many there are.
_NAMED = 4096


@dataclass(frozen=True)
class Sky:
    """What is known of an image's pixels.

    Attributes
    ----------
    wcs
        Celestial astropy WCS, None where there is none.
    unit
        Of a pixel: astropy's, or None.
    beam
        The restoring beam, None where it is not known.
    problem
        Why a header's coordinates cannot be used.
    area
        Of a pixel in square degrees, None where the coordinates do not tell.
    assumed, unturned
        What the header leaves out of its coordinates and of its beam, and what then counts.
    useless
        What it has for a beam, and is none.
    """

    wcs: Any = None
    unit: Any = None
    beam: Beam | None = None
    problem: str = ""
    area: float | None = None
    assumed: str = ""
    unturned: str = ""
    useless: str = ""

    @property
    def beam_area(self) -> float | None:
        """Of the beam in pixels."""
        return self.beam.pixels if self.beam is not None else None

    @property
    def placed(self) -> bool:
        """Whether what is found has a size on the sky."""
        return self.wcs is not None and self.area is not None

    @cached_property
    def told(self) -> Told:
        """What makes places of its pixels."""
        return Told.of(self.wcs, self.area)

    @cached_property
    def flux(self) -> Flux:
        """What sums over its pixels are."""
        return flux_of(self.unit, self.beam_area, self.area, self.useless)

    @cached_property
    def inverse_beam(self) -> tuple[float, ...]:
        """The inverse of the beam's covariance in pixels: yy, yx, xx; () where the header does not tell."""
        if self.beam is None or not self.beam_area:
            return ()
        scales = np.asarray(self.wcs.pixel_scale_matrix, np.float64)[[self.wcs.wcs.lng, self.wcs.wcs.lat]]
        turn = math.radians(self.beam.angle)
        # Position angles go from north to east; rows of the matrix are east and north.
        along, across = np.array([math.sin(turn), math.cos(turn)]), np.array([math.cos(turn), -math.sin(turn)])
        spread = self.beam.major**2 * np.outer(along, along) + self.beam.minor**2 * np.outer(across, across)
        try:
            inverse = scales.T @ np.linalg.inv(spread / (8 * math.log(2))) @ scales
        except np.linalg.LinAlgError:
            return ()
        return (float(inverse[1, 1]), float(inverse[0, 1]), float(inverse[0, 0])) if np.isfinite(inverse).all() else ()

    def describe(self, columns: Columns) -> list[str]:
        """Add ra and dec, units, and fluxes in Jy to a catalogue; return what a user has to be told."""
        told = []
        flux = self.flux
        if self.unit is not None:
            columns.units |= dict.fromkeys(("peak", "peak_interp", "background", "noise"), self.unit)
        for name in ("flux", "flux_err"):
            columns.scale(name, flux.factor, flux.unit)
        columns.descriptions["flux"] = f"{flux.means}{': no flux in Jy, ' + flux.problem if flux.problem else ''}"
        if flux.problem:
            told.append(f"fluxes are sums over pixels, not in Jy: {flux.problem}")
        if self.beam is not None:
            columns.meta |= {"beam_major": self.beam.major, "beam_minor": self.beam.minor, "beam_angle": self.beam.angle}
            if self.beam_area:
                columns.meta["beam_area"] = self.beam_area
        why = self.problem
        if self.wcs is not None:
            why = self._place(columns)
        if why:
            told.append(f"the catalogue has no ra and dec, since the header's coordinates cannot be used ({why})")
        elif self.assumed:
            told.append(f"positions and sizes on the sky may be wrong: {self.assumed}")
        if self.unturned:
            told.append(self.unturned)
        return told

    def _place(self, columns: Columns) -> str:
        """Add names, ra, dec and their errors, and sizes; return why not."""
        data = columns.data
        sizes = OnSky(columns)
        called = np.empty(len(columns), f"S{LENGTH}")
        try:
            errors, tie = (data["x_err"], data["y_err"]), partial(tie_of, data)
            sky = on_sky(lambda: self.told, data["x"], data["y"], *errors, sizes, tie=tie)
        except Exception as error:
            # Frames no package knows, distortions that do not converge: the catalogue is as good without.
            return " ".join(str(error).split()) or type(error).__name__
        for at in range(0, len(columns), _NAMED):
            part = slice(at, at + _NAMED)
            names(sky.ra[part], sky.dec[part], called[part])
        placed = {"label": {"name": called}, "y": {"ra": sky.ra, "dec": sky.dec}}
        if self.area is not None:
            placed |= {"theta": sizes.found, next(reversed(data)): {"ra_err": sky.ra_err, "dec_err": sky.dec_err}}
            columns.units |= sizes.units
        columns.insert(placed)
        columns.units |= dict.fromkeys(("ra", "dec", "ra_err", "dec_err"), "deg")
        columns.meta["frame"] = "icrs"
        return ""


NO_SKY = Sky()


def apart(here: Sky, there: Sky, shape: tuple[int, ...]) -> float:
    """Pixels by which two images of one shape show the sky shifted, the most of middle and corners; 0 where one has no WCS."""
    if here.wcs is None or there.wcs is None or here.wcs is there.wcs:
        return 0.0
    from astropy.wcs.utils import pixel_to_pixel

    bottom, right = (n - 1 for n in shape[-2:])
    y, x = np.array([0, 0, bottom, bottom, bottom / 2]), np.array([0, right, 0, right, right / 2])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            onto = pixel_to_pixel(here.wcs, there.wcs, x, y)
        except Exception:  # of wcslib and astropy's frames: what cannot be compared is not complained of
            return 0.0
    shifts = np.hypot(onto[0] - x, onto[1] - y)
    # Corners of a map of the whole sky lie outside it.
    return float(np.max(shifts[np.isfinite(shifts)], initial=0.0)) if np.isfinite(shifts).any() else float("inf")


def sky_of(image: Any, header: Any = None, unit: Any = None, wcs: Any = None) -> Sky:
    """What a header says, the one given or an opened image's own; a unit and a WCS that come with the pixels outrank it."""
    header = getattr(image, "header", None) if header is None else header
    found, why = wcs, ""
    if wcs is not None:
        try:
            found, why = flat(wcs)
        except Exception as error:
            found, why = None, " ".join(str(error).split()) or f"a {type(wcs).__name__}"
    if header is None:
        if found is None and unit is None and not why:
            return NO_SKY
        return Sky(found, unit, None, why, pixel_area(found))
    if wcs is None:
        sky = _said_by(header)
        return sky if unit is None else replace(sky, unit=unit)
    cards = fits_header(header)
    area = pixel_area(found)
    beam = beam_of(cards, area)
    given = parse_unit(unit_of(header)) if unit is None else unit
    return Sky(found, given, beam, why, area, unturned=unturned(cards, beam), useless=useless_beam(cards))


# What the last few headers say: to find it out takes longer than all other Python of a catalogue.
_SAID: Latest[Sky] = Latest(times=4)


def _said_by(header: Any) -> Sky:
    """What a header says by itself. A thread meets only what it has found out: a WCS is not made to be asked by several at once."""
    text, thread = _text(header), threading.get_ident()
    sky = None if text is None else _SAID.get(text, thread)
    if sky is None:
        cards = fits_header(header)
        found, why = celestial(cards)
        area = pixel_area(found)
        assumed = unsaid(cards) if found is not None else ""
        beam = beam_of(cards, area)
        sky = Sky(found, parse_unit(unit_of(header)), beam, why, area, assumed, unturned(cards, beam), useless_beam(cards))
        if text is not None:
            _SAID.put(text, sky, thread)
    return sky


def _text(header: Any) -> bytes | None:
    """All that a header is; None where that is not known, or cannot be written."""
    if type(header) is dict:
        text = exact(header)
        return None if text is None else text.encode()
    if f"{type(header).__module__}.{type(header).__qualname__}" != "astropy.io.fits.header.Header":
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return header.tostring(sep="").encode()
        except Exception:
            # A card is damaged: it may say nothing of coordinates.
            return None
