"""Masks by name: the weights SciPy's filters have, refused in one sentence where a name is none, and beams that grow with them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.ndimage
from astropy.io import fits

import footprint as fp
from footprint.io.named_mask import NamedMask
from tests.unit.test_cli_masks import shell  # noqa: F401  a fixture

RNG = np.random.default_rng(8)
IMAGE = RNG.standard_normal((60, 50))


def weights(text, dtype="f8"):
    mask = NamedMask(text)
    out = np.full(mask.shape, np.nan, dtype)
    mask.read(slice(0, mask.shape[0]), out)
    return out


@pytest.mark.parametrize(("text", "peer"), [
    ("gaussian:sigma=2", lambda x: scipy.ndimage.gaussian_filter(x, 2)),
    ("gaussian:1.3,truncate=3", lambda x: scipy.ndimage.gaussian_filter(x, 1.3, truncate=3)),
    ("gaussian:fwhm=4.709640090061899", lambda x: scipy.ndimage.gaussian_filter(x, 2)),
    ("box:5", lambda x: scipy.ndimage.uniform_filter(x, 5)),
    ("box:3x7", lambda x: scipy.ndimage.uniform_filter(x, (3, 7))),
])  # fmt: skip
def test_they_are_scipys_filters(text, peer):
    got = fp.convolve(IMAGE, weights(text), boundary="reflect", device="cpu")
    np.testing.assert_allclose(got, peer(IMAGE), atol=1e-12)


def test_a_laplacian_of_a_gaussian():
    mask = weights("log:1.5")
    assert mask.shape == (13, 13) and abs(mask.sum()) < 1e-15
    y, x = np.indices((13, 13)) - 6.0
    # Exact on a parabola, whose Laplacian is 4, but for what the cut-off tails leave.
    assert (mask * (x * x + y * y)).sum() == pytest.approx(4, rel=0.01)
    got = fp.convolve(IMAGE, mask, boundary="reflect", device="cpu")
    np.testing.assert_allclose(got, scipy.ndimage.gaussian_laplace(IMAGE, 1.5), atol=0.02)


def test_a_disk_is_round():
    mask = weights("disk:7")
    y, x = np.indices((7, 7)) - 3
    np.testing.assert_array_equal(mask > 0, x * x + y * y <= 12.25)
    assert mask.sum() == pytest.approx(1) and len(np.unique(mask)) == 2
    assert weights("disk:1").shape == (1, 1)


@pytest.mark.parametrize("text", ["gaussian:", "gaussian:sigma=-1", "gaussian:sigma=2,fwhm=3", "gaussian:sigma=nan", "box:2.5",
                                  "box:0", "box:3x3x3", "disk:3x3", "log:width=2", "log:1e99", "gaussian:2,2"])  # fmt: skip
def test_names_that_are_none_are_refused(text, shell):  # noqa: F811
    np.save("image.npy", IMAGE)
    code, _, err = shell("convolve", "image.npy", text, "-o", "out.npy", "-q")
    assert code == 2 and err.count("\n") == 1 and "mask" in err and "gaussian:sigma=2" in err, err


@pytest.mark.parametrize("memory", ["10MB", "100KB"])
def test_from_the_shell(memory, shell):  # noqa: F811
    image = IMAGE.astype("f4")
    np.save("image.npy", image)
    words = ["image.npy", "gaussian:sigma=2", "-o", "out.npy", "--boundary", "reflect", "--memory", memory, "--device", "cpu", "-q"]
    assert shell("convolve", *words)[0] == 0
    np.testing.assert_array_equal(np.load("out.npy"), fp.convolve(image, weights("gaussian:2"), boundary="reflect", device="cpu"))
    code, _, err = shell("convolve", "image.npy", "gaussian:sigma=20000", "-o", "new.npy", "--memory", "1GB", "-q")
    assert code == 2 and "GiB" in err


@pytest.mark.parametrize("unit", ["K", "Jy/beam"])
def test_a_gaussian_widens_the_beam_where_brightness_is_not_by_it(unit, shell):  # noqa: F811
    header = fits.Header({"CTYPE1": "RA---SIN", "CTYPE2": "DEC--SIN", "CDELT1": -0.001, "CDELT2": 0.001, "CRPIX1": 1, "CRPIX2": 1})
    header.update({"BMAJ": 0.008, "BMIN": 0.006, "BPA": 20.0, "BUNIT": unit})
    fits.writeto("in.fits", IMAGE.astype("f4"), header)
    code, _, err = shell("convolve", "in.fits", "gaussian:fwhm=6", "-o", "out.fits", "-q", "--json")
    made = fits.getheader("out.fits")
    assert code == 0, err
    if unit == "K":
        assert (made["BMAJ"], made["BMIN"], made["BPA"]) == (pytest.approx(0.01), pytest.approx(np.hypot(0.006, 0.006)), 20.0)
    else:
        assert "BMAJ" not in made
    assert "gaussian:fwhm=6" in "".join(map(str, made["HISTORY"]))
