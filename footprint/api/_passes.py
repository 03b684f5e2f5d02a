"""Drives jobs that read an image several times: the caller's array in place, or blocks of rows from wherever it comes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from footprint.api._run import Array, Memory, Progress, Reading, limits_and_budget, receive, where
from footprint.backend.registry import running_backend
from footprint.errors import ShapeError
from footprint.kernels.sigma_clip.contract import DONE
from footprint.ops.sigma_clip import as_rows
from footprint.plan.plan import Plan
from footprint.spec import ArraySpec, Limits

Take = Callable[[Callable[[str], np.ndarray], slice, np.ndarray], None]

# Elements of a strided array that are copied at once where it cannot be seen as rows: as many as NumPy's own casts, no plan counts.
_PIECE = 1 << 13


@dataclass(frozen=True)
class Rows:
    """An image seen as rows.

    Attributes
    ----------
    spec
        Shape ``(height, width)`` and the dtype the image has.
    array
        The caller's array, None for a file.
    fill
        ``fill(start, stop, out)`` puts rows into a float array.
    file
        What was opened by the caller, None for an array.
    """

    spec: ArraySpec
    array: Array | None
    fill: Callable[[int, int, np.ndarray], None]
    file: Any = None

    @property
    def reading(self) -> Reading | None:
        """What reading rows into a block takes beside it, where a file tells."""
        return getattr(self.file, "host_bytes", None)


def see(image: Any, name: str = "image", flat: bool = False) -> Rows:
    """An array, or an open image with ``shape``, ``dtype`` and ``read(rows, out)``; ``flat`` lets it have any number of axes."""
    if not isinstance(image, np.ndarray) and hasattr(image, "read") and hasattr(image, "shape"):

        def read(start: int, stop: int, out: np.ndarray) -> None:
            image.read(slice(start, stop), out)

        return Rows(ArraySpec(as_rows(image.shape, name), np.dtype(image.dtype).str), None, read, image)
    array = receive(image, name)
    shape = tuple(array.data.shape)
    if not flat and len(shape) != 2:
        raise ShapeError(name, f"shape {shape}", "(n_y, n_x)", "pick a plane")
    rows = as_rows(shape, name)
    data = array.data
    if shape != rows:
        viewed = data.reshape(rows)
        if array.device != "cpu" or np.may_share_memory(viewed, data):
            data = viewed
        else:
            return Rows(ArraySpec(rows, data.dtype.str), None, _from_strides(data, rows[1]))
    seen = Array(data, array.kind, array.device)

    def copy(start: int, stop: int, out: np.ndarray) -> None:
        np.copyto(out, data[start:stop], casting="unsafe")

    return Rows(seen.spec, seen, copy)


def _from_strides(data: np.ndarray, width: int) -> Callable[[int, int, np.ndarray], None]:
    def fill(start: int, stop: int, out: np.ndarray) -> None:
        target = out.reshape(-1)
        for at in range(start * width, stop * width, _PIECE):
            end = min(at + _PIECE, stop * width)
            target[at - start * width : end - start * width] = data.flat[at:end]

    return fill


def device_of(image: Rows, device: str, memory: Memory) -> tuple[Limits, int | None]:
    """Limits of the device a job runs on, and its budget."""
    return limits_and_budget(where(device, *([image.array] if image.array else [])), memory)


def run_passes(
    plan: Plan,
    image: Rows,
    passes: int,
    *,
    labels: Any = None,
    take: Take | None = None,
    progress: Progress | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Hand in all rows until the job is done; return its statistics and counts.

    Parameters
    ----------
    plan
        Its inputs are a block and where it is; its outputs the statistics, the counts, and what it owns.
    passes
        How many are usual, for ``progress``.
    labels
        The caller's array for an output ``labels`` that the plan does not own.
    take
        ``take(owned, rows, counts)`` after each block: ``owned(name)`` is one of the plan's own outputs.
    """
    height = image.spec.shape[0]
    rows = plan.inputs[0].spec.shape[0]
    fills = plan.inputs[0].given.owner == "plan"
    stats, counts, place = np.zeros(8), np.zeros(8, np.int64), np.zeros(3, np.int64)
    rest = [labels if slot.given.owner == "caller" else None for slot in plan.outputs[2:]]
    turn = 0
    with plan.bind(running_backend(plan.limits.device)) as bound:
        while turn == 0 or not counts[DONE]:
            for start in range(0, height, rows):
                part = slice(start, min(start + rows, height))
                place[:] = turn, start, part.stop - start

                def fill(block: np.ndarray, part: slice = part) -> None:
                    image.fill(part.start, part.stop, block[: part.stop - part.start])

                bound(fill if fills else image.array.data, place, out=[stats, counts, *rest])  # type: ignore[union-attr]
                if take is not None:
                    take(bound.host, part, counts)
                if progress is not None:
                    progress(turn * height + part.stop, max(passes, turn + 1) * height)
            turn += 1
    if progress is not None:
        progress(turn * height, turn * height)
    return stats, counts
