"""How a sample of the polar spectrum is shared among the cells of a grid, and what undoes it in the image.

Taps are polynomials, found by alternating least squares together with the gains that undo them, over the share of the grid's period
that the image takes (benchmarks/fourier_taps.py). Their error is the image's: nothing else is approximated.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from footprint.errors import ArgumentError

# Powers of z = 2 f - 1, the highest first; f is how far a sample lies beyond the middle of its taps, 0 to 1.
_SIX_QUARTER = [
    [-1.9314390e-04, 2.2569660e-04, -1.3731400e-04, -1.3731400e-04, 2.2569660e-04, -1.9314390e-04],
    [3.4129937e-04, 6.1171182e-04, -1.9746001e-03, 1.9746001e-03, -6.1171182e-04, -3.4129937e-04],
    [1.9123495e-03, -6.9100503e-03, 4.7662077e-03, 4.7662077e-03, -6.9100503e-03, 1.9123495e-03],
    [-1.0761424e-02, 5.7103890e-03, 3.4241594e-02, -3.4241594e-02, -5.7103890e-03, 1.0761424e-02],
    [2.1344926e-02, 7.4883558e-02, -9.5698506e-02, -9.5698506e-02, 7.4883558e-02, 2.1344926e-02],
    [-1.9174157e-02, -2.4271113e-01, -2.6617846e-01, 2.6617846e-01, 2.4271113e-01, 1.9174157e-02],
    [6.6205463e-03, 2.2754933e-01, 8.5715890e-01, 8.5715890e-01, 2.2754933e-01, 6.6205463e-03],
]
_SIX_HALF = [
    [-1.4282897e-04, 2.3738702e-04, -1.3344741e-04, -1.3344741e-04, 2.3738702e-04, -1.4282897e-04],
    [-5.1709150e-05, 1.1513222e-03, -2.7765671e-03, 2.7765671e-03, -1.1513222e-03, 5.1709150e-05],
    [2.5145428e-03, -7.6249125e-03, 5.1159486e-03, 5.1159486e-03, -7.6249125e-03, 2.5145428e-03],
    [-9.2131486e-03, 1.1679685e-03, 4.1717820e-02, -4.1717820e-02, -1.1679685e-03, 9.2131486e-03],
    [1.5507174e-02, 8.3970420e-02, -9.9425904e-02, -9.9425904e-02, 8.3970420e-02, 1.5507174e-02],
    [-1.2657896e-02, -2.2843865e-01, -2.9088125e-01, 2.9088125e-01, 2.2843865e-01, 1.2657896e-02],
    [4.0741321e-03, 1.9340663e-01, 8.4250468e-01, 8.4250468e-01, 1.9340663e-01, 4.0741321e-03],
]
_SEVEN_HALF = [
    [1.2488771e-05, -2.7534301e-05, 2.7742279e-05, 0.0, -2.7742279e-05, 2.7534301e-05, -1.2488772e-05],
    [-8.9741916e-06, -7.8678502e-05, 2.9740762e-04, -4.3205195e-04, 2.9740762e-04, -7.8678502e-05, -8.9741916e-06],
    [-2.2387700e-04, 9.9059416e-04, -1.2754500e-03, 0.0, 1.2754500e-03, -9.9059416e-04, 2.2387700e-04],
    [1.2903189e-03, -1.7456751e-03, -4.5044473e-03, 9.9393064e-03, -4.5044473e-03, -1.7456751e-03, 1.2903189e-03],
    [-3.3113544e-03, -1.0504756e-02, 3.0858878e-02, 0.0, -3.0858878e-02, 1.0504756e-02, 3.3113544e-03],
    [4.5627742e-03, 5.7548232e-02, 1.0895246e-02, -1.4602962e-01, 1.0895246e-02, 5.7548232e-02, 4.5627742e-03],
    [-3.2937890e-03, -1.0937271e-01, -3.3573464e-01, 0.0, 3.3573464e-01, 1.0937271e-01, 3.2937890e-03],
    [9.8707166e-04, 7.6818213e-02, 5.5092561e-01, 1.0002195e00, 5.5092561e-01, 7.6818213e-02, 9.8707166e-04],
]


# Nearly the same taps as one polynomial each: powers of q = 1 - (2 distance / taps)^2 from the first up, so that it ends in 0. By
# least squares for the same gains, which raises the error by 1, 2 and 7 percent. Cells all do the same then, and look nothing up.
_EVEN_SIX_QUARTER = (3.4809562e-03, -8.4529246e-03, 2.1673109e-01, -3.0751475e-01, 1.3093016e00, -1.0479346e00, 8.3436854e-01)
_EVEN_SIX_HALF = (1.1406545e-03, 9.4298527e-03, -9.2442461e-03, 4.6714785e-01, -8.8042535e-01, 2.0830436e00, -1.5366130e00,
                  8.6550708e-01)  # fmt: skip
_EVEN_SEVEN_HALF = (5.6910892e-04, -4.0889228e-03, 6.1248561e-02, -1.2339641e-01, 4.1855824e-01, 2.1992960e-01, -8.1378996e-01,
                    2.0050606e00, -1.3539202e00, 5.9004598e-01)  # fmt: skip


@dataclass(frozen=True)
class Taps:
    """So many taps an axis, for a grid of ``sigma`` times the image's pixels or more; ``even`` is one polynomial of all."""

    count: int
    sigma: float
    powers: tuple[tuple[float, ...], ...]
    even: tuple[float, ...]

    def coefficients(self) -> np.ndarray:
        """``(count + 1, count)`` float32, the highest power first."""
        return np.array(self.powers, np.float32)

    def gains(self, n: int, cells: int) -> np.ndarray:
        """What undoes the taps in ``n`` pixels about pixel ``n // 2``, on a grid of so many cells; float64."""
        # Smooth and even in the pixel, so that it is summed at a few places and read off a polynomial between them.
        most = max(n // 2, 1) / cells
        return np.polynomial.chebyshev.chebval((np.arange(n) - n // 2) / cells / most, self._series(most))

    @functools.lru_cache(64)  # noqa: B019  there are three of them; every plan that is tried for a budget asks anew
    def _series(self, most: float) -> np.ndarray:
        """The gains as Chebyshev polynomials of the distance from the middle, up to ``most`` of the grid's period."""
        at = most * np.cos(np.pi * (np.arange(_PLACES) + 0.5) / _PLACES)
        z, weight = _nodes()
        taps = np.stack([np.polyval(row, z) for row in self.coefficients().T.astype(np.float64)], axis=1)
        distance = (1 - z[:, None]) / 2 - self.count / 2 + np.arange(self.count)
        wave = (taps[None] * np.exp(2j * np.pi * at[:, None, None] * distance)).sum(2)
        found = (wave.real @ weight) / (np.abs(wave) ** 2 @ weight)
        return np.polynomial.chebyshev.chebfit(at / most, found, _PLACES - 1)


_PLACES, _FRACTIONS = 24, 32


@functools.cache
def _nodes() -> tuple[np.ndarray, np.ndarray]:
    """Where a cell is looked at, and how much each place counts: asked for by every plan that is tried for a budget."""
    return np.polynomial.legendre.leggauss(_FRACTIONS)


TAPS = {
    1e-3: Taps(6, 1.25, tuple(map(tuple, _SIX_QUARTER)), _EVEN_SIX_QUARTER),
    1e-4: Taps(6, 1.5, tuple(map(tuple, _SIX_HALF)), _EVEN_SIX_HALF),
    1e-5: Taps(7, 1.5, tuple(map(tuple, _SEVEN_HALF)), _EVEN_SEVEN_HALF),
}
"""By accuracy: root mean square error of a slice of white noise, as a share of its own root mean square."""


def taps_of(accuracy: object) -> Taps:
    """The taps of an accuracy; ArgumentError where it is none of those there are."""
    if isinstance(accuracy, int | float | np.number):
        for known, taps in TAPS.items():
            if abs(float(accuracy) - known) < 1e-3 * known:
                return taps
    raise ArgumentError("accuracy", repr(accuracy), "one of " + ", ".join(f"{known:.0e}" for known in TAPS))
