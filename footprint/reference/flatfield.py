"""From raw projections to line integrals in plain float64, row by row; and the vertical shift of sinograms."""

import numpy as np


def flatfield(
    raw: np.ndarray,
    flats: np.ndarray,
    dark: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    weight: np.ndarray,
    border: int = 0,
    gain: np.ndarray | None = None,
    ceiling: float = np.inf,
) -> np.ndarray:
    """-log of (raw - dark) / (gain (flat - dark)), clipped to 1e-6 .. 10; bad pixels from their neighbours along x.

    ``raw`` (n_angles, n_z, n_x), ``flats`` (n_groups, n_z, n_x), ``dark`` (n_z, n_x); the result is (n_z, n_angles, n_x).
    """
    n_a, n_z, n_x = raw.shape
    out = np.zeros((n_z, n_a, n_x))
    for z in range(n_z):
        d = dark[z].astype(float)
        for a in range(n_a):
            light = raw[a, z].astype(float) - d
            flat = flats[lower[a], z].astype(float)
            if weight[a]:
                flat = (1 - float(weight[a])) * flat + float(weight[a]) * flats[upper[a], z]
            open_beam = flat - d
            if border:
                near_end = np.minimum(np.arange(n_x), np.arange(n_x)[::-1]) < border
                ends = light[near_end & np.isfinite(light)]
                open_beam = np.full(n_x, ends.mean() if ends.size else 0.0)
            with np.errstate(all="ignore"):
                share = light / open_beam / (1.0 if gain is None or border else float(gain[a]))
                good = np.isfinite(share) & np.isfinite(open_beam) & (open_beam > 1e-5 * abs(d)) & (raw[a, z] < ceiling)
                line = -np.log(np.clip(share, 1e-6, 10))
            x = np.arange(n_x)
            if good.any():
                out[z, a] = np.interp(x, x[good], line[good])
    return out


def shift(sinograms: np.ndarray, whole: np.ndarray, fraction: np.ndarray, n_out: int, z0: int) -> np.ndarray:
    """out[z, a] = (1 - f) in[z + z0 + s, a] + f in[z + z0 + s + 1, a], rows outside counting as 0."""
    n_in, n_a, n_x = sinograms.shape
    out = np.zeros((n_out, n_a, n_x))
    for z in range(n_out):
        for a in range(n_a):
            for row, share in ((z + z0 + whole[a], 1 - fraction[a]), (z + z0 + whole[a] + 1, fraction[a])):
                if share and 0 <= row < n_in:
                    out[z, a] += share * sinograms[row, a]
    return out
