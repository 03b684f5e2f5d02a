"""The planes of a cube: which are asked for, their catalogues as one, and those that hold nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from footprint.errors import ArgumentError, FormatError

# What is in every row where planes differ in it.
_BEAM = ("beam_major", "beam_minor", "beam_angle", "beam_area")
# What the planes of a cube have each their own.
_OF_A_PLANE = (
    "background",
    "noise",
    "filtered_noise",
    "threshold",
    "clip_mean",
    "clip_median",
    "clip_std",
    "clip_count",
    "clip_iterations",
)


def plane_of(word: str | None) -> int | str | None:
    """A plane's number; "all", or numbers and ranges such as 0:10,20, as they are written."""
    if word is None or word == "all":
        return word
    try:
        return int(word)
    except ValueError:
        _numbers(word, 0)
        return word


def _numbers(word: str, count: int) -> list[int]:
    """The planes that numbers and ranges name, ends excluded, in the cube's order; ranges without an end reach to ``count``."""
    found: set[int] = set()
    try:
        for part in word.split(","):
            first, *more = (int(end) if end.strip() else None for end in part.split(":"))
            if len(more) > 2 or any(end is not None and end < 0 for end in (first, *more)) or (not more and first is None):
                raise ValueError
            found |= set(range(*slice(first, *more).indices(max(count, more[0] or 0)))) if more else {first}  # type: ignore[arg-type]
    except ValueError:
        wanted = "numbers counted from 0 and ranges, such as 3, 0:10 or 0:10,20 (10 excluded), or all"
        raise ArgumentError("--plane", repr(word), wanted) from None
    return sorted(found)


def planes_of(image: str, plane: int | str | None) -> dict[int, tuple[int, ...] | int | None]:
    """The planes of a file that are looked at, by their numbers in it, as `open_image` takes them."""
    from footprint.io.image import open_planes

    if plane is None:
        return {0: None}
    _, frames, shape, _ = open_planes(image)
    frames.close()
    places = list(np.ndindex(*shape[:-2])) if len(shape) > 2 else [None]
    if plane == "all":
        return dict(enumerate(places))
    numbers = _numbers(str(plane), len(places))
    if not numbers or numbers[-1] >= len(places):
        got = f"{plane}, of which none is a plane" if not numbers else f"{plane}, which names plane {numbers[-1]}"
        raise ArgumentError("--plane", got, f"planes from 0 to {len(places) - 1}, as {image} has them")
    return {number: places[number] for number in numbers}


class Empty(FormatError):
    """An image, or a plane of a cube, without data or without noise."""


def check_noise(image: str, table: Any) -> None:
    """Raise where nothing is found because there is no noise, however it was measured; noise that was given is the user's."""
    if len(table) or table.meta["noise"] != 0:
        return
    if "threshold" in table.meta:
        value = f"every pixel kept by the clip is {table.meta['background']:.6g}"
        raise Empty(image, f"has neither noise nor sources ({value})", "give an image that is not constant")
    if table.meta["noise_by"] == "mesh":
        value = "the noise is 0 in most cells of the mesh, and nothing is found in the others"
        raise Empty(image, f"has neither noise nor sources ({value})", "give an image that has noise, or --noise-map")


def stacked(tables: Mapping[int, Any]) -> Any:
    """The catalogues of a cube's planes, by their numbers in it, as one: with the plane, and what was its own, in every row."""
    from astropy.table import vstack

    for number, table in tables.items():
        table.add_column(np.full(len(table), number), name="plane", index=1)
        for name in ("background", "noise"):
            if name not in table.colnames:
                table[name] = np.full(len(table), table.meta[name])
                table[name].unit = next((table[peak].unit for peak in ("peak", "fit_peak") if peak in table.colnames), None)
        for name in _OF_A_PLANE:
            table.meta.pop(name, None)
    _each_its_own_beam(list(tables.values()))
    return vstack(list(tables.values()), metadata_conflicts="silent")


def _each_its_own_beam(tables: list[Any]) -> None:
    """Beams that differ from plane to plane are columns, and what was derived of them is no property of the whole."""
    beams = [[table.meta.get(name, np.nan) for name in _BEAM] for table in tables]
    if all(np.array_equal(beam, beams[0], equal_nan=True) for beam in beams):
        return
    for table, beam in zip(tables, beams):
        for name, value in zip(_BEAM, beam):
            table[name] = np.full(len(table), value)
            table[name].unit = None if name == "beam_area" else "deg"
    for name in {name for table in tables for name in table.meta}:
        if name in _BEAM or any(repr(table.meta.get(name)) != repr(tables[0].meta.get(name)) for table in tables):
            for table in tables:
                table.meta.pop(name, None)
