"""Launch shapes of fitted Gaussians: an item a pixel draws them, one a row looks at tables, and one group numbers what is kept."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.launch import A, Argument, Launch, Program, W
from footprint.kernels.common.load import c_type
from footprint.kernels.fit.contract import CHI2, COLUMNS, ERRORS, HEIGHT, MAJOR, MINOR, THETA, X, Y
from footprint.kernels.model.contract import PARTS, SHARE
from footprint.kernels.threshold.gpu import groups_for
from footprint.spec import ArraySpec, Limits

# Sources that are passed over together; work-items of the one group that numbers rows.
_RUN, _NUMBERERS = 256, 256
_NAMES = {"HEIGHT": HEIGHT, "Y": Y, "X": X, "MAJOR": MAJOR, "MINOR": MINOR, "THETA": THETA, "ERROR": ERRORS + HEIGHT, "CHI2": CHI2}
_NUMBERS: dict[str, int | float] = {"PARTS": PARTS, "FITTED": COLUMNS, "RUN": _RUN, "NT": _NUMBERERS, "SHARE": SHARE}


def _launch(entry: str, groups: int, items: int, *args: Argument, kind: str = "f32") -> Launch:
    defines = (("T", kind), *_NUMBERS.items(), *((f"F_{name}", column) for name, column in _NAMES.items()))
    return Launch("model.knl", f"model_{entry}", (groups, 1, 1), (items, 1, 1), args, defines)


def _known(limits: Limits, n: int, fits: Argument, boxes: Argument, count: Argument, boxed: bool, kind: str) -> tuple[Launch, ...]:
    """What is drawn of each source, and what runs of them reach: the first two work arrays."""
    runs = groups_for(limits, -(-n // _RUN), 64)
    return (
        _launch("parts", groups_for(limits, n), 256, fits, count, W(0), np.int64(n), kind=kind),
        _launch("reach", runs, 64, W(0), boxes, count, W(1), np.int64(n), np.int32(boxed), kind=kind),
    )


def _parts(n: int) -> tuple[ArraySpec, ArraySpec]:
    return ArraySpec((n, PARTS), "float64"), ArraySpec((-(-n // _RUN), 2), "float64")


def _drawn(limits: Limits, fits: ArraySpec, out: ArraySpec, arrays: tuple[Argument, ...], first: int, sign: float) -> Program:
    """Of pixels (any array where they are not read), fits, their number, and what is drawn on."""
    pixels, table, count, to = arrays
    n, kind = fits.shape[0], c_type(out.dtype)
    if out.size == 0 or n == 0:
        return Program(())
    place = (np.int64(n), np.int64(first), np.int64(out.shape[1]), np.int64(out.size), np.float64(sign))
    draw = _launch("draw", groups_for(limits, out.size), 256, pixels, W(0), W(1), count, to, *place, kind=kind)
    return Program((*_known(limits, n, table, count, count, False, kind), draw), _parts(n))


def paint_program(limits: Limits, fits: ArraySpec, count: ArraySpec, out: ArraySpec, *, first: int) -> Program:
    """See `footprint.kernels.model.contract` for the arguments."""
    return _drawn(limits, fits, out, (A(2), A(0), A(1), A(2)), first, 1.0)


def subtract_program(limits: Limits, block: ArraySpec, fits: ArraySpec, count: ArraySpec, out: ArraySpec, *, first: int) -> Program:
    """See `footprint.kernels.model.contract` for the arguments."""
    return _drawn(limits, fits, out, (A(0), A(1), A(2), A(3)), first, -1.0)


def _sizes(boxes: ArraySpec, moments: ArraySpec, seed: float) -> tuple[int, int, tuple[Argument, ...]]:
    """Sources there may be, columns of their moments, and both as arguments, with what makes a source."""
    n, columns = boxes.shape[0], moments.shape[1]
    return n, columns, (np.int64(n), np.int32(columns), np.float64(seed))


def _put(
    limits: Limits, room: int, columns: int, kept: Argument, counts: tuple[Argument, ...], told: Argument,
    tables: tuple[tuple[Argument, ...], ...], to: tuple[Argument, ...],
) -> tuple[Launch, ...]:  # fmt: skip
    """Rows that are kept of one table, or all of a first and those of a second, one after the other."""
    size, second = (np.int64(room), np.int32(columns)), len(tables) > 1
    few = groups_for(limits, room, 64)
    made = [
        _launch("place", 1, _NUMBERERS, kept, counts[0], counts[-1], told, size[0], np.int32(second)),
        _launch("clear", groups_for(limits, room), 256, *to, *size),
    ]
    for number, (count, table) in enumerate(zip(counts, tables)):
        # All rows of a first table stay as they are.
        placed = number == len(tables) - 1
        how = (np.int32(placed), np.int32(placed and second))
        made.append(_launch("rows", few, 64, kept, count, told, *table, *to, *size, *how))
    return tuple(made)


def join_program(
    limits: Limits, stats: ArraySpec, fits: ArraySpec, boxes: ArraySpec, count: ArraySpec, members: ArraySpec, moments: ArraySpec,
    *rest: ArraySpec, height: int, seed: float,
) -> Program:  # fmt: skip
    """See `footprint.kernels.model.contract` for the arguments."""
    n, columns, rules = _sizes(boxes, moments, seed)
    if n == 0:
        return Program(())
    first, second, to = (A(4), A(5), A(2)), (A(7), A(8), A(9)), (A(11), A(12), A(13))
    new = _launch("new", groups_for(limits, n, 64), 64, A(0), W(0), W(1), A(2), A(3), A(6), A(8), A(9), W(2), *rules)
    known = _known(limits, n, A(1), A(2), A(3), True, "f32")
    put = _put(limits, n, columns, W(2), (A(3), A(6)), A(10), (first, second), to)
    return Program((*known, new, *put), (*_parts(n), ArraySpec((n,), "int64")))


def prune_program(
    limits: Limits, stats: ArraySpec, fits: ArraySpec, count: ArraySpec, members: ArraySpec, moments: ArraySpec, boxes: ArraySpec,
    *rest: ArraySpec, seed: float,
) -> Program:  # fmt: skip
    """See `footprint.kernels.model.contract` for the arguments."""
    n, columns, rules = _sizes(boxes, moments, seed)
    if n == 0:
        return Program(())
    stay = _launch("prune", groups_for(limits, n, 64), 64, A(0), A(1), A(2), A(3), A(4), W(0), *rules)
    put = _put(limits, n, columns, W(0), (A(2),), A(6), ((A(3), A(4), A(5)),), (A(7), A(8), A(9)))
    return Program((stay, *put), (ArraySpec((n,), "int64"),))
