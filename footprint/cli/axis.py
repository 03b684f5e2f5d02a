"""The axis search of ``footprint reconstruct``: its figures, and its picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from footprint.cli.chosen import axis_apart, axis_out
from footprint.errors import ArgumentError

CENTER = (
    "Rotation axis in pixels from the centre of pixel 0; auto finds it, as do registration, overlap, sliding-window, "
    "growing-window and vo; try:A:B:STEP makes the middle row about each of several."
)


def check_axis_png(png: str | None, center: Any) -> None:
    """Raise where a picture of the search is wanted and nothing is searched."""
    if png is not None and not isinstance(center, str):
        raise ArgumentError("--axis-png", repr(png), "an axis that is searched, such as --center auto")


@dataclass(frozen=True)
class Found:
    """An axis, as figures of the report, and the search it came from, if any."""

    figures: dict[str, Any]
    axis: Any = None

    def draw(self, png: str, overwrite: bool) -> None:
        """Write a picture of the search."""
        from footprint.io.curve_png import write_curve_png

        axis = self.axis
        title = f"{axis.method}: {axis.center:.2f}, score {axis.score:.3f}, spread {axis.spread:.2f} pixels"
        write_curve_png(axis.tried, axis.values, axis.center, title, png, overwrite)


def find_axis(source: Any, job: dict[str, Any], half: bool, memory: int | None) -> Found:
    """The axis, searched where it is not given; the job has it then."""
    from footprint.api._half import search_of
    from footprint.api.rotation_axis import rotation_axis, searches

    method = searches(job["center"])
    if method is None:
        own = float(job["center"])
        return Found({"center": source.detector_axis(own) if hasattr(source, "kept") else own, **axis_apart(source, own)})
    how = {"method": method, "search": search_of(half, source.n_x), "i0": job["i0"], "log": job["log"], "memory": memory}
    axis = rotation_axis(source, **how)
    job["center"] = axis.center
    apart, axis = axis_apart(source, axis.center), axis_out(source, axis)
    figures = {"center": axis.center, "center_method": method, "center_score": axis.score, "center_spread": axis.spread}
    return Found(figures | apart, axis)
