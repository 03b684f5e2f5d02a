"""``footprint join``: parts of a volume as one."""

from __future__ import annotations

import json

import click

from footprint.errors import printable
from footprint.units import counted


@click.command()
@click.argument("parts", nargs=-1, required=True)
@click.option("-o", "--out", "target", required=True, metavar="FILE", help="The volume to make of them: .h5.")
@click.option("--overwrite", is_flag=True, help="Replace an existing file.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(parts: tuple[str, ...], target: str, overwrite: bool, as_json: bool) -> None:
    """Join PARTS, reconstructed from rows of one scan, into one volume, without copying them.

    It is an HDF5 file with a virtual dataset over the parts, which must stay where they are relative to it. They are checked:
    the same options, scan and size, every row once, and a line of each as the volume shows it.

    \b
      footprint reconstruct scan.nx --rows 0:1000 -o part0.h5
      footprint reconstruct scan.nx --rows 1000:2000 -o part1.h5
      footprint join part*.h5 -o volume.h5
    """
    from footprint.io.join import join_volumes

    start, stop = join_volumes(parts, target, overwrite)
    if as_json:
        click.echo(json.dumps({"output": target, "parts": len(parts), "rows": [start, stop]}))
    else:
        click.echo(f"Joined {counted(len(parts), 'parts')}, rows {start}:{stop}, as {printable(target)}")
