"""Direct correlation on the CPU: register-blocked kernels written for the mask's height, compiled once and kept on
disk.

The compiler makes vector code of the inner loop only where it reads one flat array at literal distances and keeps the
weights in scalars, so the text of that loop is generated: one for each number of tap rows (at most two for a mask),
which serves every mask of that height. Borders cost nothing there: a tile is copied with its halo first. All lanes of a
tile are computed, the useless ones too, so that every output goes through the same instructions wherever it lies.
"""

from __future__ import annotations

import functools
import inspect
from types import ModuleType

import numpy as np

from footprint.kernels.common import borders
from footprint.kernels.common.few import threads_for
from footprint.kernels.common.generated import load
from footprint.kernels.convolve.contract import LINE_TAPS, ROWS, SPAN, STEP, TAP_ROWS, WIDTH, groups, split

PITCH = WIDTH + SPAN - 1

_HEAD = """
import numba
from numba import njit, prange

from footprint.kernels.common.wide import wide

TYPE = numba.{dtype}
READ = numba.types.Array(TYPE, 2, "C", readonly=True)
WRITE = numba.types.Array(TYPE, 2, "C")
INT = numba.int64
INNER = dict(fastmath={{"contract"}}, error_model="numpy", nogil=True)
OUTER = dict(cache=True, parallel=True, nogil=True, error_model="numpy")


@njit
{source_index}

@njit
def edge(line, at, first, last, image, row, x, code_x, cval):
    for k in range(first, last):
        column = source_index(x + k, image.shape[1], code_x)
        line[at + k] = image[row, column] if column >= 0 else cval


@njit
def fill(line, at, count, image, y, x, code_y, code_x, cval):
    height, width = image.shape
    row = source_index(y, height, code_y)
    if row < 0:
        for k in range(count):
            line[at + k] = cval
        return
    first = min(max(-x, 0), count)
    last = max(first, min(width - x, count))
    edge(line, at, 0, first, image, row, x, code_x, cval)
    source = image[row, x + first : x + last]
    target = line[at + first : at + last]
    for k in range(source.size):
        target[k] = source[k]
    edge(line, at, last, count, image, row, x, code_x, cval)
"""

_TALL = f"""
@njit([(READ, READ, WRITE, WRITE, WRITE, INT, INT, INT, INT, TYPE, INT, INT, INT)], **OUTER)
def run(image, weights, out, tiles, sums, y0, x0, code_y, code_x, cval, groups, n_long, n_short):
    height, width = weights.shape
    across = (out.shape[1] + {WIDTH - 1}) // {WIDTH}
    tall = {ROWS} * groups
    units = across * ((out.shape[0] + tall - 1) // tall)
    threads = tiles.shape[0]
    for thread in prange(threads):
        tile, acc = tiles[thread], sums[thread]
        for unit in range(units * thread // threads, units * (thread + 1) // threads):
            y, x = unit // across * tall, unit % across * {WIDTH}
            rows, columns = min(tall, out.shape[0] - y), min({WIDTH}, out.shape[1] - x)
            for j in range(0, width, {SPAN}):
                taps = min({SPAN}, width - j)
                for r in range(rows + height - 1):
                    fill(tile, r * {PITCH}, columns + taps - 1, image, y + y0 + r, x + x0 + j, code_y, code_x, cval)
                for top in range(0, rows, {ROWS}):
                    if j == 0:
                        for k in range({ROWS * WIDTH}):
                            acc[k] = 0
                    for i in range(n_long):
                        taps_long(tile, top, acc, weights, i * LONG, j, taps)
                    for i in range(n_short):
                        taps_short(tile, top, acc, weights, n_long * LONG + i * (LONG - 1), j, taps)
                    if j + {SPAN} >= width:
                        for q in range(min({ROWS}, rows - top)):
                            target = out[y + top + q, x : x + columns]
                            source = acc[q * {WIDTH} : q * {WIDTH} + columns]
                            for k in range(columns):
                                target[k] = source[k]
"""

_LINE = f"""
@njit([(READ, READ, WRITE, WRITE, WRITE, INT, INT, INT, INT, TYPE, INT, INT)], **OUTER)
def run(image, weights, out, tiles, sums, y0, x0, code_y, code_x, cval, n_long, n_short):
    width, piece = weights.shape[1], sums.shape[1]
    across = (out.shape[1] + piece - 1) // piece
    units = across * out.shape[0]
    threads = tiles.shape[0]
    for thread in prange(threads):
        tile, acc = tiles[thread], sums[thread]
        for unit in range(units * thread // threads, units * (thread + 1) // threads):
            y, x = unit // across, unit % across * piece
            columns = min(piece, out.shape[1] - x)
            lanes = (columns + {STEP - 1}) // {STEP} * {STEP}
            fill(tile, 0, columns + width - 1, image, y + y0, x + x0, code_y, code_x, cval)
            for k in range(lanes):
                acc[k] = 0
            for j in range(n_long):
                taps_long(tile, acc, lanes, weights, j * LONG)
            for j in range(n_short):
                taps_short(tile, acc, lanes, weights, n_long * LONG + j * (LONG - 1))
            target = out[y, x : x + columns]
            for k in range(columns):
                target[k] = acc[k]
"""


def _tall_taps(name: str, taps: int) -> str:
    """Text of the sum of ``taps`` tap rows into ROWS rows of WIDTH sums."""
    text = [
        "@njit(**INNER)",
        f"def {name}(tile, top, acc, weights, i, j, count):",
        "    wide()",
        "    for k in range(count):",
        *(f"        w{t} = weights[i + {t}, j + k]" for t in range(taps)),
        f"        start = (top + i) * {PITCH} + k",
        f"        p = tile[start : start + {(ROWS + taps - 2) * PITCH + WIDTH}]",
        f"        for x in range({WIDTH}):",
        *(f"            s{q} = acc[{q * WIDTH} + x]" for q in range(ROWS)),
    ]
    for r in range(ROWS + taps - 1):
        text.append(f"            v = p[{r * PITCH} + x]")
        text += [f"            s{q} += v * w{r - q}" for q in range(ROWS) if 0 <= r - q < taps]
    return "\n".join([*text, *(f"            acc[{q * WIDTH} + x] = s{q}" for q in range(ROWS)), ""])


def _line_taps(name: str, taps: int) -> str:
    """Text of the sum of ``taps`` neighbouring taps of one row."""
    text = [
        "@njit(**INNER)",
        f"def {name}(tile, acc, lanes, weights, j):",
        "    wide()",
        *(f"    w{t} = weights[0, j + {t}]" for t in range(taps)),
        f"    p = tile[j : j + lanes + {taps - 1}]",
        "    for x in range(lanes):",
        "        s = acc[x]",
        *(f"        s += p[x + {t}] * w{t}" for t in range(taps)),
        "        acc[x] = s",
        "",
    ]
    return "\n".join(text)


@functools.cache
def _kernel(kind: str, taps: int, uneven: bool, dtype: str) -> ModuleType:
    """The module for masks cut into parts of ``taps`` tap rows (or columns) and, if uneven, of one less."""
    inner = _tall_taps if kind == "tall" else _line_taps
    short = inner("taps_short", taps - 1) if uneven else "taps_short = taps_long\n"
    head = _HEAD.format(dtype=dtype, source_index=inspect.getsource(borders.source_index))
    body = _TALL if kind == "tall" else _LINE
    text = "\n".join([head, f"LONG = {taps}\n\n", inner("taps_long", taps), short, body])
    return load(f"convolve_{kind}{taps}{'u' if uneven else ''}_{dtype}", text)


def convolve(
    image: np.ndarray,
    weights: np.ndarray,
    out: np.ndarray,
    tiles: np.ndarray,
    sums: np.ndarray,
    *,
    y0: int,
    x0: int,
    border_y: str,
    border_x: str,
    cval: float,
) -> None:
    """Correlate; see ``footprint.kernels.convolve.contract`` for what is computed."""
    height, width = weights.shape
    line = height == 1
    parts = split(width, LINE_TAPS) if line else split(height, TAP_ROWS)
    n_long = parts.count(parts[0])
    module = _kernel("line" if line else "tall", parts[0], n_long < len(parts), out.dtype.name)
    codes = borders.CODES[border_y], borders.CODES[border_x]
    numbers = (y0, x0, *codes, out.dtype.type(cval), *(() if line else (groups((height, width)),)))
    with threads_for(out.size * weights.size):
        module.run(image, weights, out, tiles, sums, *numbers, n_long, len(parts) - n_long)
