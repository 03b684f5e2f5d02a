"""NXtomo and its relatives at Diamond and DIAD: one HDF5 stack of frames, told apart by an image key."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from footprint.errors import FormatError
from footprint.io import hdf5, stacks
from footprint.io.angles import unit_of
from footprint.io.frames import Group, ScanParts

LENGTHS = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6, "nm": 1e-9, "pm": 1e-12, "km": 1e3}
LENGTHS |= {"meter": 1.0, "metre": 1.0, "millimeter": 1e-3, "millimetre": 1e-3, "micrometer": 1e-6, "micrometre": 1e-6}
LENGTHS |= {"micron": 1e-6, "µm": 1e-6, "μm": 1e-6, "nanometer": 1e-9, "nanometre": 1e-9, "centimeter": 1e-2}
ENERGIES = {"kev": 1.0, "ev": 1e-3, "mev": 1e3, "gev": 1e6, "j": 1 / 1.602176634e-16, "joule": 1 / 1.602176634e-16}
# What detectors and beams have, with room on both sides: metres, keV.
PIXELS, XRAYS = (1e-10, 1e-2), (1e-2, 1e4)
# Sides of a pixel, or numbers of a list, that differ by less than this share are one number.
_SQUARE = 1e-3


@dataclass(frozen=True)
class _Layout:
    name: str
    data: tuple[str, ...]
    detector: str
    angles: tuple[str, ...]


# Groups of a file that are looked at for a scan, and frames of a scan: more of them are no scan.
_ENTRIES, FRAMES = 256, 1 << 20

_LAYOUTS = (
    _Layout("NXtomo", ("instrument/detector/data",), "instrument/detector", ("sample/rotation_angle", "data/rotation_angle")),
    _Layout("Diamond", ("data/data",), "instrument/detector", ("data/rotation_angle", "sample/rotation_angle")),
    _Layout(
        "DIAD",
        ("imaging/data", "instrument/imaging/data"),
        "instrument/imaging",
        ("imaging_sum/gts_theta_value", "imaging/gts_theta_value", "instrument/gts_theta/value"),
    ),
)


def read_scan(path: str, file: h5py.File, entry: str | None, own_angles: bool, unit: str | None = None) -> ScanParts | None:
    """Read the scan of an NXtomo-like file, None where the file has nothing of the kind.

    ``own_angles`` says that the caller brings the angles, so that a file without them is no error; ``unit`` that he names theirs.
    """
    notes: list[str] = []
    found = _find(path, file, entry, notes)
    if found is None:
        return None
    group, layout, data = found
    frames = stacks.Hdf5Frames(path, data)
    projections, flats, darks = _sort_frames(path, group, layout, frames, notes)
    detector, where = hdf5.get(group, layout.detector), Path(path).stem
    near = detector if isinstance(detector, h5py.Group) else group
    parts = ScanParts(path, layout.name, projections, flats, darks, notes=notes, close=[frames])
    if not own_angles:
        parts.angles, parts.angle_unit = _angles(path, group, layout, frames.shape[0], projections.index, unit)
    parts.pixel_size = _pixel(path, group, near, notes)
    # What a wave travels between sample and detector, which with a cone of rays is not how far apart they are.
    parts.distance = quantity(group, ("sample/propagation_distance",), LENGTHS, "m", notes) or quantity(
        near, ("distance",), LENGTHS, "m", notes
    )
    names = ("instrument/beam/incident_energy", "beam/incident_energy", "instrument/monochromator/energy")
    parts.energy = quantity(group, names, ENERGIES, "keV", notes, XRAYS)
    view = hdf5.scalar_text(near, "field_of_view")
    parts.field_of_view = view.capitalize() if view else None
    for flag in ("x_flipped", "y_flipped"):
        if hdf5.scalar_text(near, flag).lower() in ("true", "1"):
            notes.append(f"{path} says {flag}: its frames are read as they are stored")
    parts.name = hdf5.scalar_text(group, "sample/name") or hdf5.scalar_text(group, "title") or where
    return parts


def _pixel(path: str, group: h5py.Group, near: h5py.Group, notes: list[str]) -> float | None:
    """The size of a pixel as the sample sees it: the sample's own, a magnified one, or where there is neither the detector's."""
    sides: list[float | None] = []
    for side in "xy":
        sizes = (
            quantity(among, names, LENGTHS, "m", notes, PIXELS)
            for among, names in (
                (group, (f"sample/{side}_pixel_size",)),
                (near, (f"{side}_magnified_pixel_size",)),
                (near, (f"{side}_pixel_size", f"pixel_size_{side}")),
            )
        )
        sides.append(next((size for size in sizes if size is not None), None))
    across, down = sides
    if across is not None and down is not None and abs(down - across) > _SQUARE * across:
        notes.append(
            f"{path} has pixels of {across:g} m by {down:g} m: both are taken to be {across:g} m, also by the phase filter"
        )
    return across


def _candidates(file: h5py.File, entry: str | None) -> list[str]:
    """Entries in the order in which they are tried."""
    if entry is not None:
        return [entry]
    names = [hdf5.text(file.attrs["default"])] if "default" in file.attrs else []
    names += ["entry", "entry0000", *sorted(itertools.islice(file, _ENTRIES))]
    names = [name for name in dict.fromkeys(names) if name and isinstance(file.get(name, getclass=True), type)]
    return [inner for name in names for inner in (f"{name}/tomo_entry", name)]


def _find(path: str, file: h5py.File, entry: str | None, notes: list[str]) -> tuple[h5py.Group, _Layout, h5py.Dataset] | None:
    """Find the entry to read: the one asked for, the default, or the first that holds a scan."""
    found: list[tuple[str, h5py.Group, _Layout, h5py.Dataset]] = []
    broken: FormatError | None = None
    for name in _candidates(file, entry):
        try:
            group = hdf5.get(file, name)
            if not isinstance(group, h5py.Group):
                continue
            for layout in _LAYOUTS:
                data = hdf5.first(group, layout.data)
                # Links show one stack under several names; that is still one scan.
                if data is not None and (data.ndim == 3 or entry) and all(data != other for *_, other in found):
                    found.append((name, group, layout, data))
                    break
        except FormatError as error:
            broken = broken or error
    if found:
        others = [name for name, *_ in found[1:]]
        if others:
            notes.append(
                f"{path} holds several scans: reading {found[0][0]}, not {', '.join(others)}; choose with entry={others[0]!r}"
            )
        return found[0][1:]
    try:
        if broken is not None:
            raise broken
    finally:
        # Named here, it would keep the file open until Python looks for cycles.
        del broken
    if entry is not None:
        raise FormatError(path, f"holds no scan in entry {entry}", f"it has {hdf5.some(file)}")
    return None


def _sort_frames(
    path: str, group: h5py.Group, layout: _Layout, frames: stacks.Hdf5Frames, notes: list[str]
) -> tuple[Group, Group | None, Group | None]:
    """Tell projections, flats and darks apart by image_key (0, 1, 2; 3 invalid) and image_key_control (-1 alignment)."""
    n = frames.shape[0]
    if n > FRAMES:
        raise FormatError(path, f"declares {n} frames, more than a scan can have ({FRAMES})", "it may be damaged")
    key = hdf5.first(group, _keys(layout))
    control = hdf5.first(group, (f"{layout.detector}/image_key_control", "data/image_key_control"))
    keep = np.ones(n, bool)
    kinds = np.zeros(n)
    for dataset in (control, key):
        if dataset is not None:
            kinds = _keys_of(path, dataset, n, notes)
            keep &= kinds != -1
    if key is None and control is None:
        notes.append(f"{path} has no image_key: all {n} frames are taken as projections")
    index = [np.flatnonzero(keep & (kinds == kind)) for kind in (0, 1, 2)]
    if index[0].size == 0:
        raise FormatError(path, f"holds no projections among its {n} frames (image_key 0)")
    current = _current(path, group, n, notes)
    groups = [Group(frames, i, i.astype(np.float64), None if current is None else current[i]) if i.size else None for i in index]
    assert groups[0] is not None
    return groups[0], groups[1], groups[2]


def frames_of_kind(path: str, file: h5py.File, name: str, notes: list[str]) -> Group | None:
    """Frames of a file that its image_key calls "flats" or "darks"; None where it has no key, or all frames are of one kind."""
    found = _find(path, file, None, notes)
    key = None if found is None else hdf5.first(found[0], _keys(found[1]))
    if found is None or key is None:
        return None
    kinds = _keys_of(path, key, len(found[2]), notes)
    kind = {"flats": 1, "darks": 2}[name]
    index = np.flatnonzero(kinds == kind)
    if not index.size and len(np.unique(kinds)) > 1:
        raise FormatError(
            path, f"holds no {name} among its {len(kinds)} frames (image_key {kind})", f'name a stack as "{path}:/NAME"'
        )
    return Group(stacks.Hdf5Frames(path, found[2]), index, np.full(len(index), -1.0)) if index.size else None


def _keys_of(path: str, dataset: h5py.Dataset, n: int, notes: list[str]) -> np.ndarray:
    """The kind of every frame; a scan that was stopped has keys of frames that were never taken."""
    kinds = stacks.values(path, dataset, "image keys")
    if len(kinds) < n:
        raise FormatError(path, f"{dataset.name} has {len(kinds)} values for {n} frames", "it may be damaged")
    if len(kinds) > n:
        said = f"{path} has {len(kinds)} image keys for {n} frames, as in a scan that was stopped: the first {n} are taken"
        notes.extend([said] if said not in notes else [])
    return kinds[:n]


def _keys(layout: _Layout) -> tuple[str, ...]:
    """Where the key of a layout may be."""
    return (f"{layout.detector}/image_key", "data/image_key", "image_key")


def _current(path: str, group: h5py.Group, n: int, notes: list[str]) -> np.ndarray | None:
    """The machine's current, or a monitor's counts, at each frame: NXtomo's control/data."""
    try:
        dataset = hdf5.first(group, ("control/data",))
        if dataset is None or dataset.dtype.kind not in "iuf" or dataset.size == 0:
            return None
        if dataset.size == n:
            return stacks.values(path, dataset, "currents")
        notes.append(f"{path}: {dataset.name} has {dataset.size} values for {n} frames: the machine current is not used")
    except (FormatError, OSError, RuntimeError, ValueError, KeyError, TypeError):
        notes.append(f"{path}: its machine current (control/data) cannot be read, and is not used")
    return None


def _angles(
    path: str, group: h5py.Group, layout: _Layout, n_frames: int, index: np.ndarray, unit: str | None
) -> tuple[np.ndarray, str]:
    """Angles of the projections and their unit; one a frame or one per projection is accepted."""
    dataset = hdf5.first(group, layout.angles)
    if dataset is None:
        raise FormatError(path, f"has no rotation angles ({layout.angles[0]})", "give them with angles=FILE")
    values = stacks.values(path, dataset, "angles")
    key = hdf5.first(group, _keys(layout))
    if key is not None and len(values) == key.size:
        # Of a scan that was stopped both tell of frames that were never taken.
        values = values[:n_frames]
    if len(values) == n_frames:
        values = values[index]
    elif len(values) != len(index):
        problem = f"{dataset.name} has {len(values)} angles for {n_frames} frames, {len(index)} of them projections"
        raise FormatError(path, problem, "give them with angles=FILE")
    return values, unit or unit_of(path, str(dataset.name), hdf5.unit_named(dataset))


def quantity(
    group: h5py.Group,
    names: tuple[str, ...],
    table: dict[str, float],
    unit: str,
    notes: list[str],
    within: tuple[float, float] = (0.0, np.inf),
) -> float | None:
    """Return a positive scalar in the table's unit, honouring its units attribute; None where it is absent or makes no sense."""
    try:
        dataset = hdf5.first(group, names)
        if dataset is None or dataset.dtype.kind not in "iuf" or dataset.size == 0:
            return None
        several = stacks.values(group.file.filename, dataset, "a quantity")
        value = float(several[0])
        written = hdf5.unit_named(dataset) or unit.lower()
    except (FormatError, OSError, RuntimeError, ValueError, KeyError, TypeError):
        return None
    factor = table.get(written, table.get(written.rstrip("s")))
    if np.isfinite(several).all() and not (np.abs(several - value) <= _SQUARE * np.abs(value)).all():
        notes.append(f"{dataset.name} has {len(several)} values, from {several.min():g} to {several.max():g} {written}: ignored")
        return None
    if factor is None:
        notes.append(f"{dataset.name} has the unknown unit {written!r}: ignored")
        return None
    scaled = value * factor
    if not within[0] > 0 and not (np.isfinite(scaled) and scaled > 0):
        # A sample that lies at the detector, or a distance that nobody filled in.
        return None
    if not within[0] <= scaled <= within[1]:
        # Everything is divided by it: a unit that was left out or mistaken makes values a million times too small.
        whose = written if hdf5.unit_named(dataset) else f"{written}, the unit where none is written"
        notes.append(f"{dataset.name} is {value:g} {whose}, which cannot be: ignored")
        return None
    return scaled
