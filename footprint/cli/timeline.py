"""When each lane of a run was busy, as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby

from footprint.cli.charts import Axis
from footprint.cli.page import text
from footprint.plan.spent import Busy
from footprint.units import format_seconds

_WIDE, _LEFT, _ROW, _BUSY, _LINE = 860, 90, 28, 15, 4
# Shares of a span that are told apart.
_SHADES = 4


def timeline(busy: Mapping[str, Busy], predicted: Mapping[str, float], seconds: float) -> Iterator[str]:
    """A row for every lane: when it was busy, and below that a line as long as was predicted.

    Parameters
    ----------
    busy, predicted
        By lane.
    seconds
        Of the run.
    """
    if not busy:
        return
    starts = {lane: next((i for i, n in enumerate(one.seconds) if n), 0) * one.span for lane, one in busy.items()}
    ends = [starts[lane] + predicted.get(lane, 0.0) for lane in busy]
    across = Axis(0.0, max([seconds, *ends, 1e-9]), _LEFT, _WIDE - 20)
    tall = _ROW * len(busy)
    yield f'<svg role="img" aria-label="when each lane was busy" width="{_WIDE}" height="{tall + 22}" font-size="12">\n'
    for row, (lane, one) in enumerate(busy.items()):
        top = row * _ROW + 4
        told = f"{lane}: busy {format_seconds(sum(one.seconds))}"
        told += f", predicted {format_seconds(predicted[lane])}" if lane in predicted else ""
        yield f'<g><title>{text(told)}</title><text x="0" y="{top + 12}">{text(lane)}</text>\n'
        yield from _strip(one, across, top)
        if lane in predicted:
            yield _rect(across, starts[lane], starts[lane] + predicted[lane], top + _BUSY + 1, _LINE, 'fill="#9bbcd8"')
        yield "</g>\n"
    for at in across.ticks():
        x = across.place(at)
        yield f'<path d="M{x:.1f} 0V{tall}" stroke="#ccc"/>'
        yield f'<text x="{x:.1f}" y="{tall + 15}" text-anchor="middle">{at:.6g} s</text>\n'
    yield "</svg>\n"


def _strip(one: Busy, across: Axis, top: int) -> Iterator[str]:
    """Darker where more of the time was spent; spans of one shade are one rectangle."""
    at = 0
    for shade, some in groupby(one.seconds, lambda seconds: min(-(-seconds * _SHADES // one.span), _SHADES)):
        first, at = at, at + len(list(some))
        if shade:
            style = f'fill="#d8763b" fill-opacity="{shade / _SHADES:g}"'
            yield _rect(across, first * one.span, min(at * one.span, across.high), top, _BUSY, style)


def _rect(across: Axis, start: float, end: float, top: int, tall: int, style: str) -> str:
    x = across.place(start)
    return f'<rect x="{x:.1f}" y="{top}" width="{max(across.place(end) - x, 0.5):.1f}" height="{tall}" {style}/>\n'
