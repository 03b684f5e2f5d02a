"""Rows and their spectra on the CPU by transforms of our own, as many rows at once as a vector has lanes.

Where ``radices = factors(padded)`` (`footprint.kernels.ramp_filter.lines`) is not None and ``roots, slots, order, turns =
halves(radices)`` are constants of the plan, of rows of ``padded`` samples, half as many complex numbers:

``forward(rows (n, n_x) float32, roots, slots, order, turns, spectrum (n, padded / 2 + 1) complex64, *, padded, mode, level,
radices)``: rows less ``level``, continued to the right, and from the left at the end, to their spectra.
``backward(spectrum, roots, slots, order, turns, out (n, n_x), *, level, radices)``: the first samples of the rows, and ``level``.

No row touches another's numbers, so a row's bits are its own.
"""

from __future__ import annotations

import math

import numpy as np

from footprint.kernels.ramp_filter.lines import LANES, partners, roots_of
from footprint.spec import ArraySpec, Limits


def whole(radices: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Roots of unity, and ``slots``: where the parts of every frequency lie, in vectors; beyond the last, where nothing is read."""
    roots, place = roots_of(radices)
    return roots, _slots(place)


def halves(radices: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The same of the half-spectra of rows of twice as many samples; how frequencies make pairs, and their turns.

    ``order`` has where the pairs of each of the first radix' blocks begin, then the places of f and M - f, pair by pair; frequency
    M lies behind all others. ``turns`` are the parts of -i e^(-pi i f / M).
    """
    half = math.prod(radices)
    roots, place = roots_of(radices)
    starts, f = partners(half, radices[0])
    place = np.append(place, half)
    order = np.concatenate([starts, np.stack([place[f], place[half - f]], 1).reshape(-1)])
    turns = (-1j * np.exp(-1j * np.pi * f / half)).astype(np.complex64).view(np.float32)
    return roots, _slots(place), order, turns


def _slots(place: np.ndarray) -> np.ndarray:
    spare = np.full(-len(place) % LANES, place.max() + 1)
    both = 2 * np.concatenate([place, spare])[:, None] + np.arange(2)
    return both.reshape(-1).astype(np.int64)


def room(limits: Limits, numbers: int, rows: int) -> ArraySpec:
    """Of each thread that has some: complex numbers of rows side by side, the last frequency, and one that nothing reads."""
    return ArraySpec((max(1, min(limits.threads, -(-rows // LANES))), 2 * (numbers + 2) * LANES))


def forward_work(limits: Limits, rows: ArraySpec, *others: ArraySpec, padded: int, **_: object) -> tuple[ArraySpec, ...]:
    """Rows, side by side."""
    return (room(limits, padded // 2, rows.shape[0]),)


def backward_work(
    limits: Limits, spectrum: ArraySpec, *others: ArraySpec, radices: tuple[int, ...], **_: object
) -> tuple[ArraySpec, ...]:
    """The same."""
    return (room(limits, math.prod(radices), spectrum.shape[0]),)
