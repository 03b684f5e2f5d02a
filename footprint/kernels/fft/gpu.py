"""Row FFTs by our own kernels: the passes of a transform and the memory between them."""

from __future__ import annotations

import math

import numpy as np

from footprint.kernels.common.launch import MAX_GROUPS_Y, A, Argument, Launch, Program, W
from footprint.kernels.common.load import c_type
from footprint.kernels.common.stream import flat_grid
from footprint.spec import ArraySpec, Limits

_TILE = 32
_WIDE = 4
"""Numbers of a row that a work-item widens."""
_SHARED = 48 << 10
"""Bytes on the chip that every kernel may have."""
_EACH = 16
"""Numbers of a row that a work-item takes, about."""
_FEW_CORES = 16
"""A device of so few is a processor, mostly: it has no memory on the chip, and compiles a radix once but every length anew."""


def is_complex(src: ArraySpec, dst: ArraySpec) -> bool:
    """Whether a transform is complex to complex."""
    return np.dtype(src.dtype).kind == np.dtype(dst.dtype).kind == "c"


def radices(n: int) -> list[int]:
    """Factors of ``n``, eights and fours first: fewer passes over memory."""
    found: list[int] = []
    for radix in (8, 4, 2, 3, 5, 7):
        while n % radix == 0:
            found.append(radix)
            n //= radix
    factor = 11
    while n > 1:
        if n % factor == 0:
            found.append(factor)
            n //= factor
        else:
            factor = factor + 2 if factor * factor <= n else n
    return found


def fft_program(limits: Limits, src: ArraySpec, dst: ArraySpec, *, inverse: bool = False, scaled: bool = True) -> Program:
    """Real rows to half spectra, or back, or complex to complex; backwards with the factor 1/n if ``scaled``.

    Rows that fit the chip are read and written once; others go through two lines of complex numbers a row, pass by pass.
    """
    both = is_complex(src, dst)
    real = dst if inverse else src
    n = dst.shape[-1] if inverse or both else 2 * (dst.shape[-1] - 1)
    rows, kind = real.size // max(real.shape[-1], 1), np.empty(0, real.dtype).real.dtype
    if rows == 0 or n == 0:
        return Program(())
    if limits.cores > _FEW_CORES and fits_chip(limits, n, kind.itemsize):
        return Program((_on_chip(src, dst, n, rows, inverse, scaled),))
    common = (("T", c_type(kind)), ("SIGN", 1 if inverse else -1))
    first = np.int64(rows)
    steps: list[Launch] = []

    def step(entry: str, count: int, args: tuple[Argument, ...], radix: int = 2, real: bool = False) -> None:
        defines = (*common, ("RADIX", radix), ("REAL", int(real)), ("WIDE", _WIDE))
        steps.append(Launch("fft.knl", entry, flat_grid(count), (256, 1, 1), args, defines))

    def widen(m: int, n: int, real: bool) -> None:
        defines = (*common, ("RADIX", 2), ("REAL", int(real)), ("WIDE", _WIDE))
        args = (A(0), W(0), first, np.int64(m), np.int64(n))
        steps.append(Launch("fft.knl", "widen", _rows_grid(rows, n), (256, 1, 1), args, defines))

    m = src.shape[-1]
    if both:
        # A complex row is a real one of twice the length.
        widen(2 * m, 2 * n, real=True)
    elif inverse:
        step("mirror", rows * n, (A(0), W(0), first, np.int64(m), np.int64(n)))
    else:
        widen(m, n, real=False)
    a, b, span = W(0), W(1), 1
    for radix in radices(n):
        step("pass", rows * n // radix, (a, b, first, np.int64(n), np.int64(span)), radix)
        a, b, span = b, a, span * radix
    scale = kind.type(1 / n if inverse and scaled else 1)
    last = dst.shape[-1]
    step("narrow", rows * last, (a, A(1), first, np.int64(last), np.int64(n), scale), real=inverse and not both)
    line = ArraySpec((rows, n), np.result_type(kind, np.complex64).str)
    return Program(tuple(steps), (line, line))


def fits_chip(limits: Limits, n: int, itemsize: int) -> bool:
    """Whether a line of ``n`` complex numbers, their parts of ``itemsize`` bytes, is transformed on the chip."""
    return max(radices(n), default=2) <= 8 and _line_bytes(n, itemsize) <= min(limits.local_mem, _SHARED)


def _line_bytes(n: int, itemsize: int) -> int:
    """Of a line whose neighbours are in different banks."""
    return (n + n // 16) * 2 * itemsize


def _on_chip(src: ArraySpec, dst: ArraySpec, n: int, rows: int, inverse: bool, scaled: bool) -> Launch:
    """One launch that transforms rows of ``n``."""
    both, kind = is_complex(src, dst), np.empty(0, dst.dtype).real.dtype
    items = min(256, 1 << max(5, (-(-n // _EACH) - 1).bit_length()))
    several = max(1, min(256 // items, _SHARED // _line_bytes(n, kind.itemsize)))
    # Largest radices first: fewer turns. What is a power of 2 goes in sixteens, and what is left of it in one.
    found, span, steps = [], 1, []
    twos = n & -n
    while twos > 1:
        radix = min(twos, 16)
        found.append(radix)
        twos //= radix
    for radix in sorted(found, reverse=True) + radices(n // (n & -n)):
        steps.append(f"STEP({radix}, {span})")
        span *= radix
    wide = kind.itemsize == 8
    defines = (
        *(("T", c_type(kind)), ("Z", f"{c_type(kind)}x2"), ("WIDE", int(wide)), ("SIGN", 1 if inverse else -1)),
        *(("N", n), ("NT", items), ("ROWS", several), ("STEPS", " ".join(steps))),
        *(("FROM", 1 if both else 2 if inverse else 0), ("TO", int(both or not inverse))),
    )
    scale = kind.type(1 / n if inverse and scaled else 1)
    args = (A(0), A(1), np.int64(rows), np.int64(src.shape[-1]), np.int64(dst.shape[-1]), scale)
    return Launch("fft_rows.knl", "fft_rows", (-(-rows // several), 1, 1), (items, several, 1), args, defines)


def lines_program(limits: Limits, array: ArraySpec, lines: ArraySpec, *, axis: int) -> Program:
    """Lines along an axis become rows."""
    return _swap(array, math.prod(array.shape[:axis]), array.shape[axis], math.prod(array.shape[axis + 1 :]))


def unlines_program(limits: Limits, lines: ArraySpec, array: ArraySpec, *, axis: int) -> Program:
    """Rows become lines along an axis."""
    return _swap(array, math.prod(array.shape[:axis]), math.prod(array.shape[axis + 1 :]), array.shape[axis])


def _swap(array: ArraySpec, outer: int, rows: int, columns: int) -> Program:
    if array.size == 0:
        return Program(())
    grid = (-(-columns // _TILE), min(-(-rows // _TILE), MAX_GROUPS_Y), min(outer, MAX_GROUPS_Y))
    bits = {4: "u32", 8: "u64", 16: "u64x2"}[array.itemsize]
    args = (A(0), A(1), np.int64(outer), np.int64(rows), np.int64(columns))
    return Program((Launch("fft_lines.knl", "swap", grid, (_TILE, 8, 1), args, (("T", bits), ("TILE", _TILE))),))


def _rows_grid(rows: int, n: int) -> tuple[int, int, int]:
    """Groups along rows that are widened to n numbers."""
    return (max(-(-n // (256 * _WIDE)), 1), max(min(rows, MAX_GROUPS_Y), 1), 1)


def _as_real(spec: ArraySpec) -> ArraySpec:
    """Complex numbers as pairs of real ones."""
    if np.dtype(spec.dtype).kind != "c":
        return spec
    return ArraySpec((*spec.shape[:-1], 2 * spec.shape[-1]), np.empty(0, spec.dtype).real.dtype.str)


def widen_program(limits: Limits, src: ArraySpec, dst: ArraySpec) -> Program:
    """Rows with zeros after them."""
    src, dst = _as_real(src), _as_real(dst)
    args = (A(0), A(1), np.int64(dst.shape[0]), np.int64(src.shape[-1]), np.int64(dst.shape[1]))
    defines = (("T", c_type(src.dtype)), ("SIGN", 1), ("RADIX", 2), ("REAL", 1), ("WIDE", _WIDE))
    return Program((Launch("fft.knl", "widen", _rows_grid(*dst.shape), (256, 1, 1), args, defines),))


def scale_program(limits: Limits, data: ArraySpec, *, factor: float) -> Program:
    """A product in place."""
    data = _as_real(data)
    args = (A(0), np.int64(data.size), np.dtype(data.dtype).type(factor))
    defines = (("T", c_type(data.dtype)), ("SIGN", 1), ("RADIX", 2), ("REAL", 1), ("WIDE", _WIDE))
    return Program((Launch("fft.knl", "scale", flat_grid(data.size), (256, 1, 1), args, defines),))
