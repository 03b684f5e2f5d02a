"""From raw projections to slices: a list of steps, each an operation of its own, as one pipeline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from footprint.errors import ArgumentError, ShapeError
from footprint.ops.base import Op
from footprint.ops.dropouts import Dropouts
from footprint.ops.flatfield import DeadPixels, Flat, MinusLog, Rows, ShiftSinograms, Sinograms
from footprint.ops.pipeline import Pipeline
from footprint.plan.slots import NOTHING
from footprint.spec import ArraySpec
from footprint.units import kind_of

Steps = Callable[[list[Op]], Sequence[Op]]
"""Makes the list of steps to run from the list of the usual ones."""

# Inputs of the job by name: what steps may read beside the step before.
INPUTS = ("projections", "flats", "dark")


def default_steps(flat: Flat, fbp: Op, shifts: Any = None, log: bool = True, half: Op | None = None) -> list[Op]:
    """The usual steps, in order.

    Axes are named by letters: a the angle, z the detector row and x the detector column of projections ("azx") and sinograms
    ("zax"), z the slice and y its row of slices ("zy.").

    Parameters
    ----------
    flat, fbp
        The first and the last step.
    shifts : Table, optional
        Vertical shifts in pixels, one per angle.
    log
        Whether projections have yet to become line integrals.
    half
        What makes rows of the whole field of a half acquisition's.

    Returns
    -------
    list of Op
        `Flat` (projections to transmission, dead pixels NaN), `MinusLog`, `DeadPixels` (NaN from their neighbours along x),
        `Sinograms` (transposition), `Dropouts` (pixels that failed in single projections), `ShiftSinograms` where there are shifts,
        `HalfAcquisition` where it is one, `Fbp`.

    Examples
    --------
    >>> import numpy as np
    >>> from footprint.ops.base import Table
    >>> from footprint.ops.fbp import Fbp
    >>> from footprint.ops.flatfield import Flat
    >>> flat = Flat(Table([0, 0]), Table([0, 0]), Table([0.0, 0.0]))
    >>> [type(step).__name__ for step in default_steps(flat, Fbp(Table([0.0, 1.5]), 64, 31.5))]
    ['Flat', 'MinusLog', 'DeadPixels', 'Sinograms', 'Dropouts', 'Fbp']
    """
    moved = [] if shifts is None else [ShiftSinograms(shifts)]
    lines = [MinusLog()] if log else []
    field = [] if half is None else [half]
    dropouts = Dropouts() if log else Dropouts(0.0)
    return [flat, *lines, DeadPixels(), Sinograms(), dropouts, *moved, *field, fbp]


def pipeline_of(steps: Sequence[Op], projections: ArraySpec, others: dict[str, ArraySpec], rows: tuple[int, int]) -> Pipeline:
    """The steps on the detector rows that ``rows`` of the result need, and nothing else.

    Parameters
    ----------
    steps
        In order.
    projections, others
        Of the whole detector, by name.
    rows
        First row of the result, and the one after the last.

    Returns
    -------
    Pipeline
        Its inputs have the rows that `rows_needed` gives.
    """
    (start, stop), needed = rows, rows_needed(steps, projections, rows)
    axes = _axes_along(steps, projections, others)
    # Rows that only neighbours needed are left behind as soon as no later step needs neighbours.
    after = max((i + 1 for i, op in enumerate(steps) if op.halo("z") != NOTHING), default=0)
    at = next(i for i in range(after, len(steps) + 1) if axes[i][0] == "z")
    steps = [step.placed(needed[0] if i < at else start) for i, step in enumerate(steps)]
    if needed == rows:
        return Pipeline.chain(steps, "projections", "slices", INPUTS)
    crop = Rows(start - needed[0], stop - start, axes[at])
    return Pipeline.chain([*steps[:at], crop, *steps[at:]], "projections", "slices", INPUTS)


def rows_needed(steps: Sequence[Op], projections: ArraySpec, rows: tuple[int, int]) -> tuple[int, int]:
    """Detector rows that ``rows`` of the result are made of; halos add up."""
    _check(steps)
    n_z = projections.shape[1]
    first, last = Pipeline.chain(steps, "projections", "slices", INPUTS).reach(0, "z").window(*rows, n_z)
    return (first, last) if 0 <= first <= last <= n_z else (0, n_z)


def _check(steps: Sequence[Op]) -> None:
    wanted = "a list of operations (footprint.ops.base.Op), the first of projections"
    for step in steps:
        if not isinstance(step, Op):
            raise ArgumentError("steps", f"{kind_of(step)} in the list", wanted)
        unknown = [name for name in step.names()[0][1:] if name not in INPUTS]
        if unknown:
            raise ArgumentError("steps", f"{kind_of(step)} that reads {unknown[0]!r}", f"one of {', '.join(INPUTS)}")
    if not steps:
        raise ArgumentError("steps", "none", wanted)


def _axes_along(steps: Sequence[Op], projections: ArraySpec, others: dict[str, ArraySpec]) -> list[str]:
    """Axes of what every step reads, and of the result; raises where a step is given others than it works on."""
    given, found = projections, []
    for step in steps:
        wanted, name = step.axes[0], type(step).__name__
        if len(given.axes) != len(wanted) or any(w not in (".", g) for w, g in zip(wanted, given.axes)):
            fix = "put it elsewhere in the list"
            raise ShapeError("steps", f"axes {given.axes!r} before {name}", f"{wanted!r}, those it works on", fix)
        found.append(given.axes)
        given = step.out_specs(*step.in_specs(given, *(others[name] for name in step.names()[0][1:])))[0]
    if given.axes[:1] != "z":
        raise ShapeError("steps", f"a result of axes {given.axes!r}", "one whose first axis is z, as sinograms and slices have")
    return [*found, given.axes]
