"""The catalogue as an astropy Table: columns, units, positions, and what was done to get them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from footprint.api._errors import noise_of_centres, noise_of_sums
from footprint.api._fit import describe_fits
from footprint.api._light import describe_light
from footprint.api._search import Search
from footprint.api._sky import Sky
from footprint.api._table import table_of
from footprint.api.sigma_clip import Clip
from footprint.errors import ArgumentError
from footprint.kernels.sigma_clip.contract import BACKGROUND, NOISE


def check_noise(clip: Clip, found: int) -> None:
    """A noise of 0 is never a threshold: whatever differs from most pixels would be a source."""
    if clip.std > 0 or not found:
        return
    fix = "give blank='zero' where zeros mean no data" if clip.median == 0 else "give an image that has noise"
    raise ArgumentError("image", f"noise 0, as most of its pixels are {clip.median:.6g}", "a noise above 0", fix)


def catalogue(
    columns: dict[str, np.ndarray],
    search: Search,
    clip: Clip | None,
    sky: Sky,
    blank: str,
    padded: bool,
    more: Mapping[str, Any],
) -> Any:
    """The table of what was found, with units and positions where they are known; warns of what a user has to know.

    Parameters
    ----------
    columns, sky
        What was measured, and where it lies.
    search
        What was done.
    clip
        Of the whole image, where it was clipped.
    blank, padded
        What means no data, and whether zeros were found to.
    more
        What else its metadata say.
    """
    told_by, levels = search.rules.told(), search.levels
    typical = levels.typical if levels is not None else {}
    background, noise = (typical.get(name, float(search.stats[at])) for name, at in (("background", BACKGROUND), ("noise", NOISE)))
    here = columns.get("noise", noise)
    with np.errstate(invalid="ignore", divide="ignore"):
        columns["snr"] = columns["peak"] / here
        columns["flux_err"] = noise_of_sums(columns["npix"], sky.beam_area)
        columns["flux_err"] *= here
        columns["x_err"] = noise_of_centres(columns["npix"], sky.beam_area)
        columns["x_err"] *= here / np.abs(columns["flux"])
    columns["y_err"] = columns["x_err"].copy()
    table = table_of(columns)
    table.meta.update(background=background, noise=noise)
    if levels is None:
        level, spread = background, noise
        if search.rules.smooth is not None:
            level, spread = (float(search.filtered[at]) for at in (BACKGROUND, NOISE))
            table.meta["filtered_noise"] = spread
        table.meta["threshold"] = level + told_by["flood"] * spread
    else:
        table.meta.update(levels.tell())
    table.meta.update({name: told_by[name] for name in ("sigma", "flood", "kappa") if name in told_by})
    table.meta.update(more)
    if clip is not None:
        table.meta.update(
            clip_mean=clip.mean,
            clip_median=clip.median,
            clip_std=clip.std,
            clip_count=clip.count,
            clip_iterations=clip.iterations,
        )
    table.meta.update({name: told_by[name] for name in ("connectivity", "min_area")}, blanks=blank)
    of_parts = ("contrast", "prominence", "prominence_beamed", "beamed_min", "beamed_max")
    table.meta.update({name: told_by[name] for name in of_parts if name in told_by})
    told = ["zeros mean no data here, as the image is padded with them; blank='nan' measures them"] if padded else []
    told += sky.describe(table)
    describe_fits(table, sky)
    describe_light(table, sky, search.light)
    for one in search.others:
        one.describe(table)
    if told:
        table.meta["warnings"] = "; ".join(told)
    for sentence in told:
        warnings.warn(sentence, UserWarning, stacklevel=3)
    return table
