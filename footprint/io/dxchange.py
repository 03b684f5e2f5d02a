"""DXchange, the format of the Advanced Photon Source: projections, whites and darks in stacks of their own."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from footprint.errors import FormatError
from footprint.io import hdf5, stacks
from footprint.io.angles import unit_of
from footprint.io.frames import Group, ScanParts
from footprint.io.nxtomo import ENERGIES, FRAMES, LENGTHS, PIXELS, XRAYS, quantity

_PIXEL = ("measurement/instrument/detector/pixel_size_x", "measurement/instrument/detector/actual_pixel_size_x")
_RESOLUTION = ("measurement/instrument/detection_system/objective/resolution",)
_DISTANCE = ("measurement/instrument/detector_motor_stack/setup/camera_distance", "measurement/instrument/detector/distance")
_ENERGY = ("measurement/instrument/monochromator/energy",)


def read_scan(path: str, file: h5py.File, own_angles: bool, unit: str | None = None) -> ScanParts | None:
    """Read a DXchange file, None where it has no ``/exchange/data``."""
    data = hdf5.first(file, ("exchange/data",)) if "exchange" in file else None
    if data is None:
        return None
    notes: list[str] = []
    projections = stacks.Hdf5Frames(path, data)
    n = projections.shape[0]
    if n > FRAMES:
        raise FormatError(path, f"declares {n} projections, more than a scan can have ({FRAMES})", "it may be damaged")
    if n == 0:
        raise FormatError(path, "holds no projections (/exchange/data is empty)")
    groups: list[Group | None] = []
    opened = [projections]
    for name in ("exchange/data_white", "exchange/data_dark"):
        found = hdf5.first(file, (name,))
        # When they were taken is not written down: they count as one group, before the scan.
        if found is None or not found.size:
            groups.append(None)
            continue
        opened.append(stacks.Hdf5Frames(path, found))
        groups.append(Group.all_of(opened[-1], -1.0))
    group = Group(projections, np.arange(n), np.arange(n, dtype=np.float64))
    parts = ScanParts(path, "DXchange", group, groups[0], groups[1], notes=notes, close=[*opened])
    theta = None if own_angles else hdf5.first(file, ("exchange/theta",))
    if theta is not None:
        values = stacks.values(path, theta, "angles")
        if len(values) != n:
            raise FormatError(path, f"/exchange/theta has {len(values)} angles for {n} projections", "give them with angles=FILE")
        parts.angles, parts.angle_unit = values, unit or unit_of(path, str(theta.name), hdf5.unit_named(theta))
    sizes = (quantity(file, names, LENGTHS, "um", notes, PIXELS) for names in (_PIXEL, _RESOLUTION))
    parts.pixel_size = next((size for size in sizes if size is not None), None)
    parts.distance = quantity(file, _DISTANCE, LENGTHS, "mm", notes)
    parts.energy = quantity(file, _ENERGY, ENERGIES, "keV", notes, XRAYS)
    parts.name = hdf5.scalar_text(file, "measurement/sample/name") or Path(path).stem
    return parts
