"""``footprint sources IMAGE -o CATALOG``: a catalogue of an image's sources, the image read by rows within the budget."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import click

from footprint.cli.render import Reporter, common_options
from footprint.errors import FormatError, printable
from footprint.units import counted


def job_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that decide the plan; ``footprint plan sources`` takes the same."""
    for option in (
        click.option("--plane", type=int, default=None, help="Plane of a cube, counted from 0."),
        click.option(
            "--capacity",
            type=int,
            default=None,
            help="Components to make room for; by default, planned again with more if too few.",
        ),
        click.option("--lesson", is_flag=True, help="Take the background as 0, as the Carpentries' GPU lesson does."),
        click.option("--min-area", type=int, default=1, show_default=True, help="Smallest number of pixels in an island."),
        click.option(
            "--connectivity", type=int, default=4, show_default=True, help="4, or 8 to join pixels that touch at a corner."
        ),
        click.option("--kappa", type=float, default=3.0, show_default=True, help="Half width of the clip, in standard deviations."),
        click.option(
            "--sigma", type=float, default=5.0, show_default=True, help="Threshold above the background, in units of the noise."
        ),
        click.option("--segmentation", default=None, metavar="FILE", help="Also write the label image: .fits, .tif, .h5 or .npy."),
        click.argument("image"),
    ):
        command = option(command)
    return command


def plan_only(image: str, target: str | None, plane: int | None, segmentation: str | None, **options: Any) -> Any:
    """The plan of the job; opens the file for its shape, reads no pixels."""
    from footprint.api.find_sources import plan_find_sources
    from footprint.io.image import open_image
    from footprint.io.image_writer import writing_bytes

    with open_image(image, plane) as source:
        return plan_find_sources(
            source.shape,
            dtype=source.dtype.str,
            labels=segmentation is not None,
            streamed=True,
            reading=source.host_bytes,
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


def _load(source: Any, labels: bool, device: str) -> None:
    """Load compiled kernels and coordinate libraries with a job of a few pixels: what is measured after is the image's."""
    import numpy as np

    from footprint.api.find_sources import find_sources

    noise = np.random.default_rng(0).standard_normal((128, 128))
    noise[8:10, 8:10] = 100
    half_empty = noise.copy()
    half_empty[::2] = 0
    # The clip forecasts well on the one and not on the other, and each way has kernels of its own.
    for few in (noise, half_empty):
        pixels = np.ascontiguousarray(few, source.dtype)
        find_sources(pixels, labels=np.empty(few.shape, np.int32) if labels else None, header=source.header, device=device)


@click.command()
@job_options
@click.option("-o", "--out", "target", default=None, metavar="FILE", help="Catalogue: .ecsv, .fits, .vot, .csv or .reg (DS9).")
@click.option("--png", default=None, metavar="FILE", help="Also write a picture of the image with the sources circled.")
@common_options
def command(
    image: str,
    segmentation: str | None,
    plane: int | None,
    target: str | None,
    png: str | None,
    memory: str | None,
    device: str,
    overwrite: bool,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Find the sources in IMAGE, islands of pixels above --sigma times the noise, and write a catalogue of them.

    IMAGE is a FITS (degenerate axes, NaN and either byte order are fine), TIFF, .npy or HDF5 file. Background and noise are the
    median and the standard deviation that remain after clipping at --kappa. Positions come from the header's WCS; fluxes are in Jy
    where the image is in Jy/beam and the beam is known. The image is read in blocks of rows that fit --memory; the catalogue is the
    same to the last bit, whatever the blocks.

    \b
      footprint sources mosaic.fits -o catalogue.ecsv --sigma 5 --png mosaic.png
    """
    from footprint.api.find_sources import find_sources
    from footprint.cli.outputs import check_names, check_png, under_option
    from footprint.io.catalog import check_catalog, write_catalog
    from footprint.io.image import check_image, create_image, open_image
    from footprint.io.output import together
    from footprint.io.sky_png import write_sky_png

    reporter = Reporter(quiet, as_json)
    check_names([image], {"out": target, "segmentation": segmentation, "png": png})
    if target is not None:
        check_catalog(target, overwrite)
    check_png(png, overwrite)
    if segmentation is not None:
        with under_option("segmentation"):
            check_image(segmentation, overwrite)
    with open_image(image, plane) as source, together():
        reporter.warm(lambda: _load(source, segmentation is not None, device))
        with (
            create_image(segmentation, source.shape, "int32", overwrite, source.header) if segmentation else nullcontext() as labels
        ):
            with reporter.progress("finding") as progress, reporter.measured():
                table = find_sources(
                    source, labels=labels, memory=memory, device=device, on_plan=reporter.plan, progress=progress, **options
                )
            if len(table) == 0 and table.meta["noise"] == 0:
                value = f"every pixel kept by the clip is {table.meta['background']:.6g}"
                raise FormatError(image, f"has neither noise nor sources ({value})", "give an image that is not constant")
        if target is not None:
            write_catalog(table, target, overwrite)
        if png is not None:
            write_sky_png(source, table, png, overwrite)
    if target is None and not reporter.silent:
        click.echo(_brightest(table))
    figures = {name: value for name, value in table.meta.items() if isinstance(value, int | float | str)}
    written = {"catalogue": target, "segmentation": segmentation, "png": png}
    reporter.report(
        f"Found {counted(len(table), 'sources')}",
        {"image": image, "shape": list(source.shape), "sources": len(table), "unit": source.unit, **figures}
        | {name: path for name, path in written.items() if path is not None},
    )
