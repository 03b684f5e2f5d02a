"""Sources at places that are given, measured on an image: its background and noise, heights that are held, and apertures."""

from __future__ import annotations

from typing import Any

from footprint.ops.apertures import Light
from footprint.ops.base import Op
from footprint.ops.held import Held, LocalHeld
from footprint.ops.local_sources import MAPS, LocalLight
from footprint.ops.pipeline import Pipeline, Stage
from footprint.ops.search import Maps
from footprint.ops.sigma_clip import SigmaClip


def at_places(held: Held, clip: SigmaClip, maps: Maps | None, light: Light | None) -> Pipeline:
    """The pipeline of image, maps that are given, number of places, their fits, and moments and boxes where there is light."""
    kinds = ("clip", "clip") if maps is None else maps.kinds
    stages = [Stage(maps.cells, ("image",), ("cells",))] if maps is not None and "mesh" in kinds else []
    stages += [Stage(clip, ("image",), ("stats", "counts"))] if "clip" in kinds else []
    found: list[Op] = [held, *([light] if light is not None else [])]
    if maps is not None:
        how: dict[str, Any] = {"background": kinds[0], "noise": kinds[1], "size": maps.cells.size}
        found = [LocalHeld(**vars(held), **how)]
        found += [LocalLight(**vars(light), **how)] if light is not None else []
    stages += [Stage(op, *op.names()) for op in found]
    given = tuple(f"{name} map" for name, kind in zip(MAPS, kinds) if kind == "map")
    tables = ("count", "fits", *(("moments", "boxes") if light is not None else ()))
    made = {name for stage in stages for name in stage.writes}
    results = tuple(name for name in ("cells", "stats", "counts", "held", "light") if name in made)
    return Pipeline(tuple(stages), ("image", *given, *tables), results)
