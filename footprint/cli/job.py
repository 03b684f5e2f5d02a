"""A command whose options may come from a file: what a flag says there is taken back on the command line; an option of several."""

from __future__ import annotations

from typing import Any

import click

from footprint.errors import ArgumentError


class Job(click.Command):
    """Takes ``--no-NAME`` for every flag ``--NAME`` that has no opposite of its own; its help does not list them."""

    def make_parser(self, ctx: click.Context) -> Any:
        """Read by click's own parser, which is told the opposites."""
        parser = super().make_parser(ctx)
        taken = {name for param in self.params for name in (*param.opts, *param.secondary_opts)}
        for param in self.params:
            if isinstance(param, click.Option) and param.is_flag and not param.secondary_opts:
                option = max(param.opts, key=len)
                off = option.startswith("--no-")
                opposite = f"--{option[5:]}" if off else f"--no-{option[2:]}"
                if opposite not in taken:
                    parser.add_option(obj=param, opts=[opposite], dest=param.name, action="store_const", const=off)
        return parser

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read by click; what one option asks for and another has no use for is refused before anything is opened."""
        rest = super().parse_args(ctx, args)
        if "cval" in ctx.params:
            _check_cval(ctx)
        return rest


def _check_cval(ctx: click.Context) -> None:
    """Raise where ``--cval`` is given, here or in a file, and no constant lies outside; the library takes it, as SciPy does."""
    from click.core import ParameterSource

    from footprint.kernels.common.borders import border

    source, boundary = ctx.get_parameter_source("cval"), ctx.params["boundary"]
    # Who gives another border here has overruled that of the file, and its constant with it.
    overruled = (ParameterSource.DEFAULT_MAP, ParameterSource.COMMANDLINE)
    if source is ParameterSource.DEFAULT or (source, ctx.get_parameter_source("boundary")) == overruled:
        return
    if border(boundary) != "constant":
        found = f"{ctx.params['cval']:g} with --boundary {boundary}"
        wanted = "it with --boundary constant alone, as other borders have no value of their own"
        raise ArgumentError("--cval", found, wanted, "give --boundary constant, or leave --cval out")


def _one_plane(_ctx: click.Context, _param: click.Parameter, value: str | int | None) -> int | tuple[int, ...] | None:
    try:
        if value is None or isinstance(value, int) or "," not in value:
            return None if value is None else int(value)
        return tuple(int(word) for word in value.split(","))
    except ValueError:
        wanted = "the number of one plane, or one for each axis before the last two, as 1,0"
        raise ArgumentError("--plane", repr(value), wanted, "leave --plane out for all of them") from None


plane_option = click.option(
    "--plane",
    metavar="N",
    callback=_one_plane,
    default=None,
    help="One plane of a cube or a stack, counted from 0, or 2,0: one along each axis (default: all).",
)
"""``--plane`` of a job that takes one plane or all of them."""
