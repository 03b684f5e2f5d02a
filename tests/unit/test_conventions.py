"""The conversions of docs/conventions.md, run: what the page shows is what is called here."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.ndimage import shift
from skimage.transform import iradon, radon

import footprint as fp
from footprint.io.phantom import projections, volume

PAGE = (Path(__file__).parents[2] / "docs" / "conventions.md").read_text(encoding="utf-8")
SHOWN: dict = {}
for block in re.findall(r"```python\n(.*?)```", PAGE, re.S):
    exec(block, SHOWN)
ANGLES = np.linspace(0, np.pi, 90, endpoint=False)


def inside(n, center, radius):
    y, x = np.mgrid[:n, :n] - center
    return np.hypot(x, y) < radius


def lopsided(n, center):
    """The head with a block that no flip leaves where it is."""
    image = volume(n, np.array([0.1]), center, 0.36 * n)[0]
    image[n // 3 : n // 2, n // 2 : 2 * n // 3] += 0.5
    return image


@pytest.mark.parametrize("n", [64, 65])
def test_skimage(n):
    axis = n // 2
    lines = projections(n, np.array([0.1]), ANGLES, axis, 0.42 * n)[:, 0].astype("f4")
    theirs = iradon(*SHOWN["as_skimage"](lines, ANGLES), filter_name="ramp", circle=True)
    ours = fp.fbp(lines, ANGLES, center=axis, device="cpu")
    seen = inside(n, axis, 0.45 * n)
    np.testing.assert_allclose(theirs[seen], ours[seen], rtol=0, atol=1e-4 * np.abs(ours).max())
    # As the page says of other filters.
    for name, own, factor, near in (None, "none", 2, 1e-5), ("hann", "hann", 1, 5e-3), ("hamming", "hamming", 1, 5e-3):
        theirs = factor * iradon(*SHOWN["as_skimage"](lines, ANGLES), filter_name=name, circle=True)
        ours = fp.fbp(lines, ANGLES, center=axis, filter=own, device="cpu")
        np.testing.assert_allclose(theirs[seen], ours[seen], rtol=0, atol=near * np.abs(ours[seen]).max())
    image = lopsided(n, axis)
    back = SHOWN["fbp_of_skimage"](radon(image, np.rad2deg(ANGLES)), np.rad2deg(ANGLES), device="cpu")
    assert np.corrcoef(back[seen], image[seen])[0, 1] > 0.96 > 0.8 > np.corrcoef(back[::-1][seen], image[seen])[0, 1]


@pytest.mark.parametrize("center", [31.5, 35.75])
def test_astra(center):
    astra = pytest.importorskip("astra", reason="ASTRA is not installed", exc_type=ImportError)
    n, middle = 64, 31.5
    image, geometry = lopsided(n, middle), SHOWN["astra_geometry"](astra, ANGLES, n, center)
    projector = astra.create_projector("linear", geometry, astra.create_vol_geom(n, n))
    lines = astra.create_sino(image, projector)[1].astype("f4")
    ours = shift(fp.fbp(lines, ANGLES, center=center, device="cpu"), (middle - center,) * 2, order=1)
    seen = inside(n, middle, 0.36 * n)
    assert np.corrcoef(ours[seen], image[seen])[0, 1] > 0.9 > np.corrcoef(ours[::-1][seen], image[seen])[0, 1]
    assert abs(ours[seen].mean() / image[seen].mean() - 1) < 0.02


def test_the_formula_and_what_flips_and_reversed_angles_do():
    n, c, x, y = 41, 22.3, 29.0, 12.0
    found = fp.backproject(np.zeros((len(ANGLES), n), "f4"), ANGLES, center=c, device="cpu")
    lines = np.zeros((len(ANGLES), n), "f4")
    h = c + np.cos(ANGLES) * (x - c) - np.sin(ANGLES) * (y - c)
    for row, at in zip(lines, h):
        row[int(at)], row[int(at) + 1] = 1 - at % 1, at % 1
    found = fp.backproject(lines, ANGLES, center=c, device="cpu")
    assert np.unravel_index(found.argmax(), found.shape) == (y, x)
    turned = fp.backproject(lines[:, ::-1].copy(), ANGLES, center=n - 1 - c, device="cpu")
    np.testing.assert_allclose(turned[::-1, ::-1], found, atol=1e-4 * found.max())
    mirrored = fp.backproject(lines, -ANGLES, center=c, device="cpu")
    assert np.unravel_index(mirrored.argmax(), found.shape) == (round(2 * c - y), x)


def test_the_circle_is_about_the_axis():
    found = fp.fbp(np.ones((20, 40), "f4"), center=15.0, circle=True, device="cpu")
    y, x = np.nonzero(found)
    assert abs(x.mean() - 15) < 0.5 and abs(y.mean() - 15) < 0.5 and x.max() - 15 <= 15.5
