"""Options of ``footprint reconstruct`` that put steps between open beam and backprojection."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import click

from footprint.cli.chosen import sign_of
from footprint.cli.measures import ENERGY, METRES
from footprint.errors import ArgumentError

_RINGS = "Remove rings: mean, mean-division, double-flatfield, sorting, large, dead, all, fw; with settings: all:snr=3,size=61."

_LEVEL = (
    "Level the rows of sinograms before --rings: chebyshev subtracts a parabola from each; subtraction:file=FILE and "
    "division:file=FILE use an array, a row for all projections or one each (image, .npy, or FILE.h5:/DATASET)."
)
_ZINGERS = "Replace values above (1 + THRESHOLD) times the median around them; with another window, 0.2:size=5."
_TILT = "Turn projections so that an axis at c + tan(DEGREES) (z - middle) stands upright; auto finds the tilt."
_PHASE = (
    "Phase retrieval by Paganin's filter; with its padding, 500:padding=air; of a material (extra optics), SiO2:density=2.65. "
    "The pixel size is --pixel-size, or the scan's."
)


def step_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options of the steps."""
    for option in (
        click.option("--zingers", default=None, metavar="THRESHOLD", help=_ZINGERS),
        click.option("--tilt", default=None, metavar="DEGREES", help=_TILT),
        click.option("--phase", default=None, metavar="DELTA/BETA", help=_PHASE),
        click.option(
            "--energy",
            type=ENERGY,
            default=None,
            metavar="KEV",
            help="Energy of the beam, or as 20000eV, for --phase (default: the scan's).",
        ),
        click.option(
            "--distance",
            type=METRES,
            default=None,
            metavar="M",
            help="From sample to detector, or as 100mm, for --phase (default: the scan's).",
        ),
        click.option(
            "--unsharp",
            default=None,
            metavar="AMOUNT",
            help="Sharpen by an unsharp mask after --phase; with its width, 3:sigma=0.8.",
        ),
        click.option("--sino-normalization", default=None, metavar="METHOD", help=_LEVEL),
        click.option("--rings", default=None, metavar="METHOD[:SETTINGS]", help=_RINGS),
    ):
        command = option(command)
    return command


def steps_of(source: Any, options: dict[str, Any]) -> Any:
    """Take the options of the steps out of ``options``: what ``steps`` of the library is to be, None where none is asked for."""
    from footprint.api.steps import steps

    settings = {"zingers": settings_of("--zingers", options.pop("zingers"), "threshold")}
    settings |= {"tilt": _tilt(source, options.pop("tilt"))}
    settings |= {"unsharp": settings_of("--unsharp", options.pop("unsharp"), "amount")}
    settings |= {"normalization": _normalization(options.pop("sino_normalization"))}
    settings |= {"phase": _phase(source, options), "rings": settings_of("--rings", options.pop("rings"), "method")}
    given = {name: value for name, value in settings.items() if value is not None}
    return steps(**given) if given else None


def _normalization(text: str | None) -> dict[str, Any] | None:
    """Settings of the normalization, its file read."""
    found = settings_of("--sino-normalization", text, "method")
    if found is not None and "array" in found:
        raise ArgumentError("--sino-normalization", "'array'", "file=FILE")
    if found is not None and found["method"] in ("subtraction", "division") and "file" not in found:
        raise ArgumentError("--sino-normalization", f"{text!r} without an array", f"{found['method']}:file=FILE")
    if found is not None and "file" in found:
        from footprint.io.table import read_table

        found["array"] = read_table(str(found.pop("file")), "the array of --sino-normalization")
    return found


def _tilt(source: Any, text: str | float | None) -> Any:
    """Settings of the tilt: columns in reverse order lean the other way. One that is to be found is NaN until it is."""
    from footprint.ops.untilt import Untilt

    if text is None:
        return None
    if text == "auto":
        return Untilt(math.nan, source.n_z, source.n_x)
    try:
        degrees = float(text)
    except ValueError:
        raise ArgumentError("--tilt", repr(text), "degrees, or auto") from None
    return {"degrees": sign_of(source) * degrees, "rows": source.n_z, "columns": source.n_x}


def _phase(source: Any, options: dict[str, Any]) -> dict[str, Any] | None:
    """Settings of the phase filter: what is not given is the scan's."""
    energy, distance = options.pop("energy"), options.pop("distance")
    found = settings_of("--phase", options.pop("phase"), "delta_beta")
    if found is None:
        given = {"--energy": energy, "--distance": distance}
        alone = next((name for name, value in given.items() if value is not None), None)
        if alone is not None:
            raise ArgumentError(alone, given[alone], "it together with --phase")
        return None
    for option, value in (("--energy", energy), ("--distance", distance)):
        if value is not None and not 0 < value < math.inf:
            raise ArgumentError(option, f"{value:g}", "a number above 0")
    own = options.get("pixel_size")
    known = {
        "energy": source.energy if energy is None else energy,
        "distance": source.distance if distance is None else distance,
        # The scan's is in metres, the option's in centimetres.
        "pixel_size": source.pixel_size if own is None else own / 100,
    }
    for name, value in known.items():
        if value is None and name not in found:
            option = f"--{name.replace('_', '-')}"
            raise ArgumentError(option, "none, and the scan has none that is above 0", "a number for --phase", f"give {option}")
    return known | found


def settings_of(option: str, text: str | None, main: str) -> dict[str, Any] | None:
    """``WORD:name=value,name=value`` as a mapping; None where nothing, or "none", is said."""
    if text is None or text == "none":
        return None
    word, colon, rest = text.partition(":")
    found: dict[str, Any] = {main: word}
    for item in rest.split(",") if colon else ():
        name, equals, value = item.partition("=")
        if not (name and equals and value):
            raise ArgumentError(option, repr(item), "settings such as size=31, with commas between")
        found[name] = _number(value)
    return found


def _number(text: str) -> Any:
    """A whole number, a number, or the word as it is."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
