"""Options of ``footprint reconstruct`` as other programs spell them, put into our words before they are read."""

from __future__ import annotations

from collections.abc import Sequence

import click

from footprint.cli.job import Job
from footprint.errors import ArgumentError, choose, printable

# Another name of an option whose values are the same.
_NAMES = {"--rotation-axis": "--center", "--delta-beta": "--phase", "--fbp-filter": "--filter"}
_NAMES |= {"--flat-method": "--flat-reduction", "--dark-method": "--dark-reduction"}
_FILTERS = {"shepp": "shepp-logan", "ramp": "ramlak", "ram-lak": "ramlak"}
# The method of rings -> its settings by option.
_RINGS = {
    "fw": {"--fw-sigma": "sigma", "--fw-level": "level", "--fw-filter": "wavelet"},
    "vo-all": {"--vo-all-snr": "snr", "--vo-all-la-size": "size", "--vo-all-sm-size": "small"},
}
_METHOD, _SEARCH, _AUTO = "--remove-stripe-method", "--rotation-axis-method", "--rotation-axis-auto"
SPELLINGS = (
    *_NAMES,
    _METHOD,
    *(name for names in _RINGS.values() for name in names),
    _SEARCH,
    _AUTO,
    "--slice",
    "--start-row",
    "--end-row",
)
"""Every option that is understood and not shown."""


class WithPeers(Job):
    """A command that takes them; its help does not list them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the command line, in our words."""
        ctx.allow_extra_args = True
        read = super().parse_args(ctx, in_our_words(args))
        if ctx.args:
            # A pattern that the shell has filled in.
            count, last = len(ctx.args) + 1, printable(ctx.args[-1])
            fix = "put a pattern in quotes ('tiffs/*.tif'), or name the folder"
            raise ArgumentError("SCAN", f"{count:,} names, the last of which is {last}", "one", fix)
        return read


def in_our_words(args: Sequence[str]) -> list[str]:
    """The words of a command line with other programs' options as ours.

    Parameters
    ----------
    args
        Such as ``["--slice", "10-12"]``; after ``--`` nothing is an option.

    Returns
    -------
    list of str
        Such as ``["--rows", "10:13"]``; all else as it came.

    Raises
    ------
    ArgumentError
        Where the other program has what is not done here, or a value is none of its own.
    """
    ours: list[str] = []
    theirs: dict[str, str] = {}
    words = iter(args)
    for word in words:
        name, equals, value = word.partition("=")
        if word == "--":
            ours += [word, *words]
        elif name not in SPELLINGS:
            ours.append(word)
        else:
            given = value if equals else next(words, None)
            if given is None:
                raise ArgumentError(name, "nothing", "a value")
            theirs[name] = given
    return [*_said(theirs), *ours]


def _said(theirs: dict[str, str]) -> list[str]:
    found: list[str] = []
    for name, option in _NAMES.items():
        if name in theirs:
            value = theirs[name]
            found += [option, _FILTERS.get(value, value) if option == "--filter" else value]
    found += _axis(theirs) + _rings(theirs)
    if "--slice" in theirs:
        found += _slice(theirs["--slice"])
    if "--start-row" in theirs or "--end-row" in theirs:
        end = theirs.get("--end-row", "-1")
        found += ["--rows", f"{theirs.get('--start-row', '0')}:{'' if end == '-1' else end}"]
    return found


def _axis(theirs: dict[str, str]) -> list[str]:
    if _SEARCH in theirs:
        choose(_SEARCH, theirs[_SEARCH], ("vo",))
    if _AUTO in theirs and choose(_AUTO, theirs[_AUTO], ("auto", "manual")) == "manual":
        return []
    return ["--center", theirs.get(_SEARCH, "auto")] if _SEARCH in theirs or _AUTO in theirs else []


def _rings(theirs: dict[str, str]) -> list[str]:
    method = choose(_METHOD, theirs.get(_METHOD, "none"), ("none", *_RINGS))
    # Settings of another method say nothing, as there.
    settings = [f"{name}={theirs[option]}" for option, name in _RINGS.get(method, {}).items() if option in theirs]
    return [] if method == "none" else ["--rings", f"{method}:{','.join(settings)}" if settings else method]


def _slice(text: str) -> list[str]:
    """``a-b`` with b among them, one number, a word for one, or all."""
    first, dash, last = text.replace(" ", "").partition("-")
    if text == "all":
        return []
    if text in ("first", "middle", "last"):
        return ["--rows", text]
    if not first.isdecimal() or (dash and not last.isdecimal()):
        raise ArgumentError(
            "--slice", repr(text), "A-B (B is the last one), a number, first, middle, last or all", "--rows A:B excludes B"
        )
    return ["--rows", f"{first}:{int(last or first) + 1}"]
