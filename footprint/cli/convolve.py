"""``footprint convolve IMAGE MASK -o OUT``: an image by row blocks within the budget, or a stack of frames one after another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from footprint.cli.config import config_option
from footprint.cli.job import Job, plane_option
from footprint.cli.loading import load
from footprint.cli.masks import beside_options, not_a_mask, open_beside, open_mask
from footprint.cli.render import Reporter, common_options
from footprint.errors import ArgumentError


def job_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that decide the plan; ``footprint plan convolve`` takes the same."""
    for option in (
        click.option("--correlate", is_flag=True, help="Correlate: do not flip the mask."),
        click.option("--dtype", default=None, help="Dtype of sums and result: float16, float32 or float64."),
        click.option(
            "--nan",
            default="propagate",
            show_default=True,
            help="NaN in the image: propagate, interpolate (from the pixels that are numbers), ignore (count as 0).",
        ),
        click.option("--depth", type=int, default=None, help="Frames that wait between two stages, for stacks (default: 2)."),
        plane_option,
        click.option(
            "--cval", type=float, default=0.0, show_default=True, help="Value outside the image, for --boundary constant."
        ),
        click.option(
            "--boundary",
            default="constant",
            show_default=True,
            help="What lies outside: constant, nearest, reflect (cba|abcd|dcb), mirror (dcb|abcd|cba) or wrap.",
        ),
        click.option(
            "--method",
            default="auto",
            show_default=True,
            help="direct sums, fft (transforms of tiles), separable (a mask that is a product); auto: by cost.",
        ),
        click.option("--mode", default="same", show_default=True, help="Size of the result: same, full or valid."),
        beside_options,
        click.argument("mask"),
        click.argument("image", callback=not_a_mask),
    ):
        command = option(command)
    return command


def plan_only(
    image: str,
    mask: str,
    target: str | None,
    plane: int | tuple[int, ...] | None,
    depth: int | None,
    dtype: str | None,
    mode: str,
    boundary: str,
    cval: float,
    nan: str,
    masked: str | None,
    weight: str | None,
    method: str,
    memory: str | None,
    device: str,
    correlate: bool = False,
) -> Any:
    """The plan of the job, which is a correlation's too; opens the files for their shapes, reads no pixels."""
    from footprint.api._mask import held_bytes
    from footprint.api.convolve_rows import plan_convolve_rows
    from footprint.api.stream import plan_convolve_frames
    from footprint.cli.pictures import is_written, open_input
    from footprint.io.frame_source import FrameSource, open_source
    from footprint.io.image_writer import writing_bytes

    options: dict[str, Any] = {"mode": mode, "boundary": boundary, "cval": cval, "nan": nan, "method": method}
    options |= {"memory": memory, "device": device}
    with (
        open_input(image, plane, open_source) as source,
        open_mask(mask, source, mode) as weights,
        open_beside(masked=masked, weight=weight) as beside,
    ):
        options |= beside
        wanted, result, sums = _result(source, weights.shape, mode, dtype)
        options |= {"dtype": source.dtype.str, "result": wanted}
        if isinstance(source, FrameSource):
            options |= {"depth": 2 if depth is None else depth, "holding": held_bytes(weights, sums)}
            writing = _writing(target, source, result, sums) if target is not None else 0
            return plan_convolve_frames(source.shape, weights.shape, **options, reading=source.host_bytes, writing=writing)
        _check_single(depth)
        writing = writing_bytes(target, result.shape, result.dtype) if target is not None and is_written(source) else 0
        options |= {"reading": source.host_bytes, "writing": writing, "mask_file": weights}
        return plan_convolve_rows(source.shape, weights.shape, **options)


def _check_single(depth: int | None) -> None:
    """An option of stacks is none of one image's."""
    if depth is not None:
        raise ArgumentError("depth", depth, "a stack of frames", "leave it out for one image")


def _result(source: Any, mask_shape: tuple[int, ...], mode: str, dtype: str | None) -> tuple[str | None, Any, str]:
    """The dtype asked for; shape and dtype of the result of an image, or of one frame; and the dtype of its sums."""
    from footprint.api._filtered import Asked, operation, returned
    from footprint.spec import ArraySpec

    how = Asked.of(mode, "constant", dtype, "propagate")
    spec = ArraySpec(source.shape[-2:], source.dtype.str)
    op, weights = operation(spec, mask_shape, how, 0.0)
    return how.result or None, returned(op.out_specs(spec, weights)[0], how.result), weights.dtype


def _writing(target: str, source: Any, result: Any, sums: str) -> int:
    """Bytes of a stack's writer: sums come as they are, or as the result where they had to cross a bus."""
    from footprint.io.image_writer import writing_bytes

    shape = (source.shape[0], *result.shape)
    return max(writing_bytes(target, shape, result.dtype, given) for given in (sums, result.dtype))


def _meant(source: Any, mask: Any, options: dict[str, Any]) -> str:
    """The method that "auto" is for this job."""
    from footprint.api._arrays import where
    from footprint.api._filtered import Asked, operation
    from footprint.api._mask import file_mask, mask_slot
    from footprint.api._method import method_of
    from footprint.io.frame_source import FrameSource
    from footprint.spec import ArraySpec

    spec = ArraySpec(source.shape[-2:], source.dtype.str)
    how = Asked.of(options["mode"], "constant", options["result"], options["nan"])
    op, weights = operation(spec, mask.shape, how, 0.0, beside=(options.get("masked"), options.get("weight")))
    # Frames go by the shapes.
    given = mask_slot(weights) if isinstance(source, FrameSource) else file_mask(mask, weights.dtype)
    return method_of(options["method"], op, spec, given, where(options["device"]))


@click.command(cls=Job)
@job_options
@click.option(
    "-o", "--out", "target", required=True, metavar="FILE", help="Result: .fits, .tif, .h5, .npy, .zarr; a picture's .png, .jpg."
)
@config_option("convolve")
@common_options
def command(
    image: str,
    mask: str,
    plane: int | tuple[int, ...] | None,
    depth: int | None,
    dtype: str | None,
    mode: str,
    boundary: str,
    cval: float,
    nan: str,
    masked: str | None,
    weight: str | None,
    method: str,
    target: str,
    correlate: bool,
    memory: str | None,
    device: str,
    overwrite: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Convolve IMAGE with MASK and write the result to OUT.

    IMAGE and MASK are FITS (FILE.fits[SCI]), TIFF, .npy or HDF5 files (FILE.h5:/dataset) or folders of Zarr; MASK may also be a
    name: gaussian:sigma=2 (or fwhm=5; truncate=4 sigmas), box:5 or box:5x7 (rows x columns), disk:7 (pixels across), log:1.5, the
    Laplacian of a Gaussian; or beam:12 (arcsec, or beam:12x8,pa=30), the Gaussian that gives a FITS image this beam, by its
    header. The image is read, filtered and written in blocks of rows that fit --memory; the result is the same to the last bit,
    whatever the blocks.

    IMAGE may also be a stack of frames: a file or dataset of three dimensions, TIFF pages, a folder of images in the order of the
    numbers in their names, or a video (its luminance, in as many bits as it has; needs PyAV: pip install "footprint[video]"). Every
    frame is filtered; later ones are read while earlier ones are written, and the report has frames per second and latencies.
    In a picture (PNG, JPEG, TIFF in colour) every colour is convolved and rounded to what the picture holds; transparency is kept.

    Pixels that --masked marks are left out of every sum, and --weight says how much the others count: results are weighted means,
    times the sum of the mask. Both are images of IMAGE's size in any of its formats, read in blocks like IMAGE; for a stack they
    apply to every frame.

    \b
      footprint convolve mosaic.fits beam.npy -o smooth.fits --boundary reflect
      footprint convolve mosaic.fits gaussian:sigma=2 -o smooth.fits
      footprint convolve mosaic.fits beam:15arcsec -o matched.fits
      footprint convolve mosaic.fits box:5 -o out.fits --masked bad.fits
      footprint convolve photo.png gaussian:sigma=2 -o out.png --boundary reflect
      footprint convolve frames.tif mask.npy -o filtered.h5 --depth 3
    """
    from pathlib import Path

    from footprint.cli.outputs import check_names
    from footprint.cli.pictures import check_image_out, refuse, tell_colours
    from footprint.io.frame_source import IMAGES, FrameSource, open_source
    from footprint.io.picture import is_picture

    reporter = Reporter(quiet, as_json)
    check_names([name for name in (image, mask, masked, weight) if name is not None], {"out": target}, IMAGES)
    options: dict[str, Any] = {"mode": mode, "boundary": boundary, "cval": cval, "nan": nan, "method": method}
    options |= {"memory": memory, "device": device, "flip": not correlate, "on_plan": reporter.plan}
    if is_picture(image):
        refuse(plane=plane, depth=depth, dtype=dtype)
        with open_beside(masked=masked, weight=weight) as beside:
            _picture(reporter, image, mask, target, overwrite, options | beside)
        return
    check_image_out(image, plane, target, overwrite, open_source)
    with (
        open_source(image, plane) as source,
        open_mask(mask, source, mode) as weights,
        open_beside(masked=masked, weight=weight) as beside,
    ):
        options |= beside
        tell_colours(reporter, source, target)
        wanted, result, sums = _result(source, weights.shape, mode, dtype)
        stack = isinstance(source, FrameSource)
        options["result"] = wanted
        if stack:
            options["depth"] = 2 if depth is None else depth
        else:
            _check_single(depth)
        alike = {name: options[name] for name in ("boundary", "nan", "device", "result", *beside)}
        alike["method"] = _meant(source, weights, options)
        reporter.warm(lambda: load(source, weights, target, alike))
        files = [f", {name} {Path(one.path).name}" for name, one in beside.items()]
        how = f"(mode {mode}, boundary {boundary}{'' if nan == 'propagate' else f', nan {nan}'}{''.join(files)})"
        header = _header(reporter, source, weights, f"{'correlated' if correlate else 'convolved'} {how}", mode, target)
        run = _frames if stack else _rows
        figures = run(reporter, source, weights, (result, sums), target, overwrite, header, options)
    about = {"image": image, "mask": list(weights.shape), "shape": figures.pop("shape", list(result.shape)), "output": target}
    reporter.report("Convolved", about | figures)


def _header(reporter: Reporter, source: Any, mask: Any, done: str, mode: str, target: str) -> Any:
    """What a FITS result says of itself; what it no longer says is told."""
    from pathlib import Path

    from footprint import __version__
    from footprint.api._beam import BeamMask
    from footprint.api._header import matched_header
    from footprint.io.filtered import filtered_header
    from footprint.io.image_writer import image_kind
    from footprint.ops.convolve import Correlate

    if source.header is None or image_kind(target) != "fits":
        return None
    if isinstance(mask, BeamMask):
        return matched_header(source.header, mask)
    same, now = Correlate(mask.shape), Correlate(mask.shape, mode)
    shift = tuple(same.offset(k) - now.offset(k) for k in mask.shape)
    how = f"footprint {__version__}: {done} with"
    sigma = getattr(mask, "sigma", None)
    header, note = filtered_header(source.header, Path(mask.path).name, mask.shape, (shift[0], shift[1]), how, sigma)
    if note:
        reporter.warn(f"{target}: {note}.")
    return header


def _rows(
    reporter: Reporter, source: Any, weights: Any, results: Any, target: str, overwrite: bool, header: Any, options: dict[str, Any]
) -> dict[str, Any]:
    """One image, block by block of rows."""
    from footprint.api.convolve_rows import convolve_rows
    from footprint.io.image import create_image

    result = results[0]
    with (
        create_image(target, result.shape, result.dtype, overwrite=overwrite, header=header, like=source) as writer,
        reporter.progress("convolving") as progress,
        reporter.measured(),
    ):
        convolve_rows(
            lambda start, stop, block: source.read(slice(start, stop), block),
            source.shape,
            source.dtype.str,
            weights,
            lambda start, stop, block: writer.write(slice(start, stop), block),
            reading=source.host_bytes,
            writing=writer.host_bytes(result.dtype),
            progress=progress,
            **options,
        )
    return {}


def _picture(reporter: Reporter, image: str, mask: str, target: str, overwrite: bool, options: dict[str, Any]) -> None:
    """Every colour of a picture."""
    from footprint.api._sides import BESIDE
    from footprint.api.convolve_rows import convolve_rows
    from footprint.cli import pictures
    from footprint.io.picture import channel, check_picture, open_picture

    with open_picture(image) as picture, open_mask(mask, channel(picture, 0), options["mode"]) as weights:
        shape = _result(picture, weights.shape, options["mode"], None)[1].shape
        check_picture(picture, target, shape, overwrite)
        alike = {name: options[name] for name in ("boundary", "nan", "device", *BESIDE) if name in options}
        alike["method"] = _meant(picture, weights, {**options, "result": None})
        reporter.warm(lambda: load(pictures.unread(picture), weights, target, alike))
        with reporter.progress("convolving") as progress:

            def job(colour: Any, take: pictures.Take, told: Any) -> None:
                read = lambda start, stop, block: colour.read(slice(start, stop), block)
                how = {**options, "reading": colour.host_bytes, "progress": progress, "on_plan": told}
                convolve_rows(read, colour.shape, colour.dtype.str, weights, take, **how)

            pictures.filtered(reporter, picture, target, overwrite, shape, job, _unknown(options))
        about = {"image": image, "mask": list(weights.shape), "shape": [*shape, picture.channels], "output": target}
    reporter.report("Convolved", about)


def _unknown(options: dict[str, Any]) -> str:
    """Of which pixels a picture's result has no number; its own are all numbers."""
    from math import isnan

    beyond = isnan(options["cval"]) and options["boundary"] == "constant" and options["nan"] == "propagate"
    if beyond or not {"masked", "weight"} & set(options):
        return "of NaN"
    return f"without {'a pixel that counts' if 'weight' in options else 'an unmasked pixel'} under the mask"


def _frames(
    reporter: Reporter, source: Any, weights: Any, results: Any, target: str, overwrite: bool, header: Any, options: dict[str, Any]
) -> dict[str, Any]:
    """A stack, frame by frame; rate and latencies."""
    from footprint.api.stream import convolve_frames
    from footprint.io.image_writer import create_stack
    from footprint.io.output import together

    result = results[0]
    shape = (source.shape[0], *result.shape)
    with (
        together(),
        create_stack(target, shape, result.dtype, overwrite, header, source) as writer,
        reporter.progress("convolving") as progress,
        reporter.measured(),
    ):
        figures: dict[str, Any] = convolve_frames(
            source.read,
            source.shape,
            source.dtype.str,
            weights,
            lambda number, block: writer.write(slice(number, number + 1), block[None]),
            reading=source.host_bytes,
            writing=_writing(target, source, *results),
            progress=progress,
            **options,
        )
    del figures["seconds"]
    return {"shape": list(shape), **figures}
