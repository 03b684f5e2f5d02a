"""Scans and sky fields whose truth is known: a noisy NXtomo scan of ellipsoids, and a FITS radio field with a source list."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

# Toft's high-contrast Shepp-Logan head, in three dimensions: density, semi-axes a b c, centre x y z, tilt in degrees.
# P. Toft, "The Radon Transform", PhD thesis, DTU 1996; the third axis after Kak and Slaney, chapter 3.
_ELLIPSOIDS = np.array(
    [
        [1.0, 0.69, 0.92, 0.90, 0.0, 0.0, 0.0, 0.0],
        [-0.8, 0.6624, 0.874, 0.88, 0.0, -0.0184, 0.0, 0.0],
        [-0.2, 0.11, 0.31, 0.21, 0.22, 0.0, 0.0, -18.0],
        [-0.2, 0.16, 0.41, 0.22, -0.22, 0.0, 0.0, 18.0],
        [0.1, 0.21, 0.25, 0.35, 0.0, 0.35, 0.0, 0.0],
        [0.1, 0.046, 0.046, 0.046, 0.0, 0.1, 0.0, 0.0],
        [0.1, 0.046, 0.046, 0.046, 0.0, -0.1, 0.0, 0.0],
        [0.1, 0.046, 0.023, 0.02, -0.08, -0.605, 0.0, 0.0],
        [0.1, 0.023, 0.023, 0.02, 0.0, -0.606, 0.0, 0.0],
        [0.1, 0.023, 0.046, 0.02, 0.06, -0.605, 0.0, 0.0],
    ]
)


def _slices(heights: np.ndarray, radius: float) -> list[tuple[int, np.ndarray]]:
    """Ellipses of every slice in pixels: density, a, b, x, y, tilt; ``heights`` in [-1, 1]."""
    found = []
    for i, z in enumerate(heights):
        rest = 1 - ((z - _ELLIPSOIDS[:, 6]) / _ELLIPSOIDS[:, 3]) ** 2
        kept, scale = _ELLIPSOIDS[rest > 0], np.sqrt(rest[rest > 0])
        ellipses = np.empty((len(kept), 6))
        ellipses[:, 0] = kept[:, 0]
        ellipses[:, 1:3] = kept[:, 1:3] * scale[:, None] * radius
        ellipses[:, 3:5] = kept[:, 4:6] * radius
        ellipses[:, 5] = np.deg2rad(kept[:, 7])
        found.append((i, ellipses))
    return found


def projections(
    n_x: int, heights: np.ndarray, angles: np.ndarray, center: float | np.ndarray, radius: float | None = None
) -> np.ndarray:
    """Exact line integrals of the head, (n_angles, n_z, n_x), in density times pixels.

    The detector position of a point is ``center + cos(t) x - sin(t) y`` with x to the right and y down the slice; ``center`` may
    be one for every height.
    """
    radius = 0.45 * n_x if radius is None else radius
    us = np.arange(n_x) - np.broadcast_to(np.asarray(center)[..., None], (len(heights), 1))
    out = np.zeros((len(angles), len(heights), n_x))
    for i, ellipses in _slices(heights, radius):
        u = us[i]
        for density, a, b, x, y, tilt in ellipses:
            # Toft's y points up: in the upward frame the formula is the textbook's.
            wide = (a * np.cos(angles - tilt)) ** 2 + (b * np.sin(angles - tilt)) ** 2
            offset = u[None, :] - (x * np.cos(angles) + y * np.sin(angles))[:, None]
            inside = np.maximum(wide[:, None] - offset**2, 0)
            out[:, i] += 2 * density * a * b * np.sqrt(inside) / wide[:, None]
    return out


def volume(n_x: int, heights: np.ndarray, center: float, radius: float | None = None, sub: int = 3) -> np.ndarray:
    """The head itself, (n_z, n_x, n_x) float32, each pixel the mean of ``sub`` x ``sub`` points."""
    radius = 0.45 * n_x if radius is None else radius
    points = (np.arange(n_x * sub) + 0.5) / sub - 0.5 - center
    out = np.zeros((len(heights), n_x, n_x), np.float32)
    for i, ellipses in _slices(heights, radius):
        fine = np.zeros((n_x * sub, n_x * sub), np.float32)
        for density, a, b, x, y, tilt in ellipses:
            dx, dy = points[None, :] - x, -points[:, None] - y
            along, across = dx * np.cos(tilt) + dy * np.sin(tilt), dy * np.cos(tilt) - dx * np.sin(tilt)
            fine[(along / a) ** 2 + (across / b) ** 2 <= 1] += np.float32(density)
        out[i] = fine.reshape(n_x, sub, n_x, sub).mean(axis=(1, 3))
    return out


@dataclass(frozen=True)
class Scan:
    """What ``write_scan`` wrote: the truth of every slice, and the axis it was turned about."""

    path: Path
    truth: np.ndarray
    center: float
    dead_column: int


def write_scan(path: Path, n_angles: int = 400, n_z: int = 16, n_x: int = 256, seed: int = 1, drift: float = 0.0) -> Scan:
    """Write an NXtomo scan with darks, flats before and after, photon noise, one dead column and a shifted axis.

    From the first row to the last the axis moves by ``drift`` pixels, on the detector alone; ``center`` is that of the middle.
    """
    import h5py

    rng = np.random.default_rng(seed)
    center, dead, scale = (n_x - 1) / 2 + 3.7, n_x // 3, 1.5 / n_x
    angles = np.linspace(0, np.pi, n_angles, endpoint=False)
    heights = np.linspace(-0.3, 0.3, n_z)
    absorbed = projections(n_x, heights, angles, center + drift * np.linspace(-0.5, 0.5, n_z)) * scale
    column = np.arange(n_x)
    beam = 30000 * (0.8 + 0.2 * np.sin(np.pi * (column + 1) / n_x)) * np.linspace(1, 0.9, n_z)[:, None]
    flat, dark = rng.poisson(np.broadcast_to(beam, (20, n_z, n_x))), 100 + rng.poisson(10, (10, n_z, n_x))
    frames = rng.poisson(np.exp(-absorbed) * beam)
    for stack in (flat, frames):
        stack += 110
        stack[..., dead] = 110
    dark[..., dead] = 110
    data = np.concatenate([dark, flat[:10], frames, flat[10:]]).astype(np.uint16)
    keys = np.repeat([2, 1, 0, 1], [len(dark), 10, n_angles, 10])
    turned = np.concatenate([np.zeros(20), np.rad2deg(angles), np.full(10, 180.0)])
    with h5py.File(path, "w") as file:
        file.attrs["default"] = "entry"
        entry = file.create_group("entry")
        entry.attrs["NX_class"], entry["definition"] = "NXentry", "NXtomo"
        detector = entry.create_group("instrument/detector")
        detector.create_dataset("data", data=data, chunks=(1, n_z, n_x), compression="gzip", compression_opts=1)
        detector["image_key"] = keys
        sample = entry.create_group("sample")
        sample["name"] = "Shepp-Logan head"
        sample["rotation_angle"] = turned
        sample["rotation_angle"].attrs["units"] = "deg"
    return Scan(Path(path), volume(n_x, heights, center) * np.float32(scale), center, dead)


@dataclass(frozen=True)
class Field:
    """What ``write_field`` wrote: x, y and peak of every source, brightest first, and the noise."""

    path: Path
    x: np.ndarray
    y: np.ndarray
    peak: np.ndarray
    noise: float


def write_field(path: Path, n: int = 1024, n_sources: int = 150, seed: int = 2) -> Field:
    """Write a FITS radio field: noise correlated by a 5-pixel beam, point sources with power-law fluxes, a WCS and the beam."""
    from astropy.io import fits

    rng = np.random.default_rng(seed)
    fwhm, noise, pixel = 5.0, 1e-3, 2.0 / 3600
    sigma = fwhm / (2 * np.sqrt(2 * np.log(2)))
    ky, kx = np.fft.fftfreq(n)[:, None], np.fft.rfftfreq(n)[None, :]
    smooth = np.fft.rfft2(rng.standard_normal((n, n))) * np.exp(-2 * (np.pi * sigma) ** 2 * (ky**2 + kx**2))
    image = np.fft.irfft2(smooth, s=(n, n))
    image *= noise / image.std()
    # One source a cell of a jittered grid: none hides another, so every one has a truth to be found against.
    side = int(np.ceil(np.sqrt(n_sources)))
    cell = n / side
    where = rng.permutation(side * side)[:n_sources]
    x = (where % side + rng.uniform(0.25, 0.75, n_sources)) * cell
    y = (where // side + rng.uniform(0.25, 0.75, n_sources)) * cell
    peak = np.minimum(8 * noise / rng.uniform(0, 1, n_sources), 2.0)
    reach = int(6 * sigma) + 1
    for px, py, flux in zip(x, y, peak):
        cols = np.arange(max(int(px) - reach, 0), min(int(px) + reach + 1, n))
        rows = np.arange(max(int(py) - reach, 0), min(int(py) + reach + 1, n))
        blob = np.exp(-((cols[None, :] - px) ** 2 + (rows[:, None] - py) ** 2) / (2 * sigma**2))
        image[rows[0] : rows[-1] + 1, cols[0] : cols[-1] + 1] += flux * blob
    cards: dict[str, Any] = {"BUNIT": "JY/BEAM", "BMAJ": fwhm * pixel, "BMIN": fwhm * pixel, "BPA": 0.0, "EQUINOX": 2000.0}
    for axis, kind, value, step in ((1, "RA---SIN", 266.4, -pixel), (2, "DEC--SIN", -29.0, pixel)):
        cards |= {f"CTYPE{axis}": kind, f"CRPIX{axis}": n / 2, f"CRVAL{axis}": value, f"CDELT{axis}": step, f"CUNIT{axis}": "deg"}
    fits.writeto(path, image.astype(">f4"), fits.Header(cards), overwrite=True)
    order = np.argsort(-peak)
    return Field(Path(path), x[order], y[order], peak[order], noise)
