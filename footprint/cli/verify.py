"""``footprint verify JOB``: one job on two devices, differences and speed-up printed."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from footprint.errors import ArgumentError


@click.command()
@click.argument("job", default="convolve")
@click.option(
    "--devices",
    default=None,
    help="Two names or more separated by commas, the reference first (default: the processor, and one device of every other kind).",
)
@click.option("--size", type=int, default=1024, show_default=True, help="Width and height in pixels.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(job: str, devices: str | None, size: int, as_json: bool) -> int:
    """Run JOB (convolve, fbp or sources) on two or more devices with the same random data: do they agree, and which is faster?

    Times are medians from host array to host array, transfers included; "work alone" is the time of the kernels. The exit code is
    1 if a device differs from the first by more than float32 rounding explains.
    """
    from footprint.api.verify import TOLERANCE, verify
    from footprint.cli.render import says_what_is_compiled

    names = None if devices is None else [name.strip() for name in devices.split(",") if name.strip()]
    if names is not None and len(names) < 2:
        raise ArgumentError(
            "--devices", repr(devices), "two names or more, such as cpu,cuda", "footprint devices lists what is here"
        )
    with says_what_is_compiled(silent=as_json):
        found = verify(job, names, size=size)
    first = found[0]
    if as_json:
        click.echo(json.dumps({"job": job, "size": size, "tolerance": TOLERANCE[job], "devices": [asdict(v) for v in found]}))
    else:
        click.echo(f"{job} at {size} x {size}, tolerance {TOLERANCE[job]:g} of the largest value")
        heads = ("device", "whole call", "gain", "work alone", "gain", "max diff", "rms diff")
        click.echo("{:<10}{:>12}{:>8}{:>12}{:>8}{:>10}{:>10}".format(*heads))
        for v in found:
            work = f"{1e3 * v.work:.3f} ms" if v.work is not None else "-"
            gain = f"{first.work / v.work:.2f} x" if v.work and first.work else "-"
            times = f"{1e3 * v.seconds:>9.3f} ms{first.seconds / v.seconds:>6.2f} x{work:>12}{gain:>8}"
            click.echo(f"{v.device:<10}{times}{v.largest:>10.1e}{v.rms:>10.1e}  {'agrees' if v.agrees else 'DIFFERS'}")
    return 0 if all(v.agrees for v in found) else 1
