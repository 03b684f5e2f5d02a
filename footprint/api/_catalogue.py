"""The catalogue of what was found: columns, units, positions, and what was done to get them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from footprint.api._blank import PADDED
from footprint.api._errors import noise_of_both, stretch_centres
from footprint.api._fit import describe_fits
from footprint.api._header import doubtful_beam
from footprint.api._light import describe_light
from footprint.api._search import Search
from footprint.api._sky import Sky
from footprint.api._table import Columns
from footprint.api.sigma_clip import Clip
from footprint.errors import ArgumentError, warn
from footprint.kernels.sigma_clip.contract import BACKGROUND, NOISE
from footprint.ops.search import BEAMED


def check_noise(clip: Clip, found: int) -> None:
    """A noise of 0 is never a threshold: whatever differs from most pixels would be a source."""
    if clip.std > 0 or not found:
        return
    fix = "give blank='zero' if zeros mean no data" if clip.median == 0 else "give an image that has noise"
    raise ArgumentError("image", f"a measured noise of 0, because most pixels are {clip.median:.6g}", "a noise above 0", fix)


def _doubtful(noise: float, clipped: bool, beam: float | None, pixels: int) -> list[str]:
    """What makes a catalogue empty or its fluxes wrong, and is seldom meant: the typical noise, and the beam's area in pixels.

    Noise that was ``clipped``, of the whole image, is NaN where sums of squares overflow.
    """
    if clipped and np.isnan(noise):
        return ["nothing is found, as squares of the image's values are too large for their noise: divide it by a large number"]
    told = [] if noise > 0 else ["the noise is not above 0 in most of the image, and nothing is found there"]
    doubt = doubtful_beam(beam, pixels)
    return [*told, doubt] if doubt else told


def catalogue(
    found: dict[str, np.ndarray],
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
    found, sky
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
    here = found.get("noise", noise)
    with np.errstate(invalid="ignore", divide="ignore"):
        found["snr"] = found["peak"] / here
        found["flux_err"], found["x_err"] = noise_of_both(found["npix"], sky.beam_area)
        found["flux_err"] *= here
        found["x_err"] *= here / np.abs(found["flux"])
    if search.rules.residual:
        # The fainter of a pair has no pixels of its own: its fits tell.
        for name in ("flux_err", "x_err"):
            found[name][found["npix"] == 0] = np.nan
    found["y_err"] = stretch_centres(found)
    meta: dict[str, Any] = {"background": background, "noise": noise}
    if levels is None:
        level, spread = background, noise
        if search.rules.smooth is not None:
            level, spread = (float(search.filtered[at]) for at in (BACKGROUND, NOISE))
            meta["filtered_noise"] = spread
        meta["threshold"] = level + told_by["flood"] * spread
    else:
        meta |= levels.tell()
    meta |= {name: told_by[name] for name in ("sigma", "flood", "kappa") if name in told_by}
    meta |= more
    if clip is not None:
        meta.update(
            clip_mean=clip.mean,
            clip_median=clip.median,
            clip_std=clip.std,
            clip_count=clip.count,
            clip_iterations=clip.iterations,
        )
    meta |= {"connectivity": told_by["connectivity"], "min_area": told_by["min_area"], "blanks": blank}
    meta |= {name: told_by[name] for name in ("contrast", "prominence", "prominence_beamed", *BEAMED) if name in told_by}
    meta |= search.tell()
    columns = Columns(found, {"theta": "deg"}, meta=meta)
    told = [PADDED] if padded else []
    told += _doubtful(noise, search.levels is None, sky.beam_area, search.image.spec.size)
    told += sky.describe(columns)
    describe_fits(columns, sky)
    describe_light(columns, sky, search.light)
    told += search.light.wide(search.image.spec.shape) if search.light is not None else []
    for one in search.others:
        told += one.describe(columns)
    if told:
        meta["warnings"] = "; ".join(told)
    for sentence in told:
        warn(sentence)
    return columns.table()
