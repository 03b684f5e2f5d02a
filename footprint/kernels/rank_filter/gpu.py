"""Launch shapes of the rank filter, and its comparisons as text."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from footprint.kernels.common.borders import CODES
from footprint.kernels.common.launch import CORES, MAX_GROUPS_Y, A, Defines, Launch, Program, rows_between
from footprint.kernels.common.load import c_type
from footprint.kernels.rank_filter.contract import key_of, keys, lowest
from footprint.kernels.rank_filter.networks import Network, alone, kept, of_column, rows_in, shared
from footprint.spec import ArraySpec, Limits

LOCAL_BYTES = 40 << 10
"""Most bytes of sorted columns on chip: five groups then fit on a core of an H100."""
COLUMNS, ROWS_AT_ONCE = 128, 4
"""Columns of a strip, and rows of it that are sorted before their ranks are found."""
RESIDENT = ((9, (12, 8)), (25, (5, 5)), (49, (3, 3)))
"""Groups a core must hold, of windows of so many elements at most, that go down one strip or two."""
LISTED = 384
"""Most rows of results of a group, which lists on the chip where they begin."""
TX, TY, ROWS = 64, 4, 4
"""Of some places of a window: work-items, and rows of each."""


def rank_filter_program(
    limits: Limits,
    image: ArraySpec,
    out: ArraySpec,
    *,
    tall: int,
    wide: int,
    rank: int,
    y0: int,
    x0: int,
    border_y: str,
    border_x: str,
    cval: float,
) -> Program:
    """One launch."""
    if out.size == 0:
        return Program(())
    kind, window = np.dtype(keys(out.dtype)), (tall, wide, rank)
    ranks, compared = kept(*window), np.dtype(kind if kind.itemsize >= 4 else "i4")
    planes, height, width = out.shape
    items = next((n for n in (32, 64) if _results(n, wide) >= width), COLUMNS)
    results = _results(items, wide)
    lanes = 2 if limits.pairs and kind.itemsize < 4 and width > results else 1
    value = np.dtype("u4") if lanes == 2 else compared
    line = 2 * len(ranks) * pitch(items, wide) * value.itemsize
    together = next((n for n in (ROWS_AT_ONCE, 2) if n * line <= LOCAL_BYTES), 1)
    resident = next((groups[lanes - 1] for size, groups in RESIDENT if tall * wide <= size), 1)
    defines: Defines = (
        *(("T", c_type(kind)), ("U", c_type(f"u{kind.itemsize}")), ("S", c_type(compared)), ("BITS", 8 * kind.itemsize)),
        *(("T2", _two(kind)), ("V", c_type(value)), ("VV", _two(value)), ("LANES", lanes), ("SIGN", int(kind.kind == "i"))),
        *(("LEAST", f"({lowest(out.dtype)})"), ("MOST", str(np.iinfo(kind).max)), ("REAL", int(np.dtype(out.dtype).kind == "f"))),
        *(("KH", tall), ("KW", wide), ("KEPT", len(ranks)), ("PITCH", pitch(items, wide)), ("NT", items), ("RY", together)),
        *(("MIN_GROUPS", resident), ("PLACES", LISTED + tall + 2 * together)),
        *(("BORDER_Y", CODES[border_y]), ("BORDER_X", CODES[border_x])),
        *_texts(*window),
    )
    strips = -(-width // (lanes * results))
    rows = rows_between(height, tall - 1, strips * planes, (limits.cores or CORES) * resident, LISTED)
    grid = (strips, min(-(-height // rows), MAX_GROUPS_Y), min(planes, MAX_GROUPS_Y))
    sizes = map(np.int64, (planes, *image.shape[1:], height, width, y0, x0, rows))
    args = (A(0), A(1), *sizes, compared.type(key_of(cval, out.dtype)))
    return Program((Launch("rank_filter.knl", "rank_filter", grid, (items, 1, 1), args, defines),))


def _results(items: int, wide: int) -> int:
    """Results of a row that so many work-items find: each those of two windows side by side."""
    return (items - wide + 1) // 2 * 2


def _two(kind: np.dtype) -> str:
    """The word that holds two of a kind."""
    return f"u{16 * kind.itemsize}" if kind.itemsize < 8 else "u64x2"


def pitch(items: int, wide: int) -> int:
    """Elements of a row of ranks of columns on the chip: an even number, and what a last window reads in vain."""
    return items + (wide + 2) // 2 * 2


def chosen_program(
    limits: Limits,
    image: ArraySpec,
    places: ArraySpec,
    out: ArraySpec,
    *,
    tall: int,
    wide: int,
    count: int,
    rank: int,
    y0: int,
    x0: int,
    border_y: str,
    border_x: str,
    cval: float,
) -> Program:
    """One launch, of some places of the window."""
    if out.size == 0:
        return Program(())
    kind = np.dtype(out.dtype)
    bits = np.dtype(f"u{kind.itemsize}")
    wanted = np.dtype(bits if bits.itemsize >= 4 else "u4")
    least = (1 << (8 * kind.itemsize - 1)) + lowest(kind.str) if kind.kind == "f" else 0
    defines: Defines = (
        *(("U", c_type(bits)), ("S", c_type(wanted)), ("BITS", 8 * bits.itemsize)),
        *(("SIGN", int(kind.kind == "i")), ("REAL", int(kind.kind == "f")), ("LEAST", str(least))),
        *(("KH", tall), ("KW", wide), ("COUNT", count), ("RANK", rank), ("TX", TX), ("TY", TY), ("RY", ROWS)),
        *(("BORDER_Y", CODES[border_y]), ("BORDER_X", CODES[border_x])),
    )
    planes, height, width = out.shape
    grid = (-(-width // TX), min(-(-height // (TY * ROWS)), MAX_GROUPS_Y), min(planes, MAX_GROUPS_Y))
    with np.errstate(over="ignore"):
        value = wanted.type(np.asarray(cval).astype(kind).view(bits))
    args = (A(0), A(1), A(2), *map(np.int64, (planes, *image.shape[1:], height, width, y0, x0)), value)
    return Program((Launch("rank_chosen.knl", "rank_chosen", grid, (TX, TY, 1), args, defines),))


@functools.cache
def _texts(tall: int, wide: int, rank: int) -> Defines:
    both, own = rows_in(tall, wide, rank)
    ranks = kept(tall, wide, rank)
    first, second, third = of_column(tall, ranks), shared(tall, wide, rank), alone(tall, wide, rank)
    seen: set[tuple[int, int]] = set()
    # Columns 1 to wide - 1 of two windows are in common; the left one has column 0 alone, the right one `wide`.
    places = [(ranks.index(i), j) for i in both for j in range(1, wide)]
    common = _lines(second, lambda n: _element(f"v{n}", *places[n], seen))
    found = [f"v{value}" for value in second.outputs]
    sides = []
    for name, j, before in (("one", 0, set(seen)), ("two", wide, set(seen))):
        load = lambda n, j=j, before=before: (
            f"const S w{n} = {found[n]};" if n < len(found) else _element(f"w{n}", ranks.index(own[n - len(found)]), j, before)
        )
        sides.append(f"{_lines(third, load, 'w')} {name} = w{third.outputs[0]};")
    return (
        ("INPUTS", ", ".join(f"v{k}" for k in range(tall))),
        ("READ_ROWS", " ".join(f"READ_ROW({k})" for k in range(tall))),
        ("COLUMN", _lines(first)),
        ("KEEPS", " ".join(f"KEEP({k}, v{value})" for k, value in enumerate(first.outputs))),
        *(("SHARED_ONES", common), ("LEFT", sides[0]), ("RIGHT", sides[1])),
    )


def _element(name: str, k: int, j: int, seen: set[tuple[int, int]]) -> str:
    """Rank k of column j, from a word of two columns that is read when the first of them is asked for."""
    word, at = f"k{k}_{j // 2}", (k, j // 2)
    read = "" if at in seen else f"WORD({word}, {k}, {j // 2 * 2}) "
    seen.add(at)
    return f"{read}const S {name} = {'SECOND_OF' if j % 2 else 'FIRST_OF'}({word});"


def _lines(network: Network, load: Callable[[int], str] | None = None, v: str = "v") -> str:
    """The comparisons in order; with ``load`` every input is had where it is first needed, so that few live at once."""
    found, loaded = [], set()

    def need(value: int) -> None:
        if load is not None and value < network.inputs and value not in loaded:
            loaded.add(value)
            found.append(load(value))

    for a, b, low, high in network.pairs:
        need(a)
        need(b)
        if low < 0:
            found.append(f"HIGH({v}{a}, {v}{b}, {v}{high})")
        elif high < 0:
            found.append(f"LOW({v}{a}, {v}{b}, {v}{low})")
        else:
            found.append(f"PAIR({v}{a}, {v}{b}, {v}{low}, {v}{high})")
    for value in network.outputs:
        need(value)
    return " ".join(found)
