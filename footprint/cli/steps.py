"""Options of ``footprint reconstruct`` that put steps between open beam and backprojection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from footprint.errors import ArgumentError

_RINGS = "Remove rings: mean, mean-division, sorting, large, dead, all or fw; with settings: all:snr=3,size=61,small=21."


def step_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options of the steps."""
    for option in (click.option("--rings", default=None, metavar="METHOD[:SETTINGS]", help=_RINGS),):
        command = option(command)
    return command


def steps_of(source: Any, options: dict[str, Any]) -> Any:
    """Take the options of the steps out of ``options``: what ``steps`` of the library is to be, None where none is asked for."""
    from footprint.api.steps import steps

    settings = {"rings": settings_of("--rings", options.pop("rings"), "method")}
    given = {name: value for name, value in settings.items() if value is not None}
    return steps(**given) if given else None


def settings_of(option: str, text: str | None, main: str) -> dict[str, Any] | None:
    """``WORD:name=value,name=value`` as a mapping; None where nothing, or "none", is said."""
    if text is None or text == "none":
        return None
    word, colon, rest = text.partition(":")
    found: dict[str, Any] = {main: word}
    for item in rest.split(",") if colon else ():
        name, equals, value = item.partition("=")
        if not (name and equals and value):
            raise ArgumentError(option, repr(item), "settings such as size=31, with commas between")
        found[name] = _number(value)
    return found


def _number(text: str) -> Any:
    """A whole number, a number, or the word as it is."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
