"""The header of a filtered image: where its pixels lie, what was done to it, and no beam that is not its own."""

from __future__ import annotations

import math
import warnings
from typing import Any

from footprint.api._axes import moved, sky_axes
from footprint.api._flux import by_the_beam
from footprint.api._header import add_history, beams_untold, celestial
from footprint.api._wcs import said

_BEAM = ("BMAJ", "BMIN", "BPA", "CASAMBM")


def filtered_header(
    header: Any, mask: str, shape: tuple[int, int], shift: tuple[int, int], how: str, sigma: float | None = None
) -> tuple[Any, str]:
    """The header of an image that was filtered, and a sentence about what was left out of it, if anything was.

    Parameters
    ----------
    header
        astropy's, of the image before.
    mask
        Name of the mask.
    shape
        Of the mask.
    shift
        Rows and columns that pixels have moved by: reference pixels move with them.
    how
        What was done and by whom, for the history.
    sigma
        In pixels, where the mask is a circular Gaussian whose weights add up to 1: its beam and the image's are combined.
    """
    made = header.copy()
    for axis, by in zip(sky_axes(header), shift):
        moved(made, axis, by)
    lines = [f"{how} {mask}, {shape[0]} x {shape[1]} weights"]
    note = ""
    wider = _combined(made, sigma) if sigma is not None else None
    if wider is not None:
        lines.append(f"BMAJ and BMIN were {made['BMAJ']} and {made['BMIN']}; the mask is in them now")
        made["BMAJ"], made["BMIN"] = wider
    elif shape != (1, 1):
        found = {key: said(made, key) for key in _BEAM if key in made}
        for key in found:
            del made[key]
        told = beams_untold(made)
        if found or told:
            note = "the beam (BMAJ, BMIN, BPA) is left out, as the filtered image has a different one"
            numbers = ", ".join(f"{key} {value}" for key, value in found.items())
            lines.append("the beam before was " + (numbers or "that of the CLEAN line above") + "; it is not this image's")
            if _per_beam(made):
                lines.append("the beam in BUNIT is the one before")
                if sigma is not None:
                    note += "; a mask such as beam:12arcsec gives the image that beam, and scales what is per beam"
    add_history(made, lines)
    return made, note


def _per_beam(header: Any) -> bool:
    """Whether the values are."""
    return by_the_beam(str(header.get("BUNIT", "")))


def _combined(header: Any, sigma: float) -> tuple[float, float] | None:
    """BMAJ and BMIN in degrees after a circular Gaussian; None where pixels are not square, or brightness is by the old beam."""
    from astropy.wcs.utils import proj_plane_pixel_scales

    if "BMAJ" not in header or "BMIN" not in header or "CASAMBM" in header or _per_beam(header):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sky, _ = celestial(header)
            scales = [float(scale) for scale in proj_plane_pixel_scales(sky)]
            before = [float(header[key]) for key in ("BMAJ", "BMIN")]
    except Exception:
        # There is no sky, or what the beam has is no number: it is then left out.
        return None
    if abs(scales[0] - scales[1]) > 1e-3 * scales[0] or not all(0 < width < math.inf for width in before):
        return None
    major, minor = (math.hypot(width, math.sqrt(8 * math.log(2)) * sigma * scales[0]) for width in before)
    return major, minor
