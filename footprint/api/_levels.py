"""Where background and noise of a source search come from: one clip of the whole image, a mesh, or maps given by the user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from footprint.api._arrays import Array, check_writable, receive, shared, written
from footprint.api._blank import read_rows, unwrap
from footprint.api._call import Face, Stream
from footprint.api._image import Image, Reading, foretold, from_file, see
from footprint.api._sky import Sky, sky_of
from footprint.dtypes import kernel_dtype, native
from footprint.errors import ArgumentError, ShapeError, choose, nearest
from footprint.ops.local_sources import MAPS
from footprint.ops.mesh import SPLINES, Cells
from footprint.ops.search import Maps
from footprint.plan.faces import Region, Taker
from footprint.spec import ArraySpec

# Rows of a given map that its typical value is taken from, and values of each.
_ROWS, _VALUES = 16, 4096


@dataclass
class Levels:
    """Background and noise that differ from place to place.

    Attributes
    ----------
    kinds
        Of background and noise: "mesh", "map" or "clip".
    cells
        Of the mesh.
    maps
        Those given, by their names.
    saved
        What maps that are results go to, by their names.
    typical
        A background and a noise to speak of the whole by: medians of the cells, or of some rows of a map. A clip's is not here.
    """

    kinds: dict[str, str]
    cells: Cells
    maps: dict[str, Image | None] = field(default_factory=dict)
    saved: dict[str, Face] = field(default_factory=dict)
    typical: dict[str, float] = field(default_factory=dict)

    @property
    def mesh(self) -> bool:
        """Whether there is one."""
        return "mesh" in self.kinds.values()

    @property
    def clip(self) -> bool:
        """Whether there is one."""
        return "clip" in self.kinds.values()

    @property
    def faces(self) -> list[Face]:
        """The maps given."""
        return [one.face for one in self.maps.values() if one is not None]

    @property
    def record(self) -> Maps:
        """What decides the steps."""
        return Maps(self.kinds["background"], self.kinds["noise"], self.cells, tuple(self.saved))

    def sink(self, shape: tuple[int, ...]) -> list[Face]:
        """What takes the table of cells, for their medians."""
        if not self.mesh:
            return []
        spec = ArraySpec((2 * SPLINES, *(-(-n // self.cells.size) for n in shape)), "float64")
        return [Stream(Taker(self._take), spec, key="cells")]

    def _take(self, region: Region, table: np.ndarray) -> None:
        for name, plane in zip(MAPS, table[::SPLINES]):
            if self.kinds[name] == "mesh":
                # NumPy's median asks more of a table than it takes to sort it.
                values = np.sort(plane, axis=None)
                middle = (values[(values.size - 1) // 2] + values[values.size // 2]) / 2
                self.typical[name] = float(values[-1] if np.isnan(values[-1]) else middle)

    def tell(self) -> dict[str, Any]:
        """What a catalogue says of them."""
        told: dict[str, Any] = {"background_by": self.kinds["background"], "noise_by": self.kinds["noise"]}
        if self.mesh:
            told |= {"box": self.cells.size, "filter_size": self.cells.width}
        return told


def levels_of(background: Any, noise: Any, cells: Cells, image: Image, sky: Sky, saved: dict[str, Any]) -> Levels | None:
    """What such options ask for, by ``cells`` where by a mesh; None for one clip of the whole image."""
    kinds, given = {}, {}
    for name, value, words in (("background", background, ("global", "mesh")), ("noise", noise, ("mesh",))):
        if value is None or isinstance(value, str):
            if value is not None and value not in words:
                fix = nearest(value, words) or "a map is an array, or a file opened with footprint.open_image(...)"
                choose(name, value, words, fix)
            kinds[name] = value
        else:
            kinds[name], given[name] = "map", value
    found = kinds_of(kinds["background"], kinds["noise"], cells, tuple(n for n, v in saved.items() if v is not None))
    if found is None:
        return None
    for name, value in given.items():
        found.maps[name] = one = _map(name, value, image, sky)
        found.typical[name] = _middle(one)
    for name, value in saved.items():
        if value is not None:
            others = [one for one in (*found.faces, *found.saved.values()) if isinstance(one, Array)]
            found.saved[name] = target(value, f"save_{name}", kernel_dtype(image.spec.dtype), image, others, floating=True)
    return found


def kinds_of(background: str | None, noise: str | None, cells: Cells, saved: tuple[str, ...]) -> Levels | None:
    """The same for a plan, where maps that are given are called "map"."""
    background = "global" if background is None else background
    if background == "global" and noise is None:
        if saved:
            raise ArgumentError(f"save_{saved[0]}", "one background for the whole image", "a mesh", "give background='mesh'")
        _without_mesh(cells)
        return None
    kinds = {"background": "clip" if background == "global" else background, "noise": noise or "mesh"}
    for name in saved:
        if kinds[name] == "map":
            raise ArgumentError(
                f"save_{name}", f"it together with a {name} map", f"a {name} that is measured", f"leave save_{name} out"
            )
    if "mesh" not in kinds.values():
        _without_mesh(cells)
    return Levels(kinds, cells)


def _without_mesh(cells: Cells) -> None:
    """Refuse what only a mesh has, where it was set."""
    for name, value, usual in (("box", cells.size, Cells.size), ("filter_size", cells.width, Cells.width)):
        if value != usual:
            raise ArgumentError(name, f"{value} without a mesh", "it together with background='mesh'", f"or leave {name} out")


def _map(name: str, value: Any, image: Image, sky: Sky) -> Image:
    given = unwrap(value, name)
    if given.mask is not None:
        raise ArgumentError(name, "a map with a mask", "a plain one", "put NaN where there is no data")
    seen = see(_spread(name, given.data, image), name)
    if seen.spec.shape != image.spec.shape:
        raise ShapeError(name, f"shape {seen.spec.shape}", f"the image's {image.spec.shape}")
    if np.dtype(seen.spec.dtype).kind not in "fiu":
        raise ShapeError(name, f"dtype {np.dtype(seen.spec.dtype).name}", "real numbers")
    unit = given.unit if given.unit is not None else sky_of(seen.file, given.header).unit
    if unit is not None and sky.unit is not None:
        try:
            same = abs(unit.to(sky.unit) - 1) < 1e-9
        except Exception:  # astropy's UnitConversionError, without importing it
            same = False
        if not same:
            raise ArgumentError(name, f"a map in {unit}", f"one in the image's {sky.unit}")
    return seen


def _spread(name: str, value: Any, image: Image) -> Any:
    """A map; of one number a view that has it at every pixel."""
    if not isinstance(value, int | float | np.number) and not (isinstance(value, np.ndarray) and value.ndim == 0):
        return value
    level = float(value)
    if not np.isfinite(level) or (name == "noise" and level <= 0):
        raise ArgumentError(name, value, "a number above 0" if name == "noise" else "a finite number")
    return np.broadcast_to(np.asarray(level, kernel_dtype(image.spec.dtype)), image.spec.shape)


def _middle(image: Image) -> float:
    """The median of some rows of a map."""
    height, width = image.spec.shape
    step, found = -(-width // _VALUES), []
    row = np.empty((1, width), native(image.spec.dtype))
    for y in np.unique(np.linspace(0, height - 1, min(height, _ROWS)).astype(int)).tolist():
        read_rows(image, slice(y, y + 1), row)
        some = row[0, ::step]
        found.append(some[np.isfinite(some)])
    values = np.concatenate(found)
    return float(np.median(values)) if values.size else float("nan")


def target(given: Any, name: str, dtype: str, image: Image, others: Sequence[Array] = (), floating: bool = False) -> Face:
    """Where an image that is a result goes: the caller's array, or what takes it by rows."""
    if hasattr(given, "write") and not isinstance(given, np.ndarray):
        sink = Taker(lambda region, block: given.write(slice(region[0].start, region[0].stop), block))
        takes = given.host_bytes(dtype) if hasattr(given, "host_bytes") else 0
        return Stream(sink, ArraySpec(image.spec.shape, dtype), lambda block: takes)
    made = f'{name}=numpy.empty(image.shape, "{dtype}")'
    if isinstance(given, int | float | np.generic):
        raise ArgumentError(name, repr(given), f"an array to be filled, {dtype} {image.spec.shape}", f"give {made}")
    seen = receive(given, name)
    fits = np.dtype(seen.data.dtype).kind == "f" if floating else seen.data.dtype == np.dtype(dtype)
    if tuple(seen.data.shape) != image.spec.shape or not fits:
        wanted = "a floating dtype" if floating else dtype
        raise ShapeError(name, f"{seen.data.dtype} {tuple(seen.data.shape)}", f"{wanted} {image.spec.shape}", f"give {made}")
    check_writable(seen, given, name)
    if isinstance(image.face, Array) and shared(image.face, seen):
        raise ArgumentError(name, "memory shared with image", "memory of its own")
    if any(shared(other, seen) for other in others):
        raise ArgumentError(name, "memory shared with a map", "memory of its own")
    # A library that keeps account of changes is told before there are any, as nothing comes back here after them.
    written(given)
    return seen


def models_of(kept: dict[str, Any], image: Image, others: Sequence[Face]) -> tuple[Face, ...]:
    """What takes the images of fits, each memory of its own."""
    found: list[Face] = []
    for name, value in kept.items():
        taken = [one for one in (*others, *found) if isinstance(one, Array)]
        found.append(target(value, f"save_{name}", kernel_dtype(image.spec.dtype), image, taken, floating=True))
    return tuple(found)


def planned_maps(spec: ArraySpec, levels: Levels, streamed: bool, reading: Reading | None) -> list[Face]:
    """The maps given, for a plan: of the image's dtype, and read as it is."""
    count = sum(kind == "map" for kind in levels.kinds.values())
    return [from_file(spec, reading) if streamed else foretold(spec)[0] for _ in range(count)]
