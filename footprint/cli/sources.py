"""``footprint sources IMAGE... -o CATALOG``: catalogues of images' sources, images read by rows within the budget."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import click

from footprint.cli.config import config_option
from footprint.cli.job import Job
from footprint.cli.render import Reporter, common_options
from footprint.cli.sources_maps import Readers, check_maps, files_in
from footprint.errors import ArgumentError, FootprintError, FormatError, printable
from footprint.units import counted


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option(
            "--plane",
            default=None,
            metavar="N|LIST",
            help="Plane of a cube, counted from 0; several as 0:10,20 (10 excluded), or all.",
        ),
        click.option(
            "--capacity",
            type=int,
            default=None,
            help="Make room for this many components (default: as many as are found).",
        ),
        click.option(
            "--contrast",
            type=float,
            default=0.002,
            show_default=True,
            help="With --deblend: how far a summit must rise above the pass to a higher one, as a share of the higher.",
        ),
        click.option(
            "--fit",
            default=None,
            metavar="SHAPE",
            help="Fit Gaussians: point for the beam's shape, gaussian for shapes of their own.",
        ),
        click.option(
            "--matched-filter",
            default=None,
            metavar="beam|FWHM",
            help="Find sources in the image filtered by the beam, or by a Gaussian of so many pixels; measure them as they are.",
        ),
        click.option(
            "--measure-on",
            multiple=True,
            metavar="FILE",
            help="Also measure what is found on this image, of the same grid; may be repeated; NAME=FILE names its columns.",
        ),
        click.option(
            "--shapes",
            default=None,
            metavar="WORD|A,B,THETA",
            help="With --at: catalogue takes the shapes listed there; numbers are those of all; otherwise they are the beam's.",
        ),
        click.option(
            "--at",
            default=None,
            metavar="FILE",
            help="Do not search; measure Gaussians of fixed position and shape, and --apertures, at this catalogue's positions.",
        ),
        click.option(
            "--reliability",
            type=float,
            default=None,
            metavar="SHARE",
            help="Choose --sigma so that this share of detections, such as 0.9, is real, judged by the inverted image.",
        ),
        click.option(
            "--negatives",
            default=None,
            metavar="FILE",
            help="Also write a catalogue of what is found, by the same rules, in the inverted image.",
        ),
        click.option("--windowed", is_flag=True, help="Also find centres in windows of the beam's size, or of each source's."),
        click.option("--kron", is_flag=True, help="Sum over ellipses of 2.5 Kron radii."),
        click.option("--annulus", default=None, metavar="R1,R2", help="With --apertures: subtract the mean between these radii."),
        click.option(
            "--apertures",
            default=None,
            metavar="R,...",
            help='Sum over discs of these radii: pixels such as 3,5, "1.5 beam" or "10 arcsec".',
        ),
        click.option("--pairs", is_flag=True, help="Split sources that were fitted as one but are two; with --residual."),
        click.option("--residual", is_flag=True, help="Search again in what the fits leave; with --deblend and --fit."),
        click.option("--deblend", is_flag=True, help="Separate sources that share an island; best with --flood 3."),
        click.option(
            "--lesson",
            is_flag=True,
            help="Take the background as 0, as the Carpentries' GPU lesson does; for a single image, also print its table.",
        ),
        click.option("--weight", default=None, metavar="FILE", help="No data where this image is not above 0."),
        click.option("--mask", default=None, metavar="FILE", help="No data where this image is not 0."),
        click.option(
            "--blank",
            default="auto",
            show_default=True,
            help="Values that mean no data: zero (and NaN); nan or none: NaN alone; auto: zeros, too, where they pad the image.",
        ),
        click.option(
            "--min-area",
            default="auto",
            show_default=True,
            help='Smallest number of pixels in an island, or a share such as "0.3 beam"; auto: by the beam, --sigma and --flood.',
        ),
        click.option(
            "--connectivity", type=int, default=4, show_default=True, help="4, or 8 to join pixels that touch at a corner."
        ),
        click.option("--maxiters", type=int, default=None, help="Maximum rounds of clipping (default: until nothing changes)."),
        click.option("--flood", type=float, default=None, help="Lower threshold that islands reach down to (default: --sigma)."),
        click.option(
            "--kappa",
            type=float,
            default=3.0,
            show_default=True,
            help="Clip pixels farther than this from the median, in standard deviations.",
        ),
        click.option(
            "--sigma", type=float, default=5.0, show_default=True, help="Threshold above the background, in multiples of the noise."
        ),
        click.option(
            "--report",
            default=None,
            metavar="FILE",
            help="Also write a page of everything: picture, table, expected completeness, plan (.html).",
        ),
        click.option(
            "--segmentation", default=None, metavar="FILE", help="Also write the label image: .fits, .tif, .h5, .npy or .zarr."
        ),
        click.option("--save-residual", default=None, metavar="FILE", help="Also write the image minus all fits."),
        click.option("--save-model", default=None, metavar="FILE", help="Also write the sum of all fits, as an image."),
        click.option("--save-noise", default=None, metavar="FILE", help="Also write the noise at every pixel."),
        click.option("--save-background", default=None, metavar="FILE", help="Also write the background at every pixel."),
        click.option(
            "--noise-map",
            default=None,
            metavar="FILE|VALUE",
            help="Take the noise from this image, or as this number: with --background-map 0 the threshold is --sigma times it.",
        ),
        click.option(
            "--background-map", default=None, metavar="FILE|VALUE", help="Take the background from this image, or as this number."
        ),
        click.option("--filter-size", type=int, default=3, show_default=True, help="Side of the mesh's median filter in cells."),
        click.option(
            "--box",
            type=int,
            default=64,
            show_default=True,
            help="Side of the mesh's cells in pixels, several times the size of a source.",
        ),
        click.option(
            "--background",
            default="global",
            show_default=True,
            help="Background and noise: global for one clip of the whole image, mesh where they differ from place to place.",
        ),
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
    report: str | None,
    negatives: str | None,
    mask: str | None,
    weight: str | None,
    background_map: str | None,
    noise_map: str | None,
    save_background: str | None,
    save_noise: str | None,
    save_model: str | None,
    save_residual: str | None,
    at: str | None,
    shapes: str | None,
    measure_on: tuple[str, ...],
    **options: Any,
) -> Any:
    """The plan of the job, a plane of it where there are several; opens the files for their shapes, reads no pixels."""
    from footprint.api._blank import planned_image
    from footprint.api.find_sources import plan_find_sources
    from footprint.cli.sources_at import plan_at
    from footprint.cli.sources_job import Job, counting, extra_images, page_of
    from footprint.cli.sources_planes import plane_of, planes_of
    from footprint.dtypes import kernel_dtype
    from footprint.io.image import open_image
    from footprint.io.image_writer import writing_bytes

    check_maps(background_map, options)
    maps_of: dict[str, Any] = {"mask": mask, "weight": weight, "background_map": background_map, "noise_map": noise_map}
    job = Job(image, plane_of(plane), report=report, at=at, measure_on=measure_on, **maps_of)
    with open_image(image, next(iter(planes_of(image, job.plane).values()))) as source, extra_images(job) as extra:
        others = extra.pop("measure_on", {})
        maps = {name: extra.pop(name) for name in ("background", "noise") if name in extra}
        seen = planned_image(source, options.pop("blank"), extra)
        images = {"save_background": save_background, "save_noise": save_noise, "save_model": save_model}
        images["save_residual"] = save_residual
        kept = {segmentation: "int32"} | dict.fromkeys(images.values(), kernel_dtype(source.dtype.str))
        page, budget = page_of(job, source, options)
        options |= dict.fromkeys(maps, "map")
        if at is not None:
            return plan_at(job, seen, source, maps, shapes, options)
        with counting(page, budget):
            plan = plan_find_sources(
                seen.shape,
                dtype=seen.dtype.str,
                labels=segmentation is not None,
                streamed=True,
                reading=Readers((seen, *files_in(maps), *others.values())).host_bytes,
                negatives=negatives is not None,
                writing=max(writing_bytes(path, source.shape, dtype) if path else 0 for path, dtype in kept.items()),
                **dict[str, Any]((name, path is not None) for name, path in images.items()),
                header=source.header,
                measure_on=len(others),
                **options,
            )
        return plan if page is None else page.joined(plan)


def _brightest(table: Any, rows: int = 20) -> str:
    """The brightest sources in columns, for whoever asked for no file."""
    import numpy as np

    forms = {"label": None, "x": ".2f", "y": ".2f", "ra": ".6f", "dec": ".6f", "peak": ".4g", "flux": ".4g", "npix": None}
    # Where places were given there are heights that were fitted, some of them NaN, and no peaks.
    forms |= {} if "peak" in table.colnames else dict.fromkeys(("fit_peak", "fit_flux", "aper1_flux", "aper1_flux_err"), ".4g")
    by = np.asarray(table[next(name for name in ("peak", "fit_peak", "aper1_flux") if name in table.colnames)])
    few = table[np.argsort(-by, kind="stable")[:rows]]
    forms = {name: form for name, form in (forms | {"snr": ".1f"}).items() if name in few.colnames}
    few.keep_columns(list(forms))
    for name, form in forms.items():
        few[name].format = form
    rest = len(table) - len(few)
    lines = [printable(line) for line in few.pformat(max_lines=-1, max_width=-1)]
    return "\n".join([*lines, f"and {rest} more; -o FILE writes all of them"] if rest else lines)


@click.command(cls=Job)
@click.argument("images", nargs=-1, required=True, metavar="IMAGE...")
@_options
@click.option(
    "-o",
    "--out",
    "target",
    default=None,
    metavar="FILE",
    help="Catalogue: .ecsv, .fits, .vot, .csv, .parquet or .reg (DS9); or a folder, for one file per image.",
)
@click.option("--format", "suffix", default="ecsv", show_default=True, help="Format of catalogues in a folder.")
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
    report: str | None,
    negatives: str | None,
    mask: str | None,
    weight: str | None,
    background_map: str | None,
    noise_map: str | None,
    save_background: str | None,
    save_noise: str | None,
    save_model: str | None,
    save_residual: str | None,
    at: str | None,
    measure_on: tuple[str, ...],
    overwrite: bool,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Find the sources in each IMAGE, islands of pixels above --sigma times the noise, and write a catalogue of them.

    IMAGE is a FITS (degenerate axes, NaN and either byte order are fine), TIFF, .npy or HDF5 file, or a folder of Zarr. Background
    and noise are the median and the standard deviation that remain after clipping at --kappa; with --background mesh or your own
    maps they vary from place to place. Positions come from the header's WCS; fluxes are in Jy if the image is in Jy/beam and the
    beam is known. The image is read in blocks of rows that fit --memory; the catalogue is the same to the last bit, whatever the
    blocks. Several images may be given; --plane all takes every plane of a cube.

    \b
      footprint sources mosaic.fits -o catalogue.ecsv --sigma 5 --png mosaic.png
      footprint sources *.fits -o catalogues/ --format vot
      footprint sources mosaic.fits -o out.ecsv --report page.html
      footprint sources band1.fits -o out.ecsv --measure-on band2.fits
      footprint sources epoch2.fits --at epoch1.ecsv -o out.ecsv
    """
    from footprint.cli.lesson import show_lesson
    from footprint.cli.outputs import check_html, check_names, check_png, under_option
    from footprint.cli.sources_at import check_at
    from footprint.cli.sources_job import jobs_of, make_folders, run
    from footprint.cli.sources_planes import plane_of, planes_of
    from footprint.io.catalog import check_catalog, check_suffix
    from footprint.io.image import check_image, open_image

    reporter = Reporter(quiet, as_json)
    outputs = {"out": target, "segmentation": segmentation, "png": png, "report": report}
    outputs |= {"save_background": save_background, "save_noise": save_noise, "save_model": save_model}
    outputs |= {"save_residual": save_residual, "negatives": negatives}
    check_maps(background_map, options)
    files = {"mask": mask, "weight": weight, "background_map": background_map, "noise_map": noise_map}
    if at is not None:
        check_at(command, outputs, options | {"measure_on": measure_on})
    elif options["shapes"] is not None:
        raise ArgumentError("--shapes", f"{options['shapes']} without --at", "a catalogue whose shapes are held", "give --at FILE")
    suffix, others = suffix.lstrip("."), {"at": at, "measure_on": measure_on}
    with under_option("format"):
        check_suffix(suffix)
    jobs = jobs_of(images, outputs, suffix, plane=plane_of(plane), **files, **others)
    if suffix != "ecsv" and jobs[0].out is not None and not jobs[0].out.endswith(f".{suffix}"):
        fix = "give -o FOLDER/, or leave --format out"
        raise ArgumentError("--format", f"{suffix} beside -o {target}", "a folder, as a file's name says its format", fix)
    if len(images) > 1 and target is None:
        raise ArgumentError("--out", f"none for {len(images)} images", "a folder for their catalogues", "give -o FOLDER/")
    make_folders(jobs, outputs)
    for job in jobs:
        read = (*files.values(), at, *(name.rpartition("=")[2] for name in measure_on))
        check_names([job.image, *(name for name in read if name is not None)], job.outputs)
        if job.out is not None:
            check_catalog(job.out, overwrite)
        if job.negatives is not None:
            check_catalog(job.negatives, overwrite)
        check_png(job.png, overwrite)
        check_html(job.report, overwrite)
        for option in ("segmentation", "save-background", "save-noise", "save-model", "save-residual"):
            file = job.outputs[option]
            if file is not None:
                with under_option(option):
                    check_image(file, overwrite)
    if len(jobs) > 1:
        warmed: set[str] = set()
        return _several(jobs, reporter, lambda job, one: run(job, one, overwrite, warmed, **options))
    table, figures = run(jobs[0], reporter, overwrite, set(), **options)
    if target is None and not reporter.silent:
        click.echo(_brightest(table))
    if options["lesson"] and len(planes := planes_of(jobs[0].image, jobs[0].plane)) == 1:
        rules = {name: options[name] for name in ("device", "memory", "sigma", "kappa", "connectivity")}
        with open_image(jobs[0].image, next(iter(planes.values()))) as source:
            show_lesson(source, reporter, **rules)
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
