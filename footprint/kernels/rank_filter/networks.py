"""Networks of comparisons that pick one rank of a window: the same for every kind of processor, in registers.

Columns of the window are sorted first, which neighbouring windows share; then its rows, of which each holds one rank of every
column. Of an element in row i and column j of what is then sorted both ways, (i + 1)(j + 1) elements are surely not larger and
(height - i)(width - j) not smaller: few can have the wanted rank, and only those are merged (Batcher's odd-even merge).

Two windows side by side have all columns but one of each in common. What those in common leave as possible is found once for both
(`shared`), and merged with the column that a window has alone (`alone`). On the CPU rows are columns here: windows on top of each
other share their rows, and lanes of vectors what is next to each other in a row.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

Pair = tuple[int, int, int, int]
NINE = (3, 3, 4)
"""The median of nine is that of three: the largest of its columns' smallest, the middle of their middles, and the smallest of their
largest (Paeth, 1990); two windows have two of each three in common."""


@dataclass(frozen=True)
class Network:
    """Values ``0 ... inputs - 1`` come in; every pair ``(a, b, low, high)`` makes two more of two that are there.

    ``low`` or ``high`` is -1 where nobody reads it. ``outputs`` are the values that are asked for.
    """

    inputs: int
    pairs: tuple[Pair, ...]
    outputs: tuple[int, ...]

    @property
    def operations(self) -> int:
        """Minima and maxima."""
        return sum((low >= 0) + (high >= 0) for _, _, low, high in self.pairs)


class _Draft:
    def __init__(self, inputs: int) -> None:
        self.inputs, self.count = inputs, inputs
        self.pairs: list[Pair] = []

    def pair(self, a: int, b: int) -> tuple[int, int]:
        self.pairs.append((a, b, self.count, self.count + 1))
        self.count += 2
        return self.count - 2, self.count - 1

    def merge(self, x: list[int], y: list[int]) -> list[int]:
        """Batcher's merge of sorted lists of any length."""
        if not x or not y:
            return x or y
        if len(x) == len(y) == 1:
            return list(self.pair(x[0], y[0]))
        even, odd = self.merge(x[::2], y[::2]), self.merge(x[1::2], y[1::2])
        out = [even[0]]
        for i in range(max(len(even) - 1, len(odd))):
            if i < len(odd) and i + 1 < len(even):
                out += self.pair(odd[i], even[i + 1])
            else:
                out.append(odd[i] if i < len(odd) else even[i + 1])
        return out

    def merged(self, lists: list[list[int]]) -> list[int]:
        """Sorted lists as one, the shortest first."""
        while len(lists) > 1:
            lists.sort(key=len)
            lists = [self.merge(lists[0], lists[1]), *lists[2:]]
        return lists[0] if lists else []

    def sort(self, x: list[int]) -> list[int]:
        if len(x) < 2:
            return x
        return self.merge(self.sort(x[: len(x) // 2]), self.sort(x[len(x) // 2 :]))

    def extreme(self, x: list[int], largest: bool) -> int:
        """The largest or the smallest, which a sorted list takes more comparisons to find."""
        while len(x) > 1:
            x = [*(self.pair(a, b)[largest] for a, b in zip(x[::2], x[1::2])), *x[len(x) // 2 * 2 :]]
        return x[0]

    def ranked(self, x: list[int], wanted: list[int]) -> list[int]:
        """Those of the wanted ranks."""
        if wanted in ([0], [len(x) - 1]):
            return [self.extreme(x, wanted != [0])]
        found = self.sort(x)
        return [found[i] for i in wanted]

    def done(self, outputs: list[int]) -> Network:
        """Without what nobody reads."""
        read, kept = set(outputs), []
        for a, b, low, high in reversed(self.pairs):
            if low in read or high in read:
                kept.append((a, b, low if low in read else -1, high if high in read else -1))
                read |= {a, b}
        return Network(self.inputs, tuple(reversed(kept)), tuple(outputs))


def of_column(tall: int, wanted: tuple[int, ...]) -> Network:
    """From a column to those of its ranks that are wanted."""
    draft = _Draft(tall)
    return draft.done(draft.ranked(list(range(tall)), list(wanted)))


def _possible(tall: int, wide: int, rank: int) -> tuple[int, int]:
    """First and last rank among the elements of all columns but one that the wanted one of the window may be."""
    return max(0, rank - tall), min(rank, tall * (wide - 1) - 1)


@functools.cache
def rows_in(tall: int, wide: int, rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Ranks of a column that are looked at where windows share it, and where one has it alone."""
    (low, high), n = _possible(tall, wide, rank), tall * (wide - 1)
    both = [i for i in range(tall) if any(_between(i, j, tall, wide - 1, low, high) == 0 for j in range(wide - 1))]
    return tuple(both), tuple(range(max(0, rank - n), min(rank, tall - 1) + 1))


def kept(tall: int, wide: int, rank: int) -> tuple[int, ...]:
    """Ranks of a column that are looked at."""
    both, own = rows_in(tall, wide, rank)
    return tuple(sorted({*both, *own}))


def _between(i: int, j: int, tall: int, wide: int, low: int, high: int) -> int:
    """-1 where element (i, j) of a sorted window is surely before the rank ``low``, 1 where it is after ``high``, else 0."""
    if (i + 1) * (j + 1) > high + 1:
        return 1
    return -1 if (tall - i) * (wide - j) > tall * wide - low else 0


@functools.cache
def shared(tall: int, wide: int, rank: int) -> Network:
    """From those ranks of all columns but one, one rank after another, to what among them the wanted one of the window may be."""
    (low, high), wide = _possible(tall, wide, rank), wide - 1
    rows = rows_in(tall, wide + 1, rank)[0]
    draft = _Draft(len(rows) * wide)
    if (tall, wide + 1, rank) == NINE:
        return draft.done([draft.pair(0, 1)[1], *draft.pair(2, 3), draft.pair(4, 5)[0]])
    before = sum(_between(i, j, tall, wide, low, high) < 0 for i in range(tall) for j in range(wide))
    lists = []
    for at, i in enumerate(rows):
        wanted = [j for j in range(wide) if _between(i, j, tall, wide, low, high) == 0]
        lists.append(draft.ranked(list(range(at * wide, (at + 1) * wide)), wanted))
    return draft.done(draft.merged(lists)[low - before : high - before + 1])


@functools.cache
def alone(tall: int, wide: int, rank: int) -> Network:
    """From what `shared` leaves, and then the ranks of a window's other column, to the wanted one."""
    (low, high), rows = _possible(tall, wide, rank), rows_in(tall, wide, rank)[1]
    some = max(high - low + 1, 0)
    if (tall, wide, rank) == NINE:
        draft = _Draft(7)
        middle = draft.pair(1, draft.pair(2, 5)[0])[1]
        less, more = draft.pair(draft.pair(0, 4)[1], middle)
        return draft.done([draft.pair(less, draft.pair(more, draft.pair(3, 6)[0])[0])[1]])
    draft, wanted = _Draft(some + len(rows)), rank - low - rows[0] + 1
    # So many are taken of the first list, the rest of the second: the largest of those taken is least where it is right.
    largest = []
    for n in range(max(0, wanted - len(rows)), min(wanted, some) + 1):
        ends = [*([n - 1] if n else []), *([some + wanted - n - 1] if n < wanted else [])]
        largest.append(draft.extreme(ends, True))
    return draft.done([draft.extreme(largest, False)])


@functools.cache
def operations(tall: int, wide: int, rank: int) -> int:
    """Minima and maxima a pixel, of two windows side by side."""
    both = of_column(tall, kept(tall, wide, rank)).operations + alone(tall, wide, rank).operations
    return both + shared(tall, wide, rank).operations // 2


@functools.cache
def picked(count: int, rank: int) -> Network:
    """From values in no order to the one of a rank."""
    draft = _Draft(count)
    return draft.done(draft.ranked(list(range(count)), [rank]))
