"""``footprint demo``: the two main jobs on simulated data, from the raw scan and the raw image to the error."""

from __future__ import annotations

import json
import shlex
import time
from pathlib import Path
from typing import Any

import click

from footprint.errors import FormatError, printable


@click.command()
@click.option("--folder", default="footprint-demo", show_default=True, help="Where data and results are written.")
@click.option("--memory", default="24MB", show_default=True, metavar="SIZE", help="Memory budget of each job.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda, opencl.")
@click.option("--json", "as_json", is_flag=True, help="Print the errors against the truth as one JSON object.")
def command(folder: str, memory: str, device: str, as_json: bool) -> None:
    """Simulate a small scan and a small radio field; reconstruct the one and find the sources in the other.

    Prints each job's plan before it runs, and afterwards its time, its measured peak memory and its error against the known truth.
    Leaves volume.h5, catalogue.ecsv and a picture of each in the folder, replacing any files of those names.
    """
    from footprint.io.phantom import write_field, write_scan

    place = Path(folder)
    if place.is_file():
        raise FormatError(place, "is a file, not a folder")
    place.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    say(f"Writing a simulated scan of 400 projections and a radio field of 150 sources to {place}/")
    scan, field = write_scan(place / "scan.nx"), write_field(place / "field.fits")
    shared = ["--memory", memory, "--device", device, "--overwrite"]
    files = {name: str(place / name) for name in ("volume.h5", "volume.png", "catalogue.ecsv", "sources.png")}
    run(
        "reconstruct",
        str(scan.path),
        "-o",
        files["volume.h5"],
        "--center",
        "auto",
        "--method",
        "direct",
        "--png",
        files["volume.png"],
        *shared,
    )
    run("sources", str(field.path), "-o", files["catalogue.ecsv"], "--png", files["sources.png"], *shared)
    errors = {"reconstruction": volume_error(files["volume.h5"], scan), "sources": source_error(files["catalogue.ecsv"], field)}
    say("Compared with the truth")
    for line in in_words(**errors["reconstruction"], **errors["sources"]):
        say(f"  {line}")
    say(f"See {files['volume.png']} and {files['sources.png']}. Total time: {time.perf_counter() - start:.1f} s.")
    if as_json:
        click.echo(json.dumps(errors))


def say(text: str) -> None:
    """One line for people."""
    click.secho(printable(text), err=True, bold=not text.startswith(" "))


def run(*words: str) -> None:
    """Run a command as the shell would, and show it first: the demo is also a lesson."""
    from footprint.cli.main import main

    click.echo(err=True)
    click.secho(f"$ footprint {printable(shlex.join(words))}", err=True, fg="cyan")
    main(list(words), standalone_mode=False)


def in_words(
    rmse_over_range: float,
    bias_over_range: float,
    axis_error_pixels: float,
    bright: float,
    found_of_bright: float,
    median_distance_pixels: float,
    false: float,
) -> list[str]:
    """The errors for people, a line each."""
    return [
        f"RMS error of the volume: {rmse_over_range:.2%} of the object's range; bias: {bias_over_range:.4%}",
        f"error of the rotation axis: {axis_error_pixels:.3f} pixels",
        f"bright sources found: {round(found_of_bright * bright)} of {bright:.0f}; "
        f"median distance from the truth: {median_distance_pixels:.2f} pixels",
        f"false detections: {false:.0f}",
    ]


def volume_error(path: str, scan: Any) -> dict[str, float]:
    """Root mean square error of the volume over the object's own values, and how far off the axis was."""
    import h5py
    import numpy as np

    with h5py.File(path) as file:
        group = file["entry/reconstruction"]
        found = group["results/data"][()]
        center = float(group.attrs["center"])
    n = found.shape[-1]
    y, x = np.mgrid[:n, :n] - scan.center
    inside = x**2 + y**2 < (0.45 * n) ** 2
    difference = (found - scan.truth)[:, inside]
    return {
        "rmse_over_range": float(np.sqrt(np.mean(difference**2)) / np.ptp(scan.truth)),
        "bias_over_range": float(abs(difference.mean()) / np.ptp(scan.truth)),
        "axis_error_pixels": center - scan.center,
    }


def source_error(path: str, field: Any) -> dict[str, float]:
    """The sources over 7 sigma, the share of them found within a pixel, the median distance, and detections with no source."""
    import numpy as np
    from astropy.table import Table

    table = Table.read(path)
    x, y = np.asarray(table["x"]), np.asarray(table["y"])
    distance = np.hypot(field.x[:, None] - x[None, :], field.y[:, None] - y[None, :])
    bright = field.peak > 7 * field.noise
    nearest = distance[bright].min(axis=1)
    return {
        "bright": int(bright.sum()),
        "found_of_bright": float(np.mean(nearest < 1)),
        "median_distance_pixels": float(np.median(nearest[nearest < 1])),
        "false": int((distance.min(axis=0) > 5).sum()),
    }
