"""Launches that put numbers in the order of their keys: a part of other kernels' programs."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.launch import Argument, Launch
from footprint.spec import ArraySpec, Limits

# Work-items of a group, where a device allows as many, and numbers of each that it sorts on the chip: a launch that is saved is
# worth more than many small groups that work at once.
_ITEMS, _EACH = 1024, 4


def order_specs(n: int) -> tuple[ArraySpec, ArraySpec]:
    """Keys of ``n`` numbers, and their order; there is room in it for a power of two."""
    return ArraySpec((n, 3), "uint64"), ArraySpec((_room(n),), "int32")


def _room(n: int) -> int:
    return max(_EACH * _ITEMS, 1 << (n - 1).bit_length())


def ordered(limits: Limits, n: int, keys: Argument, order: Argument, met: Argument, at: int) -> tuple[Launch, ...]:
    """Sort the first ``met[at]`` of ``n`` numbers, none where they are more: ``order``, with keys as `order_specs` has them."""
    room, items = _room(n), min(_ITEMS, 1 << ((limits.group or _ITEMS).bit_length() - 1))
    many, on_chip = 4 * max(1, limits.cores), _EACH * items
    defines = (("NT", items), ("ON_CHIP", on_chip))

    def launch(entry: str, groups: int, *args: Argument) -> Launch:
        return Launch("ordered.knl", entry, (groups, 1, 1), (items, 1, 1), args, defines)

    def chunk(low: int, high: int) -> Launch:
        counted = (met, np.int32(at), np.int32(n), np.int32(low), np.int32(high))
        return launch("ordered_chunk", room // on_chip, keys, order, *counted)

    made = [chunk(2, on_chip)]
    size = 2 * on_chip
    while size <= room:
        apart = size // 2
        while apart >= on_chip:
            far = (met, np.int32(at), np.int32(n), np.int32(size), np.int32(apart))
            made.append(launch("ordered_far", min(-(-room // (2 * items)), many), keys, order, *far))
            apart //= 2
        made.append(chunk(size, size))
        size *= 2
    return tuple(made)
