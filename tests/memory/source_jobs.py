"""Jobs of the memory tests that take sources apart and fit them, and images they share; `tests.memory.jobs` runs them."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from astropy.io import fits

import footprint as fp

Job = tuple[Callable[[Any], Any], Callable[[Any], Any]]


def foreign_image(scale: int) -> np.ndarray:
    """Big-endian noise with sources, so that the plan must own converted rows."""
    x = np.random.default_rng(1).standard_normal((512 * scale, 1024), np.float32)
    x[8::64, 8::64] += 50
    return x.astype(">f4")


# A beam of three pixels.
BEAM = {"CTYPE1": "RA---SIN", "CTYPE2": "DEC--SIN", "CDELT1": -1e-3, "CDELT2": 1e-3, "CRVAL1": 40.0, "CRVAL2": -20.0}
BEAM |= {"CRPIX1": 1.0, "CRPIX2": 1.0, "BUNIT": "Jy/beam", "BMAJ": 3e-3, "BMIN": 3e-3}


def opened(values: np.ndarray, cards: dict[str, Any] | None = None) -> Any:
    """The image as an open FITS file: what is read into blocks of its own dtype is staged nowhere."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    fits.writeto(Path(folder) / "image.fits", values, fits.Header((cards or {}).items()))
    return fp.open_image(Path(folder) / "image.fits")


def deblended(scale: int) -> Job:
    source = opened(foreign_image(scale))
    rules: dict[str, Any] = {"deblend": True, "fit": "gaussian", "sigma": 4.0, "flood": 3.2, "device": "cpu"}
    rules |= {"apertures": [3, 5], "kron": True, "windowed": 5}
    options = {"streamed": True, "reading": source.host_bytes, **rules}
    return (
        lambda memory: fp.plan_find_sources(source.shape, dtype=source.dtype.str, memory=memory, **options),
        lambda memory: fp.find_sources(source, memory=memory, **rules),
    )


def searched_twice(scale: int) -> Job:
    """What the fits leave is searched, and kept."""
    source, about = opened(foreign_image(scale)), {"deblend": True, "fit": "gaussian", "residual": True, "device": "cpu"}
    # With room for what the image has, whatever the budget.
    rules: dict[str, Any] = {"sigma": 4.5, "flood": 4.0, "noise": "mesh", "capacity": 200 * scale, **about}
    options = {"streamed": True, "reading": source.host_bytes, "save_residual": True, **rules}
    rest = _Nowhere()
    return (
        lambda memory: fp.plan_find_sources(source.shape, dtype=source.dtype.str, memory=memory, **options),
        lambda memory: fp.find_sources(source, save_residual=rest, memory=memory, **rules),
    )


def parted(scale: int) -> Job:
    """Windows of what the fits leave, and what they are fitted with."""
    source = opened(foreign_image(scale), BEAM)
    rules: dict[str, Any] = {"sigma": 4.5, "flood": 4.0, "noise": "mesh", "capacity": 200 * scale, "deblend": True, "pairs": True}
    rules |= {"fit": "gaussian", "residual": True, "device": "cpu"}
    options = {"streamed": True, "reading": source.host_bytes, "header": source.header, **rules}
    return (
        lambda memory: fp.plan_find_sources(source.shape, dtype=source.dtype.str, memory=memory, **options),
        lambda memory: fp.find_sources(source, memory=memory, **rules),
    )


class _Nowhere:
    """Takes rows and keeps none."""

    def write(self, rows: slice, block: np.ndarray) -> None:
        pass


def reliable(scale: int) -> Job:
    """Four searches through a filter, two of the inverted image, whose catalogue is kept."""
    about: dict[str, Any]
    source, about = opened(foreign_image(scale)), {"reliability": 0.9, "flood": 4.0, "background": "mesh", "device": "cpu"}
    about |= {"negatives": True, "matched_filter": 3}
    options: dict[str, Any] = {"streamed": True, "reading": source.host_bytes, **about}
    return (
        lambda memory: fp.plan_find_sources(source.shape, dtype=source.dtype.str, memory=memory, **options),
        lambda memory: fp.find_sources(source, memory=memory, **about),
    )


def islands_fitted(scale: int) -> Job:
    """Islands of a low flood, as they are: noise has many times the components that there is room for."""
    source = opened(foreign_image(scale))
    rules: dict[str, Any] = {"fit": "gaussian", "sigma": 5.0, "flood": 2.0, "capacity": 200 * scale, "device": "cpu"}
    options = {"streamed": True, "reading": source.host_bytes, **rules}
    return (
        lambda memory: fp.plan_find_sources(source.shape, dtype=source.dtype.str, memory=memory, **options),
        lambda memory: fp.find_sources(source, memory=memory, **rules),
    )


def deblended_mesh(scale: int) -> Job:
    """With maps of a part, the background kept."""
    x, level = foreign_image(scale), np.ones((512 * scale, 1024), "f4")
    about: dict[str, Any] = {
        "background": "mesh",
        "box": 32,
        "deblend": True,
        "sigma": 4.0,
        "flood": 3.2,
        "fit": "gaussian",
        "device": "cpu",
    }
    return (
        lambda memory: fp.plan_find_sources(x.shape, dtype=">f4", save_background=True, memory=memory, **about),
        lambda memory: fp.find_sources(x, save_background=level, memory=memory, **about),
    )


def apertures(scale: int) -> Job:
    """At places that are given, over a map of the noise, from a file."""
    source, noise = opened(foreign_image(scale)), np.ones((512 * scale, 1024), "f4")
    at = np.random.default_rng(2).uniform(0, 1024, (4000 * scale, 2))
    about: dict[str, Any] = {"radii": [3, 5], "annulus": (7, 9), "device": "cpu"}
    options: dict[str, Any] = {"streamed": True, "reading": source.host_bytes, "noise": "map", **about}
    return (
        lambda memory: fp.plan_apertures(source.shape, len(at), dtype=source.dtype.str, memory=memory, **options),
        lambda memory: fp.apertures(source, at, noise=noise, memory=memory, **about),
    )


def measured_elsewhere(scale: int) -> Job:
    """What is found on one file is measured on two others."""
    images, about = [opened(foreign_image(scale)) for _ in range(3)], {"deblend": True, "fit": "gaussian", "apertures": [3]}
    rules: dict[str, Any] = {"sigma": 4.0, "flood": 3.2, "capacity": 600 * scale, "device": "cpu", **about}
    options = {"streamed": True, "reading": images[0].host_bytes, "measure_on": 2, **rules}
    return (
        lambda memory: fp.plan_find_sources(images[0].shape, dtype=images[0].dtype.str, memory=memory, **options),
        lambda memory: fp.find_sources(images[0], measure_on={"b": images[1], "c": images[2]}, memory=memory, **rules),
    )


def measured_at(scale: int) -> Job:
    """Heights of Gaussians whose places are given, over a mesh, and apertures about them."""
    source, count = opened(foreign_image(scale)), 2000 * scale
    at = 16.3 * np.stack([np.arange(count) % 62, np.arange(count) // 62], 1)
    about: dict[str, Any] = {"background": "mesh", "apertures": [3], "device": "cpu"}
    options: dict[str, Any] = {"streamed": True, "reading": source.host_bytes, "widest": 2.0, **about}
    return (
        lambda memory: fp.plan_measure_at(source.shape, count, dtype=source.dtype.str, memory=memory, **options),
        lambda memory: fp.measure_at(source, at, shapes=(2.0, 2.0, 0.0), memory=memory, **about),
    )


JOBS: dict[str, Callable[[int], Job]] = {
    "apertures": apertures,
    "measured_at": measured_at,
    "measured_elsewhere": measured_elsewhere,
    "deblended": deblended,
    "deblended_mesh": deblended_mesh,
    "islands_fitted": islands_fitted,
    "reliable": reliable,
    "parted": parted,
    "searched_twice": searched_twice,
}
