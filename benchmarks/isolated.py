"""How right the catalogue is of points that stand alone: flux and place against the truth, and deviations in units of their errors.

    python -m benchmarks.isolated [SKIES]

Every sky is 2048 x 2048 pixels of noise that a beam of 5 pixels correlates, with points of the beam's shape 64 pixels apart, each
moved by up to half a pixel; peaks are spread evenly in their logarithm over a band of S/N. Sources are those over 5 sigma,
taken apart. Told are the mean of flux over truth with its standard error, the standard deviation of (found - true) / error of flux
and place, and of the places along an axis, in pixels.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

import footprint as fp
from benchmarks.find_sources import SKY

N, STEP, SPREAD = 2048, 64, 5 / 2.3548200450309493
BANDS = ((10, 30), (30, 100), (100, 1000))


def grid(band: tuple[float, float], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """An image in units of its noise, and x, y, peak of the points in it."""
    rng = np.random.default_rng(seed)
    ky, kx = np.fft.fftfreq(N), np.fft.rfftfreq(N)
    gain = np.exp(-2 * (np.pi * SPREAD) ** 2 * (ky[:, None] ** 2 + kx**2))
    image = np.fft.irfft2(np.fft.rfft2(rng.standard_normal((N, N))) * gain, (N, N))
    image /= image.std()
    places = np.arange(STEP // 2, N, STEP)
    y, x = (axis.ravel() + rng.uniform(-0.5, 0.5, places.size**2) for axis in np.meshgrid(places, places, indexing="ij"))
    peak = np.exp(rng.uniform(*np.log(band), x.size))
    near = np.arange(-20, 21)
    for at in range(x.size):
        cy, cx = round(y[at]), round(x[at])
        dy, dx = np.exp(-0.5 * ((cy + near - y[at]) / SPREAD) ** 2), np.exp(-0.5 * ((cx + near - x[at]) / SPREAD) ** 2)
        image[cy - 20 : cy + 21, cx - 20 : cx + 21] += peak[at] * dy[:, None] * dx
    return image.astype(np.float32), np.stack([x, y, peak], 1)


def compare(table: Any, truth: np.ndarray) -> list[np.ndarray]:
    """Of the points found: flux over truth; pulls of flux, x and y; deviations of x and y."""
    xy = np.stack([table["fit_x"], table["fit_y"]], 1)
    near, at = cKDTree(np.nan_to_num(xy, nan=-99)).query(truth[:, :2])
    hit = near < 2.5
    rows, true = table[at[hit]], truth[hit]
    flux = np.asarray(rows["fit_flux"])
    away = [np.asarray(rows[f"fit_{name}"]) - true[:, k] for k, name in enumerate("xy")]
    pulls = [(flux - true[:, 2]) / rows["fit_flux_err"], *(d / rows[f"fit_{name}_err"] for d, name in zip(away, "xy"))]
    return [flux / true[:, 2], *map(np.asarray, pulls), *away]


def main(skies: int = 4) -> None:
    runs: dict[str, dict[str, Any]] = {}
    true = {"background": np.zeros((N, N), np.float32), "noise": np.ones((N, N), np.float32)}
    for levels, given in (("one background", {}), ("mesh", {"background": "mesh"}), ("the truth", true)):
        runs[f"{levels}, point"] = {**given, "fit": "point"}
    runs["mesh, gaussian"] = {"background": "mesh", "fit": "gaussian"}
    for number, band in enumerate(BANDS):
        found: dict[str, list[list[np.ndarray]]] = {name: [] for name in runs}
        for seed in range(skies):
            image, truth = grid(band, skies * number + seed)
            for name, options in runs.items():
                table = fp.find_sources(image, 5, flood=3, connectivity=8, deblend=True, header=SKY, device="cpu", **options)
                found[name].append(compare(table, truth))
        print(f"{band[0]} to {band[1]} sigma, {skies * truth.shape[0]} points: found, flux/truth, pulls of flux x y, places x y")
        for name, parts in found.items():
            ratio, *pulls, x, y = (np.concatenate(part) for part in zip(*parts))
            told = f"{ratio.mean():.4f} +- {ratio.std() / np.sqrt(ratio.size):.4f} (median {np.median(ratio):.4f})"
            widths = " ".join(f"{pull.std():.3f}" for pull in pulls)
            print(f"  {name:<24} {ratio.size:5d}  {told}  {widths}  {x.std():.4f} {y.std():.4f} px", flush=True)


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:2]))
