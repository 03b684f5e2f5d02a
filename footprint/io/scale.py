"""How large pixels are, as files say it: TIFF's resolution, the words of ImageJ and OME, the axes of OME-Zarr, dots per inch."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from footprint.errors import ArgumentError

# By the names of OME-Zarr: metres, what OME-XML and ImageJ call it, and what else is written for it.
_UNITS: dict[str, tuple[float, str, tuple[str, ...]]] = {
    "meter": (1.0, "m", ("metre", "meters", "metres")),
    "centimeter": (1e-2, "cm", ("centimetre", "centimeters")),
    "millimeter": (1e-3, "mm", ("millimetre", "millimeters")),
    "micrometer": (1e-6, "\u00b5m", ("um", "\u03bcm", "\\u00b5m", "micron", "microns", "micrometre", "micrometers")),
    "nanometer": (1e-9, "nm", ("nanometre", "nanometers")),
    "picometer": (1e-12, "pm", ("picometre",)),
    "angstrom": (1e-10, "\u00c5", ("\u212b", "\\u00c5", "a")),
    "inch": (0.0254, "in", ("inches", "in.")),
}
_NAMES = {word.lower(): name for name, (_, symbol, words) in _UNITS.items() for word in (name, symbol, *words)}
# What TIFF counts in, by its own numbers.
_TIFF = {2: "inch", 3: "centimeter"}
# What it is called in a description that is plain ASCII.
_ASCII = {"micrometer": "um", "angstrom": "A", "inch": "inch"}
# Pixels an inch that JPEG has room for, and PNG, which counts them by the metre.
_MOST = {"jpeg": 65535, "png": int((2**31 - 1) * 0.0254)}
# What OME-XML has no word for.
_NOT_OME = ("float16", "int64", "uint64")


@dataclass(frozen=True)
class Scale:
    """Sizes of pixels.

    Attributes
    ----------
    y, x
        Of a pixel, in ``unit``.
    z
        From frame to frame; None where that is not known, or frames are not along z.
    unit
        As OME-Zarr calls it: "micrometer", "inch" and so on.
    frames
        What frames are along: "Z", or "T" where that is another axis or are several.
    """

    y: float
    x: float
    z: float | None = None
    unit: str = "micrometer"
    frames: str = "Z"

    def within(self, unit: str) -> Scale:
        """The same in another unit."""
        if unit == self.unit:
            return self
        by = _UNITS[self.unit][0] / _UNITS[unit][0]
        return Scale(self.y * by, self.x * by, None if self.z is None else self.z * by, unit, self.frames)

    def along(self, axes: Sequence[str]) -> Scale:
        """The same, of which frames are along these axes; what has no name counts as z, of which the step is not known."""
        z = self.z if set(axes) <= {"Z"} else None
        return replace(self, z=z, frames="Z" if len(axes) < 2 and set(axes) <= {"Z", "Q", "I"} else "T")

    @property
    def dpi(self) -> tuple[float, float]:
        """Pixels an inch along x and y, as pictures count them."""
        inches = self.within("inch")
        return 1 / inches.x, 1 / inches.y


def scale_of(y: Any, x: Any, z: Any = None, units: tuple[Any, Any, Any] = (None, None, None)) -> Scale | None:
    """Sizes along y, x and z with units as they are written somewhere; None where they make no sense."""
    named = [_NAMES.get(str(unit).strip().lower()) for unit in units]
    unit = named[1]
    if unit is None:
        return None
    sizes = []
    for size, name in zip((y, x, z), named):
        try:
            value = math.nan if size is None or name is None else float(size)
        except (TypeError, ValueError, OverflowError):
            value = math.nan
        by = 1.0 if name in (unit, None) else _UNITS[str(name)][0] / _UNITS[unit][0]
        sizes.append(value * by if 0 < value < math.inf else None)
    return None if sizes[0] is None or sizes[1] is None else Scale(sizes[0], sizes[1], sizes[2], unit)


def of_tiff(file: Any, series: Any) -> Scale | None:
    """What a TIFF file, and who wrote it, says of its first series; None where it says nothing, or nothing that makes sense."""
    try:
        return _of_tiff(file, series)
    except Exception:  # of a parser that is fed damaged bytes; the pixels may be sound
        return None


def _of_tiff(file: Any, series: Any) -> Scale | None:
    lead = [axis for axis, n in zip(series.axes[:-2], series.shape[:-2]) if n > 1]
    if file.is_ome and (found := _of_ome(file.ome_metadata or "")) is not None:
        return found.along(lead)
    page = series.keyframe
    x, y = (page.tags.get(name) for name in ("XResolution", "YResolution"))
    if x is None or y is None:
        return None
    # A rational without a denominator is damaged.
    x, y = (tag.value[1] / tag.value[0] if all(tag.value) else None for tag in (x, y))
    words = file.imagej_metadata or {} if file.is_imagej else {}
    unit = words.get("unit") or _TIFF.get(int(getattr(page.tags.get("ResolutionUnit"), "value", 2)))
    units = words.get("yunit") or unit, unit, words.get("zunit") or unit
    found = scale_of(y, x, words.get("spacing"), units)
    return None if found is None else found.along(lead)


def _of_ome(xml: str) -> Scale | None:
    """Of the first image that OME-XML describes: its attributes alone, as what is in them may be long."""
    found = re.search(r"<(?:\w+:)?Pixels\b([^>]*)>", xml)
    said = {name: html.unescape(value) for name, value in re.findall(r'(PhysicalSize\w+)="([^"]*)"', found[1])} if found else {}
    y, x, z = ((said.get(f"PhysicalSize{axis}"), said.get(f"PhysicalSize{axis}Unit", "\u00b5m")) for axis in "YXZ")
    return scale_of(y[0], x[0], z[0], (y[1], x[1], z[1]))


def of_ome_zarr(about: Mapping[str, Any], shape: tuple[int, ...]) -> Scale | None:
    """What a group says of its finest array, which has this shape."""
    scales = (about.get("ome") or about).get("multiscales")
    if not scales:
        return None
    sizes = np.ones(len(shape))
    for told in (scales[0]["datasets"][0], scales[0]):
        for each in told.get("coordinateTransformations") or ():
            if each.get("type") == "scale":
                sizes = sizes * np.asarray(each["scale"], np.float64)
    axes = [axis if isinstance(axis, dict) else {"name": axis} for axis in scales[0]["axes"]]
    if len(axes) != len(shape) or [axis["name"] for axis in axes[-2:]] != ["y", "x"]:
        return None
    front = [axis["name"].upper() for axis in axes[:-2]]
    step, unit = (sizes[front.index("Z")], axes[front.index("Z")].get("unit")) if "Z" in front else (None, None)
    found = scale_of(sizes[-2], sizes[-1], step, (axes[-2].get("unit"), axes[-1].get("unit"), unit))
    return None if found is None else found.along([name for name, n in zip(front, shape) if n > 1])


def of_dpi(info: Mapping[Any, Any]) -> Scale | None:
    """What Pillow tells of a picture, in pixels an inch along x and y."""
    try:
        x, y = (float(value) for value in info["dpi"])
        return scale_of(1 / y, 1 / x, None, ("inch",) * 3)
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return None


def dpi_for(kind: str, info: Mapping[str, Any]) -> dict[str, Any]:
    """What is handed to Pillow, so that a picture of this kind says it; nothing where it has no room for it."""
    found = of_dpi(info)
    return {} if found is None or max(found.dpi) > _MOST[kind] else {"dpi": found.dpi}


def tiff_tags(scale: Scale | None, shape: tuple[int, ...], ome: bool = False) -> dict[str, Any]:
    """What is handed to tifffile, so that a file says it: its own tags, and what has no tag in the words of ImageJ, or of OME."""
    tags: dict[str, Any] = {}
    if scale is not None:
        # The tags of a file that says in words what it counts in count in that.
        plain = next((number for number, unit in _TIFF.items() if unit == scale.unit), 3 if ome else 1)
        told = scale.within("centimeter") if ome and plain == 3 else scale
        tags = {"resolution": (1 / told.x, 1 / told.y), "resolutionunit": plain}
    if ome:
        return tags | {"metadata": _ome_words(scale, shape)}
    frames = math.prod(shape[:-2])
    if scale is None or (tags["resolutionunit"] != 1 and (scale.z is None or frames == 1)):
        return tags
    words = ["ImageJ=1.54f"]
    if frames > 1:
        words += [f"images={frames}", f"{'slices' if scale.frames == 'Z' else 'frames'}={frames}"]
    words.append(f"unit={_ASCII.get(scale.unit, _UNITS[scale.unit][1])}")
    if scale.z is not None:
        words.append(f"spacing={scale.z!r}")
    return tags | {"metadata": None, "description": "\n".join([*words, ""])}


def _ome_words(scale: Scale | None, shape: tuple[int, ...]) -> dict[str, Any]:
    from uuid import uuid4

    frames = "Z" if scale is None else scale.frames
    # tifffile's own would tell the machine's address and the time.
    words: dict[str, Any] = {"axes": f"{frames}YX"[-len(shape) :], "UUID": str(uuid4())}
    if scale is not None:
        for axis, size in ("X", scale.x), ("Y", scale.y), ("Z", scale.z):
            words |= {} if size is None else {f"PhysicalSize{axis}": size, f"PhysicalSize{axis}Unit": _UNITS[scale.unit][1]}
    return words


def check_ome(path: object, dtype: np.dtype) -> None:
    """Raise where a name promises OME-XML, which has no word for a dtype."""
    if is_ome(path) and dtype.name in _NOT_OME:
        raise ArgumentError("output", repr(str(path)), f"a name ending in .tif alone for {dtype.name}, which OME-TIFF lacks")


def is_ome(path: object) -> bool:
    """Whether a name promises TIFF with OME-XML in it."""
    return str(path).lower().endswith((".ome.tif", ".ome.tiff"))
