"""Charts of a page as SVG: bars and curves over a line of numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from footprint.cli.page import text

_WIDE, _TALL = 520, 250
_LEFT, _RIGHT, _HIGH, _LOW = 52, 496, 12, 204
_BINS = 24
# Numbers looked at once.
_PIECE = 1 << 16


@dataclass(frozen=True)
class Axis:
    """Numbers along a line of the chart, from the place ``start`` to ``end``; by their logarithm, or whole ones, or neither."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False
    whole: bool = False

    def place(self, value: float) -> float:
        """Where a number lies."""
        low, high, at = (math.log10(n) if self.log else n for n in (self.low, self.high, value))
        return self.start + (at - low) / (high - low) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Round numbers between the ends: multiples of a step, or 1, 2 and 5 times powers of ten; else the ends."""
        if self.log:
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            digits = (1, 2, 5) if len(powers) <= 4 else (1,)
            every = -(-len(powers) // 8)
            found = [n * 10.0**power for power in powers[::every] for n in digits]
        else:
            rough = max((self.high - self.low) / 6, 1.0 if self.whole else 0.0)
            power = 10.0 ** math.floor(math.log10(rough))
            step = next(n * power for n in (1, 2, 5, 10) if n * power >= rough * (1 - 1e-9))
            found = [k * step for k in range(math.ceil(self.low / step), math.floor(self.high / step) + 1)]
        inside = [n for n in found if self.low <= n <= self.high]
        return inside if len(inside) > 1 else [self.low, self.high]


def bars(values: np.ndarray, label: str, name: str) -> Iterator[str]:
    """How many of the numbers above 0 lie in each of some bins of equal width in their logarithm.

    Parameters
    ----------
    values
        Any numbers, any NaN.
    label, name
        What they are, below them; and what the chart is called.
    """
    pieces = [values[at : at + _PIECE] for at in range(0, len(values), _PIECE)]
    low = min((float(np.min(one, where=one > 0, initial=np.inf)) for one in pieces), default=np.inf)
    high = max((float(np.max(one, where=np.isfinite(one), initial=-np.inf)) for one in pieces), default=-np.inf)
    if not 0 < low <= high:
        yield f"<figure><figcaption>{text(name)}: none above 0</figcaption></figure>\n"
        return
    # A little wider than the numbers, so that rounding leaves none out.
    edges = np.geomspace(low * (1 - 1e-6), high * (1 + 1e-6), _BINS + 1) if high > 1.01 * low else np.array([low / 1.1, high * 1.1])
    counts = sum((np.histogram(one, edges)[0] for one in pieces), np.zeros(len(edges) - 1, np.int64))
    across, up = Axis(edges[0], edges[-1], _LEFT, _RIGHT, log=True), Axis(0, float(counts.max()), _LOW, _HIGH, whole=True)
    yield from _frame(across, up, label, name)
    for left, right, count in zip(edges, edges[1:], counts):
        if count:
            x, y = across.place(left), up.place(count)
            size = f'x="{x:.1f}" y="{y:.1f}" width="{across.place(right) - x - 1:.1f}" height="{_LOW - y:.1f}"'
            yield f'<rect class="found" {size}><title>{left:.4g} to {right:.4g}: {count}</title></rect>'
    yield _END


def curve(x: Sequence[float], y: Sequence[float], marks: Sequence[tuple[float, str]], label: str, name: str) -> Iterator[str]:
    """A line through points whose heights are shares of 1, with upright lines at some places.

    Parameters
    ----------
    x, y
        The points, from left to right.
    marks
        Where upright lines stand, and what is written at them.
    label, name
        As for `bars`.
    """
    across, up = Axis(x[0], x[-1], _LEFT, _RIGHT), Axis(0, 1, _LOW, _HIGH)
    yield from _frame(across, up, label, name)
    for k, (value, words) in enumerate(marks):
        here, top = across.place(value), _HIGH + 14 * (k + 1)
        yield f'<line class="mark" x1="{here:.1f}" x2="{here:.1f}" y1="{_HIGH}" y2="{_LOW}"/>'
        yield f'<text x="{here + 4:.1f}" y="{top}">{text(words)}</text>'
    points = " ".join(f"{across.place(a):.1f},{up.place(b):.1f}" for a, b in zip(x, y))
    yield f'<polyline class="line" points="{points}"/>{_END}'


_END = "</svg></figure>\n"


def _frame(across: Axis, up: Axis, label: str, name: str) -> Iterator[str]:
    yield f'<figure class="chart"><figcaption>{text(name)}</figcaption>'
    yield f'<svg viewBox="0 0 {_WIDE} {_TALL}" width="{_WIDE}" role="img" aria-label="{text(name)}">'
    for value in up.ticks():
        y = up.place(value)
        yield f'<line class="grid" x1="{_LEFT}" x2="{_RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text class="end" x="{_LEFT - 6}" y="{y + 4:.1f}">{value:.6g}</text>'
    for value in across.ticks():
        x = across.place(value)
        yield f'<line class="tick" x1="{x:.1f}" x2="{x:.1f}" y1="{_LOW}" y2="{_LOW + 5}"/>'
        yield f'<text class="middle" x="{x:.1f}" y="{_LOW + 19}">{value:.6g}</text>'
    yield f'<text class="middle" x="{(_LEFT + _RIGHT) / 2}" y="{_LOW + 40}">{text(label)}</text>'
