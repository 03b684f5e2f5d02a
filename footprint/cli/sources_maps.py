"""Maps of background and noise, which may be numbers, and what is asked for together with them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from footprint.errors import ArgumentError, nearest


def check_maps(background_map: str | None, options: Mapping[str, Any]) -> None:
    """A map that is given leaves nothing to find, and where it is no clip's nothing can be asked of the clip."""
    background = options["background"]
    if background not in ("global", "mesh"):
        fix = nearest(background, ("global", "mesh")) or "give a map as --background-map FILE"
        if not Path(background).exists() and _is_number(background):
            fix = f"give the number for all pixels as --background-map {background}"
        raise ArgumentError("--background", repr(background), "global or mesh", fix)
    if background_map is not None and background != "global":
        raise ArgumentError("--background", f"{background} together with --background-map", "one of them")
    beside = "--background-map" if background_map is not None else f"--background {background}" if background != "global" else ""
    for option, is_asked in (("--lesson", options["lesson"]), ("--maxiters", options["maxiters"] is not None)):
        if beside and is_asked:
            raise ArgumentError(option, f"it together with {beside}", "one clip of the whole image", f"leave {option} out")


def _is_number(word: str) -> bool:
    try:
        return math.isfinite(float(word))
    except ValueError:
        return False


def level_of(word: str, name: str) -> float | None:
    """The number that stands for a map of that name; None where the word is a file's."""
    try:
        level = None if Path(word).exists() else float(word)
    except ValueError:
        return None
    if level is not None and not (math.isfinite(level) and (level > 0 or name == "background")):
        wanted = f"a file, or a {'number above 0' if name == 'noise' else 'finite number'}"
        raise ArgumentError(f"--{name}-map", word, wanted)
    return level


def files_in(maps: Mapping[Any, Any]) -> list[Any]:
    """Those of the maps that are read from files."""
    return [one for one in maps.values() if not isinstance(one, float)]


@dataclass(frozen=True)
class Readers:
    """Images that are read, as one of which a plan asks what reading takes."""

    images: tuple[Any, ...]

    def host_bytes(self, n_rows: int, dtype: str) -> int:
        """What the one that takes most does."""
        return max(one.host_bytes(n_rows, dtype) for one in self.images)

    def lean(self) -> bool:
        """Ask all to hold nothing."""
        leaner = [one.lean() for one in self.images]
        return any(leaner)
