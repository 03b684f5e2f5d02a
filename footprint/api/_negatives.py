"""The catalogue of what is found in the inverted image: what noise, and holes round bright sources, make."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from footprint.api._catalogue import catalogue
from footprint.api._search import Search
from footprint.api._sky import Sky
from footprint.api.sigma_clip import clip_of


def inverse(search: Search) -> Search:
    """The search of the inverted image by the same rules, with a catalogue for its only result."""
    return search.bare(inverted=True)


def beside(search: Search, rows: int | None) -> Search:
    """A search while columns of so many negatives are kept; None for as many as there is room for."""
    return replace(search, rules=replace(search.rules, beside=-1 if rows is None else rows))


def negatives(columns: dict[str, np.ndarray], search: Search, sky: Sky, blank: str, padded: bool, more: Mapping[str, Any]) -> Any:
    """The table of ``columns`` found by an `inverse`: values are the image's own, below its background."""
    for name in ("peak", "flux", "peak_interp", "filtered_snr"):
        if name not in columns:
            continue
        np.negative(columns[name], out=columns[name])
    clip = clip_of(search.stats, search.counts, search.image) if search.levels is None or search.levels.clip else None
    with warnings.catch_warnings():
        # They are those of the sources' own catalogue.
        warnings.simplefilter("ignore")
        table = catalogue(columns, search, clip, sky, blank, padded, {"inverted": True, **more})
    if "threshold" in table.meta:
        table.meta["threshold"] = 2 * table.meta["background"] - table.meta["threshold"]
    return table
