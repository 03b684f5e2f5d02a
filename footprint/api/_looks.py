"""The sinogram of one detector row before the steps of a reconstruction and after each of them, to be looked at."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from footprint.api._black import is_watched, with_light
from footprint.api._half import is_half
from footprint.api._held import Held, held_bytes
from footprint.api._scan import job_of
from footprint.api._way import SETTINGS, How
from footprint.api.reconstruct import reconstruct
from footprint.errors import BudgetError
from footprint.ops.base import Op
from footprint.ops.flatfield import Flat, Sinograms
from footprint.plan.ready import clear_cache


def looks(scan: Any, row: int, *, memory: int, device: str, black_frames: str, **job: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Yield what a step is called, and what it makes: transmissions first, then after each step but the last, backprojection.

    The rows they are made of are read once where ``memory`` allows it. What is kept from earlier calls is given back first, so that
    no more is taken than ``memory``, sinogram and rows among it.

    Parameters
    ----------
    scan, row
        The scan, and its detector row.
    memory
        The most bytes to take at a time.
    device, black_frames, **job
        As in `reconstruct`; the axis is a number.

    Yields
    ------
    str, array (n_angles, n_x)
        The class of the operation, and a float32 sinogram; wider for a half acquisition that is joined.

    Raises
    ------
    BudgetError
        Where not one sinogram fits.
    """
    job = {name: value for name, value in job.items() if name not in ("rows", "out_dtype", "out_range", "roi")}
    if is_watched(black_frames, job["log"]):
        with warnings.catch_warnings():
            # The run has said so.
            warnings.simplefilter("ignore", UserWarning)
            scan, job["shifts"], job["axis_shifts"] = with_light(scan, row, job["shifts"], job["axis_shifts"])
    placed = job_of(scan, (row, row + 1), job["i0"], job["shifts"], job["log"])
    how = How.of(**{name: value for name, value in job.items() if name in SETTINGS})
    half = is_half(scan, job["half_acquisition"], scan.angles)
    way = how.way(placed, job["center"], half)
    steps = way.steps(way.fbp)
    room = memory - 4 * scan.shape[0] * scan.shape[2] * (2 if half else 1)
    if room <= 0:
        raise BudgetError(memory, {"one sinogram": memory - room}, memory - room, "a picture of a sinogram")
    clear_cache()
    kept = held_bytes(scan, *way.needed)
    held = Held(scan, *way.needed) if kept <= room // 2 else scan
    room -= kept if held is not scan else 0
    first = next((i for i, step in enumerate(steps) if isinstance(step, Flat)), 0)
    for count in range(first + 1, len(steps)):
        if isinstance(steps[count - 1], Sinograms):
            # It only turns them round.
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            made = reconstruct(
                held,
                rows=(row, row + 1),
                memory=room,
                device=device,
                black_frames="keep",
                **job | {"steps": lambda _, count=count: _up_to(steps, count)},
            )
        yield type(steps[count - 1]).__name__, made[0]
        del made
        clear_cache()


def _up_to(steps: list[Op], count: int) -> list[Op]:
    """The first steps, and what makes sinograms of projections where none of them does."""
    taken = steps[:count]
    return taken if any(isinstance(step, Sinograms) for step in taken) else [*taken, Sinograms()]
