"""Small scans and images that the file tests write, and break."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np


def frames(n: int, n_z: int = 3, n_x: int = 5, dtype: str = "uint16") -> np.ndarray:
    """Frames in which every pixel has a value of its own."""
    return (np.arange(n * n_z * n_x).reshape(n, n_z, n_x) % 60000).astype(dtype)


def nxtomo(
    path: Path,
    key: list[int],
    entry: str = "entry",
    control: list[int] | None = None,
    dtype: str = "uint16",
    angles: np.ndarray | None = None,
    angle_unit: str | None = "degree",
    pixel: tuple[float, str] | None = None,
    n_z: int = 3,
    n_x: int = 5,
    **storage: object,
) -> np.ndarray:
    """Write an NXtomo file with one frame a key, return its frames."""
    n = len(key)
    data = frames(n, n_z, n_x, dtype)
    with h5py.File(path, "w") as file:
        group = file.create_group(entry)
        group.attrs["NX_class"] = "NXentry"
        group["definition"] = "NXtomo"
        detector = group.create_group("instrument/detector")
        detector.create_dataset("data", data=data, **storage)
        detector["image_key"] = np.asarray(key, np.int32)
        if control is not None:
            detector["image_key_control"] = np.asarray(control, np.int32)
        if pixel is not None:
            detector["x_pixel_size"] = pixel[0]
            detector["x_pixel_size"].attrs["units"] = pixel[1]
        group["sample/rotation_angle"] = np.arange(n, dtype=float) if angles is None else angles
        if angle_unit is not None:
            group["sample/rotation_angle"].attrs["units"] = angle_unit
    return data


def dxchange(path: Path, n: int = 4, theta: np.ndarray | None = None) -> np.ndarray:
    """Write a DXchange file with two whites and one dark, return its projections."""
    data = frames(n, dtype="float32")
    with h5py.File(path, "w") as file:
        group = file.create_group("exchange")
        group["data"] = data
        group["data_white"] = np.full((2, 3, 5), 9, np.float32)
        group["data_dark"] = np.zeros((1, 3, 5), np.float32)
        if theta is not None:
            group["theta"] = theta
    return data
