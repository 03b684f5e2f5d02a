"""Whether a scan is a half acquisition, and the field its rows are widened to."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from footprint.api._tomo import numbers
from footprint.errors import ArgumentError, warn
from footprint.ops.backproject import Geometry, angle_weights, is_one_direction
from footprint.ops.base import Table
from footprint.ops.half_acquisition import HalfAcquisition, check_turn, farthest, is_turn
from footprint.spec import ArraySpec

# Share of half a turn that may be missing without a word.
_UNSEEN = 0.01
# Of a detector: how near to its ends an axis is searched, and how far from its middle one is no longer that of a whole field.
_EDGE, _FAR = 0.02, 0.25


def is_half(scan: Any, asked: bool | None, angles: np.ndarray) -> bool:
    """As asked, or as the scan's field of view says; raises where its angles are no whole turn."""
    if asked is not None and not isinstance(asked, bool | np.bool_):
        raise ArgumentError("half_acquisition", repr(asked), "True, False, or None for what the scan says")
    half = getattr(scan, "field_of_view", None) == "Half" if asked is None else bool(asked)
    if half:
        check_turn(angles)
    return half


def search_of(half: bool, n_x: int) -> tuple[float, float] | None:
    """Where the axis of a half acquisition is looked for; None for the usual."""
    return (_EDGE * (n_x - 1), (1 - _EDGE) * (n_x - 1)) if half else None


def field_of(
    half: bool, n_x: int, n_angles: int, center: float, axis_shifts: Any, filter: Any, slice_shifts: Table | None = None
) -> HalfAcquisition | None:
    """The operation that widens rows to the field, every argument checked; None for a whole field."""
    if not half:
        return None
    if isinstance(filter, str) and filter == "hilbert":
        raise ArgumentError("filter", "'hilbert'", "a symmetric filter: a half acquisition puts both sides of the axis together")
    field = HalfAcquisition(n_x, center, None if axis_shifts is None else Table(numbers("axis_shifts", axis_shifts)), slice_shifts)
    field.out_specs(ArraySpec((1, n_angles, n_x)))
    return field


def width_of(scan: Any, half: bool, center: Any) -> int:
    """Pixels of a slice: the detector's, or those of the field about an axis; of the widest field where that is not known."""
    n_x = int(scan.shape[2])
    if not half:
        return n_x
    mean = n_x - 1.0 if center is None else float(np.mean(center))
    return HalfAcquisition(n_x, mean, None, None if center is None else Table(np.atleast_1d(center) - mean)).width


def say_of_field(field: HalfAcquisition | None, angles: np.ndarray, n_x: int, center: float) -> None:
    """Warn of what a half acquisition did not see, and of a scan that looks like one and is not reconstructed as one."""
    if field is not None and field.unseen:
        warn(
            f"the rotation axis lies {field.unseen:.2f} pixels beyond the detector's edge: "
            "what was never seen is filled with its last pixel"
        )
    elif field is None and _FAR * n_x < abs(center - (n_x - 1) / 2) <= n_x / 2 + farthest(n_x) and is_turn(angles):
        warn(
            f"the rotation axis {center:.2f} lies near the edge of the {n_x} pixels of the detector, and the angles are a whole "
            "turn: if this is a half acquisition, give half_acquisition=True"
        )


def say_of_axis(geometry: Geometry, widened: bool = True) -> None:
    """Warn where the axis lies off the detector: no pixel was seen from all directions then.

    ``widened`` says whether slices are made larger by a margin, or else by a region alone.
    """
    if geometry.inside >= 0:
        return
    wider = ""
    if geometry.roi is None:
        low, high = geometry.field
        margin = math.ceil((high - low - geometry.n_x) / 2)
        how = f"centered=True with margin={margin}" if widened else f"roi={(low, high) * 2}"
        wider = f"; {how} makes slices that hold everything that was seen"
    warn(
        f"the rotation axis lies {-geometry.inside:.2f} pixels beyond the detector's edge: no pixel of a slice was seen from all "
        f"directions, so values are too low and some edges are missing{wider}"
    )


def say_of_wedge(angles: np.ndarray, turn: bool) -> None:
    """Warn where a wedge of directions is missing: what a filtered backprojection makes of the others is too low by its share."""
    if is_one_direction(angles):
        count = "is one projection" if len(angles) == 1 else f"are {len(angles)} projections, all from one direction"
        warn(f"there {count}: nothing tells where along its rays anything lies, so slices show smears, not the sample")
        return
    unseen = 1 - float(angle_weights(angles, turn).sum()) / np.pi
    if unseen > _UNSEEN:
        warn(
            f"{unseen * 180:.3g} of 180 degrees of directions were not seen: values are too low, by about {unseen:.0%} on average, "
            "and edges along those directions are blurred; method='sirt' fits what was seen"
        )
