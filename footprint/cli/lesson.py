"""``footprint sources --lesson``: the table of the Carpentries' GPU lesson, its steps timed on every device."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from footprint.cli.render import Reporter
from footprint.errors import FootprintError
from footprint.units import format_bytes, format_seconds

STEPS = ("sigma_clip", "threshold", "label", "measure")
_TURNS = 3
# So far from the median that nothing is clipped.
_ALL = 1e300


def show_lesson(source: Any, reporter: Reporter, device: str, memory: Any, sigma: float, kappa: float, connectivity: int) -> None:
    """Print the table of an open image, or add it to the report; what does not fit the budget whole is left out, and said so."""
    from footprint.api._arrays import limits_and_budget
    from footprint.dtypes import kernel_dtype, native

    dtype = native(kernel_dtype(source.dtype.str))
    # Image, mask and labels, and the image once more on a device that shares the host's memory.
    needed = int(np.prod(source.shape)) * (2 * np.dtype(dtype).itemsize + 5)
    budget = limits_and_budget("cpu", memory)[1]
    if budget is not None and needed > budget:
        reporter.warn(f"the lesson's table needs the whole image at once, {format_bytes(needed)}: it is left out")
        return
    pixels = np.empty(source.shape, dtype)
    source.read(slice(0, source.shape[0]), pixels)
    figures, problems = lesson(pixels, _devices(device), sigma, kappa, connectivity)
    for problem in problems:
        reporter.warn(problem)
    if reporter.as_json:
        reporter.figures["lesson"] = figures
    elif not reporter.quiet:
        import click

        click.echo("\n".join(in_words(figures)))


def _devices(device: str) -> list[str]:
    """Those that are named, or all that run something."""
    from footprint.api._arrays import where
    from footprint.backend.registry import devices

    if device != "auto":
        return list(where(device).each)
    return [name for name, problem in devices() if not problem and not name.startswith("null")]


def lesson(
    image: np.ndarray, devices: list[str], sigma: float, kappa: float, connectivity: int
) -> tuple[dict[str, Any], list[str]]:
    """Statistics, islands, the highest fluxes, and seconds of every step on each device; and what went wrong on which."""
    from footprint.api.sigma_clip import sigma_clip
    from footprint.backend.registry import placed_on

    found: dict[str, Any] = {"before": _told(sigma_clip(image, _ALL, maxiters=1, device="cpu"))}
    seconds: dict[str, dict[str, float]] = {}
    problems: list[str] = []
    for name in devices:
        try:
            clip, table, seconds[name] = _timed(image, name, sigma, kappa, connectivity)
            there = placed_on(name, image)
            if there is not None:
                seconds[f"{name}, arrays there"] = _timed(there, name, sigma, kappa, connectivity)[2]
        except FootprintError as error:
            problems.append(f"the lesson's steps did not run on {name}: {error}")
            continue
        if "after" not in found:
            flux = np.asarray(table["flux"])
            highest = np.argsort(-flux, kind="stable")[:10]
            found |= {"after": _told(clip), "islands": len(table), "highest": [float(flux[i]) for i in highest]}
    all_of = {name: sum(steps.values()) for name, steps in seconds.items()}
    first = next(iter(all_of.values()), 0.0)
    return found | {"seconds": seconds, "speed_up": {name: first / t for name, t in all_of.items()}}, problems


def _told(clip: Any) -> dict[str, float]:
    return {"mean": clip.mean, "median": clip.median, "std": clip.std, "pixels": clip.count}


def _timed(image: Any, device: str, sigma: float, kappa: float, connectivity: int) -> tuple[Any, Any, dict[str, float]]:
    """The four steps, once to load their kernels and then the fastest of some turns."""
    from footprint.api.label import label
    from footprint.api.measure import measure
    from footprint.api.sigma_clip import sigma_clip
    from footprint.api.threshold import threshold
    from footprint.backend.registry import running_backend

    backend = running_backend(device)
    best = dict.fromkeys(STEPS, np.inf)

    def step(name: str, verb: Callable[..., Any], *arguments: Any) -> Any:
        start = time.perf_counter()
        made = verb(*arguments, device=device)
        backend.sync()
        best[name] = min(best[name], time.perf_counter() - start)
        return made

    for turn in range(1 + _TURNS):
        if turn == 1:
            best.update(dict.fromkeys(STEPS, np.inf))
        clip = step("sigma_clip", sigma_clip, image, kappa)
        mask = step("threshold", threshold, image, sigma * clip.std)
        labels, count = step("label", label, mask, connectivity)
        table = step("measure", measure, image, labels, count)
    return clip, table, best


def in_words(figures: Mapping[str, Any]) -> list[str]:
    """The table, line by line."""
    lines = ["The lesson's table", f"{'':<10}{'mean':>13}{'median':>13}{'deviation':>13}{'pixels':>13}"]
    for name in ("before", "after"):
        if name in figures:
            one = figures[name]
            lines.append(f"{name:<10}" + "".join(f"{one[n]:>13.6g}" for n in ("mean", "median", "std")) + f"{one['pixels']:>13}")
    if "islands" in figures:
        lines.append(f"islands   {figures['islands']:>13}")
        lines.append("highest   " + " ".join(f"{flux:.6g}" for flux in figures["highest"]))
    for name, steps in figures["seconds"].items():
        lines.append(f"{name}: " + ", ".join(f"{step} {format_seconds(t)}" for step, t in steps.items()))
        lines.append(f"{'':<10}all {format_seconds(sum(steps.values()))}, speed-up {figures['speed_up'][name]:.3g}")
    return lines
