"""How much memory, how large a chunk: thin readings of a plan, under the names other packages use."""

from __future__ import annotations

from typing import Any

import footprint
from footprint.errors import choose
from footprint.plan.plan import Plan

# Verbs that have a plan of their own.
_VERBS = tuple(name.removeprefix("plan_") for name in footprint.__all__ if name.startswith("plan_"))


def _plan(verb: str, *args: Any, **kwargs: Any) -> Plan:
    choose("verb", verb, _VERBS)
    plan: Plan = getattr(footprint, f"plan_{verb}")(*args, **kwargs)
    return plan


def estimate_required_memory(verb: str, *args: Any, **kwargs: Any) -> int:
    """Bytes a job takes if memory is not limited: arena + constant + library + host of its plan.

    If a device allows no block of the whole job's size, the job takes several runs, as few as possible; this is then what one run
    takes.

    Parameters
    ----------
    verb
        Name of the operation: ``"fbp"``, ``"convolve"``, ``"reconstruct"``, ...
    *args, **kwargs
        Arguments of ``plan_VERB``. Without ``memory`` runs are as large as the device allows, however much is free.

    Returns
    -------
    int
        Bytes.

    Raises
    ------
    BudgetError
        Where the device's largest block does not hold even the smallest run.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.estimate_required_memory("convolve", (512, 512), (5, 5), device="null") >= 0
    True
    """
    kwargs.setdefault("memory", 1 << 62)
    return _plan(verb, *args, **kwargs).footprint.total


def estimate_max_chunk_size(verb: str, *args: Any, memory: str | int | float, **kwargs: Any) -> int:
    """Units (slices, rows, images) per run within ``memory``, for as few runs of equal size as it allows.

    Parameters
    ----------
    verb
        Name of the operation.
    memory
        The budget, as everywhere: ``"2GB"``, bytes, ``"80%"``.
    *args, **kwargs
        What ``plan_VERB`` takes.

    Returns
    -------
    int
        Units in a run, of what ``plan.chunk.unit`` says; 1 where the whole job is one run, cut inside if at all.

    Raises
    ------
    BudgetError
        Where not even the smallest run fits ``memory``, or the device's largest block.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.estimate_max_chunk_size("fbp", (100, 90, 128), memory="1MB", device="null:h100")
    5
    """
    plan = _plan(verb, *args, memory=memory, **kwargs)
    if plan.chunk is None and plan.choices and not getattr(plan, "cuts", ()):
        # Whole: all units there are.
        return plan.choices[0].size
    return plan.chunk.size if plan.chunk else 1
