"""How complete and right catalogues of a simulated sky are, whose sources are known.

    python -m benchmarks.completeness [N] [SOURCES] [SEED]

The sky is that of `tests.skies`, n x n pixels in units of its noise, which a beam of 5 pixels correlates. Shares are of the sources
in bands of peaks over the noise, and of all over 7; a source is found where a detection of its own lies within 3.5 pixels. Of those
that are alone within 15 pixels and over 10 sigma: the median of flux over truth, and how wide deviations of flux and place are in
units of their errors (1.48 times the median deviation).
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

import footprint as fp
from benchmarks.find_sources import SKY
from tests.skies import BANDS, found, shares, sky

APART = {"flood": 3.0, "connectivity": 8, "deblend": True, "header": SKY, "device": "cpu"}


def alone(table: Any, truth: np.ndarray) -> str:
    """Flux over truth, and widths of pulls, of points that are alone."""
    xy = np.stack([table["fit_x"], table["fit_y"]], 1)
    near, at = cKDTree(np.nan_to_num(xy, nan=-99)).query(truth[:, :2])
    apart = cKDTree(truth[:, :2]).query(truth[:, :2], 2)[0][:, 1]
    chosen = (truth[:, 2] > 10) & (near < 2.5) & (apart > 15)
    rows, true = table[at[chosen]], truth[chosen]
    if "fit_a" in rows.colnames:  # a tenth of the sky is extended, and of a shape of its own
        points = np.asarray(rows["fit_a"] < 2.7)
        rows, true = rows[points], true[points]
    if len(rows) < 10:
        return ""
    area = 2 * np.pi * (5 / 2.3548) ** 2
    scale = area if str(rows["fit_flux"].unit) != "Jy" else 1.0
    ratio = np.asarray(rows["fit_flux"]) / (true[:, 2] * scale)
    pulls = [(np.asarray(rows["fit_flux"]) - true[:, 2] * scale) / rows["fit_flux_err"]]
    pulls += [(np.asarray(rows[f"fit_{name}"]) - true[:, k]) / rows[f"fit_{name}_err"] for k, name in enumerate("xy")]
    widths = " ".join(f"{1.4826 * np.median(np.abs(p - np.median(p))):.2f}" for p in pulls)
    return f"{len(rows):6d} alone, flux/truth {np.median(ratio):.4f}, pulls {widths}"


def main(n: int = 1024, sources: int = 4000, seed: int = 20240501) -> None:
    image, truth = sky(n, sources, seed=seed)
    true = {"background": np.zeros(image.shape), "noise": np.ones(image.shape)}
    runs: dict[str, dict[str, Any]] = {}
    for levels, given in (("one background", {}), ("mesh", {"background": "mesh"}), ("the truth", true)):
        for fit in ("gaussian", "point"):
            runs[f"{levels}, {fit}"] = {**given, "fit": fit}
            runs[f"{levels}, {fit}, residual"] = {**given, "fit": fit, "residual": True}
        runs[f"{levels}, gaussian, pairs"] = {**given, "fit": "gaussian", "residual": True, "pairs": True}
    bands = "  ".join(f"{low:g}-{high:g}" for low, high in BANDS)
    print(f"{sources} sources in {n} x {n}: {bands} sigma, over 7, unmatched of rows, processor seconds")
    for name, options in runs.items():
        start = time.process_time()
        table = fp.find_sources(image, **APART, **options)
        took = time.process_time() - start
        xy = np.stack([table["fit_x"], table["fit_y"]], 1).astype(float)
        lost = ~np.isfinite(xy[:, 0])
        xy[lost] = np.stack([table["x_peak"], table["y_peak"]], 1)[lost]
        hit, left = found(xy, truth, 3.5)
        told = " ".join(f"{share:.2f}" for share in shares(hit, truth)) + f" {hit[truth[:, 2] >= 7].mean():.4f}"
        print(f"{name:<36} {told} {left:5d} of {len(table):6d} {took:7.1f} s  {alone(table, truth)}")


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:4]))
