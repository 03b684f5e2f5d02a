"""``footprint plan JOB ...``: the memory table of a job, without reading a pixel and without the device."""

from __future__ import annotations

import importlib
from typing import Any

import click

from footprint.cli.config import config_option
from footprint.cli.job import Job
from footprint.cli.render import Reporter
from footprint.errors import nearest

_JOBS = {
    "reconstruct": "Show what reconstructing a scan would use.",
    "sources": "Show what finding the sources in an image would use.",
    "convolve": "Show what convolving an image with a mask would use.",
    "filter": "Show what filtering an image would use.",
}


class _Jobs(click.Group):
    """One subcommand a job, made from the options the job itself declares."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_JOBS)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in _JOBS:
            ctx.fail(f"no job {args[0]!r}; {nearest(args[0], list(_JOBS)) or 'jobs are ' + ', '.join(_JOBS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Jobs"):
            formatter.write_dl(list(_JOBS.items()))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _JOBS:
            return None
        job = importlib.import_module(f"footprint.cli.{cmd_name}")

        def show(as_json: bool, **options: Any) -> None:
            reporter = Reporter(as_json=as_json)
            plan = job.plan_only(**options)
            reporter.plan(plan, product=True)
            if as_json:
                reporter.report("plan", {"nbytes": plan.nbytes, "largest": plan.footprint.largest, "notes": list(plan.notes)})

        reads = "Reads what files say of themselves, but no pixels; --device null:h100 plans for a GPU that is not here."
        show.__doc__ = f"{_JOBS[cmd_name]}\n\n{reads}"
        made: Any = job.job_options(show)
        for option in (
            click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
            click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda:1, null, null:h100."),
            click.option(
                "--memory",
                default=None,
                metavar="SIZE",
                help="Memory budget: 2GB, 512MiB or a share of free memory (default: 80%).",
            ),
            click.option("-o", "--out", "target", default=None, metavar="FILE", help="Output of the job; nothing is written."),
        ):
            made = option(made)
        made = config_option(cmd_name)(made)
        return click.command(name=cmd_name, cls=getattr(job, "parsed_by", Job))(made)


@click.group(cls=_Jobs, subcommand_metavar="JOB [ARGS]...")
def command() -> None:
    """Show every byte a job would use, without reading any pixels and without the device.

    \b
      footprint plan reconstruct scan.nx --memory 2GB
      footprint plan sources mosaic.fits --device null:h100
    """
