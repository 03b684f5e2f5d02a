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

# A frequency whose share exp(-k^2 / 2 sigma^2) is below 2^-25 adds nothing to a float32.
_FAR = math.sqrt(50 * math.log(2))


@dataclass(frozen=True)
class FourierWavelet(SinogramFilter):
    """Of every level's details along x, what is slow along the angle taken off sinograms (n_z, n_angles, n_x), in place.

    The transform is linear and reconstructs exactly, so what is to be removed is reconstructed alone, and taken off. Its steps
    along x and along the angle may change places: along the angle, halving so many times and taking what is slow is one product
    with few waves, and so is the way back. Between them are as many rows as there are waves, each taken through the transforms
    along x of its level.

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
        """Every wave times every row, there and back."""
        return Cost(12 * specs[0].size, 4.0 * len(self._waves(specs[0].shape[1])[2]) * specs[0].size, 3)

    def nbytes(self, n_a: int, n_x: int) -> int:
        """The rows between: of a sinogram itself only some columns are looked at."""
        return 4 * n_x * len(self._waves(n_a)[2])

    def on_batch(self, b: Builder, part: Ref, most: int) -> None:
        """To the waves, through the levels, and back."""
        _, n_a, n_x = part.spec.shape
        there, back, levels = self._waves(n_a)
        rows = b.scratch((most, len(levels), n_x), "float32", "slow rows of all levels").like_rows(part)
        b.launch("fourier_wavelet.combine", part, b.const(there, "waves of all levels"), rows, off=False)
        taps = b.const(filters(self.wavelet).astype(np.float32), "wavelet")
        b.launch("fourier_wavelet.details", rows, b.const(levels, "levels of rows"), taps)
        b.launch("fourier_wavelet.combine", rows, b.const(back, "waves back"), part, off=True)

    def _waves(self, n_a: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return _waves(self.wavelet, self.level, self.sigma, n_a)


@lru_cache(maxsize=2)
def _waves(wavelet: str, level: int, sigma: float, n_a: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights (n_a, J) that make slow waves' coefficients of a column, (J, n_a) that make the column of those, levels (J,)."""
    taps = filters(wavelet)[0]
    lengths, there, back, levels = [n_a], [], [], []
    for depth in range(1, level + 1):
        lengths.append((lengths[-1] + len(taps) - 1) // 2)
        slow, basis = _slow(lengths[-1], sigma)
        for n in lengths[-2::-1]:
            basis, slow = _spread(basis, taps, n, True), _spread(slow, taps, n, False)
        there.append(basis)
        back.append(slow)
        levels += [depth] * len(basis)
    return (
        np.ascontiguousarray(np.concatenate(there).T, np.float32),
        np.concatenate(back).astype(np.float32),
        np.array(levels, np.int32),
    )


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
