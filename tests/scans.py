"""Scans that live in arrays, with the face of an open file's."""

from __future__ import annotations

import numpy as np


class ArrayScan:
    """Raw projections (n_angles, n_z, n_x), means of flats (n_groups, n_z, n_x) or None, dark (n_z, n_x) or None."""

    path, field_of_view = "array", None

    def __init__(self, raw, angles, flats=None, dark=None, weights=None):
        self.raw, self.angles, self.flats, self.dark = raw, np.asarray(angles, float), flats, dark
        self.shape, self.dtype = raw.shape, raw.dtype
        self.n_angles, self.n_z, self.n_x = raw.shape
        self.n_flat_groups = self.n_flats = 0 if flats is None else len(flats)
        self.weights = weights
        self.rows_read = []

    def host_bytes(self, n_rows, dtype=None):
        return 0

    def read(self, rows, out, angles=slice(None)):
        self.rows_read.append((rows.start, rows.stop))
        np.copyto(out, self.raw[angles, rows], casting="unsafe")

    def flat_weights(self):
        n = self.n_angles
        return self.weights or (np.zeros(n, "i8"), np.zeros(n, "i8"), np.zeros(n, "f4"))

    def flat_means(self, rows=slice(None)):
        return None if self.flats is None else np.asarray(self.flats[:, rows], np.float32)

    def dark_mean(self, rows=slice(None)):
        return None if self.dark is None else np.asarray(self.dark[rows], np.float32)


def raw_scan(lines, angles, rng, dtype="u2", groups=2):
    """A scan of given line integrals (n_angles, n_z, n_x): an uneven beam that fades, darks, one dead column."""
    n_a, n_z, n_x = lines.shape
    beam = 30000 * (0.8 + 0.2 * rng.random((n_z, n_x)))
    dark = 100 + 10 * rng.random((n_z, n_x))
    fade = np.linspace(1, 0.9, groups) if groups > 1 else np.ones(1)
    flats = beam * fade[:, None, None] + dark
    weight = np.linspace(0, 1, n_a).astype("f4") if groups > 1 else np.zeros(n_a, "f4")
    now = 1 + (fade[-1] - 1) * weight[:, None, None]
    raw = np.exp(-lines) * beam * now + dark
    raw[:, :, n_x // 5] = dark[:, n_x // 5]
    flats[:, :, n_x // 5] = dark[:, n_x // 5]
    raw = np.round(raw).astype(dtype) if np.dtype(dtype).kind in "iu" else raw.astype(dtype)
    return ArrayScan(raw, angles, flats, dark, (np.zeros(n_a, "i8"), np.full(n_a, groups - 1), weight))
