"""``footprint filter NAME IMAGE -o OUT``: medians, Gaussians and the like, by row blocks within the budget."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import click

from footprint.cli.config import config_option
from footprint.cli.job import Job, plane_option
from footprint.cli.render import Reporter, common_options
from footprint.errors import ArgumentError, choose

_OPTIONS = ("size", "percentile", "sigma", "amount", "axis")


def _known(_ctx: click.Context, _param: click.Parameter, word: str) -> str:
    """A filter's name as it is called here: ``median_filter`` and ``gaussian-laplace`` are understood."""
    from pathlib import Path

    from footprint.api.filter_rows import OPTIONS

    name = word.replace("-", "_").removesuffix("_filter")
    if name not in OPTIONS and Path(word).exists():
        raise ArgumentError("filter", f"the file {word}", "a filter's name, which comes before the image", "give median IMAGE")
    return choose("filter", name if name in OPTIONS else word, list(OPTIONS))


def job_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that decide the plan; ``footprint plan filter`` takes the same."""
    for option in (
        plane_option,
        click.option("--cval", type=float, default=0.0, show_default=True, help="Value outside, for --boundary constant."),
        click.option(
            "--boundary",
            default="reflect",
            show_default=True,
            help="What lies outside: reflect (abcd|dcba), mirror (abcd|cba), nearest, wrap or constant.",
        ),
        click.option("--axis", type=int, default=None, help="For sobel: 0 down the rows, 1 across them (default: 1)."),
        click.option(
            "--amount", type=float, default=None, help="For unsharp_mask: share of the difference that is added (default: 1)."
        ),
        click.option("--sigma", type=float, default=None, help="Width of gaussian, gaussian_laplace and unsharp_mask in pixels."),
        click.option("--percentile", type=float, default=None, help="For percentile: which one, 0 to 100; -10 is 90."),
        click.option(
            "--size",
            type=int,
            default=None,
            help="Size of the window in pixels; at most 11 for median, and for percentile other than 0 and 100.",
        ),
        click.argument("image"),
        click.argument("name", callback=_known),
    ):
        command = option(command)
    return command


def plan_only(
    name: str,
    image: str,
    target: str | None,
    plane: int | tuple[int, ...] | None,
    boundary: str,
    cval: float,
    memory: str | None,
    device: str,
    **how: Any,
) -> Any:
    """The plan of the job; opens the file for its shape, reads no pixels."""
    from footprint.api.filter_rows import plan_filter_frames, plan_filter_rows, result_dtype
    from footprint.cli.pictures import is_written, open_input
    from footprint.io.frame_source import FrameSource, open_source
    from footprint.io.image_writer import writing_bytes

    options: dict[str, Any] = {"mode": boundary, "cval": cval, "memory": memory, "device": device, **how}
    with open_input(image, plane, open_source) as source:
        dtype = result_dtype(name, source.dtype.str, how)
        writing = writing_bytes(target, source.shape, dtype) if target is not None and is_written(source) else 0
        plan = plan_filter_frames if isinstance(source, FrameSource) else plan_filter_rows
        return plan(name, source.shape, dtype=source.dtype.str, reading=source.host_bytes, writing=writing, **options)


@click.command(cls=Job)
@job_options
@click.option(
    "-o", "--out", "target", required=True, metavar="FILE", help="Result: .fits, .tif, .h5, .npy, .zarr; a picture's .png, .jpg."
)
@config_option("filter")
@common_options
def command(
    name: str,
    image: str,
    plane: int | tuple[int, ...] | None,
    boundary: str,
    cval: float,
    target: str,
    memory: str | None,
    device: str,
    overwrite: bool,
    quiet: bool,
    as_json: bool,
    **how: Any,
) -> None:
    """Filter IMAGE by NAME and write the result to OUT.

    NAME is median, minimum, maximum, percentile, gaussian, uniform, sobel, laplace, gaussian_laplace or unsharp_mask. IMAGE is a
    FITS (FILE.fits[SCI]), TIFF, .npy or HDF5 file (FILE.h5:/dataset), or a folder of Zarr. It is read, filtered and written in
    blocks of rows that fit --memory; the result is the same to the last bit, whatever the blocks. Rank filters keep the image's
    dtype; the others give floating-point numbers. In a picture (PNG, JPEG, TIFF in colour) every colour is filtered and rounded to
    what the picture holds; transparency is kept.

    IMAGE may also be a stack of frames: a file or dataset of three dimensions, TIFF pages, a folder of images in the order of the
    numbers in their names, or a video (its luminance is filtered, as of a folder of colour pictures, with a warning). Every frame
    is filtered as an image of its own; --plane takes one of them.

    \b
      footprint filter median in.fits -o out.fits --size 3
      footprint filter gaussian in.tif -o out.npy --sigma 2.5 --memory 500MB
      footprint filter unsharp_mask photo.jpg -o sharp.jpg --sigma 2
      footprint filter median frames/ -o clean.tif --size 3
    """
    from footprint.api.filter_rows import result_dtype
    from footprint.cli.outputs import check_names
    from footprint.cli.pictures import check_image_out, tell_colours
    from footprint.io.frame_source import IMAGES, FrameSource, open_source
    from footprint.io.image import create_image
    from footprint.io.image_writer import create_stack
    from footprint.io.output import together
    from footprint.io.picture import is_picture

    reporter = Reporter(quiet, as_json)
    check_names([image], {"out": target}, IMAGES)
    options: dict[str, Any] = {"mode": boundary, "cval": cval, "device": device, **how}
    if is_picture(image):
        _picture(reporter, name, image, plane, target, overwrite, {**options, "memory": memory})
        return
    check_image_out(image, plane, target, overwrite, open_source)
    with open_source(image, plane) as source:
        stack = isinstance(source, FrameSource)
        tell_colours(reporter, source, target)
        dtype = result_dtype(name, source.dtype.str, how)
        reporter.warm(lambda: _load(name, source, options))
        header = _header(reporter, source, name, how, target)
        run, create = (_frames, cast(Any, create_stack)) if stack else (_rows, cast(Any, create_image))
        with (
            together(),
            create(target, source.shape, dtype, overwrite=overwrite, header=header, like=source) as writer,
            reporter.progress("filtering") as progress,
            reporter.measured(),
        ):
            told = {"on_plan": reporter.plan, "progress": progress, "memory": memory, "writing": writer.host_bytes(dtype)}
            run(name, source, writer, options | told)
        about = {"image": image, "filter": name, "shape": list(source.shape), "output": target}
        reporter.report("Filtered", about | ({"frames": source.shape[0]} if stack else {}))


def _rows(name: str, source: Any, writer: Any, options: dict[str, Any]) -> None:
    """One image."""
    from footprint.api.filter_rows import filter_rows

    read = lambda start, stop, block: source.read(slice(start, stop), block)
    write = lambda start, stop, block: writer.write(slice(start, stop), block)
    filter_rows(name, read, source.shape, source.dtype.str, write, reading=source.host_bytes, **options)


def _frames(name: str, source: Any, writer: Any, options: dict[str, Any]) -> None:
    """A stack, frame by frame."""
    from footprint.api.filter_rows import filter_frames

    write = lambda number, frame: writer.write(slice(number, number + 1), frame[None])
    filter_frames(name, source.read, source.shape, source.dtype.str, write, reading=source.host_bytes, **options)


def _picture(
    reporter: Reporter,
    name: str,
    image: str,
    plane: int | tuple[int, ...] | None,
    target: str,
    overwrite: bool,
    options: dict[str, Any],
) -> None:
    """Every colour of a picture."""
    from footprint.api.filter_rows import filter_rows
    from footprint.cli import pictures
    from footprint.io.picture import check_picture, open_picture

    pictures.refuse(plane=plane)
    with open_picture(image) as picture:
        check_picture(picture, target, picture.shape, overwrite)
        alike = {key: value for key, value in options.items() if key != "memory"}
        reporter.warm(lambda: _load(name, pictures.unread(picture), alike))

        def job(colour: Any, take: pictures.Take, told: Any) -> None:
            read = lambda start, stop, block: colour.read(slice(start, stop), block)
            how = {"reading": colour.host_bytes, "on_plan": told, "progress": progress}
            filter_rows(name, read, colour.shape, colour.dtype.str, take, **how, **options)

        with reporter.progress("filtering") as progress:
            pictures.filtered(reporter, picture, target, overwrite, picture.shape, job)
        about = {"image": image, "filter": name, "shape": [*picture.shape, picture.channels], "output": target}
    reporter.report("Filtered", about)


def _header(reporter: Reporter, source: Any, name: str, how: dict[str, Any], target: str) -> Any:
    """What a FITS result says of itself; what it no longer says is told."""
    from footprint import __version__
    from footprint.io.filtered import filtered_header
    from footprint.io.image_writer import image_kind

    if source.header is None or image_kind(target) != "fits":
        return None
    told = ", ".join(f"{key} {how[key]}" for key in _OPTIONS if how.get(key) is not None)
    sigma = how.get("sigma")
    taps = how.get("size") or (3 if sigma is None else 2 * int(4 * sigma + 0.5) + 1)
    mask = f"{name} ({told})" if told else name
    widened = sigma if name == "gaussian" else None
    header, note = filtered_header(source.header, mask, (taps, taps), (0, 0), f"footprint {__version__}: filtered by", widened)
    if note:
        reporter.warn(f"{target}: {note}.")
    return header


def _load(name: str, source: Any, options: dict[str, Any]) -> None:
    """Load libraries and compiled kernels with images of a few rows: what is measured after is the data's."""
    from footprint.api.filter_rows import filter_rows
    from footprint.cli.loading import read_a_row
    from footprint.io.frame_source import FrameSource
    from footprint.kernels.common.few import SMALL

    height, width = source.shape[-2:]
    if isinstance(source, FrameSource):
        source.load()
    else:
        read_a_row(source)
    # More work goes to all threads, by a kernel of its own.
    for rows in {2, min(SMALL // max(width, 1) + 1, height)}:
        shape = (rows, min(width, 1 << 20))
        filter_rows(name, lambda start, stop, block: block.fill(0), shape, source.dtype.str, lambda *_: None, **options)
