"""The header of a filtered image: where its pixels lie, what was done to it, and no beam that is not its own."""

from __future__ import annotations

import re
from typing import Any

_BEAM = ("BMAJ", "BMIN", "BPA", "CASAMBM")
# A card is 80 characters, of which the keyword takes 8.
_LINE = 72


def filtered_header(header: Any, mask: str, shape: tuple[int, int], shift: tuple[int, int], how: str) -> tuple[Any, str]:
    """The header of an image that was filtered, and a sentence about what was left out of it, if anything was.

    Parameters
    ----------
    header
        astropy's, of the image before.
    mask
        Name of the mask.
    shape
        Of the mask.
    shift
        Rows and columns that pixels have moved by: reference pixels move with them.
    how
        What was done and by whom, for the history.
    """
    made = header.copy()
    for axis, by in zip((2, 1), shift):
        for key in [key for key in made if re.fullmatch(rf"CRPIX{axis}[A-Z]?|LTV{axis}", key)] if by else ():
            made[key] += by
        # Without it the reference is pixel 0.
        for other in [key for key in made if by and re.fullmatch(rf"CTYPE{axis}[A-Z]?", key)]:
            made.setdefault(f"CRPIX{axis}{other[6:]}", by)
    lines = [f"{how} {mask}, {shape[0]} x {shape[1]} weights"]
    note = ""
    if shape != (1, 1):
        found = {key: made[key] for key in _BEAM if key in made}
        for key in found:
            del made[key]
        told = _untold(made)
        if found or told:
            note = "the beam (BMAJ, BMIN, BPA) is left out, as the filtered image has another"
            numbers = ", ".join(f"{key} {value}" for key, value in found.items())
            lines.append("the beam before was " + (numbers or "that of the CLEAN line above") + "; it is not this image's")
            if "BEAM" in str(made.get("BUNIT", "")).upper():
                lines.append("the beam in BUNIT is the one before")
    for line in lines:
        for at in range(0, len(line), _LINE):
            made.add_history(line[at : at + _LINE].encode("ascii", "replace").decode())
    return made, note


def _untold(header: Any) -> bool:
    """Reword history lines that readers take a beam from; whether there were any."""
    if "HISTORY" not in header:
        return False
    lines = [str(line) for line in header["HISTORY"]]
    reworded = [re.sub(r"BMAJ=(?=\s*\S+\s+BMIN=)", "BMAJ before:", line) for line in lines]
    if reworded == lines:
        return False
    del header["HISTORY"]
    for line in reworded:
        header.add_history(line)
    return True
