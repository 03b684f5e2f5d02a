"""FITS HDUs as arguments: as images, masks, weights and labels; which of a file's is meant, and what is said of names."""

from __future__ import annotations

import numpy as np
import pytest
from astropy.io import fits

import footprint as fp


@pytest.fixture
def image(rng):
    data = rng.standard_normal((60, 80)).astype("f4")
    data[20:23, 30:33] += 50
    data[40:43, 60:63] += 50
    return data


def same(a, b):
    return a.colnames == b.colnames and all(np.array_equal(a[n], b[n], equal_nan=True) for n in a.colnames)


def test_masks_and_weights_may_be_hdus_as_images_are(image):
    bad = np.zeros(image.shape, "u1")
    bad[15:30, 25:40] = 1
    how = {"device": "cpu"}
    assert len(fp.find_sources(image, 8, **how)) == 2
    for word, values in (("mask", bad), ("weight", (1 - bad).astype("f4"))):
        want = fp.find_sources(image, 8, **{word: values}, **how)
        assert len(want) == 1
        for hdu in (fits.ImageHDU(values), fits.PrimaryHDU(values[None]), fits.CompImageHDU(values)):
            assert same(fp.find_sources(image, 8, **{word: hdu}, **how), want)
        maps = zip(fp.background(image, **{word: fits.ImageHDU(values)}, **how), fp.background(image, **{word: values}, **how))
        assert all(np.array_equal(a, b) for a, b in maps)
    sums = fp.apertures(image, [(31, 21)], 3, mask=fits.ImageHDU(bad), **how)
    assert sums["aper_flags"].tolist() == [5]


def test_labels_and_clips_may_be_hdus(image):
    labels = fp.label(image > 8)[0]
    assert same(fp.measure(fits.ImageHDU(image), fits.ImageHDU(labels)), fp.measure(image, labels))
    cube = np.stack([image, image + 1, image])
    assert fp.sigma_clip(fits.ImageHDU(image)) == fp.sigma_clip(image)
    assert fp.sigma_clip(fits.PrimaryHDU(cube)) == fp.sigma_clip(cube)


def test_of_a_file_the_hdu_with_an_image_is_named(image):
    """The primary HDU of a file of several chips holds a header alone."""
    chips = fits.HDUList([fits.PrimaryHDU(), fits.BinTableHDU.from_columns([]), fits.ImageHDU(image), fits.ImageHDU(image)])
    with pytest.raises(fp.ArgumentError, match=r"an HDUList, wanted one of its HDUs; give hdus\[2\], or footprint\.open_image"):
        fp.find_sources(chips)
    with pytest.raises(fp.ArgumentError, match=r"give hdus\[2\]\.data"):
        fp.convolve(chips, np.ones((3, 3)))
    with pytest.raises(fp.ArgumentError, match=r"got an HDU that holds a header alone, wanted one with an image"):
        fp.find_sources(chips[0])


@pytest.mark.parametrize("word", ["mask", "weight"])
def test_the_name_of_a_mask_is_to_be_opened(image, tmp_path, word):
    fits.HDUList([fits.PrimaryHDU(), fits.ImageHDU(np.ones(image.shape, "u1"), name="DQ")]).writeto(tmp_path / "mef.fits")
    name = f"{tmp_path / 'mef.fits'}[DQ]"
    with pytest.raises(
        fp.ArgumentError, match=r"mef\.fits\[DQ\]', wanted an array, or an open image; open it: footprint\.open_image"
    ):
        fp.find_sources(image, 5, **{word: name})
    with fp.open_image(name) as opened:
        how = {"device": "cpu", word: opened}
        if word == "mask":
            with pytest.raises(fp.ShapeError, match="leaves out every pixel"):
                fp.find_sources(image, 8, **how)
        else:
            assert len(fp.find_sources(image, 8, **how)) == 2


def test_maps_of_a_padded_image_are_those_of_its_search(image):
    """Zeros around a mosaic were sky for one, and no data for the other."""
    image = np.pad(image + 10, 40)
    level, noise = np.empty(image.shape, "f4"), np.empty(image.shape, "f4")
    with pytest.warns(UserWarning, match="zeros mean no data"):
        fp.find_sources(image, 8, background="mesh", box=32, save_background=level, save_noise=noise, device="cpu")
    with pytest.warns(UserWarning, match="zeros mean no data"):
        maps = fp.background(image, 32, device="cpu")
    assert np.array_equal(maps[0], level) and np.array_equal(maps[1], noise) and level[0, 0] > 9
    measured = fp.background(image, 32, blank="nan", device="cpu")
    assert measured[0][0, 0] == 0 and not np.array_equal(measured[0], level)
    with pytest.raises(fp.ArgumentError, match="blank"):
        fp.background(image, blank="ones")
