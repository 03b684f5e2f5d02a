"""The Gaussian that makes one beam of another: by covariances, on the sky and in pixels."""

from __future__ import annotations

import math
import re
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from footprint.api._flux import by_the_beam, parse_unit
from footprint.api._header import (
    Beam,
    beam_of,
    celestial,
    doubtful_beam,
    fits_header,
    pixel_area,
    unit_of,
    unscaled,
    unturned,
    useless_beam,
)
from footprint.errors import ArgumentError, warn
from footprint.units import none_of

_FWHM = math.sqrt(8 * math.log(2))
_DOUBLE = np.dtype(np.float64)
_REACH = 5
"""Standard deviations after which weights end."""
# Covariances that differ by less than this of the beam's smallest are equal.
_EQUAL = 1e-6
_DEGREES = {"": 1 / 3600, "arcsec": 1 / 3600, "arcmin": 1 / 60, "deg": 1.0}
# Degrees: a beam is no wider than the sky.
WIDEST = 360.0
# Times as wide as the image that a mask may be: its beam is then of two images' width, and leaves nothing of any of it.
_WIDER = 8
# A Gaussian wider than this, in pixels, has the moments of its samples to eight digits.
_SAMPLED = 1.0
# A covariance along an axis, in square pixels, of what samples see nothing.
_FLAT = 0.01
# What its samples' covariance may be off by, beside the beam's.
_OFF = 1e-3
# Times at most that a narrow Gaussian is made anew until its samples are right; where a beam is only named; and lines of all times.
_TURNS, _FEW, _MOST = 200, 20, 1 << 20
# Standard deviations across a Gaussian's ridge beyond which nothing adds to sums in float64, and lines that are summed at once.
_SEEN, _LINES = 9, 1 << 12


@dataclass(frozen=True)
class BeamMask:
    """Weights in order of convolution, with the face of a file; they add up to ``gain``.

    Attributes
    ----------
    shape, dtype, path
        As an image's.
    covariance
        In pixels, of (x, y), by which weights are made.
    gain
        The ratio of the beams' areas where the unit is by the beam, else 1.
    beam
        That the result has.
    """

    shape: tuple[int, int]
    covariance: tuple[float, float, float]
    gain: float
    beam: Beam
    path: str
    dtype: Any = _DOUBLE
    header: Any = None
    sigma: Any = None

    def host_bytes(self, n_rows: int, dtype: Any = None) -> int:
        """Bytes that `read` holds beside ``out``: some rows."""
        return 64 * (self.shape[1] + 64)

    def read(self, rows: slice, out: np.ndarray) -> None:
        """Fill ``out`` with rows of the mask."""
        y0 = self.shape[0] // 2
        total = sum(float(self._row(y).sum()) for y in range(-y0, y0 + 1))
        for row, y in zip(out, range(rows.start - y0, rows.stop - y0)):
            row[...] = self._row(y) * (self.gain / total)

    def _row(self, y: int) -> np.ndarray:
        return _samples(self.covariance, y, self.shape[1] // 2)

    def __enter__(self) -> BeamMask:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing is open."""


def beam_mask(header: Any, target: Any, shape: tuple[int, ...], unit: str = "") -> BeamMask:
    """The mask that gives an image of this header and shape the beam ``target``, in its own ``unit`` if any, else the header's.

    Raises
    ------
    ArgumentError
        The header has no beam, or no sky; the target is none, or smaller than the image's beam in some direction, or wider than
        the image.
    """
    header = fits_header(header)
    wanted = target_beam(target)
    sky, why = celestial(header)
    if sky is None:
        told = f"no celestial coordinates{', ' + why if why else ''}"
        raise ArgumentError("header", told, "the WCS keywords of a sky image, which give the beam in pixels")
    if header.get("CASAMBM", False):
        raise ArgumentError(
            "header", "CASAMBM, a beam for every channel", "one beam", "match planes whose own beam is in their header"
        )
    own = beam_of(header, pixel_area(sky))
    if own is None:
        raise ArgumentError("header", useless_beam(header) or "no beam", "BMAJ, BMIN and BPA in degrees")
    if missing := unscaled(header):
        raise ArgumentError(
            "header", none_of(missing), "the size of pixels, which gives the beam in pixels", "without it a pixel is 1 degree"
        )
    if own.major >= WIDEST:
        raise ArgumentError("header", f"a BMAJ of {own.major:.6g} degrees", f"BMAJ and BMIN in degrees, below {WIDEST:g}")
    inverse = np.linalg.inv(np.asarray(sky.pixel_scale_matrix, float)[[sky.wcs.lng, sky.wcs.lat]])
    doubt, widest = doubtful_beam(own.pixels, math.prod(shape)), _WIDER * max(shape)
    between = _between(own, wanted, inverse)
    width = 0 if between is None else 2 * max(_reach(between)) + 1
    if width > widest:
        got = f"a beam of {_words(wanted)}, whose mask is {width} pixels wide"
        raise ArgumentError("target", got, f"one that the image's {max(shape)} pixels hold", doubt or "beams are given in degrees")
    covariance = None if between is None else _sampled(between, inverse @ _covariance(wanted) @ inverse.T)
    if between is None or covariance is None:
        close = ", by enough for its pixels to tell the two apart" if between is not None else ""
        # Of a beam that cannot be meant nothing is worth looking for.
        least = None if doubt else _smallest(own, inverse, widest)
        fix = doubt if least is None else f"the smallest round beam that will do is about {_words(least)}"
        raise ArgumentError(
            "target", f"a beam of {_words(wanted)}", f"one that the image's, {_words(own)}, lies within{close}", fix
        )
    half = _reach(between)
    for sentence in (doubt, unturned(header, own)):
        if sentence:
            warn(sentence)
    areas = wanted.major * wanted.minor / (own.major * own.minor)
    gain = _gain(unit or unit_of(header), areas)
    if unit and unit_of(header) and gain != _gain(unit_of(header), areas):
        raise ArgumentError("image", f"a Quantity in {unit}", f"one in the header's BUNIT, {unit_of(header)}, or a plain array")
    return BeamMask((2 * half[1] + 1, 2 * half[0] + 1), covariance, gain, wanted, f"beam {_words(wanted)}")


def _between(own: Beam, wanted: Beam, inverse: np.ndarray) -> np.ndarray | None:
    """The covariance in pixels of the Gaussian that makes one beam of another; None where none does."""
    more = _covariance(wanted) - _covariance(own)
    least, most = np.linalg.eigvalsh(more)
    if least < -_EQUAL * own.minor**2:
        return None
    # Of pixels that are too small to be meant it is infinite.
    with np.errstate(over="ignore", invalid="ignore"):
        return inverse @ (more if most > _EQUAL * own.minor**2 else np.zeros((2, 2))) @ inverse.T


def _smallest(own: Beam, inverse: np.ndarray, widest: int) -> Beam | None:
    """The smallest round beam that an image can be given, to half a percent and rounded up to four digits.

    None where its mask would be wider than ``widest`` pixels. Widths are bisected: pixels that are much longer than wide take many.
    """

    def told(steps: int) -> Beam:
        # As it will be read: in arcseconds, of which no more digits are told.
        width = 3600 * own.major * 1.005**steps
        unit = 10.0 ** (math.floor(math.log10(width)) - 3)
        whole = math.ceil(width / unit - 1e-6) * unit / 3600
        return Beam(whole, whole, 0.0, None)

    def will_do(steps: int) -> bool:
        between = _between(own, told(steps), inverse)
        if between is None or 2 * max(_reach(between)) + 1 > widest:
            return False
        return _sampled(between, inverse @ _covariance(told(steps)) @ inverse.T, _FEW) is not None

    high = 0
    while not will_do(high):
        high = max(2 * high, 1)
        if told(high).major >= WIDEST:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if will_do(middle) else (middle, high)
    return told(high)


def named_beam(text: str) -> tuple[float, float, float] | None:
    """The beam of ``beam:12`` (arcsec; also arcmin, deg) or ``beam:12x8,pa=30``, in degrees; None where it is no such name."""
    if not text.startswith("beam:"):
        return None
    found = _beam_in_words(text[5:])
    if found is None:
        raise ArgumentError("mask", repr(text), "a beam such as beam:12arcsec or beam:12x8,pa=30")
    return found


def _beam_in_words(words: str) -> tuple[float, float, float] | None:
    size = r"(\d+\.?\d*(?:e-?\d+)?|\.\d+)"
    found = re.fullmatch(rf"{size}(?:x{size})?(arcsec|arcmin|deg)?(?:,pa=(-?\d+\.?\d*))?", words)
    if found is None:
        return None
    unit = _DEGREES[found[3] or ""]
    return float(found[1]) * unit, float(found[2] or found[1]) * unit, float(found[4] or 0)


def target_beam(target: Any) -> Beam:
    """A beam as it may be given: ours, radio_beam's, in the command's words, or (major, minor, angle) in degrees or with units."""
    if isinstance(target, Beam):
        return target
    given = target
    if isinstance(target, str):
        target = _beam_in_words(target.replace(" ", "").removeprefix("beam:"))
    if hasattr(target, "major") and hasattr(target, "pa"):
        target = (target.major, target.minor, target.pa)
    parts = list(target) if isinstance(target, tuple | list) else [target]
    try:
        numbers = [float(part.to_value("deg") if hasattr(part, "to_value") else part) for part in parts]
    except Exception:
        numbers = []
    major, minor, angle = ([*numbers, numbers[0], 0.0] if len(numbers) == 1 else [*numbers, 0.0] + [math.nan] * 3)[:3]
    if not (0 < minor <= major < WIDEST and math.isfinite(angle)) or len(numbers) > 3:
        raise ArgumentError(
            "target",
            repr(given),
            "(major, minor, angle) in degrees, major the larger",
            "a number is a round beam, and so is '12arcsec'",
        )
    return Beam(major, minor, angle, None)


def _covariance(beam: Beam) -> np.ndarray:
    """Of (east, north), in square degrees; the angle is of the major axis, from north through east."""
    along = np.array([math.sin(math.radians(beam.angle)), math.cos(math.radians(beam.angle))])
    across = np.array([-along[1], along[0]])
    return ((beam.major / _FWHM) ** 2) * np.outer(along, along) + ((beam.minor / _FWHM) ** 2) * np.outer(across, across)


def _samples(covariance: tuple[float, float, float], y: int, half: int) -> np.ndarray:
    """A row of samples of a Gaussian; along an axis that it has no width in, there is one."""
    xx, xy, yy = covariance
    x = np.arange(-half, half + 1, dtype=float)
    if xx <= 0 or yy <= 0:
        flat = np.zeros(2 * half + 1)
        flat[half] = 1.0
        if xx > 0:
            flat = np.exp(-(x * x) / (2 * xx))
        return flat * (math.exp(-y * y / (2 * yy)) if yy > 0 else float(y == 0))
    determinant = xx * yy - xy * xy
    return np.exp(-(yy * x * x - 2 * xy * x * y + xx * y * y) / (2 * determinant))


def _reach(wanted: np.ndarray) -> tuple[int, int]:
    """How far the weights of a covariance in pixels reach along x and y."""
    if not np.isfinite(wanted).all():
        return (sys.maxsize,) * 2
    half = [max(math.ceil(_REACH * math.sqrt(max(float(v), 0.0))), 1 if v > 0 else 0) for v in np.diag(wanted)]
    return half[0], half[1]


def _sampled(wanted: np.ndarray, beam: np.ndarray, turns: int = _TURNS) -> tuple[float, float, float] | None:
    """The covariance whose samples on the pixels have the one that is wanted.

    None where no samples have it, as of a Gaussian that is flat along a slanted axis. One narrower than a pixel is wider than its
    samples, or narrower: it is made the other way until they are right.
    """
    trial, narrow = wanted.copy(), np.linalg.eigvalsh(wanted)[0]
    if not (narrow < _SAMPLED**2 and wanted.any()):
        return _three(trial)
    if narrow < _FLAT and wanted[0, 1]:
        # Flat along a slanted axis it has no samples.
        trial = _positive(trial)
    reach, allowed = _reach(wanted), _OFF * np.linalg.eigvalsh(beam)[0]
    best, off = trial, math.inf
    # Of a very long Gaussian that is narrow all the same, the samples are too many to be made so often.
    for _ in range(min(turns, _MOST // (2 * max(reach) + 1) + _FEW)):
        found = _moments(_three(trial), reach)
        if (now := float(np.abs(found - wanted).max())) < off:
            best, off = trial, now
        if off < 1e-3 * allowed:
            break
        trial = _positive(trial + (wanted - found))
    return _three(best) if off <= allowed else None


def _three(covariance: np.ndarray) -> tuple[float, float, float]:
    return float(covariance[0, 0]), float(covariance[0, 1]), float(covariance[1, 1])


def _positive(covariance: np.ndarray) -> np.ndarray:
    """The nearest that is one, and not flat."""
    sizes, axes = np.linalg.eigh(covariance)
    return (axes * np.maximum(sizes, _FLAT)) @ axes.T


def _moments(covariance: tuple[float, float, float], half: tuple[int, int]) -> np.ndarray:
    """Second moments of samples, of those within `_SEEN` standard deviations of the ridge in each line across the longer axis."""
    xx, xy, yy = covariance
    if xx > yy:
        return _moments((yy, xy, xx), half[::-1])[::-1, ::-1]
    # Lines are rows; a covariance without width has one sample in each of them.
    across = max(xx - xy * xy / yy, 0.0) if yy > 0 else 0.0
    band = min(math.ceil(_SEEN * math.sqrt(across)) + 2, 2 * half[0])
    sums = np.zeros(4)
    for first in range(-half[1], half[1] + 1, _LINES):
        y = np.arange(first, min(first + _LINES, half[1] + 1), dtype=float)
        ridge = xy / yy * y if yy > 0 else 0 * y
        x = np.rint(ridge)[:, None] + np.arange(-band, band + 1)
        weights = np.exp(-((x - ridge[:, None]) ** 2) / (2 * across)) if across > 0 else (x == np.rint(ridge)[:, None]) * 1.0
        weights *= (np.exp(-y * y / (2 * yy)) if yy > 0 else (y == 0) * 1.0)[:, None]
        weights[np.abs(x) > half[0]] = 0.0
        one, along = weights.sum(1), (weights * x).sum(1)
        sums += one.sum(), (weights * x * x).sum(), along @ y, one @ (y * y)
    return np.array([[sums[1], sums[2]], [sums[2], sums[3]]]) / sums[0]


def _gain(unit: str, areas: float) -> float:
    """By what values grow: with the beam's area where they are by the beam."""
    if not by_the_beam(unit):
        return 1.0
    from astropy import units as u

    found = parse_unit(unit)
    powers = dict(zip(getattr(found, "bases", ()), getattr(found, "powers", ())))
    if u.beam not in powers:
        raise ArgumentError("header", f"BUNIT {unit!r}", "a unit that is understood, such as 'Jy/beam' or 'Jy/pixel'")
    return float(areas ** -float(powers[u.beam]))


def _words(beam: Beam) -> str:
    size = f"{3600 * beam.major:.6g} x {3600 * beam.minor:.6g} arcsec"
    return size if beam.major == beam.minor else f"{size} at {beam.angle:.6g} degrees"
