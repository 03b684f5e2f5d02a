"""The job of ``footprint reconstruct``, from a scan that is open and options that are checked to a volume and its report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from footprint.api._arrays import limits_and_budget, where
from footprint.api._half import is_half, width_of
from footprint.api._scan import Taken
from footprint.api._way import SETTINGS, How, axis_in_slices
from footprint.api.reconstruct import plan_reconstruct, reconstruct
from footprint.cli.axis import Found, find_axis
from footprint.cli.beside import beside
from footprint.cli.cast import Cast, cast_of
from footprint.cli.outputs import written_slice
from footprint.cli.page import PICTURE_BYTES, PICTURES
from footprint.cli.report import write_report
from footprint.cli.tries import Files
from footprint.cli.warm import warm
from footprint.errors import ArgumentError
from footprint.io.output import together
from footprint.io.slice_files import slice_name
from footprint.io.slice_png import write_slice_png
from footprint.io.volume import create_volume
from footprint.units import counted


@dataclass
class Run:
    """One run: what is read, how, and where it goes.

    Attributes
    ----------
    source, job
        The scan, or what of it is taken, and the arguments of `reconstruct`; the axis and the range are put in when they are found.
    about
        The volume's metadata.
    cast, plan, budget, found
        What becomes of the values; the plan that is shown and run; the budget it is for; the axis.
    counts
        Of pixels that were not good.
    """

    source: Any
    job: dict[str, Any]
    about: dict[str, Any]
    files: Files
    reporter: Any
    memory: str | None
    device: str
    black_frames: str
    cast: Cast = field(init=False)
    plan: Any = field(init=False, default=None)
    budget: int | None = field(init=False, default=None)
    found: Found | None = field(init=False, default=None)
    counts: Any = field(init=False, default=None)

    def run(self) -> None:
        """Plan, find what has to be found, reconstruct, draw, report."""
        self._plan()
        self.reporter.plan(self.plan)
        cut = self.plan.n_summed > 1 or len(self.plan.cuts) > 1
        self.reporter.warm(lambda: warm(self.source, self.plan.limits.device, self.job, self.files, cut))
        with together():
            with self.reporter.progress("reconstructing") as progress, self.reporter.measured(when=self.files.report is not None):
                # The search takes no more than the run that follows it.
                self.found = self.found or find_axis(self.source, self.job, False, self.plan.footprint.total)
                numbers = self._describe()
                volume, kept = self._reconstruct(progress)
            figures = self._figures(numbers, kept)
            self._draw(volume, figures)
        self.reporter.report(f"Reconstructed {counted(self.shape[0], 'slices')}", figures)

    def _plan(self) -> None:
        """The plan that is shown is the one that is run: what is free changes, so it is read once."""
        source, job = self.source, self.job
        self.cast = cast_of(job)
        self.cast.given_to(job)
        budget = limits_and_budget(where(self.device), self.memory)[1]
        # How large the slices of a half acquisition are depends on where its axis is.
        half = is_half(source, job["half_acquisition"], source.angles)
        self.found = find_axis(source, job, half, budget) if half else None
        check_roi(source, job, half)

        def make(written: Any, memory: int | None) -> Any:
            return plan_reconstruct(source, written=written, memory=memory, device=self.device, **job)

        def cast(memory: int | None) -> Any:
            plan, self.budget = self.cast.plan(memory, lambda rest: self.files.plan(make, rest, self.cast.dtype))
            return plan

        self.plan = beside(PICTURES, PICTURE_BYTES, budget, cast)[0] if self.files.report else cast(budget)

    def _describe(self) -> dict[str, Any]:
        """Put what was found into the metadata; the figures of the cast."""
        assert self.found is not None
        self.about |= self.found.figures | {"axis_in_slice": self._axis_in_slice()}
        self.about |= {"steps": str(self.job["steps"])} if self.job["steps"] is not None else {}
        numbers = self.cast.find(self.source, self.job, self.plan.footprint.total, self.device, self.black_frames)
        self.about |= numbers
        return numbers

    def _reconstruct(self, progress: Any) -> tuple[Any, int]:
        """The volume, written but not yet named, and how many of its rows an earlier run had made."""
        files = self.files
        assert self.found is not None
        beside: dict[str, Any] = {"each": self.found.each, "told": ("bad_pixels",), **files.packing}
        with create_volume(
            files.target, self.shape, self.cast.dtype, files.overwrite, self.about, self.first, files.resume, **beside
        ) as volume:
            settings = self.job | {"out": volume, "black_frames": self.black_frames, "on_counts": self._counted}
            reconstruct(self.source, memory=self.budget, device=self.device, progress=progress, **settings)
            if self.counts is not None:
                volume.tell("bad_pixels", str(self.counts))
        return volume, volume.resumed

    def _axis_in_slice(self) -> list[float]:
        job = self.job
        how = How.of(**{name: job[name] for name in SETTINGS if name in job})
        placed = Taken(job["rows"], job["i0"], job["shifts"], job["log"]).job(self.source)
        return axis_in_slices(placed, job["center"], how)

    def _counted(self, counts: Any) -> None:
        self.counts = counts

    def _draw(self, volume: Any, figures: dict[str, Any]) -> None:
        """The pictures that are asked for."""
        files, index = self.files, self.shape[0] // 2
        if files.axis_png is not None:
            assert self.found is not None
            self.found.draw(files.axis_png, files.overwrite)
        if files.png is not None:
            with self.slice_of(volume, index) as image:
                write_slice_png(image, files.png, files.overwrite)
        if files.report is not None:
            write_report(self, volume, self.reporter.figures | figures)

    def _figures(self, numbers: dict[str, Any], kept: int) -> dict[str, Any]:
        """Every figure."""
        assert self.found is not None
        files, n_rows = self.files, self.shape[0]
        size = 4 if self.cast.dtype == "float32" else int(self.cast.dtype[4:]) // 8
        n_angles = self.source.n_angles - (self.counts.black if self.counts is not None else 0)
        figures = {"scan": self.about["scan"], "projections": n_angles, "shape": list(self.shape)}
        figures |= {name: value for name, value in self.about.items() if name.startswith("tilt_")}
        figures |= self.found.figures | numbers
        figures |= {"resumed": kept} if files.resume else {}
        figures |= {"axis_in_slice": self.about["axis_in_slice"], "unit": self.about["unit"], "method": self.job["method"]}
        if self.counts is not None:
            counts = self.counts
            figures |= {"black_projections": counts.black} if counts.black else {}
            figures |= {"dead_pixels": counts.dead, "saturated_values": counts.saturated, "bad_pixels": str(counts)}
        figures |= {"written_bytes": size * n_rows * self.shape[1] * self.shape[2], "output": files.target}
        figures |= {
            name: file for name, file in (("png", files.png), ("axis_png", files.axis_png), ("report", files.report)) if file
        }
        return figures

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of the volume."""
        n_rows, n_y, n_x = self.plan.outputs[0].spec.shape
        return n_rows, n_y, n_x

    @property
    def first(self) -> int:
        """The detector row of the first slice."""
        return self.job["rows"].start if self.job["rows"] else 0

    def slice_of(self, volume: Any, index: int) -> Any:
        """Open a slice of the volume, which is not yet called by its name."""
        return written_slice(
            self.files.target, volume.temporary, index, slice_name(self.first + index, f".{self.files.image_format}")
        )


def check_roi(source: Any, job: dict[str, Any], half: bool) -> None:
    """Raise unless X0,X1,Y0,Y1 lie inside a slice, or its margin."""
    if job["roi"] is None:
        return
    x0, x1, y0, y1 = job["roi"]
    width = width_of(source, half, None if isinstance(job["center"], str) else job["center"])
    first, last = -job["margin"], width + job["margin"]
    if not (first <= x0 < x1 <= last and first <= y0 < y1 <= last):
        wanted = f"X0 < X1 and Y0 < Y1, all from {first} to {last}, the {'margin' if first else 'width'} of a slice"
        raise ArgumentError("--roi", f"'{x0},{x1},{y0},{y1}'", wanted, "" if first else "--margin N makes slices larger")
