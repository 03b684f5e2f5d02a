"""``footprint sources --report FILE.html``: one page with the picture, its islands, the catalogue, theory, plan and parameters."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from footprint.cli.charts import bars, curve
from footprint.cli.page import PICTURE_BYTES, data_of, plan_and_figures, said, table, text, write_page
from footprint.errors import printable
from footprint.io.sky_png import sky_picture
from footprint.io.thin import rows_at_once
from footprint.units import counted

MOST = 20_000
"""Sources a page holds: more would make it slow to open, and its picture a carpet of rings."""
# Pixels of the picture's longer side, and numbers looked at or written at once.
_SIDE, _PIECE = 1024, 1 << 12
# Columns that are shown, in this order; all of them on demand, in the order of the catalogue.
_MAIN = ("label", "name", "peak", "snr", "flux", "flux_err", "x", "y", "ra", "dec", "npix", "flags", "fit_flux")
_PLACES = {"x": 2, "y": 2, "ra": 6, "dec": 6, "snr": 1}
_CLIP = ("background", "noise", "threshold", "clip_mean", "clip_median", "clip_std", "clip_count", "clip_iterations")
_SHARES = (0.1, 0.5, 0.9, 0.99, 0.999)


def page_bytes(image: Any) -> int:
    """What writing a page of an open image takes beside it and the catalogue."""
    reading = getattr(image, "host_bytes", None)
    return PICTURE_BYTES + (0 if reading is None else reading(rows_at_once(image.shape, _SIDE), "float32"))


def write_sources_page(
    path: str,
    overwrite: bool,
    image: Any,
    catalogue: Any,
    plan: Any,
    warned: Sequence[str],
    figures: Mapping[str, Any],
    parameters: Mapping[str, Any],
) -> None:
    """Write the page of a search.

    Parameters
    ----------
    path, overwrite
        The file, and whether an existing one is replaced.
    image
        An open image, read once more by rows.
    catalogue
        What `find_sources` made of it.
    plan, figures
        The search's largest plan, and what the report in the shell says.
    warned
        Sentences.
    parameters
        Every one, by name; ``image`` and ``program`` among them.
    """
    here = Path(__file__)
    style, script = (here.with_suffix(suffix).read_text("utf-8") for suffix in (".css", ".js"))
    title = f"Sources in {Path(str(parameters['image'])).name}"
    body = _body(image, catalogue, plan, figures, parameters)
    write_page(path, overwrite, title, str(parameters["program"]), warned, body, style, script)


def _body(image: Any, catalogue: Any, plan: Any, figures: Mapping[str, Any], parameters: Mapping[str, Any]) -> Iterator[str]:
    rows = _brightest(catalogue["peak"].data, MOST)
    many = len(catalogue) > len(rows)
    held = f"; this page holds the {len(rows)} with the highest peaks" if many else ""
    how = "Click a ring or a row to see all its measurements."
    yield f"<p><b>{text(counted(len(catalogue), 'sources'))}</b>{held}. {how}</p>\n"
    yield '<noscript><p>Rows, sorting and the filter need the script of this page.</p></noscript>\n<div class="side"><div>\n'
    yield '<div class="bar2"><button id="wider">-</button><button id="closer">+</button> zoom</div><div id="view">'
    yield from _sky(image, catalogue, rows)
    yield '</div></div>\n<div><div class="bar2">'
    yield '<input type="search" id="filter" aria-label="filter" placeholder="filter: a name, or snr&gt;10 x&lt;200">'
    yield '<label><input type="checkbox" id="all"> all columns</label> <button id="before">&lt;</button> <span id="which"></span>'
    yield ' <button id="after">&gt;</button></div><div id="rows"></div></div></div>\n<div id="chosen"></div>\n'
    yield from _data(catalogue, rows)
    yield from _theory(catalogue)
    yield "<h2>What was found</h2>\n"
    yield from bars(catalogue["snr"].data, "peak / noise", "Sources by S/N")
    unit = catalogue["flux"].unit
    yield from bars(catalogue["flux"].data, f"flux{f' in {unit}' if unit else ''}", "Sources by flux")
    yield "<h2>Background and noise</h2>\n"
    # As the table beside it writes it.
    yield from _levels(catalogue, str(catalogue["peak"].unit or figures.get("unit", "")))
    yield from plan_and_figures(plan, figures, "from the first row read to the last written", parameters)


def _brightest(peaks: np.ndarray, most: int) -> np.ndarray:
    """Indices of the highest, from the highest down, of equal ones the first; some at a time, however many there are."""
    kept = np.empty(0, np.int64)
    step = max(most, 1 << 16)
    for at in range(0, len(peaks), step):
        kept = np.concatenate([kept, np.arange(at, min(at + step, len(peaks)))])
        kept = kept[np.argsort(-peaks[kept], kind="stable")[:most]]
    return kept


def _sky(image: Any, catalogue: Any, rows: np.ndarray) -> Iterator[str]:
    """The picture, and a ring round each of the rows: those of the faintest, which may lie inside others, on top."""
    picture, step = sky_picture(image, catalogue.meta["background"], catalogue.meta["noise"], _SIDE)
    width, height = picture.size
    yield f'<svg id="sky" viewBox="0 0 {width} {height}" role="img" aria-label="the image with a ring round each source">'
    yield f'<image width="{width}" height="{height}" href="'
    yield from data_of(picture)
    yield '"/><g id="islands">'
    margin = max(width, height) / 250
    left, right, low, high = (catalogue[name].data for name in ("x_min", "x_max", "y_min", "y_max"))
    for row in rows.tolist():
        x, y = (left[row] + right[row] + 1) / (2 * step), height - (low[row] + high[row] + 1) / (2 * step)
        rx, ry = ((b[row] - a[row] + 1) / (2 * step) + margin for a, b in ((left, right), (low, high)))
        yield f'<ellipse cx="{x:.6g}" cy="{y:.6g}" rx="{rx:.4g}" ry="{ry:.4g}"/>'
    yield "</g></svg>"


def _data(catalogue: Any, rows: np.ndarray) -> Iterator[str]:
    """The rows for the script: text that is data in every browser, with no end of a script in it whatever the names say."""
    about = []
    for name in catalogue.colnames:
        column = catalogue[name]
        kind = {"f": "float", "i": "int", "u": "int", "b": "int"}.get(column.dtype.kind, "text")
        told = {"name": name, "kind": kind, "unit": str(column.unit or ""), "about": str(column.description or "")}
        about.append(
            told
            | {"main": _MAIN.index(name) if name in _MAIN else None}
            | ({"places": _PLACES[name]} if name in _PLACES and kind == "float" else {})
        )
    yield f'<script type="application/json" id="data">{{"columns": {_json(about)}, "values": ['
    for k, name in enumerate(catalogue.colnames):
        yield "[" if k == 0 else ",\n["
        for at in range(0, len(rows), _PIECE):
            some = catalogue[name].data[rows[at : at + _PIECE]]
            yield ("," if at else "") + ",".join(map(_number if some.dtype.kind == "f" else _json, some.tolist()))
        yield "]"
    yield "]}</script>\n"


def _number(value: float) -> str:
    return f"{value:.9g}" if np.isfinite(value) else "null"


def _json(value: Any) -> str:
    """JSON in which no text ends the script it stands in, or shows what does not print."""
    return json.dumps(_plain(value)).replace("<", "\\u003c")


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    return printable(value) if isinstance(value, str) else value


def _theory(catalogue: Any) -> Iterator[str]:
    """What share of points of a given S/N noise leaves over the threshold."""
    sigma, noise = float(catalogue.meta["sigma"]), float(catalogue.meta["noise"])
    unit, normal = str(catalogue["peak"].unit or ""), NormalDist()
    needed = [sigma + normal.inv_cdf(share) for share in _SHARES]
    low, high = max(sigma - 4, 0.0), sigma + 4
    x = np.linspace(low, high, 161).tolist()
    yield "<h2>Expected completeness</h2>\n"
    yield f"<p>Of sources whose true peak is s times the noise, the share &Phi;(s &minus; {sigma:.4g}) is above the threshold of "
    yield f"{sigma:.4g} times the noise, &Phi; being the integral of the Gaussian distribution: a source is found where its peak's "
    yield "pixel, its true value and Gaussian noise added, is above the threshold. This is theory, not measured on the image. "
    yield "Blended sources, peaks between two pixels and a smallest area lower it.</p>\n"
    marks = [(needed[k], f"{100 * _SHARES[k]:g} %") for k in (1, 2, 3)]
    yield from curve(x, [normal.cdf(s - sigma) for s in x], marks, "true peak / noise", "Share above the threshold")
    rows = [(f"{100 * p:g} %", f"{s:.2f}", f"{s * noise:.4g} {unit}") for p, s in zip(_SHARES, needed) if s > 0]
    yield f"<figure>{table([('share', 'true peak / noise', 'true peak above the background'), *rows])}"
    typical = "The noise differs from place to place; these are for a typical one." if "noise" in catalogue.colnames else ""
    yield f"<figcaption>{typical}</figcaption></figure>\n"


def _levels(catalogue: Any, unit: str) -> Iterator[str]:
    """The clip's statistics, or what a mesh or maps are like."""
    counts = ("clip_count", "clip_iterations")
    yield table(
        (name.replace("_", " "), said(catalogue.meta[name]), "" if name in counts else unit)
        for name in _CLIP
        if name in catalogue.meta
    )
