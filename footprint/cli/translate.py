"""Another program's options in ours: what was translated, and what was not and why."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import click

from footprint.errors import printable

Key = tuple[str, str]
TRUE, FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
TRANSLATED = "footprint.translated"
"""Where a command's context has the file of another program, and what was made of it."""


@dataclass
class Translation:
    """A file's options as ours.

    Attributes
    ----------
    table
        Option -> value, as a TOML file's table [reconstruct] has them.
    done
        Lines of the file, and what became of each.
    left
        Lines that were not translated, and why.
    usual
        Keys that are not in the file, and what the other program's default of each came to.
    """

    table: dict[str, Any] = field(default_factory=dict)
    done: list[tuple[str, str]] = field(default_factory=list)
    left: list[tuple[str, str]] = field(default_factory=list)
    usual: list[tuple[str, str]] = field(default_factory=list)

    def tell(self, path: str, brief: bool = False) -> None:
        """Print a line for every line of the file and every default that counts, or a warning of those that were not translated."""
        left = [f"{line}: {why}" for line, why in self.left]
        if brief:
            said = [f"footprint: warning: {path}: not translated: {'; '.join(left)}"] * bool(left)
        else:
            said = [f"footprint: {path}:", *(f"  {line}  ->  {words}" for line, words in self.done)]
            said += [f"  {line}  ->  {words}, as by default there" for line, words in self.usual]
            said += ["not translated:"] * bool(left) + [f"  {line}" for line in left]
        for line in said:
            click.echo(printable(line), err=True)


class Reader:
    """The lines, those that are dealt with, and what they came to."""

    def __init__(self, lines: dict[Key, str]) -> None:
        self.lines, self.found = lines, Translation()
        self._open = dict(lines)

    def get(self, section: str, key: str) -> str:
        """A value, "" where it is not said; "none" says nothing."""
        value = self.lines.get((section, key), "")
        return "" if value.lower() == "none" else value

    def say(self, option: str, value: Any, *keys: Key) -> None:
        """What the lines of these keys came to."""
        self.found.table[option] = value
        self._close(self.found.done, f"{option} = {toml(value)}", keys)
        if not any(key in self.lines for key in keys):
            self.found.usual += [(f"no [{section}] {key}", f"{option} = {toml(value)}") for section, key in keys]

    def same(self, words: str, *keys: Key) -> None:
        """Lines that ask for what is done anyway."""
        self._close(self.found.done, words, keys)

    def skip(self, why: str, *keys: Key) -> None:
        """Lines that are not translated."""
        self._close(self.found.left, why, keys)

    def _close(self, kind: list[tuple[str, str]], words: str, keys: tuple[Key, ...]) -> None:
        for key in keys:
            value = self._open.pop(key, None)
            if value is not None:
                kind.append((f"[{key[0]}] {key[1]} = {value}".rstrip(), words))

    def flag(self, section: str, key: str) -> bool | None:
        """A switch: None where it is not said, or is no switch."""
        word = self.get(section, key).lower()
        return True if word in TRUE else False if word in FALSE else None

    def off(self, section: str, key: str) -> bool:
        """Whether a switch or an amount is not said, no, or 0; of a word that is neither it is not."""
        return not self.get(section, key) or self.flag(section, key) is False or self.number(section, key) == 0

    def number(self, section: str, key: str) -> float | None:
        """A number: None where it is not said, or is none."""
        try:
            return float(self.get(section, key))
        except ValueError:
            return None

    def one_of(self, section: str, key: str, option: str, words: dict[str, Any], why: str) -> None:
        """One word for another; a word whose translation is None is what is done anyway."""
        word = self.get(section, key).lower()
        if not word:
            return
        if word not in words:
            self.skip(why, (section, key))
        elif words[word] is None:
            self.same("as it is here", (section, key))
        else:
            self.say(option, words[word], (section, key))

    def rest(self, known: Collection[Key], machine: Collection[Key]) -> None:
        """What no rule has dealt with: empty values of known keys are defaults, all else is told."""
        for key, value in list(self._open.items()):
            if key in machine:
                self.skip("says how the other program runs, not what it computes", key)
            elif key not in known:
                self.skip("is not a known key", key)
            elif value.lower() in ("", "none"):
                self.same("left to the default", key)
            else:
                self.skip("has no counterpart here", key)


def toml(value: Any) -> str:
    """A value as TOML has it."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {toml(item)}" for name, item in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)
