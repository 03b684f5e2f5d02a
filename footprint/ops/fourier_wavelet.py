"""Stripes off sinograms by Munch's combined wavelet and Fourier filter."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from footprint.ops.families import SinogramFilter
from footprint.ops.wavelets import filters
from footprint.plan.builder import Builder
from footprint.plan.rates import Cost
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec, Limits

# A frequency whose share exp(-k^2 / 2 sigma^2) is below 2^-25 adds nothing to a float32, nor does such a share of the waves.
_NOTHING = 2.0**-25
_FAR = math.sqrt(-2 * math.log(_NOTHING))
# More waves than this are taken as they are: to look for what they have in common would take longer than a few sinograms.
_MANY = 256


# What takes columns to slow waves, one product after another, what takes those to columns, and the level of each wave.
_Waves = tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...], np.ndarray]


@dataclass(frozen=True)
class FourierWavelet(SinogramFilter):
    """Of every level's details along x, what is slow along the angle taken off sinograms (n_z, n_angles, n_x), in place.

    The transform is linear and reconstructs exactly, so what is to be removed is reconstructed alone, and taken off. Its steps
    along x and along the angle may change places: along the angle, halving so many times and taking what is slow is one product
    with few waves, and so is the way back. Between them are as many rows as there are waves, each taken through the transforms
    along x of its level. Slow waves of one level are nearly those of another, so a sinogram is multiplied by what they have in
    common, a third of them or less, and that by what makes them of it.

    Attributes
    ----------
    wavelet
        A name of `wavelets.NAMES`.
    level
        How many times the sinogram is halved.
    sigma
        Of the Gaussian exp(-k^2 / 2 sigma^2) that says what is slow, k counting periods over all angles.
    """

    wavelet: str = "sym16"
    level: int = 7
    sigma: float = 1.0

    def cost(self, limits: Limits, *specs: ArraySpec) -> Cost:
        """Every weight times a row, there and back."""
        n_z, n_a, n_x = specs[0].shape
        there, back, _ = self._waves(n_a)
        weights = sum(table.size for table in (*there, *back))
        return Cost(12 * specs[0].size, 2.0 * weights * n_z * n_x, 1 + len(there) + len(back))

    def nbytes(self, n_a: int, n_x: int) -> int:
        """The rows between: of a sinogram itself only some columns are looked at."""
        there, back, levels = self._waves(n_a)
        return 4 * n_x * (len(levels) + max(len(table) for table in (*there[1:], *back[1:], levels[:0])))

    def on_batch(self, b: Builder, part: Ref, most: int) -> None:
        """To the waves, through the levels, and back."""
        there, back, levels = self._waves(part.spec.shape[1])
        rows = part
        for weights in there:
            rows = self._combined(b, rows, weights, most)
        taps = b.const(filters(self.wavelet).astype(np.float32), "wavelet")
        b.launch("fourier_wavelet.details", rows, b.const(levels, "levels of rows"), taps)
        for weights in back[:-1]:
            rows = self._combined(b, rows, weights, most)
        b.launch("fourier_wavelet.combine", rows, b.const(back[-1], "waves back"), part, off=True)

    def _combined(self, b: Builder, rows: Ref, weights: np.ndarray, most: int) -> Ref:
        shape = (most, weights.shape[1], rows.spec.shape[2])
        made = b.scratch(shape, "float32", f"{shape[1]} slow rows of all levels").like_rows(rows)
        b.launch("fourier_wavelet.combine", rows, b.const(weights, "waves of all levels"), made, off=False)
        return made

    def _waves(self, n_a: int) -> _Waves:
        return _waves(self.wavelet, self.level, self.sigma, n_a)


@lru_cache(maxsize=2)
def _waves(wavelet: str, level: int, sigma: float, n_a: int) -> _Waves:
    """Weights that make slow waves' J coefficients of a column of n_a, those that make the column of them, levels (J,)."""
    taps = filters(wavelet)[0]
    lengths, into, out_of, levels = [n_a], [], [], []
    for depth in range(1, level + 1):
        lengths.append((lengths[-1] + len(taps) - 1) // 2)
        slow, basis = _slow(lengths[-1], sigma)
        for n in lengths[-2::-1]:
            basis, slow = _spread(basis, taps, n, True), _spread(slow, taps, n, False)
        into.append(basis)
        out_of.append(slow)
        levels += [depth] * len(basis)
    there, back = np.concatenate(into), np.concatenate(out_of)
    lead, tail = (_norms(back), _norms(there)) if len(levels) <= _MANY else (None, None)
    first, second = _in_common(there, lead), _in_common(back, tail)
    return tuple(_table(m.T) for m in first[::-1]), tuple(_table(m) for m in second), np.array(levels, np.int32)


def _table(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values, np.float32)


def _norms(rows: np.ndarray) -> np.ndarray:
    return np.sqrt((rows * rows).sum(axis=1))


def _in_common(waves: np.ndarray, counts: np.ndarray | None) -> tuple[np.ndarray, ...]:
    """Waves (J, n) as they are, or as a product (J, r) (r, n), where they count so much: float32 would not tell the difference.

    The wave of which most is left is made one of the r, and what all others have of it is taken off them.
    """
    if counts is None:
        return (waves,)
    # Waves that do not count at all are none.
    left = waves * counts[:, None]
    parts: list[np.ndarray] = []
    shares: list[np.ndarray] = []
    size = _norms(left)
    enough = _NOTHING * size.max(initial=0)
    while math.sqrt((size * size).sum()) > enough and len(parts) < min(waves.shape):
        parts.append(left[np.argmax(size)] / size.max())
        # Not by BLAS, whose sums depend on its threads.
        shares.append(np.einsum("jn,n->j", left, parts[-1]))
        left -= shares[-1][:, None] * parts[-1]
        size = _norms(left)
    scale = np.where(counts > 0, counts, 1)
    mixed = np.array(shares).reshape(-1, len(waves)).T / scale[:, None]
    return mixed, np.array(parts).reshape(-1, waves.shape[1])


def _slow(m: int, sigma: float) -> tuple[np.ndarray, np.ndarray]:
    """Waves over ``m`` places times their shares, and the waves themselves (2 K + 1, m)."""
    most = min(m // 2, math.ceil(_FAR * sigma))
    k = np.arange(most + 1)[:, None]
    turns = np.mod(k * np.arange(m), m) / m * 2 * np.pi
    share = np.exp(-0.5 * (k / sigma) ** 2) * np.where((k == 0) | (2 * k == m), 1, 2) / m
    basis = np.concatenate([np.cos(turns), np.sin(turns[1:])])
    return basis * np.concatenate([share, share[1:]]), basis


def _spread(rows: np.ndarray, taps: np.ndarray, n: int, mirrored: bool) -> np.ndarray:
    """Rows of weights of a halved line as weights of its ``n`` values, or, not mirrored, as the values they are put together to.

    Value k stands for taps at places 2 k + 1, 2 k, ... 2 k + 2 - F; those beyond the ends are of the line's mirror image.
    """
    h, length = rows.shape[1], len(taps)
    wide = np.zeros((len(rows), 2 * h + length))
    for j, tap in enumerate(taps):
        # Place p lies at p + F - 2.
        first = length - 1 - j
        wide[:, first : first + 2 * h : 2] += tap * rows
    place = np.arange(wide.shape[1]) - (length - 2)
    if not mirrored:
        return wide[:, (place >= 0) & (place < n)]
    found = np.zeros((len(rows), n))
    folded = np.mod(place, 2 * n)
    np.add.at(found.T, np.where(folded < n, folded, 2 * n - 1 - folded), wide.T)
    return found
