"""The axis search of ``footprint reconstruct``: its figures, and its picture."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

from footprint.cli.chosen import axis_apart, axis_out, binning_of, sign_of, to_detector
from footprint.errors import ArgumentError

CENTER = (
    "Rotation axis in pixels from the centre of pixel 0; auto finds it, as do registration, overlap, sliding-window, "
    "growing-window and vo; with :per-slice after any of them, an axis for every row; try:A:B:STEP reconstructs the middle row "
    "about each axis from A to B."
)

# Pixels by which a tilt moves the ends of the detector, below which projections stay as they are.
_MOVED = 0.25


def check_axis_png(png: str | None, center: Any) -> None:
    """Raise where a picture of the search is wanted and nothing is searched."""
    if png is not None and not isinstance(center, str):
        raise ArgumentError("--axis-png", repr(png), "an axis that is searched, such as --center auto")


@dataclass(frozen=True)
class Found:
    """An axis, as figures of the report, and the search it came from, if any."""

    figures: dict[str, Any]
    axis: Any = None
    each: dict[str, Any] = field(default_factory=dict)

    @property
    def curve(self) -> tuple[Any, Any, float, str, str, str]:
        """What is drawn of the search: positions, values, where it ended, a title, and what is drawn across and upwards."""
        axis = self.axis
        if hasattr(axis, "rows"):
            title = f"{axis.method}, by rows: {axis.degrees:.3f} degrees, score {axis.score:.3f}, spread {axis.spread:.2f} pixels"
            return axis.rows, axis.found, float(axis.rows.mean()), title, "detector row", "axis"
        title = f"{axis.method}: {axis.center:.2f}, score {axis.score:.3f}, spread {axis.spread:.2f} pixels"
        return axis.tried, axis.values, axis.center, title, "axis in pixels", "score"

    def draw(self, png: str, overwrite: bool) -> None:
        """Write a picture of the search."""
        from footprint.io.curve_png import write_curve_png

        write_curve_png(*self.curve, png, overwrite)


def find_axis(source: Any, job: dict[str, Any], half: bool, memory: int | None) -> Found:
    """The axis, searched where it is not given; the job has it then."""
    from footprint.api._half import search_of
    from footprint.api.rotation_axis import axis_of, per_slice, searches

    method = searches(job["center"])
    if method is None:
        own = float(job["center"])
        return Found({"center": to_detector(source, own), **axis_apart(source, own)})
    how = {"method": method, "search": search_of(half, source.n_x), "i0": job["i0"], "log": job["log"], "memory": memory}
    if per_slice(job["center"]):
        return _by_row(source, job, how)
    axis = axis_of(source, **how)
    job["center"] = axis.center
    apart, axis = axis_apart(source, axis.center), axis_out(source, axis)
    figures = {"center": axis.center, "center_method": method, "center_score": axis.score, "center_spread": axis.spread}
    return Found(figures | apart, axis)


def _by_row(source: Any, job: dict[str, Any], how: dict[str, Any]) -> Found:
    """The axis of every row; the job has them then, and the volume those of its slices."""
    from footprint.api.axis_by_row import axis_by_row

    axis = axis_by_row(source, **how)
    job["center"] = axis.centers
    first, last = (job["rows"].start, job["rows"].stop) if job["rows"] else (0, source.n_z)
    mean = float(axis.centers.mean())
    apart = axis_apart(source, mean)
    own, scale = to_detector(source, axis.centers), binning_of(source)
    figures = {"center": float(own.mean()), "center_method": f"{how['method']}:per-slice", "center_score": axis.score}
    figures |= {"center_spread": axis.spread * scale, "center_of_first_row": float(own[0]), "center_of_last_row": float(own[-1])}
    each = {"center_of_slice": [float(value) for value in own[first:last]]}
    return Found(figures | apart, axis._replace(found=to_detector(source, axis.found)), each)


def set_upright(source: Any, job: dict[str, Any], memory: str | None, device: str) -> dict[str, Any]:
    """Find the tilt where ``--tilt auto`` asks for it: the job's steps have it then. Figures of the report and the metadata."""
    from footprint.api._arrays import limits_and_budget, where
    from footprint.api.find_tilt import find_tilt

    if not tilt_unknown(job):
        return {}
    budget = limits_and_budget(where(device), memory)[1]
    tilt = find_tilt(source, i0=job["i0"], log=job["log"], memory=budget)
    # Seen by who turns the detector by hand, rows and columns as they are stored.
    found = {"tilt_degrees": sign_of(source) * tilt.degrees, "tilt_error": tilt.error, "tilt_score": tilt.score}
    moved = math.tan(math.radians(abs(tilt.degrees))) * (max(source.n_z, source.n_x) - 1) / 2
    turn = moved >= _MOVED and abs(tilt.degrees) > 2 * tilt.error
    steps = job["steps"]
    job["steps"] = replace(steps, tilt=replace(steps.tilt, degrees=tilt.degrees) if turn else None)
    if not turn:
        job["steps"] = job["steps"] if str(job["steps"]) else None
    return found | {"tilt_taken_off": turn}


def tilt_unknown(job: dict[str, Any]) -> bool:
    """Whether the tilt is to be found."""
    tilt = getattr(job["steps"], "tilt", None)
    return tilt is not None and math.isnan(tilt.degrees)
