"""What is asked for together with maps of background and noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from footprint.errors import ArgumentError, nearest


def check_maps(background_map: str | None, options: Mapping[str, Any]) -> None:
    """A map that is given leaves nothing to find, and where it is no clip's nothing can be asked of the clip."""
    background = options["background"]
    if background not in ("global", "mesh"):
        fix = nearest(background, ("global", "mesh")) or "give a map as --background-map FILE"
        raise ArgumentError("--background", repr(background), "global or mesh", fix)
    if background_map is not None and background != "global":
        raise ArgumentError("--background", f"{background} together with --background-map", "one of them")
    beside = "--background-map" if background_map is not None else f"--background {background}" if background != "global" else ""
    for option, is_asked in (("--lesson", options["lesson"]), ("--maxiters", options["maxiters"] is not None)):
        if beside and is_asked:
            raise ArgumentError(option, f"it together with {beside}", "one clip of the whole image", f"leave {option} out")
