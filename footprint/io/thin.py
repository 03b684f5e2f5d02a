"""Images made small enough for a screen, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

# Pixels of the longer side: more is no better on a screen and costs memory.
_SIDE = 1600
# Pixels read at once, where a row has no more: blocks of a wide image have many rows.
_PIECE = 1 << 18


def thinning(shape: tuple[int, int], side: int = _SIDE) -> int:
    """Pixels a side of the blocks that one pixel of a picture of at most ``side`` stands for."""
    return max(1, -(-max(shape) // side))


def rows_at_once(shape: tuple[int, int], side: int = _SIDE) -> int:
    """Rows of an image that `thin_rows` reads at once."""
    return min(thinning(shape, side), max(1, _PIECE // max(shape[1], 1)))


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
    few = rows_at_once(image.shape, side)
    rows, starts = np.empty((few, width), np.float32), np.arange(0, width, step)
    for top in range(0, height, step):
        if step == 1:
            image.read(slice(top, top + 1), rows)
            yield rows[0]
            continue
        total, count = np.zeros(width), np.zeros(width, np.int64)
        for at in range(top, min(top + step, height), few):
            part = rows[: min(few, top + step - at, height - at)]
            image.read(slice(at, at + len(part)), part)
            for into, some in zip((total, count), _columns(part)):
                into += some
        yield _means(total, count, starts).astype(np.float32)


def block_means(rows: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Means over all ``rows`` and from each of ``starts`` to the next, of what is finite; ``rows`` are destroyed."""
    return _means(*_columns(rows), starts).astype(rows.dtype)


def _columns(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sum and number of what is finite in every column; ``rows`` are destroyed."""
    known = np.isfinite(rows)
    rows[~known] = 0
    return rows.sum(axis=0, dtype=np.float64), known.sum(axis=0)


def _means(total: np.ndarray, count: np.ndarray, starts: np.ndarray) -> np.ndarray:
    pixels = np.add.reduceat(count, starts)
    with np.errstate(invalid="ignore"):
        return np.add.reduceat(total, starts) / np.where(pixels, pixels, np.nan)
