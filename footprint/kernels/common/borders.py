"""What lies beyond the edge of an image: every name for it, in one table, and the index it stands for.

For a row ``a b c d``:

========== ================== =============================================== =====================
filters    values             accepted everywhere                             pad, padding=
========== ================== =============================================== =====================
constant   k k k|abcd|k k k   constant, fill, zeros, grid-constant            constant
nearest    a a a|abcd|d d d   nearest, edge, edges, replicate, extend         edge
reflect    c b a|abcd|d c b   symmetric, symm, grid-mirror                    symmetric
mirror     d c b|abcd|c b a   mirror, reflect101, reflect_101, reflect-101    reflect
wrap       b c d|abcd|a b c   wrap, circular, grid-wrap, periodic             wrap
========== ================== =============================================== =====================

One word means two things: "reflect" is c b a|abcd|d c b in scipy.ndimage, cupyx and OpenCV, so in ``boundary=`` of `convolve` and
in ``mode=`` of all filters; and d c b|abcd|c b a in numpy.pad and PyTorch, so in `pad` and in ``padding=`` of `fbp`, `ramp_filter`,
`reconstruct` and `paganin`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from footprint.errors import ArgumentError, closest

Verb = TypeVar("Verb", bound=Callable[..., Any])

# Without docstrings (python -OO) there is none.
TABLE = "\n".join(re.findall(r"^=+ [= ]+$[\s\S]+^=+ [= ]+$", __doc__ or "", re.MULTILINE))
"""The table above, for every docstring that takes one of its names."""

# Our name; numpy.pad's; the words that no two libraries read differently.
_TABLE = (
    ("constant", "constant", ("constant", "fill", "zeros", "grid-constant")),
    ("nearest", "edge", ("nearest", "edge", "edges", "replicate", "extend")),
    ("reflect", "symmetric", ("symmetric", "symm", "grid-mirror")),
    ("mirror", "reflect", ("mirror", "reflect101", "reflect_101", "reflect-101")),
    ("wrap", "wrap", ("wrap", "circular", "grid-wrap", "periodic")),
)

BORDERS = tuple(ours for ours, _, _ in _TABLE)
NUMPY = {ours: theirs for ours, theirs, _ in _TABLE}
"""Our name -> numpy.pad's."""
NONE = "none"
"""The border of an axis whose halo is already part of the array, so that no index leaves it."""

CODES = {name: code for code, name in enumerate((*BORDERS, NONE))}

NUMPY_CODES = {theirs: CODES[ours] for ours, theirs in NUMPY.items()}
"""By numpy.pad's name, which ``padding=`` is given in."""

_WORDS = {word: ours for ours, _, words in _TABLE for word in words}
# What "reflect" is, by whose users read it.
_REFLECT = {"ndimage": "reflect", "numpy": "mirror"}


def border(name: object, argument: str = "boundary", readers: str = "ndimage") -> str:
    """Return our name of a border, whatever library calls it so; "reflect" is what ``readers`` ("ndimage", "numpy") read it as."""
    if isinstance(name, str):
        word = name.lower()
        found = _REFLECT[readers] if word == "reflect" else _WORDS.get(word)
        if found is not None:
            return found
    if readers == "numpy":
        wanted, reflect, other = (
            tuple(NUMPY.values()),
            "dcb|abcd|cba as in numpy.pad",
            '"symmetric" is cba|abcd|dcb (scipy.ndimage\'s "reflect")',
        )
    else:
        wanted, reflect, other = BORDERS, 'cba|abcd|dcb as in scipy.ndimage (numpy.pad\'s "symmetric")', (
            '"mirror" is dcb|abcd|cba (the "reflect" of numpy.pad and PyTorch)'
        )  # fmt: skip
    fix = f'"reflect" is {reflect}, {other}'
    if isinstance(name, int) or "BORDER_" in str(name):
        fix = f'OpenCV\'s BORDER_REFLECT_101, its default, is "{wanted[3]}", BORDER_REPLICATE "{wanted[1]}"'
    if name is None and argument == "boundary":
        fix = 'where astropy sets results at the edges to 0 for None, mode="valid" leaves them out'
    if isinstance(name, str) and (near := closest(name, (*wanted, "reflect", *_WORDS))):
        own = _WORDS.get(near, near)
        here = NUMPY.get(own, own) if readers == "numpy" else own
        also = "" if near in (here, "reflect") else f'"{near}" is "{here}" here; '
        fix = f"the nearest is {near}; {also}{fix}"
    raise ArgumentError(argument, repr(name), "one of " + ", ".join(wanted), fix)


def numpy_border(name: object, argument: str) -> str:
    """Return numpy.pad's name of a border, "reflect" being its own."""
    return NUMPY[border(name, argument, "numpy")]


# What "reflect" means, told beneath the table.
_MEANS = {
    "ndimage": 'c b a|abcd|d c b, as in scipy.ndimage; "mirror" is the "reflect" of numpy.pad and PyTorch',
    "numpy": 'd c b|abcd|c b a, as in numpy.pad and PyTorch; "symmetric" is scipy.ndimage\'s "reflect"',
}
_SECTION = re.compile(r"\n *\w+\n *-{3,}\n")


def shows_borders(argument: str, readers: str = "ndimage", but: str = "") -> Callable[[Verb], Verb]:
    """Show the table of borders among the notes of a public function's docstring, for this argument of it.

    ``but`` is a sentence on what the argument takes in addition, or not.
    """

    def shown(verb: Verb) -> Verb:
        doc = verb.__doc__
        if doc is None:
            return verb
        # From Python 3.13 on docstrings have lost their indentation; to take it off here would cost every import milliseconds.
        margin = "    " if "\n    Parameters\n" in doc else ""
        means = f'As ``{argument}``, "reflect" is {_MEANS[readers]}.'
        lines = ["What lies beyond the ends of a row ``a b c d``, and its names:", "", *TABLE.splitlines(), "", means]
        lines += [but] if but else []
        notes = doc.find(f"\n{margin}Notes\n")
        if notes < 0:
            # In numpydoc's order notes come before examples.
            lines, at = ["Notes", "-----", *lines], doc.find(f"\n{margin}Examples\n")
        else:
            after = _SECTION.search(doc, notes + len(margin) + 7)
            at = after.start() if after else -1
        text = "".join(f"{margin}{line}\n" if line else "\n" for line in lines)
        verb.__doc__ = f"{doc.rstrip()}\n\n{text}{margin}" if at < 0 else f"{doc[:at]}\n{text}{doc[at:]}"
        return verb

    return shown


def is_border(name: object) -> bool:
    """Whether it is in the table."""
    return isinstance(name, str) and (name.lower() in _WORDS or name.lower() == "reflect")


def source_index(i: int, n: int, code: int) -> int:
    """Index in ``[0, n)`` of the sample that stands at ``i`` (any integer); -1 for the constant.

    Plain Python that Numba compiles too, so kernels, planning and tests share one meaning. ``n`` must be positive.
    """
    if 0 <= i < n:
        return i
    if code == 1:
        return 0 if i < 0 else n - 1
    if code == 2:
        i %= 2 * n
        return i if i < n else 2 * n - 1 - i
    if code == 3:
        if n == 1:
            return 0
        i %= 2 * n - 2
        return i if i < n else 2 * n - 2 - i
    if code == 4:
        return i % n
    return -1


def stretches(index: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Cut source indices into stretches ``(at, end, first)`` that count up by one from ``first``, or are all -1."""
    at = 0
    while at < len(index):
        end, step = at + 1, 0 if index[at] < 0 else 1
        while end < len(index) and index[end] == index[end - 1] + step:
            end += 1
        yield at, end, int(index[at])
        at = end
