"""What apertures add to source finding: radii in any unit, and columns of the sums."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from footprint.api._errors import noise_of_sums
from footprint.api._flux import flux_of
from footprint.api._header import pixel_area
from footprint.api._sky import Sky
from footprint.api._table import Columns
from footprint.errors import ArgumentError
from footprint.kernels.apertures.contract import SUMS
from footprint.ops.apertures import KRON, Light

# Of the columns of flags: pixels without data, the image's end, no data at all there or in the annulus, no Kron radius or one under
# the least.
MASKED, AT_EDGE, EMPTY, ROUND = 1, 2, 4, 8
# Of SExtractor's FLUX_AUTO: of the Kron radius, and the least radius in pixels.
_KRON, _LEAST = 2.5, 1.75
_SHARE = 1e-6
# Rows worked on at a time.
_ROWS = 1024


@dataclass(frozen=True)
class Photometry:
    """Apertures that are wanted.

    Attributes
    ----------
    radii
        In pixels.
    annulus
        Inner and outer radius of what the sky is told from, in pixels.
    kron
        How many Kron radii an ellipse has; 0 for none.
    beam_area
        In pixels, where one is known.
    """

    radii: tuple[float, ...]
    annulus: tuple[float, ...] = ()
    kron: float = 0.0
    beam_area: float | None = None

    @property
    def discs(self) -> tuple[float, ...]:
        """All that are summed."""
        return self.radii + self.annulus

    def op(self, capacity: int) -> Light:
        """Of so many sources."""
        return Light(capacity, self.discs, self.kron, _LEAST)

    def columns(self, sums: np.ndarray) -> dict[str, np.ndarray]:
        """Columns of rows of sums."""
        found: dict[str, np.ndarray] = {}
        n, discs = len(sums), len(self.discs)
        if self.radii:
            flags = np.zeros(n, np.int64)
            for i, size in enumerate(self.radii):
                part = sums[:, i * SUMS : (i + 1) * SUMS]
                found |= self._flux(f"aper{i + 1}", part, math.pi * size * size, flags)
                found[f"aper{i + 1}_area"] = part[:, 2].copy()
            if self.annulus:
                self._take_sky_off(found, sums, flags)
            found["aper_flags"] = flags
        if self.kron:
            flags, at = np.zeros(n, np.int64), SUMS * discs
            radius, area = sums[:, at].copy(), sums[:, at + 1]
            found["kron_radius"] = radius
            found |= self._flux("kron", sums[:, at + KRON : at + KRON + SUMS], area, flags)
            with np.errstate(invalid="ignore"):
                flags[~(area > math.pi * _LEAST**2 * (1 + _SHARE))] |= ROUND
            found["kron_flags"] = flags
        return found

    def _flux(self, name: str, part: np.ndarray, area: Any, flags: np.ndarray) -> dict[str, np.ndarray]:
        """Sum, its error, and flags."""
        flux, error, whole = np.empty(len(part)), np.empty(len(part)), np.broadcast_to(area, len(part))
        for first in range(0, len(part), _ROWS):
            rows = slice(first, first + _ROWS)
            total, squares, good, missing = part[rows].T
            empty = ~(good > 0)
            flux[rows] = np.where(empty, np.nan, total)
            with np.errstate(invalid="ignore", divide="ignore"):
                # The noise's mean square, correlated as over a disc of as many pixels.
                error[rows] = np.where(empty, np.nan, noise_of_sums(good, self.beam_area, edge=False) * np.sqrt(squares / good))
                flags[rows] |= np.where(missing > 0, MASKED, 0) | np.where(empty, EMPTY, 0)
                flags[rows] |= np.where(good + missing < whole[rows] * (1 - _SHARE), AT_EDGE, 0)
        return {f"{name}_flux": flux, f"{name}_flux_err": error}

    def wide(self, shape: tuple[int, ...]) -> list[str]:
        """What is to be said of discs that fit into an image of this shape nowhere, as those of arcseconds taken for pixels."""
        some = [f"{radius:.6g}" for radius in self.radii if 2 * radius > min(shape)]
        if not some:
            return []
        radii = f"{'a radius' if len(some) == 1 else 'radii'} of {' and '.join(some)} pixels"
        return [
            f"apertures with {radii} are wider than the image of {shape[0]} x {shape[1]}; all are cut off, and have a flag of 2"
        ]

    def _take_sky_off(self, found: dict[str, np.ndarray], sums: np.ndarray, flags: np.ndarray) -> None:
        """The mean of what lies between the annulus's radii, for every pixel of an aperture."""
        at = SUMS * len(self.radii)
        for first in range(0, len(sums), _ROWS):
            rows = slice(first, first + _ROWS)
            inner, outer = sums[rows, at : at + SUMS], sums[rows, at + SUMS : at + 2 * SUMS]
            total, squares, area, _ = (outer - inner).T
            with np.errstate(invalid="ignore", divide="ignore"):
                level = np.where(area > _SHARE, total / area, np.nan)
                flags[rows] |= np.where(np.isnan(level), EMPTY, 0)
                wrong = noise_of_sums(area, self.beam_area, edge=False) / area * np.sqrt(np.maximum(squares, 0) / area)
                for i in range(len(self.radii)):
                    name = f"aper{i + 1}"
                    pixels = found[f"{name}_area"][rows]
                    found[f"{name}_flux"][rows] -= level * pixels
                    found[f"{name}_flux_err"][rows] = np.hypot(found[f"{name}_flux_err"][rows], wrong * pixels)


def check_photometry(apertures: Any, annulus: Any, kron: Any, sky: Sky) -> Photometry | None:
    """The apertures that are wanted; None for none."""
    radii = () if apertures is None else radii_of("apertures", apertures, sky)
    factor = _KRON if kron is True else 0.0 if kron is False or kron is None else _number("kron", kron)
    around = annulus_of(annulus, sky)
    if around and not radii:
        raise ArgumentError("annulus", "no apertures", "apertures whose sky it measures", "give apertures=[...]")
    return Photometry(radii, around, factor, sky.beam_area) if radii or factor else None


def annulus_of(annulus: Any, sky: Sky) -> tuple[float, ...]:
    """Its two radii in pixels; () for none."""
    if annulus is None:
        return ()
    found = radii_of("annulus", annulus, sky)
    if len(found) != 2 or not found[0] < found[1]:
        raise ArgumentError("annulus", repr(annulus), "an inner and a larger outer radius")
    return found


def radii_of(name: str, values: Any, sky: Sky) -> tuple[float, ...]:
    """Radii in pixels: of numbers, of words such as "1.5 beam" or "10 arcsec", or of a Quantity."""
    if isinstance(values, str):
        values = values.split(",")
    elif hasattr(values, "unit") or not isinstance(values, Iterable) or getattr(values, "ndim", 1) == 0:
        values = np.atleast_1d(values) if hasattr(values, "unit") else [values]
    found = tuple(_radius(name, value, sky) for value in values)
    if not found:
        raise ArgumentError(name, "none", "one radius or more")
    return found


def _radius(name: str, value: Any, sky: Sky) -> float:
    if isinstance(value, str):
        word = value.strip()
        if word.endswith("beam"):
            share = _number(name, word[:-4].strip() or 1)
            if not sky.beam_area:
                raise ArgumentError(name, repr(value), "pixels", "the image has no known beam")
            # The geometric mean of the beam's full widths.
            return share * math.sqrt(sky.beam_area * 4 * math.log(2) / math.pi)
        try:
            number = float(word)
        except ValueError:
            from astropy.units import Quantity

            try:
                value = Quantity(word)
            except (TypeError, ValueError):
                raise ArgumentError(name, repr(value), 'pixels, or words such as "1.5 beam" or "10 arcsec"') from None
        else:
            return _number(name, number)
    if hasattr(value, "unit"):
        from astropy import units as u

        if value.unit.is_equivalent(u.pix):
            return _number(name, value.to_value(u.pix))
        area = pixel_area(sky.wcs)
        if not value.unit.is_equivalent(u.deg) or area is None:
            fix = "give pixels" if area is None else ""
            raise ArgumentError(name, str(value), "pixels, or an angle where the header has the pixel size", fix)
        return _number(name, value.to_value(u.deg) / math.sqrt(area))
    return _number(name, value)


def _number(name: str, value: Any) -> float:
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if isinstance(value, bool) or not (found > 0 and math.isfinite(found)):
        raise ArgumentError(name, repr(value), "a number above 0")
    return found


def describe_light(columns: Columns, sky: Sky, light: Photometry | None) -> None:
    """Units of fluxes in apertures, and what was asked for."""
    if light is None:
        return
    flux = flux_of(sky.unit, sky.beam_area, pixel_area(sky.wcs))
    for name in columns.data:
        if name.startswith(("aper", "kron_")) and name.endswith(("_flux", "_flux_err")):
            columns.scale(name, flux.factor, flux.unit)
        elif name.startswith("aper") and name.endswith("_area"):
            columns.units[name] = "pix"
    told = {"apertures": light.radii, "annulus": light.annulus}
    columns.meta |= {name: ", ".join(f"{radius:.6g}" for radius in radii) for name, radii in told.items() if radii}
    if light.kron:
        columns.meta["kron"] = light.kron
