"""The program ``footprint``: a group of commands, each loaded when it is called, and one place where errors become words."""

from __future__ import annotations

import errno
import importlib
import os
import re
import sys
import warnings
from typing import Any, NoReturn

import click

from footprint import __version__
from footprint.answers import meant_by, told_of
from footprint.cli import stop
from footprint.cli.streams import Unwritten, guard
from footprint.errors import FootprintError, FormatError, ThreadError, closest, nearest, printable
from footprint.units import format_bytes

# Command -> module, and the line shown in the overview; modules load only when their command runs.
_COMMANDS = {
    "demo": "Simulate a small scan and a small radio field; reconstruct the one and find the sources in the other.",
    "reconstruct": "Reconstruct a volume from an X-ray scan (NXtomo, DXchange, TIFF stack).",
    "sources": "Find the sources in a radio or optical image and write a catalogue.",
    "convolve": "Convolve an image with a mask, in blocks of rows if memory is short.",
    "filter": "Filter an image by medians, Gaussians and the like, in blocks of rows if memory is short.",
    "config": "Write a TOML file with every option of a job, or one translated from nabu, for --config.",
    "join": "Join parts, reconstructed from rows of one scan, into one volume, without copying them.",
    "plan": "Show every byte a job would use, without reading any pixels and without the device.",
    "view": "Show a volume in the browser, plane by plane: HDF5, TIFF, JPEG 2000, OME-Zarr, .npy or FITS, larger than memory.",
    "verify": "Run one job on two devices and compare their results and times.",
    "devices": "List the devices Footprint can use, and why the others are unavailable.",
}


class _LazyGroup(click.Group):
    """Knows its commands by name; ``--help`` loads none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        return importlib.import_module(f"footprint.cli.{cmd_name}").command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in _COMMANDS:
            near = nearest(args[0], list(_COMMANDS)) or f"commands are {', '.join(_COMMANDS)}"
            ctx.fail(f"no command {args[0]!r}; {near}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


_HELP = """Scientific image processing that knows its memory footprint before it runs.

Start with `footprint demo`. Then, for your own data:

\b
  footprint reconstruct scan.nx -o volume.h5 --memory 2GB --center auto
  footprint sources mosaic.fits -o catalogue.ecsv --sigma 5
  footprint plan reconstruct scan.nx --memory 2GB

Every command takes --help. Invalid input ends with a one-sentence message and exit code 2.
"""


@click.group(cls=_LazyGroup, help=_HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="footprint")
def main() -> None:
    """See ``_HELP``."""


def _command() -> tuple[str, click.Command]:
    """The command that was asked for, and what to type for it."""
    command: click.Command = main
    path = "footprint"
    for word in sys.argv[1:]:
        found = command.get_command(click.Context(command), word) if isinstance(command, click.Group) else None
        if found is not None:
            path, command = f"{path} {word}", found
    return path, command


# What functions call an argument that an option has another name for, where no option has that name itself.
_CALLED: dict[str, tuple[str, ...]] = {
    "--out": ("output", "out"),
    "--at": ("positions", "path"),
    "--boundary": ("mode", "boundary"),
    "--sino-normalization": ("normalization",),
}


def _in_shell_words(sentence: str, names_argument: bool) -> str:
    """Arguments as the shell spells them: ``memory=9`` is ``--memory 9``, and ``min_area: got 0`` is ``--min-area: got 0``."""
    params = _command()[1].params
    sentence = sentence.replace("footprint.try_axes(scan, centers)", "center=try:A:B:STEP").replace("wanted None or ", "wanted ")
    sentence = re.sub(r"wanted True, '(\w+)', or", r"wanted \1 or", sentence)
    known = {max(param.opts, key=len) for param in params}
    if "--background-map" in known:
        # Only a map has a shape.
        sentence = re.sub(r"^background: got shape", "background_map: got shape", sentence)
    for param in params:
        option = max(param.opts, key=len)
        own = option[2:].replace("-", "_")
        name = "|".join(one for one in _CALLED.get(option, (own,)) if one == own or f"--{one}" not in known)
        name = f"(?:{name})"
        if isinstance(param, click.Option):
            sentence = re.sub(rf"\b{name} \({option}\)", option, sentence).replace(f" ({option})", "")
            if param.is_flag and not param.secondary_opts:
                sentence = sentence.replace(f"{param.name}={param.flag_value is not False}", option)
            for off in param.secondary_opts[:1]:
                sentence = sentence.replace(f"{param.name}=False", off).replace(f"{param.name}=True", option)
            sentence = re.sub(rf"\b{name}='([\w.:-]+)'", rf"{option} \1", sentence)
            sentence = re.sub(rf"\b{name}=\[\.\.\.\]", f"{option} {(param.metavar or 'LIST').partition(',')[0]}", sentence)
            sentence = re.sub(rf"\bleave {name} out\b", f"leave {option} out", sentence)
            sentence = re.sub(rf"\b{name}=(?=['\w])", f"{option} ", sentence)
            if names_argument:
                sentence = re.sub(rf"^{name}: ", f"{option}: ", sentence)
    return sentence


def _usage(error: click.UsageError) -> NoReturn:
    """A mistake in the command line, in one sentence that says where to look."""
    words = re.sub(r"\. \(?Did you mean ([^?]*)\?\)?", r" (did you mean \1?)", error.format_message()).rstrip(".")
    if isinstance(error, click.NoSuchOption):
        known = {str(param.name): max(param.opts, key=len) for param in _command()[1].params if isinstance(param, click.Option)}
        words, hint = words.partition(" (")[0], _hint(error.option_name.lstrip("-").replace("-", "_"), known)
        words = f"{words}; {hint}" if hint else words
    _fail(f"{printable(words[:1].lower() + words[1:])}; see {_command()[0]} --help.")


def _hint(word: str, known: dict[str, str]) -> str:
    """What is said of a word that is none of the options, which are ``known`` by their arguments' names; empty where nothing is."""
    said = told_of(word, known).partition(";")[0]
    # Of what functions are told only holds here what speaks of options alone.
    if said and all(name in known for name in re.findall(r"(\w+)=", said)) and "array" not in said:
        return re.sub(r'(\w+)=(?:True|"(\w+)")?', lambda found: " ".join(filter(None, (known[found[1]], found[2]))), said)
    if meant := meant_by(word, known):
        return f"that is {known[meant]} here"
    near = closest(word, known)
    return f"the nearest is {known[near]}" if near else ""


def _fail(sentence: str, code: int = 2) -> NoReturn:
    click.echo(f"footprint: {sentence}", err=True)
    sys.exit(code)


def _unwritten(error: OSError) -> NoReturn:
    """Standard output takes nothing: what has been made is there nevertheless."""
    if isinstance(error, BrokenPipeError):
        # The reader of our output went away (head, less): nothing to report, and nobody to report it to.
        sys.exit(0)
    from footprint.io.naming import NAMED
    from footprint.io.output import reason

    # What was only made to load libraries is gone.
    there = ", ".join(name for name in NAMED if os.path.lexists(name))
    _fail(printable(f"standard output: could not be written ({reason(error)}){there and '; finished nevertheless: '}{there}."))


_SAID: set[str] = set()


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Our own warnings in one line; the libraries' are for programmers and stay out of the way."""
    if category is UserWarning and str(message) not in _SAID:
        # The plan and the run find the same.
        _SAID.add(str(message))
        click.echo(f"footprint: warning: {printable(_in_shell_words(str(message), False))}", err=True)


def entry() -> None:
    """What the shell calls."""
    guard()
    stop.watch()
    warnings.showwarning = _show_warning
    try:
        code = main(standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except FootprintError as error:
        _fail(_in_shell_words(str(error), not isinstance(error, FormatError)))
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(2)
    except click.UsageError as error:
        _usage(error)
    except click.ClickException as error:
        _fail(printable(error.format_message()))
    except (KeyboardInterrupt, click.Abort):
        _fail(stop.said(any("--resume continues" in said for said in _SAID)), 130)
    except Unwritten as error:
        _unwritten(error.error)
    except (MemoryError, ImportError, RuntimeError, OSError) as error:
        said = _limited(error)
        if said is None:
            raise
        _fail(printable(said))


def _limited(error: MemoryError | ImportError | RuntimeError | OSError) -> str | None:
    """What the system or a limit of it did not give; None where the error is of another kind."""
    from footprint.backend.memory import address_limit
    from footprint.io.output import FULL, reason

    limit = address_limit()
    allowed = "" if limit is None else f"ulimit -v allows this process addresses of at most {format_bytes(limit)}"
    if isinstance(error, MemoryError):
        words, fix = f" ({error})" if str(error) else "", f"{allowed}: raise that limit, or give" if allowed else "give"
        return f"memory: the system could not provide more{words}; {fix} a smaller --memory."
    if isinstance(error, RuntimeError):
        return str(ThreadError()) if "start new thread" in str(error) else None
    if allowed and (isinstance(error, ImportError) or error.errno in (None, errno.ENOMEM)):
        # Loaders say this in words of their own, or none, and some take it for a broken installation.
        return f"memory: libraries could not be loaded; {allowed}: raise that limit."
    if isinstance(error, ImportError):
        return None
    name = f"{error.filename}: " if error.filename else ""
    return f"{name}a file could not be written ({reason(error)})." if error.errno in FULL else f"{name}{reason(error)}."
