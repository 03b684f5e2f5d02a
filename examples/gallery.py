"""Draws the pictures that docs/gallery.md begins with: ``python -m examples.gallery photo.png noisy.png``."""

from __future__ import annotations

import sys

import numpy as np
from PIL import Image

SHAPE = (120, 180)


def photo() -> np.ndarray:
    """Hills under a sky with a sun, and a fence: smooth colours, edges, and lines a few pixels wide."""
    y, x = np.mgrid[: SHAPE[0], : SHAPE[1]].astype(float)
    picture = np.stack([90 + 0.9 * y, 150 + 0.5 * y, 235 - 0.3 * y], axis=-1)
    picture[(x - 130) ** 2 + (y - 30) ** 2 < 15**2] = 255, 230, 120
    for height, wave, colour in ((70, 25, (70, 130, 90)), (88, 17, (45, 100, 60))):
        picture[y > height + 9 * np.sin(x / wave)] = colour
    picture[(y > 95) & (x % 12 < 3)] = 210, 190, 160
    picture[(y > 102) & (y < 106)] = 210, 190, 160
    return np.rint(picture).astype(np.uint8)


def noisy() -> np.ndarray:
    """The same with one pixel in ten black or white."""
    rng, picture = np.random.default_rng(0), photo()
    hit = rng.random(SHAPE) < 0.1
    picture[hit] = rng.integers(0, 2, hit.sum())[:, None] * 255
    return picture


if __name__ == "__main__":
    for path, draw in zip(sys.argv[1:], (photo, noisy), strict=True):
        Image.fromarray(draw()).save(path)
