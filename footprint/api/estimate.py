"""How much memory, how large a chunk: thin readings of a plan, under the names other packages use."""

from __future__ import annotations

import importlib
from typing import Any

from footprint.errors import choose
from footprint.plan.plan import Plan

# Verb -> module of footprint.api that holds its plan_* function.
_VERBS = {
    "convolve": "convolve",
    "correlate": "convolve",
    "pad": "pad",
    "muladd": "muladd",
    "vertical_shift": "vertical_shift",
    "ramp_filter": "ramp_filter",
    "backproject": "backproject",
    "fbp": "fbp",
    "reconstruct": "reconstruct",
    "sigma_clip": "sigma_clip",
    "threshold": "threshold",
    "label": "label",
    "measure": "measure",
    "find_sources": "find_sources",
}


def _plan(verb: str, *args: Any, **kwargs: Any) -> Plan:
    choose("verb", verb, list(_VERBS))
    return getattr(importlib.import_module(f"footprint.api.{_VERBS[verb]}"), f"plan_{verb}")(*args, **kwargs)


def estimate_required_memory(verb: str, *args: Any, **kwargs: Any) -> int:
    """Bytes a job takes: arena + constant + library + host of its plan.

    Parameters
    ----------
    verb
        Name of the operation: ``"fbp"``, ``"convolve"``, ``"reconstruct"``, ...
    *args, **kwargs
        What ``plan_VERB`` takes. Without ``memory`` the job is taken whole, however large.

    Returns
    -------
    int
        Bytes.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.estimate_required_memory("convolve", (512, 512), (5, 5), device="null") >= 0
    True
    """
    kwargs.setdefault("memory", 1 << 62)
    return _plan(verb, *args, **kwargs).footprint.total


def estimate_max_chunk_size(verb: str, *args: Any, memory: str | int | float, **kwargs: Any) -> int:
    """Units (slices, rows, images) of the largest run that fits ``memory``; BudgetError where not even one does.

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
        Units a run; see ``plan.chunk.unit`` for what is counted.
    """
    plan = _plan(verb, *args, memory=memory, **kwargs)
    return plan.chunk.size if plan.chunk else 1
