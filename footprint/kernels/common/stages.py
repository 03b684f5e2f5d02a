"""Transforms of lines that stay on the chip: which lengths fit, in which radices, and their tables; ``stages.h`` is the text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from footprint.kernels.common.borders import NUMPY_CODES
from footprint.kernels.common.launch import Defines
from footprint.spec import Limits

SPARE = 1024
"""Bytes of on-chip memory the runtime takes from each group."""
REGISTERS = 65536
"""Of a core, of which a butterfly of 32 in flight takes some 128 a work-item."""


@dataclass(frozen=True)
class Stages:
    """Shape of a group's lines, ``beside`` each other and ``pitch`` numbers apart in ``local`` bytes.

    Each is of ``numbers`` complex ones, in stages of ``radices``, and ``items`` work-items take it.
    """

    numbers: int
    radices: tuple[int, ...]
    items: int
    local: int
    groups_a_core: int
    beside: int = 1
    pitch: int = 0

    def defines(self) -> Defines:
        """The constants of ``stages.h`` but HALF."""
        others = (*self.radices[:-1], *(1,) * (6 - len(self.radices)))
        names = zip(("R1", "R2", "R3", "R4", "R5"), others, strict=True)
        first = (("M", self.numbers), ("STAGES", len(self.radices)))
        return (*first, *names, ("RS", self.radices[-1]), ("NT", self.items), ("MIN_GROUPS", self.groups_a_core))


# Found by timing on an H100: few stages, and a last radix whose butterflies are twice the group.
_POWERS = {4: (2, 2), 8: (4, 2), 16: (4, 4), 32: (8, 4), 64: (8, 8), 128: (16, 8), 256: (16, 16), 512: (8, 8, 8), 1024: (16, 8, 8),
           2048: (16, 16, 8), 4096: (16, 16, 16), 8192: (32, 16, 16), 16384: (32, 32, 16)}  # fmt: skip


def factors(numbers: int) -> tuple[int, ...] | None:
    """At most six radices whose product is ``numbers``, the last a power of two if any is; None where there are none."""
    if numbers in _POWERS:
        return _POWERS[numbers]
    odd, rest = [], numbers
    for prime in (9, 7, 5, 3):
        while rest % prime == 0:
            odd.append(prime)
            rest //= prime
    if rest & (rest - 1):
        return None
    twos = rest.bit_length() - 1
    parts = -(-twos // 4)
    even = [2 ** (twos // parts + (i < twos % parts)) for i in range(parts)] if parts else []
    found = tuple(even[:-1] + odd + even[-1:])
    return found if 2 <= len(found) <= 6 else None


def stages(limits: Limits, numbers: int, beside: int = 1) -> Stages | None:
    """How lines of so many complex numbers are transformed on the chip, up to ``beside`` a group; None where one does not fit."""
    if not limits.fused or limits.local_mem == 0 or numbers < 4:
        return None
    radices = factors(numbers)
    if radices is None:
        return None
    wide, last = max(radices), numbers - 1
    size = last + last // 16 + last // (numbers // radices[0]) + 1
    most = min(limits.group, 1024 if wide <= 8 else 512)
    items = min(most, max(32, -(-numbers // (2 * radices[-1]) // 32) * 32))
    while beside > 1 and (8 * beside * (size + 15) > limits.local_mem or beside * items > most):
        beside //= 2
    # Lines beside each other take turns at the banks: 16 of 8 bytes.
    pitch = size if beside == 1 else size + (16 // beside - size) % 16
    local = 8 * beside * pitch
    if local > limits.local_mem:
        return None
    registers = REGISTERS // (128 if wide >= 16 else 64) // (beside * items)
    groups = max(1, min(limits.local_mem // (local + SPARE), registers))
    return Stages(numbers, radices, items, local, groups, beside, pitch)


def turns(numbers: int) -> np.ndarray:
    """The table that ``stages.h`` reads: exp(-pi i j / numbers), complex64."""
    return np.exp(-1j * np.pi * np.arange(numbers) / numbers).astype(np.complex64)


def extended(shape: Stages, n: int, mode: str) -> Defines:
    """The constants of ``extended.h`` for rows of ``n`` samples, and HALF of ``stages.h``."""
    return (("MODE", NUMPY_CODES[mode]), ("HALF", int(mode == "constant" and n <= shape.numbers)), ("EVEN", int(n % 2 == 0)))
