"""Slices made a tile of rows at a time: what goes into every run, and where its tile belongs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from footprint.api._run import Array
from footprint.api._scan import Fill, Job
from footprint.kernels.slices.cpu import circle, move
from footprint.ops.fbp import Fbp

Put = Callable[[tuple[slice, slice], np.ndarray], Any]


def into(target: Array | None) -> Put:
    """Write tiles into an array on the host."""
    assert target is not None

    def put(where: tuple[slice, slice], tile: np.ndarray) -> None:
        target.data[where] = tile

    return put


class Tiles:
    """Drives runs on ``start`` to ``stop`` of all slices' rows; a run has rows of one slice only.

    Parameters
    ----------
    job
        The scan's rows.
    fbp
        Where the slices lie.
    put
        ``put((slices, rows), tile)``.
    """

    def __init__(self, job: Job, fbp: Fbp, put: Put) -> None:
        self._job, self._fbp, self._put = job, fbp, put
        self._table = fbp.geometry.table(fbp.scale)
        self._slice, self._beams = -1, [np.empty(0)] * 2

    @property
    def inputs(self) -> list[Callable[[int, int], Fill]]:
        """The projections, flats and dark of the slice, and the tile's geometry."""
        return [self._projections, self._flats, self._dark, self._geometry]

    def _at(self, start: int) -> tuple[int, int]:
        """The slice, and the row of it."""
        return divmod(start, self._fbp.geometry.shape[0])

    def _projections(self, start: int, stop: int) -> Fill:
        z, _ = self._at(start)
        return self._job.fill(z, z + 1)[0]

    def _flats(self, start: int, stop: int) -> Fill:
        return lambda block: self._beam(0, start, block)

    def _dark(self, start: int, stop: int) -> Fill:
        return lambda block: self._beam(1, start, block)

    def _beam(self, which: int, start: int, block: np.ndarray) -> None:
        """Flats or dark: averaged once a slice, since that reads every frame of them."""
        z, _ = self._at(start)
        if z != self._slice:
            self._slice, self._beams = z, [np.empty(0)] * 2
        if self._beams[which].shape != block.shape:
            self._job.fill(z, z + 1)[1 + which](block)
            self._beams[which] = block.copy()
        block[:] = self._beams[which]

    def _geometry(self, start: int, stop: int) -> Fill:
        _, y0 = self._at(start)
        return lambda block: move(self._table, block, y0=y0)

    def take(self, start: int, stop: int) -> Fill:
        """What becomes of the finished tile."""
        z, y0 = self._at(start)

        def put(tile: np.ndarray) -> None:
            placed = self._fbp.circle_at(y0)
            if placed is not None:
                circle(tile, **placed, value=0.0)
            self._put((slice(z, z + 1), slice(y0, y0 + stop - start)), tile)

        return put
