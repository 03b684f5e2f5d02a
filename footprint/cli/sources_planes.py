"""The planes of a cube: their catalogues as one, and those that hold nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from footprint.errors import FormatError

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


class Empty(FormatError):
    """An image, or a plane of a cube, without data or without noise."""


def stacked(tables: Mapping[int, Any]) -> Any:
    """The catalogues of a cube's planes, by their numbers, as one: with the plane, and what was its own, in every row."""
    from astropy.table import vstack

    for number, table in tables.items():
        table.add_column(np.full(len(table), number), name="plane", index=1)
        for name in ("background", "noise"):
            if name not in table.colnames:
                table[name] = np.full(len(table), table.meta[name])
                table[name].unit = table["peak" if "peak" in table.colnames else "fit_peak"].unit
        for name in _OF_A_PLANE:
            table.meta.pop(name, None)
    return vstack(list(tables.values()), metadata_conflicts="silent")
