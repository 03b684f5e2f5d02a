"""The same on GPUs: the texts stand here in full."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.launch import A, Launch, Program
from footprint.kernels.common.ordered import ordered
from footprint.kernels.common.stream import flat_grid
from tests.growth_kernels.contract import REACH

_UNSHARP = """
KERNEL(256, 1, 1)
unsharp(GLOBAL const f32 *RESTRICT lines, GLOBAL f32 *RESTRICT out, i64 n, i64 row, i64 first, i64 start, i64 total) {
  for (i64 i = (i64)GID(0) * 256 + LID(0); i < n * row; i += (i64)GROUPS(0) * 256) {
    const i64 z = first + i / row, at = i % row;
    f32 near = 0;
    for (i64 k = -REACH; k <= REACH; k++) {
      const i64 y = z + k < 0 ? 0 : z + k >= total ? total - 1 : z + k;
      near += lines[(y - start) * row + at];
    }
    out[i] = 2 * lines[(z - start) * row + at] - near / (f32)(2 * REACH + 1);
  }
}
"""
_OFF_MEAN = """
KERNEL(256, 1, 1) off_mean(GLOBAL const f32 *RESTRICT stack, GLOBAL f32 *RESTRICT out, i64 n, i64 plane) {
  for (i64 i = (i64)GID(0) * 256 + LID(0); i < plane; i += (i64)GROUPS(0) * 256) {
    f32 mean = 0;
    for (i64 a = 0; a < n; a++) mean += stack[a * plane + i];
    mean /= (f32)n;
    for (i64 a = 0; a < n; a++) out[a * plane + i] = stack[a * plane + i] - mean;
  }
}
"""


def unsharp_program(limits, lines, out, *, first, start, total):
    """A work-item an element."""
    if out.size == 0:
        return Program(())
    numbers = (out.shape[0], out.size // out.shape[0], first, start, total)
    args = (A(0), A(1), *map(np.int64, numbers))
    return Program((Launch(_UNSHARP, "unsharp", flat_grid(out.size), (256, 1, 1), args, (("REACH", REACH),)),))


def off_mean_program(limits, stack, out):
    """A work-item a column of angles."""
    if out.size == 0:
        return Program(())
    plane = out.size // out.shape[0]
    args = (A(0), A(1), np.int64(out.shape[0]), np.int64(plane))
    return Program((Launch(_OFF_MEAN, "off_mean", flat_grid(plane), (256, 1, 1), args),))


def ordered_program(limits, keys, order, met) -> Program:
    """The numbers below met[0], by their keys."""
    return Program(ordered(limits, keys.shape[0], A(0), A(1), A(2), 0))
