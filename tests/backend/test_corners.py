"""What touches at a corner: one summit within an island, and two islands where pixels are connected by edges."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

import footprint as fp
from tests.backend.test_deblend import check, field

# Pixels of 2 arcseconds, a beam of 12 by 8 of them that lies across.
SLANTED = {"CTYPE1": "RA---SIN", "CTYPE2": "DEC--SIN", "CRPIX1": 1.0, "CRPIX2": 1.0, "CRVAL1": 180.0, "CRVAL2": 45.0}
SLANTED |= {"CDELT1": -1 / 1800, "CDELT2": 1 / 1800, "BMAJ": 12 / 3600, "BMIN": 8 / 3600, "BPA": 45.0, "BUNIT": "Jy/beam"}


@pytest.mark.parametrize("fit", ["point", "gaussian"])
def test_a_slanted_point_is_one_source(device, rng, fit):
    """Its two highest pixels touch at a corner, and the way between them by edges lies lower by many noises."""
    y, x = np.mgrid[:64, :64] - 30.48
    point = 230 * np.exp(-0.5 * (((x - y) / 2**0.5 / 2.548) ** 2 + ((x + y) / 2**0.5 / 1.699) ** 2))
    image = point + rng.normal(0, 0.01, x.shape)
    for connectivity in (4, 8):
        options = {"flood": 3, "deblend": True, "fit": fit, "background": 0.0, "noise": 1.0, "header": SLANTED, "device": device}
        table = fp.find_sources(image, 5, connectivity=connectivity, **options)
        assert len(table) == 1 and table["flags"][0] & 1 == 0
        assert float(table["fit_flux"][0]) == pytest.approx(230, rel=2e-3)


def test_islands_that_touch_at_a_corner_stay_two(device):
    image = np.zeros((12, 12), np.float32)
    image[2:5, 2:5], image[5:8, 5:8] = 20, 30
    image[4, 4], image[5, 5] = 40, 50
    options = {"flood": 3, "deblend": True, "background": 0.0, "noise": 1.0, "blank": "nan", "device": device}
    table = fp.find_sources(image, 5, connectivity=4, **options)
    assert table["npix"].tolist() == [9, 9] and table["island"].tolist() == [1, 2] and not table["flags"].any()
    # A pixel beside both makes them one island, and one summit.
    image[4, 5] = 3.5
    assert fp.find_sources(image, 5, connectivity=4, **options)["npix"].tolist() == [19]


@pytest.mark.parametrize("levels", [0, 2])
def test_parts_of_islands_that_edges_connect(device, rng, levels):
    image = field(rng, (90, 121), 0.8, levels)
    options = {"sigma": 1.0, "flood": 0.4, "connectivity": 4}
    check(image, device, **options)
    apart = np.zeros(image.shape, np.int32)
    table = fp.find_sources(image, labels=apart, deblend=True, device=device, **options)
    wanted, _ = ndimage.label(image - table.meta["background"] > 0.4 * table.meta["noise"])
    pairs = np.unique(np.stack([wanted[apart > 0], np.append(0, table["island"])[apart[apart > 0]]]), axis=1)
    assert pairs.shape[1] == table["island"].max() > 50
