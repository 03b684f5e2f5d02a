"""``--report FILE.html``: one page of a run that needs no other file and no network."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from footprint.errors import BudgetError, printable
from footprint.io.curve_png import curve_picture
from footprint.io.output import output
from footprint.io.slice_png import slice_picture
from footprint.plan.explain import memory_rows, summary_rows
from footprint.units import format_bytes, format_seconds

if TYPE_CHECKING:
    from footprint.cli.reconstruct_job import Run

PICTURES, PICTURE_BYTES = "pictures of the report", 8 << 20
"""What the report takes beside its sinograms: a picture of 512 x 512 pixels at a time, in numbers, in grey, and as text."""
# Pixels of a picture's longer side: the plan counts a dozen of them.
_SIDE = 512
_STEPS = {
    "Flat": "transmissions, by flats and darks",
    "MinusLog": "line integrals: minus logarithm",
    "DeadPixels": "dead pixels replaced",
    "Dropouts": "pixels that failed in single projections replaced",
    "ShiftSinograms": "vertical shifts",
    "HalfAcquisition": "joined to the whole field",
    "RemoveZingers": "zingers replaced",
    "Untilt": "tilt taken off",
    "Paganin": "phase retrieved",
    "Unsharp": "sharpened",
    "RemoveStripes": "rings removed",
    "FourierWavelet": "rings removed",
}
_STYLE = """
body { font: 15px/1.5 sans-serif; max-width: 1100px; margin: 2em auto; padding: 0 1em; color: #222 }
table { border-collapse: collapse } td, th { padding: .15em .8em .15em 0; text-align: left; vertical-align: top }
td { overflow-wrap: anywhere } td.n { text-align: right; white-space: nowrap }
figure { display: inline-block; margin: .5em 1em .5em 0; vertical-align: top } img { max-width: 100%; border: 1px solid #ccc }
.bar { height: .7em; min-width: 1px } .p { background: #9bbcd8 } .m { background: #d8763b }
"""
# Nothing is fetched and nothing runs, whatever a name in the file would say.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def write_report(run: Run, volume: Any, figures: dict[str, Any]) -> None:
    """Write the page of a run whose volume is written and not yet named.

    Pictures are drawn when the run's own memory has been given back: with them the page stays within the plan.

    Parameters
    ----------
    run
        The job, its plan and its axis.
    volume
        Its writer.
    figures
        What the report in the shell says.
    """
    path = run.files.report
    assert path is not None
    with output(path, run.files.overwrite) as temporary, open(temporary, "w", encoding="utf-8") as file:
        file.writelines(_page(run, volume, figures))


def _page(run: Run, volume: Any, figures: dict[str, Any]) -> Iterator[str]:
    title = f"Reconstruction of {Path(str(run.about['scan'])).name}"
    yield f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{_text(title)}</title>\n'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"><style>{_STYLE}</style></head><body>\n'
    yield f"<h1>{_text(title)}</h1>\n<p>{_text(run.about['program'])}, {datetime.now().astimezone():%Y-%m-%d %H:%M:%S %z}</p>\n"
    for warning in run.reporter.warned:
        yield f"<p><b>Warning</b>: {_text(warning)}</p>\n"
    yield "<h2>Slices</h2>\n"
    yield from _slices(run, volume)
    yield "<h2>Rotation axis</h2>\n"
    yield from _axis(run)
    yield "<h2>Sinogram before and after each step</h2>\n"
    yield from _sinograms(run)
    yield "<h2>Plan</h2>\n"
    yield _table((kind, format_bytes(n), f"{n:,}", remark) for kind, n, remark in memory_rows(run.plan))
    yield _table(summary_rows(run.plan))
    yield "<h2>Seconds of each lane</h2>\n"
    yield from _lanes(figures.get("seconds_predicted", {}), figures.get("seconds_measured", {}), float(figures["seconds"]))
    yield "<h2>Figures</h2>\n"
    yield _table((name, _said(value)) for name, value in figures.items() if not isinstance(value, dict) and value is not None)
    yield "<h2>Parameters</h2>\n"
    yield _table((name, _said(value)) for name, value in run.about.items())
    yield "</body></html>\n"


def _slices(run: Run, volume: Any) -> Iterator[str]:
    n = run.shape[0]
    for index in sorted({n // 4, n // 2, 3 * n // 4}):
        with run.slice_of(volume, index) as image:
            picture = slice_picture(image, _SIDE)
        yield _figure(picture, f"row {run.first + index}")


def _axis(run: Run) -> Iterator[str]:
    found = run.found
    assert found is not None
    yield _table((name, _said(value)) for name, value in found.figures.items())
    if found.axis is None:
        yield "<p>It was given.</p>\n"
    else:
        yield _figure(curve_picture(*found.curve), "the search")


def _sinograms(run: Run) -> Iterator[str]:
    from footprint.api._looks import looks

    row = run.first + run.shape[0] // 2
    room = run.plan.footprint.total - PICTURE_BYTES
    yield f"<p>Detector row {row}; angles downwards.</p>\n"
    try:
        for step, sinogram in looks(run.source, row, memory=room, device=run.device, black_frames=run.black_frames, **run.job):
            picture = slice_picture(_Shown(sinogram), _SIDE)
            ends = f"{_least(sinogram):.4g} to {-_least(sinogram, -1):.4g}"
            yield _figure(picture, f"{_STEPS.get(step, step)} ({ends})")
    except BudgetError as error:
        yield f"<p>Not drawn within the plan of this run: {_text(error)}</p>\n"


class _Shown:
    """An array with the face of an open image."""

    def __init__(self, values: np.ndarray) -> None:
        self.values, self.shape = values, values.shape

    def read(self, rows: slice, out: np.ndarray) -> None:
        """Some rows."""
        out[...] = self.values[rows]


def _least(values: np.ndarray, sign: int = 1) -> float:
    """The smallest number, a row at a time."""
    return min(float(np.min(sign * row, where=np.isfinite(row), initial=np.inf)) for row in values)


def _lanes(predicted: dict[str, float], measured: dict[str, float], seconds: float) -> Iterator[str]:
    yield f"<p>{_text(format_seconds(seconds))} from the axis search to the last row; lanes work side by side.</p>\n<table>"
    longest = max([*predicted.values(), *measured.values(), 1e-9])
    for lane in dict.fromkeys([*predicted, *measured]):
        for kind, times in (("predicted", predicted), ("measured", measured)):
            if lane in times:
                bar = f'<div class="bar {kind[0]}" style="width:{400 * times[lane] / longest:.0f}px"></div>'
                yield f'<tr><td>{_text(lane)}</td><td>{kind}</td><td class="n">{_text(format_seconds(times[lane]))}</td>'
                yield f"<td>{bar}</td></tr>\n"
    yield "</table>\n"


def _table(rows: Iterable[Sequence[Any]]) -> str:
    lines = ("".join(f"<td>{_text(cell)}</td>" for cell in row) for row in rows)
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>\n"


def _figure(picture: Any, caption: str) -> str:
    buffer = io.BytesIO()
    picture.save(buffer, format="PNG")
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    words = _text(caption)
    return f'<figure><img alt="{words}" src="data:image/png;base64,{data}"><figcaption>{words}</figcaption></figure>\n'


def _said(value: Any) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def _text(value: object) -> str:
    """Anything as text of the page: no name of a file, sample or dataset is ever markup."""
    return html.escape(printable(str(value)), quote=True)
