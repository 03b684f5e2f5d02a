"""``footprint reconstruct SCAN -o OUT``: raw projections to a volume, read and written by rows within the budget."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import click

from footprint.cli import stop
from footprint.cli.axis import CENTER, check_axis_png, set_upright, tilt_unknown
from footprint.cli.cast import cast_of, cast_options
from footprint.cli.chosen import (
    axis_in,
    axis_shifts_in,
    centimetres,
    chosen,
    chosen_options,
    detector_of,
    rows_in,
    shifts_in,
    size_in,
)
from footprint.cli.config import config_option
from footprint.cli.finished import is_finished, refusal
from footprint.cli.log import logged
from footprint.cli.measures import ANGLE
from footprint.cli.peers import WithPeers
from footprint.cli.render import Reporter, common_options
from footprint.cli.steps import step_options, steps_of
from footprint.cli.tries import Files, Tries, plan_tries, run_tries, tries_of
from footprint.errors import ArgumentError
from footprint.units import counted

_FILTERS = "Filter of the rows: ramlak, shepp-logan, cosine, hamming, hann, tukey, lanczos, hilbert, parzen or none."

_METHODS = "Backprojection: direct (sums), or fourier, far faster; or, for few or noisy projections, iterative: sirt, cgls or tv."

# What the volume's metadata say in other words.
_APART = ("center", "out_dtype", "out_range")


def job_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that decide the plan; ``footprint plan reconstruct`` takes the same."""
    for option in (
        click.option("--entry", default=None, metavar="NAME", help="Entry to read in an HDF5 file with several scans."),
        click.option(
            "--angles",
            default=None,
            metavar="FILE",
            help="Angles in degrees, one per projection: text, .npy or FILE.h5:/dataset; FILE[a:b] takes lines a to b.",
        ),
        click.option("--angle-unit", default=None, metavar="UNIT", help="Unit of the angles, deg or rad, whatever the file says."),
        click.option(
            "--angle-offset",
            type=ANGLE,
            default=0.0,
            show_default=True,
            metavar="DEGREES",
            help="Degrees, or an angle with a unit, added to every angle.",
        ),
        click.option(
            "--direction",
            default="clockwise",
            show_default=True,
            help="How the sample turns as angles grow, seen with row 0 of a slice on top: clockwise or counterclockwise.",
        ),
        click.option("--sinograms", is_flag=True, help="SCAN is a stack of sinograms (n_z, n_angles, n_x)."),
        click.option(
            "--saturation",
            default="auto",
            show_default=True,
            metavar="LEVEL",
            help="Raw value at which pixels are saturated, and replaced; none, or auto: the type's largest, from 16 bits on.",
        ),
        click.option(
            "--machine-current/--no-machine-current",
            default=None,
            help="Whether projections and flats are divided by the machine's current (default: if an NXtomo file has it).",
        ),
        click.option("--dark-reduction", default="mean", show_default=True, help="How darks are combined: mean or median."),
        click.option(
            "--flat-reduction",
            default="mean",
            show_default=True,
            help="How flats taken together are combined: mean, or median, which ignores zingers in a few of them.",
        ),
        click.option(
            "--darks", default=None, metavar="FILE", help="Darks in a separate file: TIFF, .npy, FILE.h5:/dataset or a scan."
        ),
        click.option(
            "--flats", default=None, metavar="FILE", help="Flats in a separate file: TIFF, .npy, FILE.h5:/dataset or a scan."
        ),
        click.option("--shifts", default=None, metavar="FILE", help="Vertical shifts in pixels, one per projection."),
        click.option(
            "--axis-shifts", default=None, metavar="FILE", help="Shifts of the axis from --center in pixels, one per projection."
        ),
        click.option("--i0", default="auto", show_default=True, help="Open beam if there are no flats: auto, border or a number."),
        click.option(
            "--no-log",
            "log",
            flag_value=False,
            default=True,
            help="SCAN holds line integrals: use no flats and take no logarithm.",
        ),
        click.option(
            "--half-acquisition/--full-acquisition",
            default=None,
            help="Whether the axis lies at the detector's edge and a whole turn shows both halves (default: what the scan says).",
        ),
        click.option(
            "--pixel-size",
            default="auto",
            show_default=True,
            metavar="CM",
            help="Pixel size in cm, or as 6.5um; values are in 1/cm. auto: the scan's own; none: values are in 1/pixel.",
        ),
        chosen_options,
        step_options,
        cast_options,
        click.option("--circle", is_flag=True, help="Set to 0 the pixels outside the circle that every projection sees."),
        click.option("--roi", default=None, metavar="X0,X1,Y0,Y1", help="Part of each slice, X1 and Y1 excluded."),
        click.option(
            "--margin", type=int, default=0, show_default=True, metavar="N", help="Make slices N pixels larger on every side."
        ),
        click.option("--centered-axis", "centered", is_flag=True, help="Move slices so that the axis lies in their middle."),
        click.option(
            "--cutoff",
            type=float,
            default=1.0,
            show_default=True,
            help="Highest frequency kept, as a fraction of the Nyquist frequency.",
        ),
        click.option(
            "--accuracy",
            type=float,
            default=1e-4,
            show_default=True,
            help="Relative error of the Fourier method on noise: 1e-3, 1e-4 or 1e-5.",
        ),
        click.option(
            "--interpolation",
            default="linear",
            show_default=True,
            help="Interpolation between pixels of a row: linear, or sinc (Fourier method only).",
        ),
        click.option("--nonnegative", is_flag=True, help="Keep values at 0 or above, with sirt and tv."),
        click.option(
            "--weight", type=float, default=None, help="Weight of the total variation in tv: larger is smoother between edges."
        ),
        click.option(
            "--iterations", type=int, default=None, metavar="N", help="Iterations of sirt (default: 100), cgls (20) or tv (200)."
        ),
        click.option("--method", default="direct", show_default=True, help=_METHODS),
        click.option(
            "--fft", default="auto", show_default=True, help="FFT library of the row filter: auto, cufft, stockham or vkfft."
        ),
        click.option(
            "--padding",
            default="constant",
            show_default=True,
            help="Padding of rows: constant, edge, reflect (dcb|abcd|cba), symmetric (cba|abcd|dcb) or wrap.",
        ),
        click.option("--filter", default="ramlak", show_default=True, help=_FILTERS),
        click.option("--center", default="auto", show_default=True, help=CENTER),
        click.option(
            "--rows",
            default=None,
            metavar="A:B",
            help="Detector rows to reconstruct, B excluded (default: all); or first, middle, last.",
        ),
        click.argument("scan"),
    ):
        command = option(command)
    return command


parsed_by = WithPeers


def plan_only(scan: str, target: str | None, memory: str | None, device: str, **options: Any) -> Any:
    """The plan of the job; opens the file for shapes and angles, reads no pixels."""
    from footprint.api._arrays import limits_and_budget, where
    from footprint.api._half import is_half
    from footprint.api.reconstruct import plan_reconstruct
    from footprint.cli.reconstruct_job import check_roi

    with _open(scan, options) as opened:
        source = chosen(opened, options)
        job = _arguments(source, options)
        if tilt_unknown(job):
            raise ArgumentError(
                "--tilt", "auto", "degrees for a plan, which reads no projections", "give --tilt 0.5, or leave it out"
            )
        if isinstance(job["center"], Tries):
            return plan_tries(source, job, memory, device)
        cast = cast_of(job)
        cast.given_to(job)
        check_roi(source, job, is_half(source, job["half_acquisition"], source.angles))
        budget = limits_and_budget(where(device), memory)[1]
        return cast.plan(budget, lambda memory: plan_reconstruct(source, written=True, memory=memory, device=device, **job))[0]


@click.command(cls=WithPeers)
@job_options
@click.option("-o", "--out", "target", required=True, metavar="FILE", help="Volume: .h5, .tif, .zarr, or a folder of TIFFs.")
@click.option("--png", default=None, metavar="FILE", help="Also write a picture of the middle slice.")
@click.option("--axis-png", default=None, metavar="FILE", help="Also write a picture of the axis search.")
@click.option(
    "--report", default=None, metavar="FILE", help="Also write a page of the run: plan, times, axis, steps, slices (.html)."
)
@click.option(
    "--log", "log_file", default=None, metavar="FILE", help="Append what is done, with times and errors, to a plain text file."
)
@click.option(
    "--black-frames", default="exclude", show_default=True, help="Projections without light: exclude (and say so) or keep."
)
@click.option(
    "--compression",
    default="none",
    show_default=True,
    help="Compression of an .h5: none, bitshuffle (LZ4) or gzip; of a .zarr: none, blosc (zstd, shuffled), zstd or gzip.",
)
@click.option(
    "--levels", type=int, default=1, show_default=True, help="Resolutions in a .zarr, each half as fine as the one before."
)
@click.option(
    "--zarr-format", type=int, default=2, show_default=True, help="Format of a .zarr: 2 (OME-Zarr 0.4) or 3 (OME-Zarr 0.5)."
)
@click.option(
    "--image-format", default="tif", show_default=True, help="Files of a folder: tif, or jp2 (JPEG 2000 of 8 or 16 bits)."
)
@click.option("--quality", type=float, default=None, metavar="DB", help="Peak signal-to-noise ratio of jp2 (default: lossless).")
@click.option("--resume", is_flag=True, help="Continue where a stopped run of this job ended, and let this one be resumed.")
@config_option("reconstruct")
@common_options
def command(
    scan: str,
    target: str,
    png: str | None,
    axis_png: str | None,
    report: str | None,
    log_file: str | None,
    black_frames: str,
    compression: str,
    levels: int,
    zarr_format: int,
    image_format: str,
    quality: float | None,
    resume: bool,
    memory: str | None,
    device: str,
    overwrite: bool,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Reconstruct SCAN and write the volume to OUT.

    SCAN is an NXtomo file (also in the variants of Diamond and DIAD), a DXchange file, or a stack of TIFF files. It is corrected by
    its flats and darks, dead pixels are replaced, and line integrals are reconstructed by filtered backprojection about an axis
    that is found or given. As many rows as fit --memory are read, reconstructed and written at a time, never the whole volume.

    \b
      footprint reconstruct scan.nx -o volume.h5 --memory 2GB --center auto
      footprint reconstruct tiffs -o slices --flats flats.tif --darks darks.tif
    """
    from footprint.cli.outputs import check_names
    from footprint.cli.reconstruct_job import Run

    reporter = Reporter(quiet, as_json)
    if resume:
        stop.keep(target)
    read = (scan, *(options[name] for name in ("flats", "darks", "angles", "shifts", "axis_shifts") if options[name] is not None))
    outputs = {"out": target, "png": png, "axis-png": axis_png, "report": report, "log": log_file}
    check_names(read, outputs, ("tiff", "jp2"))
    files = Files(target, png, overwrite, resume, axis_png, report, compression, levels, zarr_format, image_format, quality)
    with logged(log_file, reporter):
        finished = is_finished(target, overwrite, resume)
        if not finished:
            files.check("float32" if options["center"].startswith("try:") else options["out_dtype"])
        asked = dict(options)
        with _open(scan, options) as opened:
            source = chosen(opened, options)
            job = _arguments(source, options)
            taken = {name: job[name] for name in ("rows", "roi", "pixel_size", "iterations")}
            about = _about(scan, source, asked | taken | {"black_frames": black_frames})
            if finished:
                raise refusal(target, about, job)
            check_axis_png(axis_png, job["center"])
            source.check_headers()
            turned = set_upright(source, job, memory, device)
            about = turned | about
            if isinstance(job["center"], Tries):
                run_tries(source, job, about, files, reporter, memory, device, black_frames)
            else:
                Run(source, job, about, files, reporter, memory, device, black_frames).run()


def _open(scan: str, options: dict[str, Any]) -> Any:
    from footprint.io.scan import open_scan

    named = ["flats", "darks", "angles", "entry", "angle_unit", "sinograms", "flat_reduction", "dark_reduction"]
    named += ["machine_current", "saturation", "direction", "angle_offset"]
    with warnings.catch_warnings():
        if not options["log"]:
            warnings.filterwarnings("ignore", ".* has no (flats|darks)")
        return open_scan(scan, **{name: options.pop(name) for name in named})


def _arguments(source: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The options as the library takes them."""
    from footprint.api._scan import pixel_size_of
    from footprint.api.rotation_axis import METHODS, searches
    from footprint.io.shifts import read_shifts
    from footprint.ops.iterative import ITERATIONS

    job = dict(options)
    if job["center"].startswith("try:"):
        job["center"] = tries_of(job["center"])
    elif not searches(job["center"]):
        wanted = f"auto, {', '.join(METHODS)}, a detector position in pixels, or try:A:B:STEP"
        job["center"] = axis_in(source, _numbers("--center", job["center"], 1, float, wanted)[0])
    if job["rows"] is not None:
        job["rows"] = rows_in(source, _rows(job["rows"], detector_of(source)[1]))
    if job["roi"] is not None:
        job["roi"] = tuple(_numbers("--roi", job["roi"], 4, int, "four whole numbers X0,X1,Y0,Y1"))
    if job["pixel_size"] not in ("auto", "none"):
        job["pixel_size"] = size_in(source, centimetres(job["pixel_size"]))
    job["pixel_size"] = pixel_size_of(source, None if job["pixel_size"] == "none" else job["pixel_size"])
    if job["shifts"] is not None:
        job["shifts"] = shifts_in(source, read_shifts(job["shifts"], detector_of(source)[0]))
    if job["axis_shifts"] is not None:
        job["axis_shifts"] = axis_shifts_in(source, job["axis_shifts"], job["center"])
    job["steps"] = steps_of(source, job)
    job["iterations"] = ITERATIONS.get(job["method"]) if job["iterations"] is None else job["iterations"]
    return job


def _rows(text: str, n_z: int) -> slice:
    """``A:B``, either left out, or a word for one; unlike a slice, ends outside the scan are a mistake and not cut off."""
    words = {"first": 0, "middle": n_z // 2, "last": n_z - 1}
    if text in words:
        return slice(words[text], words[text] + 1)
    ends = text.split(":")
    try:
        start, stop = (int(end) if end else default for end, default in zip(ends, (0, n_z), strict=True))
    except ValueError:
        raise ArgumentError("--rows", repr(text), "A:B, such as 100:200 or :50, or first, middle, last") from None
    if not 0 <= start < stop <= n_z:
        raise ArgumentError("--rows", repr(text), f"A:B with A before B, both from 0 to {n_z}, the rows of this scan")
    return slice(start, stop)


def _numbers(name: str, text: str, count: int, kind: Callable[[str], Any], wanted: str) -> list[Any]:
    try:
        values = [kind(word) for word in text.split(",")]
    except ValueError:
        values = []
    if len(values) != count:
        raise ArgumentError(name, repr(text), wanted)
    return values


def _about(scan: str, source: Any, options: dict[str, Any]) -> dict[str, Any]:
    """How the volume was made, for the file that holds it."""
    from footprint import __version__

    about = {name: value for name, value in options.items() if value is not None and name not in _APART}
    start, stop = (options["rows"].start, options["rows"].stop) if options["rows"] else (0, source.n_z)
    span = f"{counted(source.n_angles, 'angles')}, {_degrees(source.angles.min())} to {_degrees(source.angles.max())} degrees"
    about |= {"rows": f"{start}:{stop}", "angles_used": span}
    about["machine_current"] = "divided by" if getattr(source, "gain", None) is not None else "not used"
    unit = "1/pixel" if options["pixel_size"] is None else "1/cm"
    return about | {"program": f"footprint {__version__}", "scan": scan, "sample": source.name, "unit": unit}


def _degrees(angle: float) -> str:
    return f"{angle * 57.29577951308232:.7g}"
