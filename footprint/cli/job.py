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
