"""The row filter on the CPU by transforms of our own: which lengths they serve, and the tables they read.

``launch("ramp_filter.lines", rows, filtered, roots, order, gains, padded=, mode=, radices=)`` filters float32 ``(n, n_x)``, to
``rows`` themselves too, where ``radices = factors(padded)`` is not None and ``roots, order, gains = tables(response, radices)`` are
constants of the plan. As many rows as a vector has lanes go through one transform side by side and touch no other's numbers, so a
row's bits are its own. A row of 2 M samples is M complex ones, z_k = x_2k + i x_(2k+1), and frequencies f and M - f of their
transform Z make the row's own at f and M - f, which are filtered and put together again at once.
"""

from __future__ import annotations

import math

import numpy as np

LANES = 16
"""Numbers of the widest vector."""
MOST = 8
"""Radices of a transform."""
LONGEST = 1 << 15
"""Samples of a padded row: beyond, what a thread works on leaves its core's caches."""


def factors(padded: int) -> tuple[int, ...] | None:
    """The radices that rows of ``padded`` samples are transformed by, in their order; None where there are none.

    The first takes numbers that lie far apart, often as far as lines of a cache that meet in one place: no more than 8.
    """
    half = padded // 2
    if padded % 2 or padded > LONGEST:
        return None
    odd = []
    for prime in (3, 5, 7):
        while half % prime == 0:
            odd.append(prime)
            half //= prime
    twos = half.bit_length() - 1
    if half & (half - 1) or (twos == 3 and not odd):
        return (4, 2) if padded == 16 else None
    lead, rest = min(twos, 3), max(0, twos - 3)
    parts = -(-rest // 4)
    even = [2 ** (rest // parts + (i >= parts - rest % parts)) for i in range(parts)]
    found = (*([2**lead] if lead else []), *even[:-1], *odd, *even[-1:])
    return found if 2 <= len(found) <= MOST else None


def roots_of(radices: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Roots of unity, float32: of every stage but the last, number after number; and the place of every frequency."""
    numbers = left = math.prod(radices)
    roots = []
    for radix in radices[:-1]:
        turns = np.outer(np.arange(left // radix), np.arange(radix)) * (-2j * np.pi / left)
        roots.append(np.exp(turns).astype(np.complex64).reshape(-1))
        left //= radix
    # Frequency f = k1 + r1 (k2 + r2 (k3 + ...)) lies at ((k1 r2 + k2) r3 + k3) ...
    rest, place, left = np.arange(numbers), np.zeros(numbers, np.int64), numbers
    for radix in radices:
        left //= radix
        place += rest % radix * left
        rest = rest // radix
    return np.concatenate(roots).view(np.float32), place


def partners(half: int, first: int) -> tuple[np.ndarray, np.ndarray]:
    """Where the pairs of each of the ``first`` blocks begin, and the lower frequencies of the pairs f and ``half`` - f."""
    starts, pairs = [0], []
    for block in range(first):
        f = np.arange(block, half, first)
        # A block that is its own partner has each pair once; of two that are each other's, the first has them all.
        if 2 * block % first == 0:
            f = f[f <= (half - f) % half]
        pairs.append(f if 2 * block <= first else f[:0])
        starts.append(starts[-1] + len(pairs[-1]))
    return np.array(starts, np.int64), np.concatenate(pairs)


def tables(response: np.ndarray, radices: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Roots of unity, places of frequencies, and the filter.

    Parameters
    ----------
    response
        Gains ``(M + 1,)``, of which the first and the last count as real.

    Returns
    -------
    tuple
        ``roots``, float32: of every stage but the last, number after number. ``order``, int64: ``(r + 1,)`` where the pairs of
        each of the first radix' blocks begin, then the places of frequencies f and M - f, pair by pair. ``gains``, float32
        ``(pairs, 6)``: parts of -i e^(-pi i f / M), and of the gain at f and the conjugate of that at M - f, with the scale of
        transforms there and back.
    """
    half = math.prod(radices)
    roots, place = roots_of(radices)
    gains = np.asarray(response, np.complex128).copy()
    gains[[0, -1]] = gains[[0, -1]].real
    gain, mirrored = gains[:-1] / (4 * half), np.conj(gains[:0:-1]) / (4 * half)
    turn = -1j * np.exp(-1j * np.pi * np.arange(half) / half)
    starts, f = partners(half, radices[0])
    partner = (half - f) % half
    order = np.concatenate([starts, np.stack([place[f], place[partner]], 1).reshape(-1)]).astype(np.int64)
    parts = np.stack([turn[f], gain[f], mirrored[f]], 1).astype(np.complex64)
    return roots, order, parts.view(np.float32)
