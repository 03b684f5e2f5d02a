"""Stripes off sinograms by Munch's combined wavelet and Fourier filter."""

from __future__ import annotations

import math
from dataclasses import dataclass

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

    The transform is linear and reconstructs exactly, so what is to be removed is reconstructed alone, and taken off.

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
        """A filter's length for every value, there and back, on all levels."""
        return Cost(20 * specs[0].size, 6.0 * filters(self.wavelet).shape[1] * specs[0].size, 6 * self.level)

    def on_batch(self, b: Builder, part: Ref, most: int) -> None:
        """Down all levels, and up again with what is to be taken off."""
        taps = b.const(filters(self.wavelet).astype(np.float32), "wavelet")
        scratch = lambda name, *shape: b.scratch((most, *shape), "float32", name).like_rows(part)
        _, m, w = part.spec.shape
        half = lambda length: (length + taps.spec.shape[1] - 1) // 2
        here, kept = part, []
        for level in range(1, self.level + 1):
            low, high = scratch(f"low rows {level}", m, half(w)), scratch(f"high rows {level}", m, half(w))
            b.launch("fourier_wavelet.analyse_rows", here, taps, low, high)
            detail, slow, basis = scratch(f"details {level}", half(m), half(w)), *self._slow(b, half(m))
            b.launch("fourier_wavelet.analyse_columns", high, taps, detail)
            stripes = scratch(f"stripes {level}", basis.spec.shape[0], half(w))
            b.launch("fourier_wavelet.project", detail, basis, stripes)
            kept.append((m, w, stripes, slow))
            if level < self.level:
                here = scratch(f"level {level}", half(m), half(w))
                b.launch("fourier_wavelet.analyse_columns", low, taps, here)
            m, w = half(m), half(w)
        below: Ref | None = None
        for level in range(self.level, 0, -1):
            m, w, stripes, slow = kept[level - 1]
            detail = scratch(f"slow details {level}", half(m), half(w))
            b.launch("fourier_wavelet.expand", stripes, slow, detail)
            high = scratch(f"high rows back {level}", m, half(w))
            b.launch("fourier_wavelet.synthesise_columns", detail, taps, high)
            low = high if below is None else scratch(f"low rows back {level}", m, half(w))
            if below is not None:
                b.launch("fourier_wavelet.synthesise_columns", below, taps, low)
            to = part if level == 1 else scratch(f"level back {level - 1}", m, w)
            b.launch("fourier_wavelet.synthesise_rows", low, high, taps, to, both=below is not None, off=level == 1)
            below = to

    def _slow(self, b: Builder, m: int) -> tuple[Ref, Ref]:
        """Waves over ``m`` angles times their shares, and the waves themselves (2 K + 1, m)."""
        most = min(m // 2, math.ceil(_FAR * self.sigma))
        k = np.arange(most + 1)[:, None]
        turns = np.mod(k * np.arange(m), m) / m * 2 * np.pi
        share = np.exp(-0.5 * (k / self.sigma) ** 2) * np.where((k == 0) | (2 * k == m), 1, 2) / m
        basis = np.concatenate([np.cos(turns), np.sin(turns[1:])])
        slow = basis * np.concatenate([share, share[1:]])
        return b.const(slow.astype(np.float32), f"slow waves of {m}"), b.const(basis.astype(np.float32), f"waves of {m}")
