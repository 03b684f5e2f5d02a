"""Short runs of dead values from their neighbours along a row."""

from __future__ import annotations

import numpy as np


def dropouts(rows: np.ndarray, level: float, longest: int) -> np.ndarray:
    """Rows (..., n_x) in float64; dead is ``level`` and above, or exactly 0 where ``level`` is 0."""
    out = np.array(rows, np.float64)
    dead = np.asarray(rows) >= level if level > 0 else np.asarray(rows) == 0
    for line, bad in zip(out.reshape(-1, out.shape[-1]), dead.reshape(-1, out.shape[-1])):
        edges = np.flatnonzero(np.diff(np.r_[0, bad.astype(int), 0]))
        for start, stop in edges.reshape(-1, 2):
            if start > 0 and stop < len(line) and stop - start <= longest:
                line[start:stop] = np.interp(np.arange(start, stop), [start - 1, stop], [line[start - 1], line[stop]])
    return out
