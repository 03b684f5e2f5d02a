"""Launch shapes of the rank filter, and its comparisons as text."""

from __future__ import annotations

import functools

import numpy as np

from footprint.kernels.common.borders import CODES
from footprint.kernels.common.launch import MAX_GROUPS_Y, A, Defines, Launch, Program
from footprint.kernels.common.load import c_type
from footprint.kernels.rank_filter.contract import key_of, keys, lowest
from footprint.kernels.rank_filter.networks import Network, across, column, ranks
from footprint.spec import ArraySpec, Limits

LOCAL_BYTES = 40 << 10
"""Most bytes of sorted columns on chip: five groups then fit on a core of an H100."""
TX, TY, ROWS = 64, 4, 4


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
    row = len(ranks(*window)) * TY * (TX + wide - 1) * kind.itemsize
    rows = max(min(ROWS, LOCAL_BYTES // row), 1)
    compared = np.dtype(kind if kind.itemsize >= 4 else "i4")
    most = int(np.iinfo(kind).max)
    defines: Defines = (
        *(
            ("T", c_type(kind)),
            ("S", c_type(compared)),
            ("BITS", 8 * kind.itemsize),
            ("REAL", int(np.dtype(out.dtype).kind == "f")),
        ),
        *(("LEAST", f"({lowest(out.dtype)})"), ("MOST", str(most))),
        *(("KH", tall), ("KW", wide), ("KEPT", len(ranks(*window))), ("TX", TX), ("TY", TY), ("RY", rows)),
        *(("BORDER_Y", CODES[border_y]), ("BORDER_X", CODES[border_x])),
        *_texts(*window),
    )
    planes, height, width = out.shape
    grid = (-(-width // TX), min(-(-height // (TY * rows)), MAX_GROUPS_Y), min(planes, MAX_GROUPS_Y))
    sizes = map(np.int64, (planes, *image.shape[1:], height, width, y0, x0))
    args = (A(0), A(1), *sizes, compared.type(key_of(cval, out.dtype)))
    return Program((Launch("rank_filter.knl", "rank_filter", grid, (TX, TY, 1), args, defines),))


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
    value = wanted.type(np.asarray(cval).astype(kind).view(bits))
    args = (A(0), A(1), A(2), *map(np.int64, (planes, *image.shape[1:], height, width, y0, x0)), value)
    return Program((Launch("rank_chosen.knl", "rank_chosen", grid, (TX, TY, 1), args, defines),))


@functools.cache
def _texts(tall: int, wide: int, rank: int) -> Defines:
    first, second = column(tall, wide, rank), across(tall, wide, rank)
    kept = enumerate(first.outputs)
    return (
        ("INPUTS", ", ".join(f"v{k}" for k in range(tall))),
        ("READ_ROWS", " ".join(f"READ_ROW({k})" for k in range(tall))),
        ("COLUMN", _lines(first)),
        ("KEEPS", " ".join(f"KEEP({k}, v{value})" for k, value in kept)),
        ("ACROSS", _lines(second, wide)),
        ("FOUND", f"v{second.outputs[0]}"),
    )


def _lines(network: Network, wide: int = 0) -> str:
    """The comparisons in order; with ``wide`` every input is loaded where it is first needed, so that few live at once."""
    found, loaded = [], set()

    def load(value: int) -> None:
        if wide and value < network.inputs and value not in loaded:
            loaded.add(value)
            found.append(f"SORTED({value}, {value // wide}, {value % wide})")

    for a, b, low, high in network.pairs:
        load(a)
        load(b)
        if low < 0:
            found.append(f"HIGH(v{a}, v{b}, v{high})")
        elif high < 0:
            found.append(f"LOW(v{a}, v{b}, v{low})")
        else:
            found.append(f"PAIR(v{a}, v{b}, v{low}, v{high})")
    for value in network.outputs:
        load(value)
    return " ".join(found)
