"""``--config FILE`` of every job, and ``footprint config``, which writes such a file with every option and its default."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from footprint.cli.peers import SPELLINGS, in_our_words
from footprint.cli.translate import TRANSLATED, toml
from footprint.errors import ArgumentError, FormatError, closest, printable

JOBS = ("reconstruct", "sources", "convolve", "filter")
F = TypeVar("F", bound=Callable[..., Any])
# Of options that take settings, the one that stands alone.
_MAIN = {"zingers": "threshold", "phase": "delta-beta", "unsharp": "amount", "sino-normalization": "method", "rings": "method"}
_SELF = ("config", "help")


def config_option(job: str) -> Callable[[F], F]:
    """The option ``--config``: a file's table ``[job]`` has the values of options that are not given."""

    def read(ctx: click.Context, _: click.Parameter, path: str | None) -> None:
        if path is not None:
            ctx.default_map = _defaults(path, job, ctx.command)

    nabu = ", or from a nabu .conf" if job == "reconstruct" else ""
    source = f"Options from the table [{job}] of a TOML file (see footprint config){nabu}"
    help_text = f"{source}; options given here take precedence, and --no-FLAG unsets a flag."
    return click.option("--config", default=None, metavar="FILE", is_eager=True, expose_value=False, callback=read, help=help_text)


def _defaults(path: str, job: str, command: click.Command) -> dict[str, Any]:
    """Values by parameter, as click looks them up."""
    table = _table(path, job)
    known = {name: param for param in _params(_command(job)) for name in _names(param)}
    mine = {param.name for param in command.params}
    found: dict[str, Any] = {}
    for key, value in table.items():
        name = key.replace("_", "-")
        if name not in known:
            theirs = in_our_words([f"--{name}", str(value)]) if f"--{name}" in SPELLINGS else []
            near = theirs[0][2:] if theirs else closest(name, known)
            fix = f"did you mean {near}?" if near else f"footprint config {job} lists all options"
            raise FormatError(path, f"[{job}] has the unknown key {key!r}", fix)
        param = known[name]
        if param.name in found:
            raise FormatError(path, f"[{job}] gives {name} twice, or together with its opposite", "give it once")
        if param.name in mine:
            found[str(param.name)] = _value(path, name, param, value)
    return found


def _table(path: str, job: str) -> dict[str, Any]:
    """The job's table of the file."""
    from footprint.cli.nabu import is_nabu, read_nabu

    if is_nabu(path):
        if job != "reconstruct":
            raise FormatError(path, f"is a nabu configuration, and nabu has no job {job}", f"footprint config {job} writes one")
        found = read_nabu(path)
        click.get_current_context().meta[TRANSLATED] = (path, found)
        return found.table
    import tomllib

    from footprint.io.frames import existing_file

    file = existing_file(path, "a TOML file")
    try:
        whole = tomllib.loads(file.read_text("utf-8-sig"))
    except (ValueError, RecursionError, OSError) as error:
        # No valid TOML, no UTF-8, numbers of thousands of digits; tables within tables within tables.
        raise FormatError(path, f"is not valid TOML ({error})", "footprint config writes one to begin with") from error
    for name, value in whole.items():
        if not isinstance(value, dict):
            raise FormatError(path, f"has the key {name!r} outside of a table", f"put it below a line [{job}]")
        if name not in JOBS:
            near = closest(name, JOBS)
            fix = f"did you mean [{near}]?" if near else f"tables are {', '.join(JOBS)}"
            raise FormatError(path, f"has the unknown table [{name}]", fix)
    return dict(whole.get(job, {}))


def _value(path: str, name: str, param: click.Parameter, value: Any) -> Any:
    """A TOML value as the option would have it on the command line."""
    if isinstance(param, click.Option) and param.is_flag:
        if not isinstance(value, bool):
            raise FormatError(path, f"{name} is {value!r}", f"write {name} = true or {name} = false")
        if f"--{name}" in param.secondary_opts:
            return not value
        # An option such as --no-log sets its parameter to False.
        return value if param.flag_value is not False else not value
    if isinstance(value, bool):
        raise FormatError(path, f"{name} is {str(value).lower()}", "it takes a word or a number")
    if isinstance(value, dict):
        return _with_settings(path, name, value)
    if isinstance(value, list) and param.metavar == "A:B" and len(value) == 2:
        return ":".join(map(str, value))
    if isinstance(value, list):
        return value if param.nargs != 1 or getattr(param, "multiple", False) else ",".join(map(str, value))
    # No shell has seen it.
    return os.path.expanduser(value) if isinstance(value, str) and value.startswith("~/") else str(value)


def _with_settings(path: str, name: str, value: dict[str, Any]) -> str:
    """``{method = "all", snr = 3}`` as ``all:snr=3``."""
    main = _MAIN.get(name)
    settings = {key.replace("_", "-"): text for key, text in value.items()}
    if main is None or main not in settings:
        example = f"{name} = {{ {main} = ..., ... }}" if main else f'{name} = "..."'
        raise FormatError(path, f"{name} is a table of settings", f"write {example}")
    word = settings.pop(main)
    rest = ",".join(f"{key.replace('-', '_')}={text}" for key, text in settings.items())
    return f"{word}:{rest}" if rest else str(word)


def _command(job: str) -> click.Command:
    found: click.Command = importlib.import_module(f"footprint.cli.{job}").command
    return found


def _params(command: click.Command) -> list[click.Parameter]:
    return [param for param in command.params if param.name not in _SELF]


def _names(param: click.Parameter) -> list[str]:
    """What a parameter is called in a file: its long options, or an argument's name."""
    if isinstance(param, click.Option):
        return [opt[2:] for opt in (*param.opts, *param.secondary_opts) if opt.startswith("--")]
    return [str(param.name).replace("_", "-")]


@click.command()
@click.argument("job", default="reconstruct")
@click.option("-o", "--out", "target", default=None, metavar="FILE", help="Write to this file instead of standard output.")
@click.option("--overwrite", is_flag=True, help="Replace an existing file.")
@click.option("--from", "other", default=None, metavar="FILE", help="Translate a nabu .conf, and list what was not translated.")
def command(job: str, target: str | None, overwrite: bool, other: str | None) -> None:
    """Write a TOML file with every option of JOB (reconstruct, sources, convolve or filter), its meaning and its default.

    \b
      footprint config -o scan.toml
      footprint config --from nabu.conf -o scan.toml
      footprint reconstruct --config scan.toml
    """
    if job not in JOBS:
        near = closest(job, JOBS)
        raise ArgumentError("job", repr(job), f"one of {', '.join(JOBS)}", f"did you mean {near}?" if near else "")
    if other is not None and job != "reconstruct":
        raise ArgumentError("--from", other, "none, except with the job reconstruct")
    text = commented(job) if other is None else _translated(other)
    if target is None:
        click.echo(text, nl=False)
        return
    from footprint.io.output import output

    with output(target, overwrite) as temporary:
        Path(temporary).write_text(text, "utf-8")
    click.echo(f"footprint: wrote {printable(target)}", err=True)


def _translated(path: str) -> str:
    """A file with what nabu's says, and what it says that was not translated in comments."""
    from footprint.cli.nabu import read_nabu

    found = read_nabu(path)
    found.tell(path)
    lines = [f"# Translated from {os.path.basename(path)}, a configuration of nabu.", "", "[reconstruct]"]
    lines += [f"{option} = {toml(value)}" for option, value in found.table.items()]
    lines += ["", "# Not translated:"] * bool(found.left) + [f"# {line}: {why}" for line, why in found.left]
    return "\n".join(printable(line) for line in lines) + "\n"


def commented(job: str) -> str:
    """The file: every line but the table's a comment, so that as it stands it changes nothing."""
    lines = [
        f"# Options of footprint {job}. Lines that begin with # are defaults, or examples where there are none:",
        "# remove the # to use one. Options on the command line take precedence over this file.",
        "# File names are relative to where the command runs.",
        "",
        f"[{job}]",
    ]
    for param in _params(_command(job)):
        name = _names(param)[0]
        said = str(getattr(param, "help", None) or f"The {name} to work on.")
        lines += ["", *(f"# {line}" for line in _wrapped(said)), f"# {name} = {_default(param)}"]
    return "\n".join(lines) + "\n"


def _wrapped(text: str) -> list[str]:
    import textwrap

    return textwrap.wrap(text, 98)


def _default(param: click.Parameter) -> str:
    """A parameter's default in TOML, or what it takes."""
    import json

    if isinstance(param, click.Option) and param.is_flag:
        # Without a default, as where the scan says, there is an example.
        return "false" if param.flag_value is False or param.default is False else "true"
    default = param.default() if callable(param.default) else param.default
    if isinstance(default, int | float) and not isinstance(default, bool):
        return repr(default)
    word = str(default) if isinstance(default, str) else str(getattr(param, "metavar", None) or param.name or "").upper()
    return json.dumps(word, ensure_ascii=False)
