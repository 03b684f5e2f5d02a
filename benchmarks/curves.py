"""Curves over sizes as SVG, by logarithms on both axes or shares from 0 to 1: what benchmarks draw, with nothing to install."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

Curves = Mapping[str, Sequence[tuple[float, float]]]
"""Points of each contestant."""
_WIDE, _TALL, _LEFT, _LOW, _LINE = 460, 300, 60, 40, 14
_COLOURS = (
    *("#0b5fa5", "#c23b22", "#2e8540", "#8e44ad", "#b8860b", "#17828f"),
    *("#7f7f7f", "#d35494", "#4b4b9f", "#5d4037", "#111111"),
)


def svg(path: str, panels: Mapping[str, Curves], across: str, shares: bool = False) -> None:
    """Write panels below one another, each with its title and curves; ``across`` is what their sizes are of.

    With ``shares`` what is drawn over sizes goes from 0 to 1, and not by logarithms.
    """
    drawn = [_panel(title, curves, across, number * _TALL, shares) for number, (title, curves) in enumerate(panels.items())]
    size = f'width="{_WIDE + 230}" height="{_TALL * len(drawn)}"'
    text = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">\n' + "\n".join(drawn)
    Path(path).write_text(text + "\n</svg>\n", encoding="utf-8")


def _panel(title: str, curves: Curves, across: str, top: float, shares: bool) -> str:
    points = [point for line in curves.values() for point in line if min(point) > 0 or shares]
    if not points:
        return ""
    ends = [(min(values), max(values)) for values in zip(*points)]

    def place(value: float, axis: int, start: float, end: float) -> float:
        if axis and shares:
            return start + (end - start) * value
        low, high = ends[axis]
        return start + (end - start) * (math.log(value / low) / math.log(high / low) if high > low else 0.5)

    x = lambda value: place(value, 0, _LEFT, _WIDE - 10)
    y = lambda value: place(value, 1, top + _TALL - _LOW, top + 30)
    found = [f'<text x="{_LEFT}" y="{top + 16:.0f}" font-weight="bold">{escape(title)}</text>']
    found.append(f'<text x="{(_LEFT + _WIDE) / 2:.0f}" y="{top + _TALL - 8:.0f}" text-anchor="middle">{escape(across)}</text>')
    for value in sorted({point[0] for point in points}):
        found.append(f'<text x="{x(value):.1f}" y="{top + _TALL - _LOW + 15:.0f}" text-anchor="middle">{value:g}</text>')
    for value in (0, 0.25, 0.5, 0.75, 1) if shares else ():
        found.append(f'<path d="M{_LEFT} {y(value):.1f}H{_WIDE - 10}" stroke="#ddd"/>')
        found.append(f'<text x="{_LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:g}</text>')
    for power in () if shares else range(math.floor(math.log10(ends[1][0])), math.ceil(math.log10(ends[1][1])) + 1):
        if ends[1][0] <= 10.0**power <= ends[1][1]:
            found.append(f'<path d="M{_LEFT} {y(10.0**power):.1f}H{_WIDE - 10}" stroke="#ddd"/>')
            found.append(f'<text x="{_LEFT - 6}" y="{y(10.0**power) + 4:.1f}" text-anchor="end">{10.0**power:g}</text>')
    for number, (name, line) in enumerate(curves.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        dots = [(x(a), y(b)) for a, b in line if min(a, b) > 0 or shares]
        # Others are dashed: colours alone do not tell a dozen lines apart.
        dash = "" if name.startswith("footprint") else ' stroke-dasharray="5 3"'
        found.append(f'<polyline points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in dots)}" fill="none" stroke="{colour}"{dash}/>')
        found += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.5" fill="{colour}"/>' for a, b in dots]
        found.append(f'<text x="{_WIDE}" y="{top + 30 + _LINE * number:.0f}" fill="{colour}">{escape(name)}</text>')
    return "\n".join(found)
