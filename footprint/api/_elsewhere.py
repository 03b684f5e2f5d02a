"""What measuring on other images adds to source finding: the images, what takes their tables, and columns named by them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from footprint.api._blank import blanked, unwrap
from footprint.api._call import Face, Stream
from footprint.api._errors import noise_of_sums
from footprint.api._image import Image, host, see
from footprint.api._levels import Levels
from footprint.api._light import Photometry, describe_light
from footprint.api._sky import Sky, apart, sky_of
from footprint.api._table import Columns
from footprint.errors import ArgumentError, ShapeError
from footprint.kernels.held.contract import CHI2, ERROR, FOUND, HEIGHT, PIXELS, ROW
from footprint.kernels.sigma_clip.contract import BACKGROUND, NOISE
from footprint.ops.elsewhere import Elsewhere
from footprint.ops.fit import Fit
from footprint.ops.held import Held
from footprint.ops.sigma_clip import SigmaClip
from footprint.plan.faces import Region, Taker
from footprint.spec import ArraySpec

# Twice the exponent up to which pixels tell a height: a quarter of the full width from the place in noise of the beam, where few
# pixels make the smaller error; a hundredth of the peak without.
BEAMED, UNBEAMED = math.log(2) / 2, 2 * math.log(100)
# Standard deviations at which neighbours are nothing.
FAR = 6.5
# Pixels that headers of one grid may differ by.
_AWAY = 0.5
# Images a plan is made for: each has steps of its own.
_MOST = 1000


@dataclass
class Other:
    """An image that sources are measured on.

    Attributes
    ----------
    name
        Of its columns.
    image, sky
        Its pixels, and what is known of them.
    op
        What is measured.
    light
        Apertures, with its own beam's area.
    stats, counts
        Of its clip, when that has run.
    columns
        What was measured.
    shift
        Pixels by which its header says that it shows the sky elsewhere.
    """

    name: str
    image: Image
    sky: Sky
    op: Elsewhere
    light: Photometry | None = None
    stats: np.ndarray = field(default_factory=lambda: np.full(8, np.nan))
    counts: np.ndarray = field(default_factory=lambda: np.zeros(8, np.int64))
    columns: dict[str, np.ndarray] = field(default_factory=dict)
    shift: float = 0.0

    def sinks(self, capacity: int, rows: Callable[[], Any]) -> list[Face]:
        """What takes its tables, of which ``rows`` count."""
        made: list[Face] = [] if self.op.cells is not None else [host(self.stats), host(self.counts)]

        def take(columns: Callable[[np.ndarray], dict[str, np.ndarray]], width: int) -> None:
            def kept(region: Region, table: np.ndarray) -> None:
                self.columns |= columns(table[rows()])

            made.append(Stream(Taker(kept), ArraySpec((capacity, width), "float64"), key="catalogue"))

        take(lambda sums: dict(zip(("flux", "peak", "background", "noise"), sums.T.copy())), ROW)
        if self.op.held is not None:
            take(heights, FOUND)
        if self.light is not None:
            take(self.light.columns, self.light.op(capacity).columns)
        return made

    def describe(self, columns: Columns) -> list[str]:
        """Add its columns to a catalogue, with errors and units; return what a user has to be told."""
        found, shape = self.columns, ("fit_a", "fit_b", "fit_theta")
        level, noise = float(self.stats[BACKGROUND]), found.pop("noise")
        if self.op.cells is None:
            noise = np.full(len(columns), self.stats[NOISE])
            del found["background"]
            columns.meta |= {f"background_{self.name}": level, f"noise_{self.name}": float(self.stats[NOISE])}
        else:
            found["noise"] = noise
        error = noise_of_sums(columns.data["npix"], self.sky.beam_area, edge=False) * noise
        first = {"flux": found.pop("flux"), "flux_err": error, "peak": found.pop("peak")}
        with np.errstate(invalid="ignore", divide="ignore"):
            first["snr"] = first["peak"] / noise
        first["flux_err"][np.isnan(first["flux"])] = np.nan
        if "fit_peak" in found:
            own = None if shape[0] not in columns.data else tuple(columns.data[name] for name in shape)
            found = self._fluxes(found, own)
        part = Columns(first | found)
        units(part, self.sky)
        describe_light(part, self.sky, self.light)
        columns.data |= {f"{name}_{self.name}": data for name, data in part.data.items()}
        columns.units |= {f"{name}_{self.name}": unit for name, unit in part.units.items()}
        if self.shift <= _AWAY:
            return []
        away = f"by up to {self.shift:.3g} pixels" if math.isfinite(self.shift) else "altogether"
        return [f"{self.name} shows another part of the sky, {away} by its header: pixels are compared by their numbers"]

    def _fluxes(self, found: dict[str, np.ndarray], shape: tuple[np.ndarray, ...] | None) -> dict[str, np.ndarray]:
        """Heights, and what they are over the plane: of the beam's shape, or of shapes that were fitted."""
        assert self.op.held is not None
        change = np.array(self.op.held.change)
        if shape is None:
            yy, yx, xx = self.op.held.beam
            area: Any = 2 * math.pi / math.sqrt(yy * xx - yx * yx)
        else:
            area = areas(shape, change, self.op.held.beam)
        return with_fluxes(found, area)


def areas(shape: Sequence[np.ndarray], change: np.ndarray, beam: tuple[float, ...]) -> np.ndarray:
    """Of Gaussians with covariances changed, their sums over the plane for a height of 1, as `kernels.held` has them."""
    a, b, theta = shape
    turn = np.radians(theta)
    c, s = np.cos(turn), np.sin(turn)
    yy, xx, yx = a * a * s * s + b * b * c * c, a * a * c * c + b * b * s * s, (a * a - b * b) * c * s
    if change.any():
        yy, yx, xx = yy + change[0], yx + change[1], xx + change[2]
    det = yy * xx - yx * yx
    good = (yy > 0) & (xx > 0) & (det > 1e-3 * yy * xx)
    other = math.sqrt(1 / (beam[0] * beam[2] - beam[1] ** 2)) if beam else math.nan
    return 2 * math.pi * np.where(good, np.sqrt(np.where(good, det, 1.0)), other)


def heights(found: np.ndarray) -> dict[str, np.ndarray]:
    """Columns of a table of heights."""
    return {"fit_peak": found[:, HEIGHT].copy(), "fit_peak_err": found[:, ERROR].copy(), "fit_chi2": found[:, CHI2].copy(),
            "fit_npix": found[:, PIXELS].astype(np.int64)}  # fmt: skip


def with_fluxes(found: dict[str, np.ndarray], area: Any) -> dict[str, np.ndarray]:
    """The same with fluxes after the heights."""
    fluxes = {f"fit_flux{end}": found[f"fit_peak{end}"] * area for end in ("", "_err")}
    first = {name: found.pop(name) for name in ("fit_peak", "fit_peak_err")}
    chi2, npix = found.pop("fit_chi2"), found.pop("fit_npix")
    return first | fluxes | {"fit_chi2": chi2, "fit_npix": npix} | found


def units(columns: Columns, sky: Sky) -> None:
    """Give units to columns that are so called."""
    flux = sky.flux
    for name in columns.data:
        if name in ("flux", "flux_err", "fit_flux", "fit_flux_err"):
            columns.scale(name, flux.factor, flux.unit)
        elif name in ("peak", "fit_peak", "fit_peak_err", "background", "noise"):
            columns.units[name] = sky.unit


def others_of(
    given: Any,
    image: Image,
    sky: Sky,
    fit: Fit | None,
    light: Photometry | None,
    levels: Levels | None,
    blank: str,
    clip: SigmaClip,
) -> tuple[Other, ...]:
    """The images that sources are to be measured on, by their names.

    Parameters
    ----------
    given
        A mapping of images, several, or one.
    image, sky
        That sources are found on; arrays are in its unit, and have its beam.
    fit, light, levels
        What is fitted and summed there, and where background and noise come from.
    blank, clip
        As in `find_sources`.
    """
    if given is None:
        return ()
    if isinstance(given, Mapping):
        named = [(str(name), one) for name, one in given.items()]
    else:
        several = list(given) if isinstance(given, list | tuple) else [given]
        named = [(_called(one) or str(number), one) for number, one in enumerate(several, 1)]
    names = [name for name, _ in named]
    if not names or len(set(names)) < len(names) or not all(names):
        got = "no image" if not names else f"images called {', '.join(map(repr, names))}"
        raise ArgumentError("measure_on", got, "images with different names", "give a mapping {name: image}" if names else "")
    found = []
    for number, (name, one) in enumerate(named, 1):
        held = unwrap(one, "measure_on")
        plain = see(held.data, "measure_on")
        if plain.spec.shape != image.spec.shape:
            raise ShapeError("measure_on", f"{name!r} of shape {plain.spec.shape}", f"the image's {image.spec.shape}")
        pixels, _ = blanked(plain, blank, {"image's mask": held.mask})
        own = held.header if held.header is not None else getattr(plain.file, "header", None)
        there = sky if own is None and held.unit is None and held.wcs is None else sky_of(plain.file, own, held.unit, held.wcs)
        other = _other(number, name, pixels, sky, there, fit, light, levels, clip)
        found.append(replace(other, shift=apart(sky, there, image.spec.shape)))
    return tuple(found)


def foretold_on(
    count: Any, face: Face, sky: Sky, fit: Fit | None, light: Photometry | None, levels: Levels | None
) -> tuple[Other, ...]:
    """So many of them, for a plan."""
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or not 0 <= count <= _MOST:
        raise ArgumentError("measure_on", repr(count), f"how many images, 0 to {_MOST}")
    image = Image(face)  # type: ignore[arg-type]
    clip = SigmaClip()
    return tuple(_other(number, str(number), image, sky, sky, fit, light, levels, clip) for number in range(1, int(count) + 1))


def _other(
    number: int, name: str, pixels: Image, sky: Sky, there: Sky, fit: Fit | None, light: Photometry | None, levels: Levels | None,
    clip: SigmaClip,
) -> Other:  # fmt: skip
    own = None if light is None or not light.radii else replace(light, kron=0.0, beam_area=there.beam_area)
    cells = None if levels is None else replace(levels.cells, alike=there.beam_area or 0.0)
    how = Elsewhere(number, clip, cells, held_by(fit, there), None if own is None else own.op(1))
    return Other(name, pixels, there, how, own)


def _called(image: Any) -> str:
    """The name of an opened file, without its suffixes."""
    path = getattr(image, "path", None) or getattr(image, "name", None)
    name = Path(str(path)).name if isinstance(path, str | Path) else ""
    return name.partition(".")[0]


def held_by(fit: Fit | None, there: Sky) -> Held | None:
    """Heights of what was fitted by one beam's shape, on an image of another."""
    if fit is None:
        return None
    beam, change = there.inverse_beam, (0.0, 0.0, 0.0)
    if fit.beam and beam and not np.allclose(fit.beam, beam, rtol=1e-6, atol=1e-9):
        yy, yx, xx = (new - old for new, old in zip(covariance(beam), covariance(fit.beam)))
        change = yy, yx, xx
    beam = beam or fit.beam
    within = BEAMED if beam else UNBEAMED
    wide = max(widest(beam), widest(fit.beam))
    return Held(1, max(fit.radius, window(wide, within)), within, far_of(max(wide, fit.radius / 3)), beam, change)


def covariance(inverse: Sequence[float]) -> tuple[float, float, float]:
    """Of an inverse, yy, yx and xx."""
    yy, yx, xx = inverse
    det = yy * xx - yx * yx
    return xx / det, -yx / det, yy / det


def widest(inverse: Sequence[float]) -> float:
    """The standard deviation along the longer axis."""
    if not inverse:
        return 0.0
    yy, yx, xx = covariance(inverse)
    return math.sqrt((yy + xx) / 2 + math.hypot((yy - xx) / 2, yx))


def window(wide: float, within: float, most: int = 40) -> int:
    """The radius of windows that hold the pixels which tell a height."""
    return min(max(math.ceil(math.sqrt(within) * wide) + 1, 3), most)


def far_of(wide: float) -> float:
    """How far a neighbour's light reaches into a window."""
    return float(math.ceil((FAR + math.sqrt(UNBEAMED)) * wide) + 1)
