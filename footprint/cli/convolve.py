"""``footprint convolve IMAGE MASK -o OUT``: an image file through a mask, by row blocks within the budget."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from footprint.cli.render import Reporter, common_options
from footprint.errors import FormatError


# Pixels of the largest image of zeros that kernels are loaded with: it lies beside what a job plans.
_WARM = 1 << 20


def job_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that decide the plan; ``footprint plan convolve`` takes the same."""
    for option in (
        click.option("--plane", type=int, default=None, help="Plane of a cube, counted from 0."),
        click.option(
            "--cval", type=float, default=0.0, show_default=True, help="Value outside the image, for --boundary constant."
        ),
        click.option(
            "--boundary",
            default="constant",
            show_default=True,
            help="What lies outside: constant, nearest, reflect, mirror or wrap.",
        ),
        click.option("--mode", default="same", show_default=True, help="Size of the result: same, full or valid."),
        click.argument("mask"),
        click.argument("image"),
    ):
        command = option(command)
    return command


def plan_only(
    image: str,
    mask: str,
    target: str | None,
    plane: int | None,
    mode: str,
    boundary: str,
    cval: float,
    memory: str | None,
    device: str,
) -> Any:
    """The plan of the job; opens the files for their shapes, reads no pixels."""
    from footprint.api.convolve import plan_convolve_rows
    from footprint.io.image import open_image
    from footprint.io.image_writer import writing_bytes

    with open_image(image, plane) as source, _open_mask(mask) as weights:
        result = _result(source, weights.shape, mode)
        return plan_convolve_rows(
            source.shape,
            source.dtype.str,
            weights.shape,
            mode=mode,
            boundary=boundary,
            cval=cval,
            memory=memory,
            device=device,
            reading=source.host_bytes,
            writing=writing_bytes(target, result.shape, result.dtype) if target is not None else 0,
        )


def _result(source: Any, mask_shape: tuple[int, ...], mode: str) -> Any:
    """Shape and dtype of the job's result."""
    from footprint.ops.convolve import Correlate, sum_dtype
    from footprint.spec import ArraySpec

    spec = ArraySpec(source.shape, source.dtype.str)
    return Correlate(mask_shape, mode).out_specs(spec, ArraySpec(mask_shape, sum_dtype(spec.dtype)))[0]


def _open_mask(path: str) -> Any:
    from footprint.io.image import open_image

    try:
        return open_image(path)
    except FormatError as error:
        # --plane is the image's.
        raise FormatError(path, error.problem, "a mask is one plane" if "--plane" in error.fix else error.fix) from error


def _weights(path: str) -> Any:
    """Weights of a file, all finite."""
    import numpy as np

    with _open_mask(path) as file:
        weights = file.array()
    if not np.isfinite(weights).all():
        raise FormatError(path, "holds weights that are NaN or infinite", "a mask's weights are finite")
    return weights


def _load(source: Any, weights: Any, target: str, boundary: str, device: str) -> None:
    """Load libraries and compiled kernels with images of a few pixels: what is measured after is the data's."""
    import tempfile
    from contextlib import suppress
    from pathlib import Path

    import numpy as np

    from footprint.api.convolve import convolve
    from footprint.errors import FootprintError
    from footprint.io.image import create_image
    from footprint.kernels.common.few import SMALL

    row = np.empty((1, source.shape[1]), source.dtype)
    source.read(slice(0, 1), row)
    few = convolve(np.zeros((2, 2), source.dtype), weights, boundary=boundary, device=device)
    # More work goes to all threads, by a kernel of its own.
    rows = SMALL // (weights.size * source.shape[1]) + 1
    if rows <= source.shape[0] and rows * source.shape[1] <= _WARM:
        convolve(np.zeros((rows, source.shape[1]), source.dtype), weights, mode="same", boundary=boundary, device=device)
    # The temporary folder is not the job's: where it is full or read-only, the job goes on.
    with suppress(FootprintError, OSError), tempfile.TemporaryDirectory() as folder:
        with create_image(Path(folder) / f"few{Path(target).suffix}", few.shape, few.dtype) as writer:
            writer.write(slice(0, 2), few)


@click.command()
@job_options
@click.option("-o", "--out", "target", required=True, metavar="FILE", help="Result: .fits, .tif, .h5 or .npy.")
@click.option("--correlate", is_flag=True, help="Correlate: do not flip the mask.")
@common_options
def command(
    image: str,
    mask: str,
    plane: int | None,
    mode: str,
    boundary: str,
    cval: float,
    target: str,
    correlate: bool,
    memory: str | None,
    device: str,
    overwrite: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Convolve IMAGE with MASK and write the result to OUT.

    IMAGE and MASK are FITS, TIFF, .npy or HDF5 files (FILE.h5:/dataset). The image is read, filtered and written in blocks of
    rows that fit --memory; the result is the same to the last bit, whatever the blocks.

    \b
      footprint convolve mosaic.fits beam.npy -o smooth.fits --boundary reflect
    """
    from footprint.api.convolve import convolve_rows
    from footprint.cli.outputs import check_names
    from footprint.io.image import check_image, create_image, open_image

    reporter = Reporter(quiet, as_json)
    check_names([image, mask], {"out": target})
    check_image(target, overwrite)
    weights = _weights(mask)
    with open_image(image, plane) as source:
        result = _result(source, weights.shape, mode)
        reporter.warm(lambda: _load(source, weights, target, boundary, device))
        header = source.header if mode == "same" else None
        with (
            create_image(target, (result.shape[0], result.shape[1]), result.dtype, overwrite=overwrite, header=header) as writer,
            reporter.progress("convolving") as progress,
            reporter.measured(),
        ):
            convolve_rows(
                lambda start, stop, block: source.read(slice(start, stop), block),
                source.shape,
                source.dtype.str,
                weights,
                lambda start, stop, block: writer.write(slice(start, stop), block),
                mode=mode,
                boundary=boundary,
                cval=cval,
                memory=memory,
                device=device,
                flip=not correlate,
                reading=source.host_bytes,
                writing=writer.host_bytes(result.dtype),
                on_plan=reporter.plan,
                progress=progress,
            )
    reporter.report("Convolved", {"image": image, "mask": list(weights.shape), "shape": list(result.shape), "output": target})
