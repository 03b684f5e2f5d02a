"""Launch shapes of projection: a copy of the slices turned, then a work-item a bin."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from footprint.kernels.common.launch import MAX_GROUPS_Y, A, Argument, Launch, Program, W
from footprint.kernels.fft.gpu import lines_program
from footprint.spec import ArraySpec, Limits

BINS = 128
SLICES = 4
"""Slices that share positions and weights."""


def project_program(limits: Limits, volume: ArraySpec, table: ArraySpec, out: ArraySpec) -> Program:
    """See `footprint.kernels.project.contract` for the arguments."""
    n_z, n_y, width = volume.shape
    _, n_a, bins = out.shape
    if out.size == 0:
        return Program(())
    turned = ArraySpec((n_z, width, n_y), "float32")
    (turn,) = lines_program(limits, volume, turned, axis=1).launches
    slices = SLICES if n_z >= SLICES else 1
    grid = (-(-bins // BINS), min(n_a, MAX_GROUPS_Y), min(-(-n_z // slices), MAX_GROUPS_Y))
    args: tuple[Argument, ...] = (A(0), W(0), A(1), A(2), *map(np.int32, (n_z, n_y, width, n_a, bins)))
    defines = (("BINS", BINS), ("SLICES", slices))
    sums = Launch("project.knl", "project", grid, (BINS, 1, 1), args, defines)
    return Program((replace(turn, args=(A(0), W(0), *turn.args[2:])), sums), (turned,))
