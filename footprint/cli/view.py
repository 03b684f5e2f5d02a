"""``footprint view``: a volume in the browser, plane by plane."""

from __future__ import annotations

import threading
import webbrowser

import click

from footprint.errors import ArgumentError, printable


@click.command()
@click.argument("volume")
@click.option("--memory", default=None, metavar="SIZE", help="Memory budget: 2GB, 512MiB or a share of free memory (default: 80%).")
@click.option("--port", type=int, default=0, show_default="any that is free", help="Port of 127.0.0.1.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def command(volume: str, memory: str | None, port: int, no_browser: bool) -> None:
    """Show the slices of VOLUME, and planes across them, in the browser, until Ctrl-C.

    VOLUME is HDF5 (FILE.h5:/DATASET if it holds several arrays), TIFF or JPEG 2000 (a file, or a folder of slices), OME-Zarr,
    .npy or FITS.
    It may be larger than memory, as only the planes shown are read. The page is served to this machine alone, at an address that
    nobody can guess, and loads nothing from anywhere else.
    """
    from footprint.api._arrays import limits_and_budget
    from footprint.cli.view_server import Server
    from footprint.io.planes import Planes
    from footprint.io.volume_source import open_volume

    if not 0 <= port < 1 << 16:
        raise ArgumentError("port", port, "0 to 65535")
    source = open_volume(volume)
    try:
        budget = limits_and_budget("cpu", memory)[1]
        planes = Planes(source.frames, (1 << 30) if budget is None else budget)
        with Server(source, planes, port) as server:
            click.echo(server.url)
            click.echo(f"footprint: {printable(volume)} is shown at this address until Ctrl-C.", err=True)
            if not no_browser:
                # It may be one that runs in this terminal.
                threading.Thread(target=_open, args=(server.once,), daemon=True).start()
            try:
                server.serve_forever()
            except KeyboardInterrupt:
                click.echo("footprint: closed.", err=True)
    finally:
        source.close()


def _open(url: str) -> None:
    if not webbrowser.open(url):
        click.echo("footprint: no browser was found: open the address in one.", err=True)
