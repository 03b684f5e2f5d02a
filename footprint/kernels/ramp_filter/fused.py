"""The row filter that never leaves the chip: which lengths fit, in which radices, and the tables it reads.

``launch("ramp_filter.fused", rows, twiddle, gains, padded=, mode=)`` filters float32 ``(n, n_x)`` in place and needs no work
memory, where ``fused(limits, n_x, padded)`` is not None; ``twiddle, gains = tables(response)`` are constants of the plan.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from footprint.spec import Limits

SPARE = 1024
"""Bytes of on-chip memory the runtime takes from each group."""
REGISTERS = 65536
"""Of a core, of which a butterfly of 32 in flight takes some 128 a work-item."""


@dataclass(frozen=True)
class Fused:
    """Shape of one line: ``half`` complex numbers in stages of ``radices``, by ``group`` work-items in ``local`` bytes."""

    half: int
    radices: tuple[int, ...]
    group: int
    local: int
    groups_a_core: int


# Found by timing on an H100: few stages, and a last radix whose butterflies are twice the group.
_POWERS = {4: (2, 2), 8: (4, 2), 16: (4, 4), 32: (8, 4), 64: (8, 8), 128: (16, 8), 256: (16, 16), 512: (8, 8, 8), 1024: (16, 8, 8),
           2048: (16, 16, 8), 4096: (16, 16, 16), 8192: (32, 16, 16), 16384: (32, 32, 16)}  # fmt: skip


def factors(half: int) -> tuple[int, ...] | None:
    """At most six radices whose product is ``half``, the last a power of two if any is; None where there are none."""
    if half in _POWERS:
        return _POWERS[half]
    odd, rest = [], half
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


def fused(limits: Limits, n_x: int, padded: int) -> Fused | None:
    """How rows of ``n_x`` extended to ``padded`` are filtered on the chip, or None where they must go through memory."""
    half = padded // 2
    if not limits.fused or limits.local_mem == 0 or padded % 2 or n_x > padded or half < 4:
        return None
    radices = factors(half)
    if radices is None:
        return None
    wide = max(radices)
    most = min(limits.group, 1024 if wide <= 8 else 512)
    group = min(most, max(32, -(-half // (2 * radices[-1]) // 32) * 32))
    last = half - 1
    size = last + last // 16 + last // (half // radices[0]) + 1
    local = 8 * size
    if local > limits.local_mem:
        return None
    registers = REGISTERS // (128 if wide >= 16 else 64) // group
    groups = max(1, min(limits.local_mem // (local + SPARE), registers))
    return Fused(half, radices, group, local, groups)


def tables(response: np.ndarray, padded: int) -> tuple[np.ndarray, np.ndarray]:
    """Turns ``(padded / 2,)`` complex64 and gains ``(padded / 2, 2)`` of the half-complex ``response`` ``(padded / 2 + 1,)``.

    A gain is ``(H_k + conj H_(M-k), H_k - conj H_(M-k)) / 4 M`` with M = padded / 2, the transform's scale included;
    real where H is.
    """
    half = padded // 2
    h = np.asarray(response, np.complex128).copy()
    h[[0, -1]] = h[[0, -1]].real
    mirrored = np.conj(h[::-1])
    pair = np.stack([h + mirrored, h - mirrored], axis=1)[:half] / (4 * half)
    gains = pair.astype(np.complex64) if np.any(pair.imag) else pair.real.astype(np.float32)
    return np.exp(-1j * np.pi * np.arange(half) / half).astype(np.complex64), np.ascontiguousarray(gains)
