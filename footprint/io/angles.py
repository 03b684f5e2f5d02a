"""Rotation angles of a scan: the file's own or the user's, in degrees or radians, judged by what they span."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from footprint.api._tomo import numbers
from footprint.api._units import is_quantity
from footprint.errors import ArgumentError, FormatError, choose
from footprint.io.frames import ScanParts, files_of
from footprint.io.shifts import check_count, dataset_in, read_numbers
from footprint.units import counted

_UNITS = {"deg": np.pi / 180, "degree": np.pi / 180, "°": np.pi / 180, "rad": 1.0, "radian": 1.0, "mrad": 1e-3}
CHOICES = ("deg", "rad")
DIRECTIONS = ("clockwise", "counterclockwise")
# Degrees that no scan of so many projections spans; half a turn and a whole one in radians do.
_SHORTEST, _MANY = 7.0, 10
# Radians that are whole turns of a long scan, or degrees that somebody called radians.
_LONGEST = 100.0


def unit_of(path: str, name: str, unit: str) -> str:
    """``deg`` or such for the unit that a dataset gives, degrees where it gives none."""
    known = unit if unit in _UNITS else unit.rstrip("s")
    if unit and known not in _UNITS:
        fix = "say what they are with angle_unit=deg or angle_unit=rad, or give them with angles=FILE"
        raise FormatError(path, f"{name} has the unit {unit!r}, wanted degrees or radians", fix)
    return known or "deg"


def turned(angles: np.ndarray, direction: str, offset: float, filed: bool = False) -> np.ndarray:
    """Radians as they are meant: of a sample that turns the other way they count backwards; ``offset`` is in degrees.

    Of angles that a file holds, or whose unit was given, many whole turns are left out.
    """
    if filed and len(angles) and np.ptp(angles) > _LONGEST:
        # They change nothing, but for the digits of the rest.
        angles = np.mod(angles, 2 * np.pi)
    choose("direction", direction, DIRECTIONS)
    try:
        added = math.radians(float(offset))
    except (TypeError, ValueError, OverflowError):
        added = math.nan
    if not math.isfinite(added):
        raise ArgumentError("angle_offset", repr(offset), "a number of degrees")
    return (angles if direction == "clockwise" else -angles) + added


def resolve(parts: ScanParts, given: str | os.PathLike[str] | np.ndarray | None, unit: str | None) -> np.ndarray:
    """Angles in radians: those given, the file's own, or 180 degrees in equal steps; notes say what was assumed.

    ``unit`` is the user's word, which counts more than the file's; files without one are in degrees, arrays in radians.
    """
    if unit is not None:
        choose("angle_unit", unit, CHOICES)
    n = len(parts.projections.index)
    where: object = parts.path
    if given is None:
        if parts.angles is None:
            steps = "1 projection at 0 degrees is" if n == 1 else f"{n} equal steps over 180 degrees are"
            missing = _missing(files_of(parts.projections.frames), n)
            parts.notes.append(f"{parts.path} has no angles: {steps} assumed{missing}; give angles=FILE")
            return np.arange(n) * (np.pi / n)
        values, named = parts.angles, parts.angle_unit
    elif isinstance(given, (str, os.PathLike)):
        values, named, where = read_numbers(given, "angles"), _unit_there(given), given
        check_count(given, values, n, "angles")
    else:
        if unit is not None and is_quantity(given) and str(getattr(given, "unit", "")):
            raise ArgumentError("angle_unit", repr(unit), "no angle_unit: the angles have a unit of their own")
        values, named, where = numbers("angles", given, "rad"), "rad", "angles"
        if values.shape != (n,):
            raise ArgumentError("angles", f"shape {values.shape}", f"one angle per projection, shape ({n},)")
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        problem = f"{bad.size} of its {n} angles are NaN or infinite, the first is that of projection {bad[0]}"
        raise FormatError(parts.path if where == "angles" else where, problem, "give them with angles=FILE")
    return _judged(parts, str(where), values, named, unit)


def _unit_there(given: str | os.PathLike[str]) -> str:
    """The unit of the angles in a file: what an HDF5 dataset says, else degrees."""
    name = re.sub(r"\[-?\d*:-?\d*\]$", "", str(given))
    inside = dataset_in(name)
    if inside is None:
        return "deg"
    from footprint.io.hdf5 import open_dataset, unit_named

    found = open_dataset(*inside)
    with found.file:
        return unit_of(name, inside[1], unit_named(found))


def _missing(files: Sequence[Path], n: int) -> str:
    """A word about numbers that the names of a stack's files leave out, as projections that are missing shift all after them."""
    found = [re.fullmatch(r"(.*?)(\d+)(\D*)", file.name) for file in files]
    if len(files) != n or n < 3 or None in found or len({(m[1], m[3]) for m in found if m}) != 1:
        return ""
    numbers = [int(m[2]) for m in found if m]
    steps = np.diff(numbers)
    gaps = np.flatnonzero(steps != np.median(steps))
    if not 0 < len(gaps) < n / 10:
        return ""
    at = int(gaps[0])
    more = f" and {counted(len(gaps) - 1, 'more gaps')}" if len(gaps) > 1 else ""
    return f", though {files[at].name} is followed by {files[at + 1].name}{more}"


def _judged(parts: ScanParts, where: str, values: np.ndarray, named: str, unit: str | None) -> np.ndarray:
    """Radians of values in a unit; what cannot be degrees, or radians, is said or refused."""
    span = float(np.ptp(values)) if len(values) else 0.0
    radians = values * _UNITS[unit or named]
    if unit is None and _UNITS[named] == _UNITS["deg"] and len(values) >= _MANY and span <= _SHORTEST:
        spanned = f"its {len(values)} angles span {span:.4g} degrees only, from {values.min():.4g} to {values.max():.4g}"
        parts.notes.append(f"{where}: {spanned}: are they radians? Give angle_unit=rad, or angle_unit=deg if they are degrees")
    if len(values) and np.ptp(radians) > _LONGEST and _UNITS[unit or named] == 1.0 and unit is None and where != "angles":
        problem = f"its angles are declared to be in radians but span {span:.4g}, from {values.min():.4g} to {values.max():.4g}"
        raise FormatError(
            where, problem, "give angle_unit=deg if they are degrees, or angle_unit=rad if they count that many turns"
        )
    return radians
