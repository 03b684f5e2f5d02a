"""Row FFTs by our own kernels: the passes of a transform and the memory between them."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.launch import A, Argument, Launch, Program, W
from footprint.kernels.common.load import c_type
from footprint.kernels.common.stream import flat_grid
from footprint.spec import ArraySpec, Limits


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


def fft_program(limits: Limits, src: ArraySpec, dst: ArraySpec, *, inverse: bool = False) -> Program:
    """Real rows to half spectra, or back with the factor 1/n, through two lines of complex numbers a row."""
    real = dst if inverse else src
    n = dst.shape[-1] if inverse else 2 * (dst.shape[-1] - 1)
    rows, kind = real.size // max(real.shape[-1], 1), np.dtype(real.dtype)
    if rows == 0 or n == 0:
        return Program(())
    common = (("T", c_type(kind)), ("SIGN", 1 if inverse else -1))
    first = np.int64(rows)
    steps: list[Launch] = []

    def step(entry: str, count: int, args: tuple[Argument, ...], radix: int = 2) -> None:
        defines = (*common, ("RADIX", radix), ("REAL", int(entry == "narrow" and inverse)))
        steps.append(Launch("fft.knl", entry, flat_grid(count), (256, 1, 1), args, defines))

    m = src.shape[-1]
    step("mirror" if inverse else "widen", rows * n, (A(0), W(0), first, np.int64(m), np.int64(n)))
    a, b, span = W(0), W(1), 1
    for radix in radices(n):
        step("pass", rows * n // radix, (a, b, first, np.int64(n), np.int64(span)), radix)
        a, b, span = b, a, span * radix
    scale = kind.type(1 / n)
    step("narrow", rows * dst.shape[-1], (a, A(1), first, np.int64(dst.shape[-1]), np.int64(n), scale))
    line = ArraySpec((rows, n), np.result_type(kind, np.complex64).str)
    return Program(tuple(steps), (line, line))


def widen_program(limits: Limits, src: ArraySpec, dst: ArraySpec) -> Program:
    """Rows with zeros after them."""
    args = (A(0), A(1), np.int64(dst.shape[0]), np.int64(src.shape[-1]), np.int64(dst.shape[1]))
    defines = (("T", c_type(src.dtype)), ("SIGN", 1), ("RADIX", 2), ("REAL", 1))
    return Program((Launch("fft.knl", "widen", flat_grid(dst.size), (256, 1, 1), args, defines),))


def scale_program(limits: Limits, data: ArraySpec, *, factor: float) -> Program:
    """A product in place."""
    args = (A(0), np.int64(data.size), np.dtype(data.dtype).type(factor))
    defines = (("T", c_type(data.dtype)), ("SIGN", 1), ("RADIX", 2), ("REAL", 1))
    return Program((Launch("fft.knl", "scale", flat_grid(data.size), (256, 1, 1), args, defines),))
