"""Launches that put numbers in the order of their keys: a part of other kernels' programs."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.launch import Argument, Launch
from footprint.spec import ArraySpec, Limits

# Numbers that one group sorts on the chip, as `ordered.knl` has it.
_ON_CHIP = 1024


def order_specs(n: int) -> tuple[ArraySpec, ArraySpec]:
    """Keys of ``n`` numbers, and their order; there is room in it for a power of two."""
    return ArraySpec((n, 3), "uint64"), ArraySpec((_room(n),), "int32")


def _room(n: int) -> int:
    return max(_ON_CHIP, 1 << (n - 1).bit_length())


def ordered(limits: Limits, n: int, keys: Argument, order: Argument, met: Argument, at: int) -> tuple[Launch, ...]:
    """Sort the first ``met[at]`` of ``n`` numbers, none where they are more: ``order``, with keys as `order_specs` has them."""
    room, many = _room(n), 16 * max(1, limits.cores)

    def launch(entry: str, groups: int, *args: Argument) -> Launch:
        return Launch("ordered.knl", entry, (groups, 1, 1), (256, 1, 1), args)

    def chunk(low: int, high: int) -> Launch:
        counted = (met, np.int32(at), np.int32(n), np.int32(low), np.int32(high))
        return launch("ordered_chunk", room // _ON_CHIP, keys, order, *counted)

    made = [launch("ordered_open", min(-(-room // 256), many), order, np.int32(room)), chunk(2, _ON_CHIP)]
    size = 2 * _ON_CHIP
    while size <= room:
        apart = size // 2
        while apart >= _ON_CHIP:
            far = (met, np.int32(at), np.int32(n), np.int32(size), np.int32(apart))
            made.append(launch("ordered_far", min(room // 512, many), keys, order, *far))
            apart //= 2
        made.append(chunk(size, size))
        size *= 2
    return tuple(made)
