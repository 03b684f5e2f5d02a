"""A command whose options may come from a file: what a flag says there is taken back on the command line."""

from __future__ import annotations

from typing import Any

import click


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
