"""``footprint sources IMAGE --at CATALOGUE``, and the other images of ``--measure-on``."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
import numpy as np

from footprint.cli.sources_maps import files_in
from footprint.errors import ArgumentError

# Options that mean something where nothing is searched for.
_MEANT = ("apertures", "annulus", "kappa", "blank", "background", "box", "filter_size", "shapes", "memory", "device")
# The mean of the noise in the image that kernels are loaded with.
LEVEL = 60
_WARMED = ("background", "apertures", "annulus", "device")


def check_at(command: click.Command, outputs: Mapping[str, str | None], options: Mapping[str, Any]) -> None:
    """Raise ArgumentError for what is asked for beside --at, and belongs to a search."""
    usual = {param.name: param.get_default(click.Context(command)) for param in command.params}
    for name, value in options.items():
        if name not in _MEANT and name in usual and value not in (usual[name], ()):
            said = ", ".join(value) if isinstance(value, tuple) else value
            raise ArgumentError(f"--{name.replace('_', '-')}", f"{said} together with --at", "a search for sources", "leave it out")
    for name, path in outputs.items():
        if path is not None and name != "out":
            raise ArgumentError(f"--{name.replace('_', '-')}", f"{path} together with --at", "a search for sources", "leave it out")


def _about(options: Mapping[str, Any]) -> dict[str, Any]:
    """What `measure_at` takes of a command's options."""
    known = {name: value for name, value in options.items() if name in (*_MEANT, "mask", "weight", "noise", "on_plan")}
    return known | ({"shapes": shapes_in(known["shapes"])} if "shapes" in known else {})


def shapes_in(word: str | None) -> Any:
    """The shape of all sources that an option names by three numbers; the word itself where it is "catalogue"."""
    if word is None or word == "catalogue":
        return word
    try:
        a, b, theta = map(float, word.split(","))
    except ValueError:
        a = b = theta = np.nan
    if not (a > 0 and b > 0 and np.isfinite([a, b, theta]).all()):
        wanted = "catalogue, or A,B,THETA: standard deviations in pixels and degrees from x towards y, such as 1.6,1.6,0"
        raise ArgumentError("--shapes", repr(word), wanted)
    return a, b, theta


def measured_at(job: Any, image: Any, options: Mapping[str, Any]) -> Any:
    """The table of what an image has at a catalogue's places."""
    from footprint.api.measure_at import measure_at
    from footprint.io.catalog import read_catalog

    return measure_at(image, read_catalog(job.at), **_about(options))


def plan_at(job: Any, seen: Any, source: Any, maps: Mapping[Any, Any], shapes: str | None, options: Mapping[str, Any]) -> Any:
    """The plan of that; reads the catalogue, and no pixels."""
    from footprint.api._places import places_of, shapes_of
    from footprint.api._sky import sky_of
    from footprint.api.measure_at import plan_measure_at
    from footprint.io.catalog import read_catalog

    table = read_catalog(job.at)
    sky, wide = sky_of(source), None
    if shapes is not None:
        wide = float(np.nanmax(shapes_of(shapes_in(shapes), table, places_of(table, sky), sky)[:, :2], initial=1.0))
    about = {name: value for name, value in _about(options).items() if name not in ("blank", "shapes", "kappa")}
    reading = lambda rows, dtype: max(one.host_bytes(rows, dtype) for one in (seen, *files_in(maps)))
    own = {"dtype": seen.dtype.str, "widest": wide, "streamed": True, "reading": reading, "header": source.header}
    return plan_measure_at(seen.shape, len(table), **own, **about)


def few_pixels(side: int, dtype: Any) -> np.ndarray:
    """An image of noise with one source, for loading kernels: of numbers that every dtype holds, bytes with a sign included."""
    pixels = LEVEL + 8 * np.random.default_rng(0).standard_normal((side, side))
    pixels[8:10, 8:10] = 127
    return np.clip(pixels, 0, 127).astype(dtype)


def load_at(source: Any, kinds: Mapping[str, Any]) -> None:
    """Load kernels with a job of a few pixels: what is measured after is the image's."""
    from footprint.api.measure_at import measure_at

    noise = few_pixels(128, source.dtype)
    kept = {name: kinds[name] for name in _WARMED if name in kinds}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        measure_at(noise, [(20, 20), (24, 24)], shapes=(2, 2, 0), blank="nan", header=source.header, **kept)


def open_others(files: Sequence[str], stack: ExitStack) -> dict[str, Any]:
    """The images of --measure-on by their names, every plane of a cube one: NAME_0, NAME_1 and so on."""
    from footprint.io.image import open_image, open_planes

    found: dict[str, Any] = {}
    for word in files:
        name, _, file = word.rpartition("=")
        name = name or Path(file.partition("[")[0]).name.partition(".")[0]
        _, frames, shape, _ = open_planes(file)
        frames.close()
        planes: list[Any] = list(np.ndindex(*shape[:-2])) if len(shape) > 2 else [None]
        for number, plane in enumerate(planes):
            own = f"{name}_{number}" if len(planes) > 1 else name
            if own in found:
                raise ArgumentError("--measure-on", f"two images called {own}", "a name for each", "give NAME=FILE")
            found[own] = stack.enter_context(open_image(file, plane))
    return found
