"""Images made small enough for a screen, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

# Pixels of the longer side: more is no better on a screen and costs memory.
_SIDE = 1600


def thinning(shape: tuple[int, int], side: int = _SIDE) -> int:
    """Pixels a side of the blocks that one pixel of a picture of at most ``side`` stands for."""
    return max(1, -(-max(shape) // side))


def thin_rows(image: Any, side: int = _SIDE) -> Iterator[np.ndarray]:
    """Yield the picture's rows, float32: means over blocks, as single pixels taken out would miss sources smaller than a block.

    Parameters
    ----------
    image
        Has ``shape`` and ``read(rows, out)``. What is not finite is left out of the means; a block of nothing else is NaN.
    side
        Pixels of the picture's longer side at most.
    """
    height, width = image.shape
    step = thinning(image.shape, side)
    rows, starts = np.empty((step, width), np.float32), np.arange(0, width, step)
    for top in range(0, height, step):
        part = rows[: min(step, height - top)]
        image.read(slice(top, top + len(part)), part)
        yield part[0] if step == 1 else block_means(part, starts)


def block_means(rows: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Means over all ``rows`` and from each of ``starts`` to the next, of what is finite; ``rows`` are destroyed."""
    known = np.isfinite(rows)
    rows[~known] = 0
    count = np.add.reduceat(known.sum(axis=0), starts)
    total = np.add.reduceat(rows.sum(axis=0, dtype=np.float64), starts)
    with np.errstate(invalid="ignore"):
        return (total / np.where(count, count, np.nan)).astype(rows.dtype)
