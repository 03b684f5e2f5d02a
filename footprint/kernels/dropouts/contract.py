"""Dropouts of rows from their neighbours along x; no workspace.

``launch("dropouts", rows, out, level=13.8)``: float32 (..., n_x), perhaps one array. A run of at most 4 dead values between two
that are not gets the values between these two, by distance; longer runs and those at an end stay. A value is dead at ``level`` or
above, or, where ``level`` is 0, where it is exactly 0.
"""

from __future__ import annotations

LONGEST = 4
"""Pixels of a run that is a flaw of the detector and not a part of the sample."""
