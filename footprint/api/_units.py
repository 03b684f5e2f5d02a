"""Arrays that carry more than numbers: astropy's Quantity and NDData. What a verb cannot honour it refuses."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from footprint.backend.arrays import kind_of as kind_of_library
from footprint.errors import ArgumentError
from footprint.units import kind_of


@functools.lru_cache(64)
def _is_of(kind: type, module: str) -> bool:
    """Whether a type is, or comes from, one of a module, which is not imported for it; asked in every call."""
    return any(one.__module__.startswith(module) for one in kind.__mro__)


def is_masked_array(array: Any) -> bool:
    """Whether it is a masked array of NumPy's: whoever has one has loaded their module, which takes as long as planning a job."""
    return "numpy.ma" in sys.modules and isinstance(array, np.ma.MaskedArray)


def first_of(hdus: Any) -> str:
    """How the first HDU of a list that has an image is called."""
    has = (i for i, hdu in enumerate(hdus) if getattr(hdu, "is_image", False) and len(hdu.shape) > 1)
    return f"hdus[{next(has, 0)}]"


def unmasked(array: Any) -> tuple[Any, Any]:
    """An array without its mask, and the mask, of NumPy's masked arrays and astropy's; None where it has none."""
    if is_masked_array(array):
        return array.data, None if array.mask is np.ma.nomask else array.mask
    if _is_of(type(array), "astropy.utils.masked"):  # type: ignore[arg-type]
        return array.unmasked, np.asarray(array.mask)
    return array, None


# Arguments that are written to, in which 0 is nothing, and that are filtered or measured pixel by pixel, where NaN says no data.
_WRITTEN, _OF_NOTHING = ("out", "output", "dst", "residual"), ("mask", "labels", "weight", "other")
_PIXELS = ("image", "input", "array")


def refuse_masked(array: Any, name: str) -> None:
    """Raise where elements are masked, which nothing looks at; what would be right in their place the argument and dtype say."""
    mask = unmasked(array)[1]
    if mask is None or not mask.any():
        return
    kind = array.dtype.kind
    if name in _WRITTEN:
        fix = "give array.data, where all is written to"
    elif name == "masked":
        fix = "give array.filled(True), which leaves those elements out"
    elif kind == "b":
        fix = "give array.filled(False)"
    elif name in _OF_NOTHING:
        fix = "give array.filled(0)"
    elif name in _PIXELS:
        fix = "give array.filled(numpy.nan)" if kind in "fc" else "give array.astype(float).filled(numpy.nan)"
    else:
        fix = "give array.filled(value), with the number that is to stand there"
    raise ArgumentError(name, "a masked array, whose mask would be ignored", "a plain one", fix)


def refuse_within(values: Any, name: str) -> None:
    """Raise where a list holds arrays that are refused by themselves: NumPy would drop their masks, or compute them."""
    for one in values:
        if type(one) in (list, tuple):
            refuse_within(one, name)
        elif hasattr(one, "shape") and type(one) is not np.ndarray and not isinstance(one, np.generic):
            if kind_of_library(one).later:
                got = f"a list of {type(one).__name__}s that are still to be computed"
                raise ArgumentError(name, got, "an array in memory", "dask.array.stack makes one of them; give its .compute()")
            if hasattr(one, "host_bytes"):
                raise ArgumentError(name, f"a list of {type(one).__name__}s", "an array", "give one array of what is in them")
            refuse_masked(one, name)
            refuse_more(one, name)


def is_quantity(array: Any) -> bool:
    """Whether it is astropy's Quantity; astropy is not imported for it."""
    return _is_of(type(array), "astropy.units.quantity")  # type: ignore[arg-type]


def bare(values: Any, name: str, unit: str = "") -> Any:
    """Values without a unit: those of a Quantity in ``unit``, as astropy calls it; of a table that has none, units are refused."""
    if isinstance(values, list | tuple) and values and is_quantity(values[0]):
        raise ArgumentError(name, "a list of Quantities", "one array of numbers", "astropy.units.Quantity makes one of them")
    if isinstance(values, list | tuple):
        refuse_within(values, name)
    if not is_quantity(values) or not str(values.unit):
        return values
    try:
        return values.to_value(unit)
    except ValueError as error:  # astropy's UnitConversionError
        wanted = f"one that can be had in {unit}" if unit else "numbers without a unit"
        raise ArgumentError(name, f"a Quantity in {values.unit}", wanted) from error


def refuse_more(array: Any, name: str) -> None:
    """Raise where an array has a unit, a mask or uncertainties, which the result would lack."""
    if is_quantity(array):
        if str(array.unit):
            raise ArgumentError(
                name, f"a Quantity in {array.unit}, whose unit the result would lack", "a plain array", "give its .value"
            )
        return
    refuse_parts(array, name)


def refuse_parts(array: Any, name: str, mask: str = "filled where its .mask is set", keeps_unit: bool = False) -> None:
    """Raise where what of astropy's is no array itself holds one, and with it what the result would lack.

    Parameters
    ----------
    array, name
        As it is given.
    mask
        What is to be done about a mask: to fill it by NaN is right only where NaN is left out.
    keeps_unit
        Whether the result has the unit of a Quantity.
    """
    kind: Any = type(array)
    if _is_of(kind, "astropy.io.fits.hdu.hdulist"):
        raise ArgumentError(name, "an HDUList", "the array of one of its HDUs", f"give {first_of(array)}.data")
    if _is_of(kind, "astropy.nddata.nduncertainty"):
        deviation = getattr(array, "uncertainty_type", "std") == "std" or name != "noise"
        way = ".array" if deviation else ".represent_as(astropy.nddata.StdDevUncertainty).array"
        raise ArgumentError(name, kind_of(array), "a plain array", f"give its {way}")
    if _is_of(kind, "astropy.io.fits.hdu"):
        raise ArgumentError(name, kind_of(array), "an array", "give its .data")
    if not _is_of(kind, "astropy.nddata"):
        return
    lost = [part for part in ("mask", "uncertainty") if getattr(array, part, None) is not None]
    fixes = ["give its .data", mask] if "mask" in lost else ["give its .data"]
    if str(getattr(array, "unit", None) or ""):
        lost.insert(0, "unit")
        if keeps_unit:
            fixes[0] += ", or its .data << its .unit to keep the unit"
    if lost:
        *first, last = lost
        what = f"{kind_of(array)} with {' and '.join(filter(None, (', '.join(first), last)))}, which the result would lack"
        raise ArgumentError(name, what, "a plain array", ", ".join(fixes))


def plain(array: Any, name: str, unit: Any = None) -> tuple[Any, Any]:
    """Numbers and unit of an array, the unit None where there is none; in ``unit`` where one is given."""
    if not is_quantity(array):
        if unit is not None:
            raise ArgumentError(name, f"{type(array).__name__} without a unit", f"a Quantity in {unit}, as the image has a unit")
        return array, None
    if unit is None:
        return array.value, array.unit
    try:
        return array.to_value(unit), unit
    except ValueError as error:  # astropy's UnitConversionError
        raise ArgumentError(name, f"a Quantity in {array.unit}", f"one in {unit}") from error


def in_unit(unit: Any, of_image: Any, outside: Any, out: Any, run: Callable[[Any, Any], Any], names: tuple[str, str]) -> Any:
    """The result of ``run(outside, out)``, which sees numbers alone, in a unit.

    A constant outside the image is brought to the image's unit where it has one of its own, and ``out`` must have the result's.
    ``names`` are those of the two arguments.
    """
    if of_image is not None and is_quantity(outside):
        outside, _ = plain(outside, names[0], of_image)
    if out is None:
        return run(outside, None) << unit
    if not is_quantity(out) or out.unit != unit:
        got = f"a Quantity in {out.unit or 'no unit'}" if is_quantity(out) else type(out).__name__
        raise ArgumentError(names[1], got, f"a Quantity in {unit or 'no unit'}, the result's unit")
    run(outside, out.value)
    return out
