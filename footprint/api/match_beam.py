"""Convolve an image of the sky to a given beam."""

from __future__ import annotations

from typing import Any

import numpy as np

from footprint.api._arrays import Memory, described, receive, where
from footprint.api._beam import beam_mask
from footprint.api._call import Described, planned
from footprint.api._filtered import Asked, number, operation, returned
from footprint.api._header import fits_header, matched_header
from footprint.api._mask import file_mask
from footprint.api._method import made_by
from footprint.api._sides import foretold
from footprint.api._units import is_quantity, refuse_parts
from footprint.api.convolve import convolve
from footprint.errors import ShapeError
from footprint.kernels.common.borders import shows_borders
from footprint.plan.plan import Plan
from footprint.plan.slots import Given
from footprint.spec import ArraySpec


@shows_borders("boundary")
def match_beam(
    image: Any,
    header: Any,
    target: Any,
    *,
    boundary: str = "constant",
    cval: float = 0.0,
    nan: str = "propagate",
    masked: Any = None,
    method: str = "auto",
    dtype: Any = None,
    out: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> tuple[Any, Any]:
    """Convolve an image to a common Gaussian beam: the beam of the result is ``target``, and fluxes are preserved.

    The mask is the Gaussian whose covariance is the target's minus the image's, on the sky and converted by the header's pixel
    matrix, so pixels need be neither square nor upright. Its weights add up to 1 if values are per pixel, per solid angle or
    temperatures, and to the ratio of the beams' areas if they are per beam: a point source keeps its peak in Jy/beam.

    Parameters
    ----------
    image : array (n_y, n_x)
        As in `convolve`; axes of length 1 may precede these two, as in radio images, and are kept.
    header : mapping or astropy.io.fits.Header
        BMAJ, BMIN, BPA (or the last AIPS CLEAN line of its history), celestial coordinates, BUNIT.
    target : (major, minor, angle), float, str or Beam
        Full widths at half maximum in degrees (or with units) and the angle of the major axis from north through east; a number is
        a round beam. Or in words, as for the command: "12arcsec", "12x8,pa=30" (arcsec, if nothing else is said). The ``beam`` of
        an open image and radio_beam's also work.
    boundary, cval, nan, masked, method, dtype, out, memory, device
        As in `convolve`; the weights of a rotated Gaussian are not separable.

    Returns
    -------
    (array, astropy.io.fits.Header)
        The image, as `convolve` returns it, and its header: the new beam, and what was done in its history.

    Raises
    ------
    ArgumentError
        No beam, no celestial axes or no pixel size in the header; a target that does not contain the image's beam, or that differs
        from it too little for the pixels to show.

    Warns
    -----
    UserWarning
        A beam smaller than a pixel or larger than the image, as when axes are in arcseconds; a beam that is not round, without BPA.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> header = {"CTYPE1": "RA---SIN", "CTYPE2": "DEC--SIN", "CDELT1": -1e-3, "CDELT2": 1e-3, "BUNIT": "Jy/beam",
    ...           "BMAJ": 4e-3, "BMIN": 3e-3, "BPA": 30.0}
    >>> image = np.zeros((64, 64)); image[32, 32] = 1
    >>> result, made = fp.match_beam(image, header, 8e-3)
    >>> made["BMAJ"], made["BMIN"]
    (0.008, 0.008)
    """
    # An HDU has a shape, a list of them a length, and an NDData an array, which are none of an image.
    refuse_parts(image, "image", keeps_unit=True)
    if not is_quantity(image) and not hasattr(image, "shape"):
        image = receive(image, "image").data
    shape, ones = _plane(np.shape(image), "image")
    mask = beam_mask(header, target, shape, str(image.unit) if is_quantity(image) else "")
    options: dict[str, Any] = {"boundary": boundary, "cval": cval, "nan": nan, "method": method, "dtype": dtype}
    if not ones:
        result = convolve(image, mask, masked=masked, out=out, memory=memory, device=device, **options)
        return result, matched_header(fits_header(header), mask)
    whole = (*ones, *shape)
    if out is not None and np.shape(out) != whole:
        raise ShapeError("out", f"shape {np.shape(out)}", str(whole))
    image, masked, into = (one if one is None or np.ndim(one) == 2 else _inner(one, ones) for one in (image, masked, out))
    result = convolve(image, mask, masked=masked, out=into, memory=memory, device=device, **options)
    return (result.reshape(whole) if out is None else out), matched_header(fits_header(header), mask)


def _plane(shape: tuple[int, ...], name: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape of an image, and the axes of length 1 that precede it."""
    if len(shape) < 2 or any(n != 1 for n in shape[:-2]):
        plane = ", ".join("k" for _ in shape[:-2])
        fix = f"match a cube plane by plane, as image[{plane}]" if len(shape) > 2 else ""
        raise ShapeError(name, f"shape {shape}", "(n_y, n_x)", fix)
    return shape[-2:], shape[:-2]


def _inner(array: Any, ones: tuple[int, ...]) -> Any:
    """An array's last axes, a view where it has a shape."""
    held = array if hasattr(array, "shape") else np.asarray(array)
    return held[(0,) * len(ones)]


@shows_borders("boundary")
def plan_match_beam(
    shape: tuple[int, int],
    header: Any,
    target: Any,
    *,
    dtype: str = "float32",
    boundary: str = "constant",
    cval: float = 0.0,
    nan: str = "propagate",
    masked: Any = None,
    method: str = "auto",
    result: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Plan:
    """Plan `match_beam` of a C-contiguous image of this shape and dtype.

    Parameters
    ----------
    shape, dtype, boundary, cval, nan, masked, method, result, memory, device
        As in `plan_convolve`.
    header, target
        As in `match_beam`.

    Returns
    -------
    Plan
        Its inputs are the image and the mask, then ``masked``.

    Examples
    --------
    >>> import footprint as fp
    >>> header = {"CTYPE1": "RA---SIN", "CTYPE2": "DEC--SIN", "CDELT1": -1e-3, "CDELT2": 1e-3, "BMAJ": 4e-3, "BMIN": 4e-3}
    >>> fp.plan_match_beam((512, 512), header, 8e-3, device="cpu").n_parts
    1
    """
    spec, given = described(shape, dtype)
    spec = ArraySpec(_plane(spec.shape, "shape")[0], spec.dtype)
    mask = beam_mask(header, target, spec.shape)
    how, beside = Asked.of("same", boundary, result, nan, name="result"), (masked, None)
    op, weights = operation(spec, mask.shape, how, number(cval), beside=beside)
    sides = [] if masked is None else [foretold("masked", masked, spec.shape)]
    made = Described(returned(op.out_specs(spec, weights, *(one.spec for one in sides))[0], how.result), Given())
    way = made_by(method, op, spec, file_mask(mask, weights.dtype), where(device), memory)
    return planned("convolve", way.op, [Described(spec, given), *way.rest, *sides], [made], where(device), memory)
