"""Projections turned in their plane."""

import numpy as np
from scipy import ndimage


def untilt(projections: np.ndarray, degrees: float) -> np.ndarray:
    """Each (n_z, n_x) at middle + (c dz - s dx, s dz + c dx), bilinear, the outermost values standing for what is beyond."""
    angle = np.deg2rad(degrees)
    n_z, n_x = projections.shape[-2:]
    dz, dx = np.mgrid[:n_z, :n_x].astype(float)
    dz, dx = dz - (n_z - 1) / 2, dx - (n_x - 1) / 2
    z = (n_z - 1) / 2 + np.cos(angle) * dz - np.sin(angle) * dx
    x = (n_x - 1) / 2 + np.sin(angle) * dz + np.cos(angle) * dx
    flat = projections.reshape(-1, n_z, n_x).astype(float)
    return np.stack([ndimage.map_coordinates(one, [z, x], order=1, mode="nearest") for one in flat]).reshape(projections.shape)
