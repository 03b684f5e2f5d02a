"""``--center try:A:B:STEP``: one detector row about several axes, each slice named by the axis it was made about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from footprint.cli.chosen import axis_apart, centers_in
from footprint.errors import ArgumentError, BudgetError
from footprint.units import counted

_WANTED = "try:A:B:STEP, such as try:290:300:0.5, with at most {most} axes from A to B"
_MOST = 1000


@dataclass(frozen=True)
class Tries:
    """The axes, as decimal numbers: what is computed with is what is said."""

    words: tuple[str, ...]

    @property
    def values(self) -> list[float]:
        """In pixels."""
        return [float(word) for word in self.words]


@dataclass(frozen=True)
class Files:
    """Where the slices go, and the pictures."""

    target: str
    png: str | None
    overwrite: bool
    resume: bool
    axis_png: str | None = None
    report: str | None = None
    compression: str = "none"
    levels: int = 1
    zarr_format: int = 2
    image_format: str = "tif"
    quality: float | None = None

    @property
    def packing(self) -> dict[str, Any]:
        """What `create_volume` is told of it."""
        from footprint.io.packing import USUAL

        return {name: getattr(self, name) for name in USUAL}

    def plan(self, make: Callable[[Any, Any], Any], memory: Any, dtype: str, n_slices: int | None = None) -> Any:
        """The plan that ``make(written, memory)`` makes, with what packing the volume's slices takes."""
        from footprint.io.packing import Packed

        plan = None
        try:
            plan = make(True, memory)
            shape = plan.outputs[0].spec.shape
        except BudgetError:
            # The budget that would do is one for packing, too.
            shape = make(True, None).outputs[0].spec.shape
        packed = Packed(self.target, (n_slices or shape[0], *shape[1:]), self.packing)
        return make(packed, memory) if plan is None or packed.host_bytes(dtype) else plan

    def check(self, dtype: str) -> None:
        """Raise where one of them could not be written; ``dtype`` is the volume's."""
        from footprint.cli.outputs import check_html, check_png
        from footprint.io.packing import check_packing
        from footprint.io.volume import check_volume

        check_packing(self.target, **self.packing, dtype=dtype)
        check_volume(self.target, self.overwrite, self.resume)
        check_png(self.png, self.overwrite)
        check_png(self.axis_png, self.overwrite)
        check_html(self.report, self.overwrite)


def tries_of(text: str) -> Tries:
    """``try:A:B:STEP`` as axes; B is one of them where the steps meet it."""
    wanted = _WANTED.format(most=_MOST)
    try:
        first, last, step = (Decimal(word) for word in text.split(":")[1:])
        whole = all(value.is_finite() for value in (first, last, step)) and step > 0 and last >= first
        count = int((last - first) / step) + 1 if whole else 0
    except (InvalidOperation, ValueError, OverflowError):
        count = 0
    if not 0 < count <= _MOST:
        raise ArgumentError("--center", repr(text), wanted)
    return Tries(tuple(f"{first + k * step:f}" for k in range(count)))


def plan_tries(source: Any, job: dict[str, Any], memory: Any, device: str) -> Any:
    """The plan of the job."""
    from footprint.api.try_axes import plan_try_axes

    centers = centers_in(source, job["center"])
    return plan_try_axes(source, centers, written=True, memory=memory, device=device, **_settings(source, job))


def run_tries(
    source: Any,
    job: dict[str, Any],
    about: dict[str, Any],
    files: Files,
    reporter: Any,
    memory: Any,
    device: str,
    black_frames: str,
) -> None:
    """Reconstruct the row about every axis, and draw all slices side by side."""
    from footprint.api._arrays import limits_and_budget, where
    from footprint.api.try_axes import plan_try_axes, try_axes
    from footprint.cli.outputs import written_slice
    from footprint.cli.warm import warm
    from footprint.io.output import together
    from footprint.io.slice_files import Along
    from footprint.io.slice_png import write_sheet_png
    from footprint.io.volume import create_volume

    if files.resume:
        raise ArgumentError("--resume", "it together with --center try:...", "one of the two")
    if files.report is not None:
        raise ArgumentError("--report", "it together with --center try:...", "one of the two", "--png draws all slices")
    tries, settings = job["center"], _settings(source, job)
    centers = centers_in(source, tries)
    budget = limits_and_budget(where(device), memory)[1]

    def make(written: Any, memory: Any) -> Any:
        return plan_try_axes(source, centers, written=written, memory=memory, device=device, **settings)

    plan = files.plan(make, budget, "float32", len(centers))
    reporter.plan(plan)
    n_y, n_x = plan.outputs[0].spec.shape[1:]
    shape = (len(tries.words), n_y, n_x)
    along = Along("center", tries.words)
    reporter.warm(lambda: warm(source, plan.limits.device, job, files))
    about = about | {"row": settings["row"], "rows": f"{settings['row']}:{settings['row'] + 1}"}
    about |= axis_apart(source, centers)
    about |= {"steps": str(job["steps"])} if job["steps"] is not None else {}
    with together():
        with reporter.progress("trying axes") as progress, reporter.measured():
            with create_volume(files.target, shape, "float32", files.overwrite, about, along=along, **files.packing) as volume:
                how: dict[str, Any] = {"out": volume, "memory": budget, "device": device, "black_frames": black_frames}
                try_axes(source, centers, progress=progress, **how, **settings)
        if files.png is not None:
            named = enumerate(along.files())
            images = (written_slice(files.target, volume.temporary, i, name) for i, name in named)
            write_sheet_png(images, tries.words, files.png, files.overwrite)
    figures = {"scan": about["scan"], "projections": source.n_angles, "row": settings["row"], "axes": list(tries.words)}
    figures |= {"shape": list(shape), "unit": about["unit"], "output": files.target}
    reporter.report(f"Tried {counted(len(tries.words), 'axes')}", figures | ({"png": files.png} if files.png else {}))


def _settings(source: Any, job: dict[str, Any]) -> dict[str, Any]:
    """The job's options as `try_axes` has them: one row in place of several."""
    rows = job["rows"]
    if rows is not None and rows.stop - rows.start != 1:
        raise ArgumentError("--rows", f"{rows.start}:{rows.stop}", "one row with --center try:..., such as 100:101")
    if job["out_dtype"] != "float32" or job["out_range"] is not None:
        raise ArgumentError("--output-dtype", job["out_dtype"], "float32 with --center try:...")
    rest = {name: value for name, value in job.items() if name not in ("center", "rows", "out_dtype", "out_range")}
    return rest | {"row": source.n_z // 2 if rows is None else rows.start}
