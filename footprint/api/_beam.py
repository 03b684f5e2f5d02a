"""The Gaussian that makes one beam of another: by covariances, on the sky and in pixels."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from footprint.api._flux import parse_unit
from footprint.api._header import Beam, beam_of, celestial, fits_header, unit_of
from footprint.errors import ArgumentError

_FWHM = math.sqrt(8 * math.log(2))
_DOUBLE = np.dtype(np.float64)
_REACH = 5
"""Standard deviations after which weights end."""
# Covariances that differ by less than this of the beam's smallest are equal.
_EQUAL = 1e-6
_DEGREES = {"": 1 / 3600, "arcsec": 1 / 3600, "arcmin": 1 / 60, "deg": 1.0}
# Degrees: a beam is no wider than the sky.
_WIDEST = 360.0
# Times as wide as the image that a mask may be: its beam is then of two images' width, and leaves nothing of any of it.
_WIDER = 8
# A Gaussian wider than this, in pixels, has the moments of its samples to eight digits.
_SAMPLED = 1.0
# A covariance along an axis, in square pixels, of what samples see nothing.
_FLAT = 0.01
# What its samples' covariance may be off by, beside the beam's.
_OFF = 1e-3


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
    own = beam_of(header, None)
    if own is None:
        raise ArgumentError("header", "no beam", "BMAJ, BMIN and BPA in degrees")
    inverse = np.linalg.inv(np.asarray(sky.pixel_scale_matrix, float)[[sky.wcs.lng, sky.wcs.lat]])
    sampled = _between(own, wanted, inverse)
    if sampled is None:
        inside = np.linalg.eigvalsh(_covariance(wanted) - _covariance(own))[0] >= -_EQUAL * own.minor**2
        close = ", by enough for its pixels to tell the two apart" if inside else ""
        fix = f"the smallest round beam that will do is about {_words(_smallest(own, inverse))}"
        raise ArgumentError(
            "target", f"a beam of {_words(wanted)}", f"one that the image's, {_words(own)}, lies within{close}", fix
        )
    covariance, half = sampled
    if 2 * max(half) + 1 > _WIDER * max(shape):
        got = f"a beam of {_words(wanted)}, whose mask is {2 * max(half) + 1} pixels wide"
        raise ArgumentError("target", got, f"one that the image's {max(shape)} pixels hold", "beams are given in degrees")
    areas = wanted.major * wanted.minor / (own.major * own.minor)
    gain = _gain(unit or unit_of(header), areas)
    if unit and unit_of(header) and gain != _gain(unit_of(header), areas):
        raise ArgumentError("image", f"a Quantity in {unit}", f"one in the header's BUNIT, {unit_of(header)}, or a plain array")
    return BeamMask((2 * half[1] + 1, 2 * half[0] + 1), covariance, gain, wanted, f"beam {_words(wanted)}")


def _between(own: Beam, wanted: Beam, inverse: np.ndarray) -> tuple[tuple[float, float, float], tuple[int, int]] | None:
    """The Gaussian that makes one beam of another, as `_sampled` has it; None where none does."""
    more = _covariance(wanted) - _covariance(own)
    least, most = np.linalg.eigvalsh(more)
    if least < -_EQUAL * own.minor**2:
        return None
    in_pixels = inverse @ (more if most > _EQUAL * own.minor**2 else np.zeros((2, 2))) @ inverse.T
    return _sampled(in_pixels, inverse @ _covariance(wanted) @ inverse.T)


def _smallest(own: Beam, inverse: np.ndarray) -> Beam:
    """The smallest round beam that an image can be given, to half a percent and rounded up to four digits."""
    width = own.major
    while True:
        # As it will be read: in arcseconds, of which no more digits are told.
        unit = 10.0 ** (math.floor(math.log10(3600 * width)) - 3)
        whole = math.ceil(3600 * width / unit - 1e-6) * unit / 3600
        told = Beam(whole, whole, 0.0, None)
        if _between(own, told, inverse) is not None:
            return told
        width *= 1.005


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
    if not (0 < minor <= major < _WIDEST and math.isfinite(angle)) or len(numbers) > 3:
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


def _sampled(wanted: np.ndarray, beam: np.ndarray) -> tuple[tuple[float, float, float], tuple[int, int]] | None:
    """The covariance whose samples on the pixels have the one that is wanted, and how far they reach along x and y.

    None where no samples have it, as of a Gaussian that is flat along a slanted axis. One narrower than a pixel is wider than its
    samples, or narrower: it is made the other way until they are right.
    """
    half = [max(math.ceil(_REACH * math.sqrt(max(v, 0.0))), 1 if v > 0 else 0) for v in np.diag(wanted)]
    reach = half[0], half[1]
    trial, narrow = wanted.copy(), np.linalg.eigvalsh(wanted)[0]
    if narrow < _SAMPLED**2 and wanted.any():
        if narrow < _FLAT and wanted[0, 1]:
            # Flat along a slanted axis it has no samples.
            trial = _positive(trial)
        allowed = _OFF * np.linalg.eigvalsh(beam)[0]
        off = math.inf
        for _ in range(200):
            found = _moments(_three(trial), reach)
            off = np.abs(found - wanted).max()
            if off < 1e-3 * allowed:
                break
            trial = _positive(trial + (wanted - found))
        if not off <= allowed:
            return None
    return _three(trial), reach


def _three(covariance: np.ndarray) -> tuple[float, float, float]:
    return float(covariance[0, 0]), float(covariance[0, 1]), float(covariance[1, 1])


def _positive(covariance: np.ndarray) -> np.ndarray:
    """The nearest that is one, and not flat."""
    sizes, axes = np.linalg.eigh(covariance)
    return (axes * np.maximum(sizes, _FLAT)) @ axes.T


def _moments(covariance: tuple[float, float, float], half: tuple[int, int]) -> np.ndarray:
    """Second moments of samples, a row at a time."""
    x = np.arange(-half[0], half[0] + 1, dtype=float)
    sums = np.zeros(4)
    for y in range(-half[1], half[1] + 1):
        row = _samples(covariance, y, half[0])
        one, first = row.sum(), row @ x
        sums += one, row @ (x * x), first * y, one * y * y
    return np.array([[sums[1], sums[2]], [sums[2], sums[3]]]) / sums[0]


def _gain(unit: str, areas: float) -> float:
    """By what values grow: with the beam's area where they are by the beam."""
    if "beam" not in unit.lower() and "bm" not in unit.lower():
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
