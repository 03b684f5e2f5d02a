"""What pages of runs share: one file that needs no other and no network, and in which nothing that was read is markup."""

from __future__ import annotations

import base64
import hashlib
import html
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from footprint.errors import printable
from footprint.io.output import output
from footprint.plan.explain import memory_rows, summary_rows
from footprint.units import format_bytes, format_seconds

PICTURES, PICTURE_BYTES = "pictures of the report", 8 << 20
"""What a page takes beside what it shows: a picture at a time, in numbers, in grey, and as text."""
# Bytes of a picture that are made text at once; three of them are four letters.
_PIECE = 3 << 14
_STYLE = """
body { font: 15px/1.5 sans-serif; max-width: 1100px; margin: 2em auto; padding: 0 1em; color: #222 }
table { border-collapse: collapse; margin: 0 0 1em } td, th { padding: .15em .8em .15em 0; text-align: left; vertical-align: top }
td:last-child { overflow-wrap: anywhere } td:not(:last-child), td.n { white-space: nowrap } td.n { text-align: right }
figure { display: inline-block; margin: .5em 1em .5em 0; vertical-align: top } img { max-width: 100%; border: 1px solid #ccc }
.bar { height: .7em; min-width: 1px } .p { background: #9bbcd8 } .m { background: #d8763b }
"""
# Nothing is fetched and nothing runs, whatever a name in the file would say; a page's own script goes by its digest.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def write_page(
    path: str,
    overwrite: bool,
    title: str,
    program: str,
    warned: Iterable[str],
    body: Iterable[str],
    style: str = "",
    script: str = "",
) -> None:
    """Write a page piece by piece; it gets its name when it is whole.

    Parameters
    ----------
    path, overwrite
        The file, and whether an existing one is replaced.
    title, program, warned
        What is shown above, as plain text.
    body
        What comes below, as markup.
    style, script
        What the page has beside the style of all; the only script that runs.
    """
    with output(path, overwrite) as temporary, open(temporary, "w", encoding="utf-8") as file:
        file.writelines(_page(title, program, warned, body, style, script))


def _page(title: str, program: str, warned: Iterable[str], body: Iterable[str], style: str, script: str) -> Iterator[str]:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"{_POLICY}; script-src 'sha256-{digest}'" if script else _POLICY
    yield f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{text(title)}</title>\n'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}"><style>{_STYLE}{style}</style></head><body>\n'
    yield f"<h1>{text(title)}</h1>\n<p>{text(program)}, {datetime.now().astimezone():%Y-%m-%d %H:%M:%S %z}</p>\n"
    for warning in warned:
        yield f"<p><b>Warning</b>: {text(warning)}</p>\n"
    yield from body
    if script:
        yield f"<script>{script}</script>\n"
    yield "</body></html>\n"


def plan_and_figures(
    plan: Any, figures: Mapping[str, Any], what: str, parameters: Mapping[str, Any], drawn: Iterable[str] = ()
) -> Iterator[str]:
    """What every page ends with: the plan, the seconds of its lanes, every figure and every parameter.

    Parameters
    ----------
    plan, figures
        Of the run; the figures have its seconds.
    what
        What those seconds are from and to.
    parameters
        By name.
    drawn
        The timeline of the lanes, as markup.
    """
    yield "<h2>Plan</h2>\n"
    yield table((kind, format_bytes(n), f"{n:,}", remark) for kind, n, remark in memory_rows(plan))
    yield table(summary_rows(plan))
    yield "<h2>Seconds of each lane</h2>\n"
    yield f"<p>{text(format_seconds(float(figures['seconds'])))} {text(what)}; lanes work side by side.</p>\n"
    yield from drawn
    yield from _lanes(figures.get("seconds_predicted", {}), figures.get("seconds_measured", {}))
    yield "<h2>Figures</h2>\n"
    yield table((name, said(value)) for name, value in figures.items() if not isinstance(value, dict) and value is not None)
    yield "<h2>Parameters</h2>\n"
    yield table((name, said(value)) for name, value in parameters.items())


def _lanes(predicted: Mapping[str, float], measured: Mapping[str, float]) -> Iterator[str]:
    yield "<table>"
    longest = max([*predicted.values(), *measured.values(), 1e-9])
    for lane in dict.fromkeys([*predicted, *measured]):
        for kind, times in (("predicted", predicted), ("measured", measured)):
            if lane in times:
                bar = f'<div class="bar {kind[0]}" style="width:calc({times[lane] / longest:.3f}*min(400px,40vw))"></div>'
                yield f'<tr><td>{text(lane)}</td><td>{kind}</td><td class="n">{text(format_seconds(times[lane]))}</td>'
                yield f"<td>{bar}</td></tr>\n"
    yield "</table>\n"


def table(rows: Iterable[Sequence[Any]]) -> str:
    """Rows of plain text as a table."""
    lines = ("".join(f"<td>{text(cell)}</td>" for cell in row) for row in rows)
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>\n"


def figure(picture: Any, caption: str) -> Iterator[str]:
    """A picture of Pillow's with its caption."""
    words = text(caption)
    yield f'<figure><img alt="{words}" src="'
    yield from data_of(picture)
    yield f'"><figcaption>{words}</figcaption></figure>\n'


def data_of(picture: Any) -> Iterator[str]:
    """A picture of Pillow's as the address of itself, piece by piece."""
    buffer = io.BytesIO()
    picture.save(buffer, format="PNG")
    yield "data:image/png;base64,"
    buffer.seek(0)
    while piece := buffer.read(_PIECE):
        yield base64.b64encode(piece).decode("ascii")


def said(value: Any) -> str:
    """A figure in words."""
    return f"{value:.9g}" if isinstance(value, float) else "none" if value is None else str(value)


def text(value: object) -> str:
    """Anything as text of the page: no name of a file, sample or dataset is ever markup."""
    return html.escape(printable(str(value)), quote=True)
