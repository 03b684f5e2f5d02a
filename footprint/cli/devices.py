"""``footprint devices``: what is here, what it allows, and why the rest is not."""

from __future__ import annotations

import json
import textwrap

import click

from footprint.backend.registry import device_limits, devices
from footprint.units import format_bytes


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(as_json: bool) -> None:
    """List the devices Footprint can use, and why the others are unavailable.

    Profiles named null:NAME stand for other machines: `footprint plan JOB --device null:h100` plans for one of them.
    """
    rows: list[dict[str, object]] = []
    for name, problem in devices():
        limits = None if problem else device_limits(name)
        rows.append(
            {
                "device": name,
                "free": limits.free if limits else None,
                "local_memory": limits.local_mem if limits else None,
                "threads": limits.threads if limits else None,
                "problem": problem or None,
            }
        )
    if as_json:
        click.echo(json.dumps({"devices": rows}))
        return
    for row in rows:
        free = f"{format_bytes(row['free'])} free" if isinstance(row["free"], int) else ""
        if str(row["device"]).startswith("null"):
            free = "plans only" + (f", {free}" if free else "")
        text = f"unavailable: {row['problem']}" if row["problem"] else free
        click.echo(textwrap.fill(f"{row['device']:<15}{text}", 79, subsequent_indent=" " * 15, break_on_hyphens=False))
