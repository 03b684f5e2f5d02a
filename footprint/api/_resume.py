"""What decides the bits of a reconstruction: written down with what is done, compared before a stopped run goes on."""

from __future__ import annotations

import hashlib
import os
from dataclasses import fields, is_dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from footprint.errors import ArgumentError
from footprint.ops.base import Op, Table
from footprint.ops.pipeline import Pipeline
from footprint.plan.plan import Plan

# Files of a scan that are named one by one.
_NAMED = 8


def done_by(writer: Any, scan: Any, line: Pipeline, rows: tuple[int, int], plan: Plan) -> Any:
    """Which slices a writer has from an earlier run of the same job; None where it keeps nothing.

    Parameters
    ----------
    writer
        An object with ``write``, and perhaps ``resume(job, axis)``: see `footprint.io.volume.VolumeWriter`.
    line
        The steps.
    rows
        The detector rows that are read: the first, and the one after the last.
    """
    # What is known of the scan takes reading its flats: only for those who go by it.
    if not (hasattr(writer, "resume") and getattr(writer, "resumable", True)):
        return None
    if len(plan.phases) > 1 or any(slot.kind == "kept" for slot in plan.slots):
        return _refused(writer)
    from footprint import __version__

    facts = {"footprint's version": __version__, **_facts_of_scan(scan, rows)}
    for number, stage in enumerate(line.stages, 1):
        facts |= _facts_of_step(f"step {number}, {type(stage.op).__name__},", stage.op)
    facts["the kind of device"] = f"{plan.limits.family} {plan.limits.device.split(':')[0]}, FFT by {plan.limits.fft}"
    # Whole slices are the same at any budget; sums in groups and tiles are the same to rounding.
    facts["what --memory makes of a slice"] = str([(cut.axis, cut.size) for cut in plan.cuts if cut.axis != "z"])
    cut = plan.chunk
    return writer.resume({name: str(fact) for name, fact in facts.items()}, cut.axis if cut is not None else "z")


def _refused(writer: Any) -> None:
    """A step that carries something from part to part begins at the first."""
    if writer.resume({}, "") is not None:
        raise ArgumentError("steps", "a step that keeps results from part to part", "steps that do not, to resume a run")


def _facts_of_step(name: str, op: Op) -> dict[str, str]:
    if not is_dataclass(op):
        return {name.rstrip(","): _said(op)}
    step = name.rstrip(",")
    return {f"the operation of {step}": type(op).__qualname__, **_facts_of_fields(step, op)}


def _facts_of_fields(name: str, value: Any) -> dict[str, str]:
    """A fact for every field, and for every field of the records among them: what a table holds is not in a record's repr."""
    found: dict[str, str] = {}
    for field in fields(value):
        inner = getattr(value, field.name)
        if is_dataclass(inner) and not isinstance(inner, type):
            found |= {f"the {field.name} of {name}": type(inner).__qualname__}
            found |= _facts_of_fields(f"the {field.name} of {name}", inner)
        elif field.repr:
            found[f"{field.name} of {name}"] = _said(inner)
    return found


def _said(value: Any) -> str:
    if isinstance(value, Table):
        return f"{value.array.shape} {value.array.dtype} numbers with the sum {value.digest.hex()[:12]}"
    if isinstance(value, tuple):
        return f"({', '.join(map(_said, value))})"
    text = repr(value)
    return type(value).__qualname__ if " at 0x" in text else text


def _facts_of_scan(scan: Any, rows: tuple[int, int]) -> dict[str, str]:
    """Its files as the system sees them, and some of what is in it, flats and darks included."""
    found = {"the scan's shape": f"{tuple(scan.shape)} {np.dtype(scan.dtype)}", "the detector rows": f"{rows[0]}:{rows[1]}"}
    found |= _facts_of_files(scan.files() if hasattr(scan, "files") else [])
    n_angles, _, n_x = scan.shape
    pixels = np.empty((1, 1, n_x), np.float32)
    for name, read in (("flats", scan.flat_means if scan.n_flats else None), ("darks", scan.dark_mean)):
        means = [read(slice(row, row + 1)) for row in (rows[0], rows[1] - 1)] if read is not None else []
        found[f"the {name}"] = _sum(b"".join(np.ascontiguousarray(mean).tobytes() for mean in means if mean is not None))
    ends = []
    for angle in (0, n_angles - 1):
        scan.read(slice(rows[0], rows[0] + 1), pixels, slice(angle, angle + 1))
        ends.append(pixels.tobytes())
    found["the projections"] = _sum(b"".join(ends))
    return found


def _facts_of_files(files: list[Path]) -> dict[str, str]:
    """Sizes and times of them; of few, each by its name."""
    above = os.path.commonpath([file.parent for file in files]) if files else ""
    stats = [(os.path.relpath(file, above), file.stat()) for file in files if file.is_file()]
    seen = [(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats]
    each = {f"the scan's file {name}": _state([stat]) for name, stat in stats} if len(stats) <= _NAMED else {}
    both = f"{len(stats)}, of {_state([stat for _, stat in stats])}, with the sum {_sum(repr(seen).encode())}" if stats else "0"
    return each | {"the number of the scan's files": both}


def _state(stats: list[os.stat_result]) -> str:
    last = datetime.fromtimestamp(max(stat.st_mtime_ns for stat in stats) / 1e9)
    return f"{sum(stat.st_size for stat in stats):,} bytes, last written {last.isoformat(' ')}"


def _sum(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=6).hexdigest()
