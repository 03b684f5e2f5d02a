"""Launch shapes of backprojection: tiles of pixels, angles staged at once, slices that share the addresses."""

from __future__ import annotations

import math

import numpy as np

from footprint.kernels.common.launch import MAX_GROUPS_Y, A, Launch, Program
from footprint.spec import ArraySpec, Limits

LANES = 32
WIDE = 16
"""Work-items across a tile and down it."""
LOCAL = 48 * 1024
"""Bytes of segments a work-group stages at most, so that several groups share a core and hide each other's loads."""


def _segment(across: int, down: int) -> int:
    """Samples a tile can see at any angle: its diagonal, one before, one to interpolate to, one for rounding."""
    span = math.hypot(WIDE * across - 1, WIDE * down - 1)
    return -(-(math.ceil(span) + 4) // LANES) * LANES


def backproject_program(limits: Limits, rows: ArraySpec, table: ArraySpec, out: ArraySpec, *, accumulate: bool = False) -> Program:
    """One launch, or more of very many slices; no work memory. See `footprint.kernels.backproject.contract` for the arguments."""
    n_z, n_a, n_x = rows.shape
    _, out_y, out_x = out.shape
    slices = 2 if n_z >= 2 else 1
    across, down = 4, 4
    segment = _segment(across, down)
    room = min(LOCAL, limits.local_mem - 4096)
    angles = max(1, min(32, room // (8 * slices * segment)))
    tiles = -(-out_x // (WIDE * across)), -(-out_y // (WIDE * down))
    defines = (
        ("ACROSS", across), ("DOWN", down), ("SEGMENT", segment), ("ANGLES", angles), ("SLICES", slices),
        ("ACCUMULATE", int(accumulate)), ("MIN_GROUPS", 2 if slices == 2 else 3),
    )  # fmt: skip
    sizes = np.int32(n_z), np.int32(n_a), np.int32(n_x), np.int32(out_y), np.int32(out_x)
    local = 8 * slices * segment * angles

    def launch(first: int) -> Launch:
        grid = (*tiles, -(-min(n_z - first, most) // slices))
        return Launch(
            "backproject.knl", "backproject", grid, (256, 1, 1), (A(0), A(1), A(2), *sizes, np.int32(first)), defines, local
        )

    most = MAX_GROUPS_Y * slices
    return Program(tuple(launch(first) for first in range(0, n_z, most)))
