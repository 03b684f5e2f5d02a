"""The errors Footprint raises. Each takes the numbers and writes its own sentence.

Every one of them is a mistake or a limit the user can act on: the command line prints the sentence and exits with code 2. `warn` is
for what the user should know and the job survives.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence

from footprint.units import format_bytes, kind_of

# Files whose frames are no caller's: ours, and those of Python that stand between a context or a wrapper and its user.
_OURS = (os.path.dirname(os.path.abspath(__file__)) + os.sep, contextlib.__file__, functools.__file__)


def printable(text: str) -> str:
    """Text that is safe on a terminal: control characters and broken bytes, as a name may hold, become ``\\x1b`` and such."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode("ascii") for c in text)


def warn(sentence: str) -> None:
    """Warn of something, at the caller's own line: Python names that line, and by default says the same there only once."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        level, frame = level + 1, frame.f_back
    warnings.warn(printable(sentence), UserWarning, stacklevel=level)


class FootprintError(Exception):
    """Base of all errors; each is a sentence meant for the user."""

    def __init__(self, sentence: str = "") -> None:
        super().__init__(printable(sentence))

    def __reduce__(self) -> tuple[object, ...]:
        # The default would call the class with its sentence alone, so none would survive the way back from a worker process.
        return _again, (type(self), self.args, self.__dict__)


def _again(kind: type[FootprintError], args: tuple[object, ...], values: dict[str, object]) -> FootprintError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(values)
    return error


def _shortened(text: str) -> str:
    """Both ends of a long text: an array or a number of a thousand digits would bury the sentence."""
    return text if len(text) <= 400 else f"{text[:200]} ... {text[-200:]}"


def _ended(fix: str) -> str:
    """What to do, and the end of the sentence."""
    return f"{'; ' * bool(fix)}{fix}{'' if fix.endswith('?') else '.'}"


class ArgumentError(FootprintError, ValueError):
    """An argument has a value that cannot be used: ``got`` was given, ``wanted`` was expected, ``fix`` says what to do."""

    def __init__(self, name: str, got: object, wanted: str, fix: str = "") -> None:
        self.name, self.got, self.wanted, self.fix = name, got, wanted, fix
        super().__init__(f"{name}: got {_shortened(str(got))}, wanted {wanted}{_ended(fix)}")


class ShapeError(ArgumentError):
    """An array's shape or dtype does not fit the operation."""


class LimitError(ShapeError):
    """An array has more than a device's kernel takes at once; smaller parts of it may do, or another device."""


class FormatError(FootprintError, ValueError):
    """A file is not what it should be: ``path`` names it, ``problem`` says what was found, ``fix`` what to do."""

    def __init__(self, path: object, problem: str, fix: str = "") -> None:
        self.path, self.problem, self.fix = path, problem, fix
        super().__init__(f"{path}: {problem}{_ended(fix)}")


class BudgetError(FootprintError, MemoryError):
    """The smallest plan does not fit the memory budget.

    Attributes
    ----------
    smallest
        The least budget that works.
    comfortable
        A budget with which the job is not slow, where with the least it is; else None.
    parts
        How many parts the job is then cut into with the least; else 0.
    """

    def __init__(
        self,
        budget: int,
        terms: Mapping[str, int],
        smallest: int,
        what: str = "this plan",
        fix: str = "",
        comfortable: int | None = None,
        parts: int = 0,
    ) -> None:
        self.budget, self.terms, self.smallest, self.what, self.fix = budget, dict(terms), smallest, what, fix
        self.comfortable, self.parts = comfortable, parts
        shares = " + ".join(f"{name} {format_bytes(n)}" for name, n in terms.items() if n or len(terms) == 1)
        better = ""
        if comfortable is not None:
            better = f"; better is memory={comfortable} ({format_bytes(comfortable)}), as the least means {parts} small parts"
        super().__init__(
            f"memory: {what} needs at least {format_bytes(sum(terms.values()))} ({shares}), the budget is {format_bytes(budget)}; "
            f"{fix or f'give memory={smallest} ({format_bytes(smallest)}) or more'}{better}."
        )

    def and_more(self, nbytes: int) -> tuple[int | None, int]:
        """What is comfortable, and the parts of the least, where so many bytes are taken beside."""
        return None if self.comfortable is None else self.comfortable + nbytes, self.parts

    def __reduce__(self) -> tuple[object, ...]:
        given = self.budget, self.terms, self.smallest, self.what, self.fix, self.comfortable, self.parts
        return type(self), given


class CapacityError(FootprintError, RuntimeError):
    """A result outgrew the capacity its plan declared; ``needed`` would be enough."""

    def __init__(self, name: str, capacity: int, needed: int, fix: str = "") -> None:
        self.name, self.capacity, self.needed, self.fix = name, capacity, needed, fix
        super().__init__(
            f"{name}: the plan has room for {capacity}, this image needs {needed}; {fix or f'plan with {name}={needed} or more'}."
        )


class BackendError(FootprintError, RuntimeError):
    """A device, or the library that drives it, is unavailable or has failed."""

    def __init__(self, device: str, problem: str, fix: str = "") -> None:
        self.device, self.problem, self.fix = device, problem, fix
        super().__init__(f"device {device}: {problem}{'; ' + fix if fix else ''}.")
        # A compiler's log keeps its lines.
        self.args = ("\n".join(map(printable, f"device {device}: {problem}{'; ' + fix if fix else ''}.".split("\n"))),)


class ThreadError(BackendError):
    """The system starts no further thread of a job."""

    def __init__(self) -> None:
        fix = "raise the limit on processes (ulimit -u, pids of a control group) or on addresses (ulimit -v)"
        super().__init__("cpu", "the system starts no more threads", fix)


class ExtraError(BackendError, ImportError):
    """A package that only some jobs need is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        self.device, self.package, self.extra = extra, package, extra
        self.problem = f"{purpose} needs the package {package}, which is not installed"
        self.fix = f'pip install "footprint[{extra}]"'
        FootprintError.__init__(self, f"{self.problem}; {self.fix}.")


def missing_extra(package: str, extra: str, purpose: str) -> ExtraError:
    """The error for an optional dependency that is not installed."""
    return ExtraError(package, extra, purpose)


def closest(word: str, known: Iterable[str]) -> str:
    """The one of ``known`` that a word is a slip of the pen for, or short for; empty where none is, as a false hint is worse.

    One letter in four, the first aside, may be wrong, missing or too much, or have changed places with the next; there may always
    be one too many at the end. What is short for a name has three letters and half of it, or four, and is short for no other.
    """
    plain = lambda text: text.lower().replace("_", "").replace("-", "")
    given, names = plain(word), {name: plain(name) for name in known}
    # Few slip at the first letter, and many words differ by it alone, as height and weight do.
    off = {name: _slips(given, text) for name, text in names.items() if given[:1] == text[:1] or given[1::-1] == text[:2]}
    near = [name for name in off if given and (off[name] <= max(len(given), len(names[name])) // 4 or given[:-1] == names[name])]
    if near:
        return min(near, key=off.__getitem__)
    short = [name for name, text in names.items() if len(given) >= 3 and text.startswith(given)]
    return short[0] if len(short) == 1 and (len(given) > 3 or 2 * len(given) >= len(names[short[0]])) else ""


def _slips(one: str, other: str) -> int:
    """How many letters are wrong, missing, too much, or have changed places with the next."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(other, 1):
            least = min(last[j] + 1, row[-1] + 1, last[j - 1] + (a != b))
            swapped = i > 1 and j > 1 and a == other[j - 2] and b == one[i - 2]
            row.append(min(least, before[j - 2] + 1) if swapped else least)
        before, last = last, row
    return last[-1]


def nearest(got: str, wanted: Iterable[str]) -> str:
    """That one of ``wanted`` is nearest to a word, if any is near."""
    near = closest(got, wanted)
    return f"the nearest is {near}" if near else ""


def choose(name: str, got: object, wanted: Sequence[str], fix: str = "") -> str:
    """Return ``got`` when it is one of ``wanted``; raise ArgumentError otherwise, naming them all and the nearest."""
    if isinstance(got, str):
        if got in wanted:
            return got
        fix = fix or nearest(got, wanted)
    # An array's numbers would bury the sentence.
    found = kind_of(got) if hasattr(got, "shape") else repr(got)
    raise ArgumentError(name, found, "one of " + ", ".join(wanted), fix)


def flag(name: str, got: object) -> bool:
    """Return ``got`` when it says yes or no; ArgumentError otherwise, since a word such as "no" would count as yes."""
    single = not isinstance(got, str | bytes) and getattr(got, "shape", ()) == ()
    if single and got in (0, 1):
        return bool(got)
    raise ArgumentError(name, repr(got), "True or False")
