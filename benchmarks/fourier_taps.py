"""How the taps of the Fourier method were found: ``python -m benchmarks.fourier_taps [TAPS SIGMA]``.

Taps are polynomials of the fraction of a position, gains undo them in the image. Least squares for the one with the other given, by
turns, over all places of the image and all fractions; the mean square of what is left is the error of a slice of white noise.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np

ROUNDS, PLACES, FRACTIONS = 60, 48, 40


def design(count: int, sigma: float) -> Iterator[tuple[np.ndarray, float]]:
    """After each round, the coefficients ``(count + 1, count)``, the highest power first, and the rms error of one axis."""
    place, over = np.polynomial.legendre.leggauss(PLACES)
    z, weight = np.polynomial.legendre.leggauss(FRACTIONS)
    distance = (1 - z[:, None]) / 2 - count / 2 + np.arange(count)
    wave = np.exp(2j * np.pi * distance * ((place + 1) / 4 / sigma)[:, None, None])
    powers, root = np.polynomial.chebyshev.chebvander(z, count), np.sqrt(over[:, None] * weight / 4)
    terms = (wave[..., None] * powers[None, :, None]).reshape(PLACES, FRACTIONS, -1)
    # An exponential of a semicircle to begin with.
    width = 0.976 * np.pi * count * (1 - 1 / (2 * sigma))
    taps = np.exp(width * (np.sqrt(np.clip(1 - (2 * distance / count) ** 2, 0, None)) - 1))
    for _ in range(ROUNDS):
        seen = (wave * taps).sum(2)
        gains = seen.real @ weight / (np.abs(seen) ** 2 @ weight)
        error = np.sqrt((root**2 * np.abs(gains[:, None] * seen - 1) ** 2).sum())
        system = (terms * (gains[:, None] * root)[..., None]).reshape(PLACES * FRACTIONS, -1)
        wanted = np.concatenate([root.ravel(), np.zeros(root.size)])
        found = np.linalg.lstsq(np.concatenate([system.real, system.imag]), wanted, rcond=1e-13)[0].reshape(count, count + 1)
        taps = powers @ found.T
        found, taps = found / taps.max(), taps / taps.max()
        yield np.stack([np.polynomial.chebyshev.cheb2poly(row)[::-1] for row in found], axis=1), float(error)


def main(count: int, sigma: float) -> None:
    for coefficients, error in design(count, sigma):  # noqa: B007  the last is wanted
        pass
    print(f"{count} taps, grid {sigma} x: rms error of one axis {error:.1e}")
    print(np.array2string(coefficients, formatter={"float": lambda v: f"{v:.7e}"}, separator=", "))


if __name__ == "__main__":
    if len(sys.argv) == 3:
        main(int(sys.argv[1]), float(sys.argv[2]))
    else:
        for one in ((6, 1.25), (6, 1.5), (7, 1.5)):
            main(*one)
