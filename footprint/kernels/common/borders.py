"""What lies beyond the edge of an image: the border modes, their names in other libraries, and the index they stand
for.

For a row ``a b c d``::

    constant   k k k | a b c d | k k k
    nearest    a a a | a b c d | d d d
    reflect    c b a | a b c d | d c b     (numpy.pad calls this "symmetric")
    mirror     d c b | a b c d | c b a     (numpy.pad, OpenCV and torch call this "reflect")
    wrap       b c d | a b c d | a b c
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from footprint.errors import ArgumentError

BORDERS = ("constant", "nearest", "reflect", "mirror", "wrap")
NONE = "none"
"""The border of an axis whose halo is already part of the array, so that no index leaves it."""

CODES = {name: code for code, name in enumerate((*BORDERS, NONE))}

_SYNONYMS = {
    "fill": "constant", "zeros": "constant", "grid-constant": "constant",
    "edge": "nearest", "edges": "nearest", "replicate": "nearest", "extend": "nearest",
    "symmetric": "reflect", "symm": "reflect", "grid-mirror": "reflect",
    "reflect101": "mirror", "reflect_101": "mirror", "reflect-101": "mirror",
    "circular": "wrap", "grid-wrap": "wrap", "periodic": "wrap",
}  # fmt: skip


def border(name: object, argument: str = "boundary") -> str:
    """Return our name of a border mode; accepts other libraries' names where no two of them differ in meaning."""
    if isinstance(name, str):
        word = name.lower()
        word = _SYNONYMS.get(word, word)
        if word in BORDERS:
            return word
    raise ArgumentError(
        argument,
        repr(name),
        "one of " + ", ".join(BORDERS),
        '"reflect" is cba|abcd|dcb as in scipy.ndimage (numpy.pad\'s "symmetric"), '
        '"mirror" is dcb|abcd|cba (numpy.pad\'s "reflect")',
    )


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
