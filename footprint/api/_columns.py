"""What the columns of catalogues are: in words, in the Virtual Observatory's words (UCD1+), and whether they count pixels."""

from __future__ import annotations

import re
from typing import NamedTuple

_X, _Y, _FLUX = "pos.cartesian.x;instr.pixel", "pos.cartesian.y;instr.pixel", "phot.flux.density"
_MAJOR, _MINOR, _ANGLE, _AREA = "phys.angSize.smajAxis", "phys.angSize.sminAxis", "pos.posAng", "phys.angArea;instr.pixel"
_FITTED, _LEFT = "of the fitted Gaussian", "of the fitted Gaussian without the beam"
_WIDTH, _EAST = "full width at half maximum", "position angle of the major axis, from north through east (ICRS),"
_LIGHT = "of a Gaussian as wide as the light"


class Meaning(NamedTuple):
    """A column's UCD, its description, and whether its unit is pixels."""

    ucd: str
    description: str
    pixels: bool = False


_MEANINGS = {
    "label": Meaning("meta.id;meta.main", "number of the source, and of its pixels in the label image"),
    "name": Meaning("meta.id", "name by the IAU's rules, after ra and dec"),
    "id": Meaning("meta.id", "number in the catalogue whose positions were measured"),
    "plane": Meaning("meta.number", "plane of the cube, counted from 0"),
    "island": Meaning("meta.id.parent", "number of its island; 0 for what was found in the residual image"),
    "component": Meaning("meta.id.part", "number in its island, from the brightest on"),
    "flags": Meaning(
        "meta.code",
        "sum of 1: part of an island of several, 2: at the image's edge, 4: no fit, 8: found in what the fits leave, or the "
        "fainter of a pair, 16: narrower than the beam, 32: one of a pair",
    ),
    "x": Meaning(_X, "centre of the light, counted from 0", True),
    "y": Meaning(_Y, "centre of the light, counted from 0", True),
    "ra": Meaning("pos.eq.ra;meta.main", "right ascension of the centre (ICRS)"),
    "dec": Meaning("pos.eq.dec;meta.main", "declination of the centre (ICRS)"),
    "peak": Meaning(f"{_FLUX};stat.max", "highest pixel less the background"),
    "flux": Meaning(_FLUX, "sum over the pixels less the background"),
    "npix": Meaning(_AREA, "number of pixels", True),
    "x_min": Meaning(f"{_X};stat.min", "first column of its pixels", True),
    "x_max": Meaning(f"{_X};stat.max", "last column of its pixels", True),
    "y_min": Meaning(f"{_Y};stat.min", "first row of its pixels", True),
    "y_max": Meaning(f"{_Y};stat.max", "last row of its pixels", True),
    "x_peak": Meaning(_X, "column of the highest pixel", True),
    "y_peak": Meaning(_Y, "row of the highest pixel", True),
    "a": Meaning(_MAJOR, "standard deviation of the light along its major axis", True),
    "b": Meaning(_MINOR, "standard deviation of the light along its minor axis", True),
    "theta": Meaning(_ANGLE, "angle of the major axis, from x towards y"),
    "major": Meaning(_MAJOR, f"{_WIDTH} {_LIGHT} along its major axis"),
    "minor": Meaning(_MINOR, f"{_WIDTH} {_LIGHT} along its minor axis"),
    "pa": Meaning(_ANGLE, f"{_EAST} {_LIGHT}"),
    "x_interp": Meaning(_X, "position of the peak, interpolated between pixels", True),
    "y_interp": Meaning(_Y, "position of the peak, interpolated between pixels", True),
    "peak_interp": Meaning(f"{_FLUX};stat.max", "peak, interpolated between pixels, less the background"),
    "background": Meaning("instr.background", "background at the peak"),
    "noise": Meaning("stat.stdev;instr.background", "noise at the peak"),
    "snr": Meaning("stat.snr", "peak over noise"),
    "filtered_snr": Meaning("stat.snr", "peak over noise in the filtered image"),
    "fit_x": Meaning(_X, f"centre {_FITTED}", True),
    "fit_y": Meaning(_Y, f"centre {_FITTED}", True),
    "fit_ra": Meaning("pos.eq.ra", f"right ascension {_FITTED} (ICRS)"),
    "fit_dec": Meaning("pos.eq.dec", f"declination {_FITTED} (ICRS)"),
    "fit_peak": Meaning(f"{_FLUX};stat.max", f"height {_FITTED}"),
    "fit_flux": Meaning(_FLUX, f"flux {_FITTED}, over the whole plane"),
    "fit_a": Meaning(_MAJOR, f"standard deviation {_FITTED} along its major axis", True),
    "fit_b": Meaning(_MINOR, f"standard deviation {_FITTED} along its minor axis", True),
    "fit_theta": Meaning(_ANGLE, f"angle of the major axis {_FITTED}, from x towards y"),
    "fit_major": Meaning(_MAJOR, f"{_WIDTH} {_FITTED} along its major axis"),
    "fit_minor": Meaning(_MINOR, f"{_WIDTH} {_FITTED} along its minor axis"),
    "fit_pa": Meaning(_ANGLE, f"{_EAST} {_FITTED}"),
    "fit_chi2": Meaning("stat.fit.chi2", "chi squared of the fit over degrees of freedom, as if pixels were independent"),
    "fit_npix": Meaning(_AREA, "number of pixels fitted", True),
    "deconv_a": Meaning(_MAJOR, f"standard deviation {_LEFT} along its major axis", True),
    "deconv_b": Meaning(_MINOR, f"standard deviation {_LEFT} along its minor axis", True),
    "deconv_theta": Meaning(_ANGLE, f"angle of the major axis {_LEFT}, from x towards y"),
    "deconv_major": Meaning(_MAJOR, f"{_WIDTH} {_LEFT} along its major axis"),
    "deconv_minor": Meaning(_MINOR, f"{_WIDTH} {_LEFT} along its minor axis"),
    "deconv_pa": Meaning(_ANGLE, f"{_EAST} {_LEFT}"),
    "x_win": Meaning(_X, "centre in a Gaussian window about itself", True),
    "y_win": Meaning(_Y, "centre in a Gaussian window about itself", True),
    "aper_flux": Meaning(_FLUX, "sum over the aperture"),
    "aper_area": Meaning(_AREA, "area of the aperture that has data", True),
    "aper_flags": Meaning("meta.code", "sum of 1: pixels without data, 2: beyond the image's end, 4: no data at all"),
    "kron_radius": Meaning("phys.angSize", "Kron radius in units of a and b"),
    "kron_flux": Meaning(_FLUX, "sum over the Kron ellipse"),
    "kron_flags": Meaning("meta.code", "sum of 1: pixels without data, 2: beyond the image's end, 4: no data, 8: a disc"),
}


def meaning(name: str) -> Meaning | None:
    """What a column of this name means; None where it is none of ours.

    ``_err`` is the error of what stands before it, a number behind ``aper`` that of the aperture, and what follows a known name the
    image that was measured on.
    """
    number = re.match(r"aper(\d+)_", name)
    word, image = (f"aper_{name[number.end() :]}" if number else name), ""
    while (found := _known(word)) is None:
        word, mark, last = word.rpartition("_")
        if not mark:
            return None
        image = f"{last}_{image}" if image else last
    said = found.description.replace("the aperture", f"aperture {number[1]}" if number else "the aperture")
    said += f", in the image {image}" if image else ""
    return found._replace(description=said)


def _known(word: str) -> Meaning | None:
    base = _MEANINGS.get(word.removesuffix("_err"))
    if base is None or not word.endswith("_err"):
        return base
    # Of an error the main position is none.
    return Meaning(f"stat.error;{base.ucd.removesuffix(';meta.main')}", f"error: {base.description}", base.pixels)
