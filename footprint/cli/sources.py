"""``footprint sources IMAGE... -o CATALOG``: catalogues of images' sources, images read by rows within the budget."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import click

from footprint.cli.config import config_option
from footprint.cli.render import Reporter, common_options
from footprint.errors import ArgumentError, FootprintError, FormatError, printable
from footprint.units import counted


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--plane", default=None, metavar="N", help="Plane of a cube, counted from 0, or all."),
        click.option(
            "--capacity",
            type=int,
            default=None,
            help="Make room for so many components; by default as many as there turn out to be.",
        ),
        click.option(
            "--contrast",
            type=float,
            default=0.002,
            show_default=True,
            help="With --deblend: how far a summit rises over the pass to a higher one at least, as a share of that.",
        ),
        click.option("--deblend", is_flag=True, help="Take apart sources that stand on one island; give --flood 3, too."),
        click.option("--lesson", is_flag=True, help="Take the background as 0, as the Carpentries' GPU lesson does."),
        click.option("--weight", default=None, metavar="FILE", help="No data where this image is not over 0."),
        click.option("--mask", default=None, metavar="FILE", help="No data where this image is not 0."),
        click.option(
            "--blank",
            default="auto",
            show_default=True,
            help="What means no data beside NaN: zero, nan or none for nothing else, auto to find out whether zeros do.",
        ),
        click.option(
            "--min-area", default="1", show_default=True, help='Smallest number of pixels in an island, or "0.3 beam" of the beam.'
        ),
        click.option(
            "--connectivity", type=int, default=4, show_default=True, help="4, or 8 to join pixels that touch at a corner."
        ),
        click.option("--maxiters", type=int, default=None, help="Clips at most; by default until nothing changes."),
        click.option("--flood", type=float, default=None, help="Lower threshold that islands reach down to; --sigma by default."),
        click.option(
            "--kappa",
            type=float,
            default=3.0,
            show_default=True,
            help="Clip what is farther from the median, in standard deviations.",
        ),
        click.option(
            "--sigma", type=float, default=5.0, show_default=True, help="Threshold above the background, in multiples of the noise."
        ),
        click.option("--segmentation", default=None, metavar="FILE", help="Also write the label image: .fits, .tif, .h5 or .npy."),
    ):
        command = option(command)
    return command


def job_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that decide the plan, for ``footprint plan sources``."""
    return click.argument("image")(_options(command))


def plan_only(
    image: str,
    target: str | None,
    plane: str | None,
    segmentation: str | None,
    mask: str | None,
    weight: str | None,
    **options: Any,
) -> Any:
    """The plan of the job, a plane of it where there are several; opens the files for their shapes, reads no pixels."""
    from footprint.api._blank import planned_image
    from footprint.api.find_sources import plan_find_sources
    from footprint.cli.sources_job import Job, extra_images, plane_of, planes_of
    from footprint.io.image import open_image
    from footprint.io.image_writer import writing_bytes

    job = Job(image, plane_of(plane), mask=mask, weight=weight)
    with open_image(image, planes_of(job)[0]) as source, extra_images(job) as extra:
        seen = planned_image(source, options.pop("blank"), extra)
        return plan_find_sources(
            seen.shape,
            dtype=seen.dtype.str,
            labels=segmentation is not None,
            streamed=True,
            reading=seen.host_bytes,
            writing=writing_bytes(segmentation, source.shape, "int32") if segmentation is not None else 0,
            **options,
        )


def _brightest(table: Any, rows: int = 20) -> str:
    """The brightest sources in columns, for whoever asked for no file."""
    few = table[table["peak"].argsort()[::-1][:rows]]
    few.keep_columns([n for n in ("label", "x", "y", "ra", "dec", "peak", "flux", "npix", "snr") if n in few.colnames])
    for name, form in {"x": ".2f", "y": ".2f", "ra": ".6f", "dec": ".6f", "peak": ".4g", "flux": ".4g", "snr": ".1f"}.items():
        if name in few.colnames:
            few[name].format = form
    rest = len(table) - len(few)
    lines = [printable(line) for line in few.pformat(max_lines=-1, max_width=-1)]
    return "\n".join([*lines, f"and {rest} more; -o FILE writes all of them"] if rest else lines)


@click.command()
@click.argument("images", nargs=-1, required=True, metavar="IMAGE...")
@_options
@click.option(
    "-o",
    "--out",
    "target",
    default=None,
    metavar="FILE",
    help="Catalogue: .ecsv, .fits, .vot, .csv, .parquet or .reg (DS9); or a folder, for one file an image.",
)
@click.option("--format", "suffix", default="ecsv", show_default=True, help="Of catalogues in a folder.")
@click.option("--png", default=None, metavar="FILE", help="Also write a picture of the image with the sources circled.")
@config_option("sources")
@common_options
def command(
    images: tuple[str, ...],
    segmentation: str | None,
    plane: str | None,
    target: str | None,
    suffix: str,
    png: str | None,
    mask: str | None,
    weight: str | None,
    overwrite: bool,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Find the sources in each IMAGE, islands of pixels above --sigma times the noise, and write a catalogue of them.

    IMAGE is a FITS (degenerate axes, NaN and either byte order are fine), TIFF, .npy or HDF5 file. Background and noise are the
    median and the standard deviation that remain after clipping at --kappa. Positions come from the header's WCS; fluxes are in Jy
    where the image is in Jy/beam and the beam is known. The image is read in blocks of rows that fit --memory; the catalogue is the
    same to the last bit, whatever the blocks. Several images share one start; --plane all takes every plane of a cube.

    \b
      footprint sources mosaic.fits -o catalogue.ecsv --sigma 5 --png mosaic.png
      footprint sources *.fits -o catalogues/ --format vot
    """
    from footprint.cli.outputs import check_names, check_png, under_option
    from footprint.cli.sources_job import jobs_of, make_folders, plane_of, run
    from footprint.io.catalog import check_catalog
    from footprint.io.image import check_image

    reporter = Reporter(quiet, as_json)
    outputs = {"out": target, "segmentation": segmentation, "png": png}
    jobs = jobs_of(images, outputs, suffix.lstrip("."), plane=plane_of(plane), mask=mask, weight=weight)
    if len(images) > 1 and target is None:
        raise ArgumentError("--out", f"none for {len(images)} images", "a folder for their catalogues", "give -o FOLDER/")
    make_folders(jobs)
    for job in jobs:
        check_names([job.image], {"out": job.out, "segmentation": job.segmentation, "png": job.png})
        if job.out is not None:
            check_catalog(job.out, overwrite)
        check_png(job.png, overwrite)
        if job.segmentation is not None:
            with under_option("segmentation"):
                check_image(job.segmentation, overwrite)
    if len(jobs) > 1:
        return _several(jobs, reporter, lambda job, one: run(job, one, overwrite, job is jobs[0], **options))
    table, figures = run(jobs[0], reporter, overwrite, **options)
    if target is None and not reporter.silent:
        click.echo(_brightest(table))
    reporter.report(f"Found {counted(len(table), 'sources')}", figures)
    return 0


def _several(jobs: list[Any], reporter: Reporter, run: Callable[[Any, Reporter], tuple[Any, dict[str, Any]]]) -> int:
    """Image by image; one that fails costs no other, and makes the exit code 2."""
    import time

    done: list[dict[str, Any]] = []
    failed: list[str] = []
    start = time.perf_counter()
    for job in jobs:
        one = Reporter(quiet=True)
        try:
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                table, figures = run(job, one)
        except FootprintError as error:
            sentence = str(error)
            failed.append(sentence if isinstance(error, FormatError) else f"{job.image}: {sentence}")
            click.echo(f"footprint: {printable(failed[-1])}", err=True)
            continue
        for warning in told:
            if warning.category is UserWarning:
                reporter.warn(f"{job.image}: {warning.message}")
        done.append(one.figures | figures)
        if not reporter.silent:
            where = f" -> {job.out}" if job.out else ""
            line = f"{job.image}: {counted(len(table), 'sources')}, {one.figures['seconds']:.3g} s{where}"
            click.echo(printable(line), err=True)
    found = sum(figures["sources"] for figures in done)
    peak = max((figures["measured_peak"] or 0 for figures in done), default=0)
    plan = max((figures["plan_total"] for figures in done), default=0)
    totals = {"images": len(done), "failed": len(failed), "sources": found, "seconds": time.perf_counter() - start}
    listed = {"results": done} if reporter.as_json else {}
    reporter.report(f"Found {counted(found, 'sources')}", totals | {"plan_total": plan, "measured_peak": peak} | listed)
    return 2 if failed else 0
