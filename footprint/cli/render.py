"""What people see: the plan's table, a progress bar with time left and memory, the report; or one JSON object."""

from __future__ import annotations

import importlib
import io
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import click

from footprint.backend.compiling import watched
from footprint.backend.memory import PeakMeter, give_back, resident_bytes, small_pages
from footprint.cli import stop
from footprint.cli.inputs import tell
from footprint.cli.streams import console
from footprint.cli.translate import TRANSLATED
from footprint.errors import printable
from footprint.plan.spent import Busy, measuring
from footprint.settings import kept_bytes
from footprint.units import counted, format_bytes, format_seconds

Plan = Any
_COMPILING = "compiling kernels"

F = TypeVar("F", bound=Callable[..., Any])


def common_options(command: F) -> F:
    """Options every job has: --memory --device --overwrite --quiet --json."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object with every figure to standard output."),
        click.option("--quiet", "-q", is_flag=True, help="Print only warnings and errors."),
        click.option("--overwrite", is_flag=True, help="Replace existing output files."),
        click.option(
            "--device",
            default="auto",
            show_default=True,
            help="auto, cpu, cuda, cuda:1, opencl:0; several as cuda:0,cuda:1 or cuda:*.",
        ),
        click.option(
            "--memory", default=None, metavar="SIZE", help="Memory budget: 2GB, 512MiB or a share of free memory (default: 80%)."
        ),
    ):
        command = option(command)
    return command


class Reporter:
    """Prints for people on standard error, results on standard output; quiet and JSON are decided here and nowhere else.

    Parameters
    ----------
    quiet
        Print nothing but warnings and errors.
    as_json
        Print one JSON object at the end and nothing else on standard output.
    """

    def __init__(self, quiet: bool = False, as_json: bool = False) -> None:
        self.quiet, self.as_json = quiet, as_json
        # What is no size is refused, whether this job keeps anything or not.
        kept_bytes()
        self.figures: dict[str, Any] = {}
        self.busy: dict[str, Busy] = {}
        # Each is told of the plan by `planned(plan)`, and at the end of everything by `reported(title, figures)`.
        self.watchers: list[Any] = []
        # Sentences that were warned of, by whomever.
        self.warned: list[str] = []
        self._bar: Any = None
        context = click.get_current_context(silent=True)
        path, found = (context.meta if context else {}).get(TRANSLATED, (None, None))
        if found is not None:
            self.figures["not_translated"] = [f"{line}: {why}" for line, why in found.left]
            found.tell(path, brief=self.silent)

    @property
    def silent(self) -> bool:
        """Whether tables and bars are left out."""
        return self.quiet or self.as_json

    def plan(self, plan: Plan, product: bool = False) -> None:
        """The plan's table, on standard output where it is the ``product``; its figures join the report."""
        size = plan.footprint
        self.figures |= {f"plan_{name}": n for name, n in size.terms().items()}
        self.figures |= {"plan_total": size.total, "device": plan.limits.device}
        # A job that is whole has no chunk.
        chunk = plan.chunk.size if plan.chunk else None
        self.figures |= {"chunk": chunk, "runs": plan.n_parts}
        self._lanes({lane: t for lane, t in plan.seconds if t > 0}, {})
        for watcher in self.watchers:
            watcher.planned(plan)
        if not self.silent:
            # A bar that is already moving has to know, or table and bar would overwrite each other.
            show_plan(plan, self._bar.console if self._bar else console(product))
            if self._bar:
                _move(self._bar)

    @contextmanager
    def progress(self, what: str) -> Iterator[Callable[[int, int], None]]:
        """A bar with time left and the process's memory; yields ``callback(done, total)``."""
        if self.silent:
            with says_what_is_compiled(silent=True):
                yield lambda done, total: stop.check()
            return
        # It starts with the plan or the first step: a mistake found before has no bar above it.
        bar = self._bar = _progress_bar(console())
        task = bar.add_task(what, total=None, memory="")

        def update(done: int, total: int) -> None:
            stop.check()
            _move(bar)
            bar.update(task, completed=done, total=total, memory=format_bytes(resident_bytes()))

        def told(compiles: bool) -> None:
            _move(bar)
            bar.update(task, description=f"{what}, {_COMPILING}" if compiles else what)

        try:
            with watched(told):
                yield update
        finally:
            if bar.live.is_started:
                bar.stop()
            self._bar = None

    def warm(self, tiny_job: Callable[[], object]) -> None:
        """Run a job of a few pixels first: what libraries and compiled kernels hold is reported apart as ``context``."""
        before = resident_bytes()
        with says_what_is_compiled(self.silent):
            tiny_job()
        if not self.silent:
            _warm_display()
        self.figures["context"] = max(resident_bytes() - before, 0)

    @contextmanager
    def measured(self, when: bool = False) -> Iterator[None]:
        """Time the block and its lanes, and measure the growth of the process's memory at its highest; all join the report.

        ``when`` keeps when lanes were busy, too, as ``busy``.
        """
        small_pages()
        # What the first small job left free would hide what this one takes.
        give_back()
        start, spent = time.perf_counter(), time.process_time()
        with PeakMeter() as meter, measuring(when) as lanes:
            yield
        self.busy = lanes.busy
        self.figures["seconds"], self.figures["processor"] = time.perf_counter() - start, time.process_time() - spent
        self.figures["measured_peak"] = meter.growth if meter.known else None
        if lanes.held is not None:
            self.figures["measured_on_device"] = lanes.held
        self._lanes(lanes.predicted, lanes.measured)
        if lanes.longest:
            self.figures["seconds_longest"] = lanes.longest

    def _lanes(self, predicted: Mapping[str, float], measured: Mapping[str, float]) -> None:
        """Seconds by lane, one below the other."""
        for name, seconds in (("seconds_predicted", predicted), ("seconds_measured", measured)):
            if seconds:
                self.figures.pop(name, None)
                self.figures[name] = dict(seconds)

    def warn(self, sentence: str) -> None:
        """A warning on standard error, shown in JSON mode and by a quiet run, too."""
        self.figures.setdefault("warnings", []).append(sentence)
        click.echo(f"footprint: warning: {printable(sentence)}", err=True)

    def report(self, title: str, figures: Mapping[str, Any]) -> None:
        """The last word: every figure by name."""
        self.figures |= dict(figures)
        tell()
        for watcher in self.watchers:
            watcher.reported(title, self.figures)
        if self.as_json:
            # JSON knows no NaN and no infinity; readers refuse them.
            known = {name: None if isinstance(n, float) and not math.isfinite(n) else n for name, n in self.figures.items()}
            click.echo(json.dumps(known, default=_plain))
        elif not self.quiet:
            _show_report(title, self.figures)


def _progress_bar(console: Any) -> Any:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[memory]}"),
    )
    return Progress(*columns, console=console, transient=False)


def _move(bar: Any) -> None:
    """Start a bar, or go on; where the system starts no thread that draws it, it is drawn at the end."""
    with suppress(RuntimeError):
        bar.start()


@contextmanager
def says_what_is_compiled(silent: bool = False) -> Iterator[None]:
    """A line of its own where no bar moves yet, gone when it is over; ``silent`` where nothing but errors is wanted."""
    shown: list[Any] = []

    def told(compiles: bool) -> None:
        if compiles and not silent:
            shown.append(console().status(_COMPILING))
            _move(shown[-1])
        elif shown:
            shown.pop().stop()

    try:
        with watched(told):
            yield
    finally:
        told(False)


def _warm_display() -> None:
    """Draw a table and a bar for nobody: their library takes megabytes at its first use, which are not the data's."""
    from rich.console import Console
    from rich.table import Table

    nowhere = Console(file=io.StringIO(), force_terminal=True, width=80)
    nowhere.print(Table("memory", title="Plan"))
    bar = _progress_bar(nowhere)
    _move(bar)
    bar.update(bar.add_task("", total=2, memory=""), completed=1)
    bar.stop()


def _plain(value: Any) -> Any:
    """NumPy scalars and arrays, paths and slices as JSON has them."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)


def show_plan(plan: Plan, screen: Any = None) -> None:
    """The memory table, and what a smaller budget would cost."""
    from rich.markup import escape
    from rich.padding import Padding
    from rich.table import Table

    words = importlib.import_module(type(plan).__module__.rpartition(".")[0] + ".explain")
    screen = screen or console()
    table = Table(title=f"Plan: {plan.name} on {plan.limits.device}", title_justify="left")
    table.add_column("memory")
    table.add_column("size", justify="right")
    table.add_column("bytes", justify="right")
    table.add_column("description")
    rows = words.memory_rows(plan)
    for kind, nbytes, remark in rows:
        table.add_row(
            kind, format_bytes(nbytes), f"{nbytes:,}", remark, style="bold" if kind == "total" else "", end_section=kind == "host"
        )
    screen.print(table)
    lines = words.summary_rows(plan)[1:]
    choices = words.choice_rows(plan)
    if plan.chunk and len(choices) > 1:
        unit = plan.chunk.unit
        text = "; ".join(f"{size}: {counted(n, unit)} at a time, {counted(parts, 'parts')}" for n, parts, size in choices)
        lines.append((words.choices_at(plan), text))
    for name, value in lines:
        screen.print(Padding(f"[dim]{name}[/dim]  {escape(printable(value))}", (0, 0, 0, 2), expand=False), highlight=False)


def _show_report(title: str, figures: Mapping[str, Any]) -> None:
    from rich.markup import escape
    from rich.padding import Padding

    screen = console()
    screen.print(f"[bold]{escape(printable(title))}[/bold]", highlight=False)
    for name, value in figures.items():
        unknown = (name == "chunk" and value is None) or (name == "unit" and not value)
        if (name.startswith(("plan_", "beamed_")) and name != "plan_total") or unknown or name in _TOLD:
            continue
        is_bytes = name in ("plan_total", "measured_peak", "measured_on_device", "context", "written_bytes")
        text = format_bytes(value) if is_bytes and value is not None else _shape(value) if name in _SHAPES else _words(value)
        if value is not None and name in _UNITS:
            text = counted(text, figures.get("unit", "") if _UNITS[name] == "unit" else _UNITS[name]).rstrip()
        label = "measured peak of the host" if name == "measured_peak" and "measured_on_device" in figures else _LABELS.get(name)
        line = f"[dim]{label or name.replace('_', ' ')}[/dim]  {escape(printable(text))}"
        if isinstance(value, dict) or name in _SENTENCES:
            screen.print(Padding(line, (0, 0, 0, 2), expand=False), highlight=False)
        else:
            # Names of files are printed as they are, so that they can be copied.
            screen.print(f"  {line}", highlight=False, soft_wrap=True)


# Names that say more to people than to scripts.
_LABELS = {
    "plan_total": "planned memory",
    "measured_peak": "measured peak",
    "measured_on_device": "measured on the device",
    "context": "libraries and kernels",
    "written_bytes": "written",
    "seconds": "time",
    "processor": "processor time",
    "chunk": "rows or slices at a time",
    "runs": "parts",
    "resumed": "slices of the stopped run",
    "seconds_predicted": "predicted",
    "seconds_measured": "measured",
    "frames_per_second": "frames per second",
    "latency_95": "latency of 95 %",
    "latency_largest": "largest latency",
    "latency_median": "median latency",
}
_SHAPES = ("shape", "mask")
_SENTENCES = ("bad_pixels",)
# Numbers that a sentence has, sentences that were told when they were due, and what only a script would ask for.
_TOLD = ("dead_pixels", "saturated_values", "warnings", "prominence_beamed", "seconds_longest")

# What the report's figures count; "unit" is the image's own.
_UNITS = {
    "seconds": "s",
    "processor": "s",
    "latency_median": "ms",
    "latency_95": "ms",
    "latency_largest": "ms",
    "center": "pixels",
    "center_spread": "pixels",
    "beam_major": "deg",
    "beam_minor": "deg",
    "beam_angle": "deg",
    "beam_area": "pixels",
    "min_area": "pixels",
    "clip_count": "pixels",
    "sigma": "times the noise",
    "flood": "times the noise",
    "kappa": "standard deviations",
} | dict.fromkeys(("background", "noise", "filtered_noise", "threshold", "clip_mean", "clip_median", "clip_std"), "unit")


def _shape(lengths: Any) -> str:
    return " x ".join(map(str, lengths))


def _words(value: Any) -> str:
    if value is None:
        return "not known"
    if isinstance(value, dict):
        slowest = max(value, key=value.__getitem__)
        return f"{', '.join(f'{lane} {format_seconds(t)}' for lane, t in value.items())}; limited by {slowest}"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple) and len(value) > 8:
        return f"{len(value)} values"
    if isinstance(value, list | tuple):
        return ", ".join(map(_words, value))
    return str(value)
