"""``--report FILE.html``: one page of a run that needs no other file and no network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from footprint.cli.page import PICTURE_BYTES, figure, plan_and_figures, said, table, text, write_page
from footprint.cli.timeline import timeline
from footprint.errors import BudgetError
from footprint.io.curve_png import curve_picture
from footprint.io.slice_png import slice_picture

if TYPE_CHECKING:
    from footprint.cli.reconstruct_job import Run

# Pixels of a picture's longer side: the plan counts a dozen of them.
_SIDE = 512
_STEPS = {
    "Flat": "transmissions, by flats and darks",
    "MinusLog": "line integrals: minus logarithm",
    "DeadPixels": "dead pixels replaced",
    "Dropouts": "pixels that failed in single projections replaced",
    "ShiftSinograms": "vertical shifts",
    "HalfAcquisition": "joined into the whole field",
    "RemoveZingers": "zingers replaced",
    "Untilt": "tilt removed",
    "Paganin": "phase retrieved",
    "Unsharp": "sharpened",
    "Normalize": "rows brought to one level",
    "RemoveStripes": "rings removed",
    "FourierWavelet": "rings removed",
}


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
    title = f"Reconstruction of {Path(str(run.about['scan'])).name}"
    write_page(path, run.files.overwrite, title, str(run.about["program"]), run.reporter.warned, _body(run, volume, figures))


def _body(run: Run, volume: Any, figures: dict[str, Any]) -> Iterator[str]:
    yield "<h2>Slices</h2>\n"
    yield from _slices(run, volume)
    yield "<h2>Rotation axis</h2>\n"
    yield from _axis(run)
    yield "<h2>Sinogram before and after each step</h2>\n"
    yield from _sinograms(run)
    drawn = timeline(run.reporter.busy, figures.get("seconds_predicted", {}), float(figures["seconds"]))
    yield from plan_and_figures(run.plan, figures, "from the axis search to the last row", run.about, drawn)


def _slices(run: Run, volume: Any) -> Iterator[str]:
    n = run.shape[0]
    for index in sorted({n // 4, n // 2, 3 * n // 4}):
        with run.slice_of(volume, index) as image:
            picture = slice_picture(image, _SIDE)
        yield from figure(picture, f"row {run.first + index}")


def _axis(run: Run) -> Iterator[str]:
    found = run.found
    assert found is not None
    yield table((name, said(value)) for name, value in found.figures.items())
    if found.axis is None:
        yield "<p>It was given.</p>\n"
    else:
        yield from figure(
            curve_picture(*found.curve),
            "the search: all axes that were tried, then those near the red line, which is the axis found",
        )


def _sinograms(run: Run) -> Iterator[str]:
    from footprint.api._looks import looks

    row = run.first + run.shape[0] // 2
    room = run.plan.footprint.total - PICTURE_BYTES
    yield f"<p>Detector row {row}; angles downwards.</p>\n"
    try:
        for step, sinogram in looks(run.source, row, memory=room, device=run.device, black_frames=run.black_frames, **run.job):
            picture = slice_picture(_Shown(sinogram), _SIDE)
            ends = f"{_least(sinogram):.4g} to {-_least(sinogram, -1):.4g}"
            yield from figure(picture, f"{_STEPS.get(step, step)} ({ends})")
    except BudgetError as error:
        yield f"<p>Not drawn within the plan of this run: {text(error)}</p>\n"


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
