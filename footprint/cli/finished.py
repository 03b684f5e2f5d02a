"""What ``--resume`` says of what has the volume's name: whether this job made it, one of other settings, or somebody else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from footprint.errors import FootprintError, FormatError
from footprint.io.unfinished import place

# Said of every volume, or found while it is made.
_NOT_ASKED = ("program", "sample", "unit")
_SHOWN = 4
# Options that a job has no longer, as they have become its steps.
_OF_STEPS = ("zingers", "tilt", "phase", "energy", "distance", "unsharp", "sino_normalization", "rings")


def is_finished(path: str, overwrite: bool, resume: bool) -> bool:
    """Whether something has its name, so that there is nothing to resume: see `refusal` for what it is."""
    target = Path(path)
    return resume and not overwrite and (target.is_file() or (target.is_dir() and any(target.iterdir())))


def refusal(path: str, about: Mapping[str, Any], job: Mapping[str, Any]) -> FormatError:
    """Why what has its name is not resumed: where the settings that a volume was made with differ from these, they are named.

    Parameters
    ----------
    path
        The volume.
    about
        What this job's volume would say of itself.
    job
        The options, for those that are known in other words there.
    """
    from footprint.io.volume import check_volume

    said = _said(path)
    try:
        check_volume(path, overwrite=True)
        anew, other = "give --overwrite to make it anew", "give --overwrite, or another name"
    except FormatError as error:
        if "filter" not in said:
            return error
        anew = other = "give another name to make it anew"
    done = FormatError(path, "is finished: there is nothing left to resume", anew)
    now = {name: str(value) for name, value in about.items() if name not in _NOT_ASKED}
    now["dtype"] = str(job["out_dtype"])
    with suppress(TypeError, ValueError):
        now["center"] = str(float(job["center"]))
    if "filter" not in said:
        left = place(Path(os.path.realpath(path)))
        also = f"; what a stopped run has done is in {left.name}, and stays there" if left.exists() else ""
        return FormatError(path, f"exists already, and is no volume that a run of this command wrote{also}", other)
    # An option that has no value is not among what is said.
    asked = [name for name in (*job, *_OF_STEPS) if name not in ("center", "steps")]
    names = [name for name in now if name in said] + [name for name in asked if (name in said) != (name in now)]
    differ = [(name, said.get(name) or "not given", now.get(name) or "not given") for name in dict.fromkeys(names)]
    differ = [(name, before, after) for name, before, after in differ if not _same(name, before, after)]
    if not differ:
        return done
    told = ", ".join(f"{name} was {before} and is now {after}" for name, before, after in differ[:_SHOWN])
    told += f", and {len(differ) - _SHOWN} more" if len(differ) > _SHOWN else ""
    return FormatError(path, f"is finished, but was made with other settings: {told}", other)


def _said(path: str) -> dict[str, str]:
    """What a volume says of itself, by name."""
    from footprint.io.volume_source import open_volume

    try:
        volume = open_volume(path)
    except (FootprintError, OSError):
        return {}
    volume.close()
    return {name.rpartition("@")[2].removeprefix("footprint."): text for name, text in volume.about}


def _same(name: str, before: str, after: str) -> bool:
    if name == "scan" and os.path.exists(before) and os.path.exists(after):
        return os.path.samefile(before, after)
    with suppress(ValueError):
        return abs(float(before) - float(after)) <= 1e-9 * abs(float(after))
    # Lists come back of one format, and tuples of another.
    return before.translate(_BRACKETS) == after.translate(_BRACKETS)


_BRACKETS = str.maketrans("", "", "()[] ")
