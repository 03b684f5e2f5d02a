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


VOLUME = RNG.standard_normal((9, 14, 12))


@pytest.mark.parametrize(("text", "image", "options", "peer"), [
    ("gaussian:sigma=2", IMAGE, {}, lambda x: scipy.ndimage.gaussian_filter(x, 2)),
    ("gaussian:2", IMAGE[0], {}, lambda x: scipy.ndimage.gaussian_filter(x, 2)),
    ("gaussian:1,truncate=3", VOLUME, {}, lambda x: scipy.ndimage.gaussian_filter(x, 1, truncate=3)),
    ("gaussian:1", VOLUME, {"axes": (0, -1)}, lambda x: scipy.ndimage.gaussian_filter(x, (1, 0, 1))),
    ("box:5", VOLUME, {"axes": 1}, lambda x: scipy.ndimage.uniform_filter(x, (1, 5, 1))),
    ("box:3x1x5", VOLUME, {}, lambda x: scipy.ndimage.uniform_filter(x, (3, 1, 5))),
    ("log:2,truncate=6", IMAGE[0], {}, lambda x: scipy.ndimage.gaussian_laplace(x, 2, truncate=6)),
    ("log:1,truncate=6", VOLUME, {}, lambda x: scipy.ndimage.gaussian_laplace(x, 1, truncate=6)),
    # Of more weights than are made before there is a plan.
    ("gaussian:sigma=9", IMAGE, {"method": "direct"}, lambda x: scipy.ndimage.gaussian_filter(x, 9)),
])  # fmt: skip
def test_python_takes_the_names_too(text, image, options, peer):
    on = {"boundary": "reflect", "device": "cpu", **options}
    # The sum of a Laplacian's weights is 0 here, and nearly so in SciPy.
    atol = 1e-5 if text.startswith("log") else 1e-7
    np.testing.assert_allclose(fp.convolve(image, text, **on), peer(image), atol=atol)
    np.testing.assert_allclose(fp.correlate(mask=text, image=image.tolist(), **on), peer(image), atol=atol)


def test_every_verb_with_a_mask_takes_one_by_name(tmp_path):
    image, on = IMAGE.astype("f4"), {"device": "cpu"}
    mask = weights("gaussian:1")
    want = fp.convolve(image, mask, **on)
    for frame in fp.stream(iter([image, image]), mask="gaussian:1", **on):
        np.testing.assert_array_equal(frame, want)
    for shape, verb in (
        ((60, 50), fp.plan_convolve),
        ((60, 50), fp.plan_correlate),
        ((60, 50), fp.plan_convolve_rows),
        ((3, 60, 50), fp.plan_convolve_frames),
    ):
        assert (
            verb(shape, "gaussian:1", **on).nbytes
            == verb(shape, mask.shape if "ows" in verb.__name__ or "frames" in verb.__name__ else mask, **on).nbytes
        )
    out = np.empty((2, 60, 50), "f4")

    def put(*where_and_block):
        out[0, slice(*where_and_block[:-1])] = where_and_block[-1]

    fp.convolve_rows(lambda r0, r1, to: np.copyto(to, image[r0:r1]), (60, 50), "float32", "gaussian:1", put, **on)
    np.testing.assert_array_equal(out[0], want)
    fp.convolve_frames(
        lambda _, to: np.copyto(to, image), (1, 60, 50), "float32", "gaussian:1", lambda i, b: np.copyto(out[1], b), **on
    )
    np.testing.assert_array_equal(out[1], want)
    assert fp.estimate_required_memory("convolve", (60, 50), "gaussian:1", **on) >= 0
    dask = pytest.importorskip("dask.array", reason="dask is not installed")
    lazy = fp.convolve(dask.from_array(image, chunks=20), "gaussian:1", **on)
    np.testing.assert_array_equal(lazy.compute(scheduler="synchronous"), want)


@pytest.mark.parametrize("suffix", ["npy", "fits", "tif"])
def test_masks_in_files(suffix, tmp_path):
    mask, path = RNG.standard_normal((5, 4)).astype("f4"), tmp_path / f"mask.{suffix}"
    with fp.create_image(path, mask.shape, "float32") as made:
        made.write(slice(0, 5), mask)
    for name in (path, str(path)):
        np.testing.assert_array_equal(fp.convolve(IMAGE, name, device="cpu"), fp.convolve(IMAGE, mask, device="cpu"))
    if suffix == "npy":
        for image, other in ((IMAGE[0], mask[0]), (VOLUME, VOLUME[:3, :2, :3])):
            np.save(path, other)
            np.testing.assert_array_equal(fp.convolve(image, path, device="cpu"), fp.convolve(image, other, device="cpu"))


def test_names_that_python_refuses(tmp_path):
    np.save(tmp_path / "cut.npy", VOLUME)
    (tmp_path / "cut.npy").write_bytes((tmp_path / "cut.npy").read_bytes()[:500])
    np.save(tmp_path / "nan.npy", np.full((3, 3), np.nan))
    for word, image, said in (
        ("gaussian:sigma=-1", IMAGE, "a sigma above 1e-9"),
        ("gaussian:sigma=1e-200", IMAGE, "a sigma above 1e-9"),
        ("box:3x3", IMAGE[0], "whole numbers of pixels, one or 1"),
        ("disk:5", VOLUME, "wanted a mask for 3 axes; a disk has two"),
        ("beam:12arcsec", IMAGE, "match_beam"),
        ("gauss:2", IMAGE, "masks by name are gaussian:sigma=2"),
        (tmp_path / "none.fits", IMAGE, "there is no such file"),
        (tmp_path / "cut.npy", VOLUME, "cannot be read"),
        (tmp_path / "nan.npy", IMAGE, "NaN or infinite"),
        ("", IMAGE, "gaussian:sigma=2"),
        ("box:3", np.float64(3), "image: got a single number"),
        ("box:3", [[1, 2], [3]], "image: got a list of uneven rows"),
    ):
        with pytest.raises(fp.FootprintError, match=said) as caught:
            fp.convolve(image, word)
        assert "\n" not in str(caught.value)
    with pytest.raises(fp.ArgumentError, match="shape: got 5"):
        fp.plan_convolve(5, "box:3")
    for mask in ("box:3", np.ones((3, 3))):
        with pytest.raises(fp.ArgumentError, match="masks: got an ndarray"):
            fp.convolve(IMAGE, mask, masks=np.ones((2, 3, 3)))
    with pytest.raises(fp.ArgumentError, match="masks: got 'all', wanted 'one' beside a mask by name"):
        fp.convolve(IMAGE, "box:3", masks="all")
    with pytest.raises(TypeError, match="boundary= here"):
        fp.convolve(IMAGE, "box:3", border="wrap")
    # Not a byte is made of what does not fit.
    with pytest.raises(fp.BudgetError, match="GiB"):
        fp.convolve(IMAGE, "gaussian:sigma=20000", memory="1GB", device="cpu")


def test_colours_are_no_third_dimension_without_a_word():
    dask = pytest.importorskip("dask.array", reason="dask is not installed")
    photo = RNG.integers(0, 256, (40, 50, 3)).astype("u1")
    for ask in (
        lambda: fp.convolve(photo, "box:5"),
        lambda: fp.correlate(photo.tolist(), "gaussian:1"),
        lambda: fp.convolve(photo.astype("f4"), "disk:3"),
        lambda: fp.plan_convolve((40, 50, 4), "box:5", dtype="uint8"),
        lambda: fp.convolve(dask.from_array(photo), "box:5"),
    ):
        with pytest.raises(fp.ArgumentError, match=r"axes: got None for the mask .*; \(0, 1\) filters every colour of a picture"):
            ask()
    on = {"boundary": "reflect", "device": "cpu"}
    for axes, size in ((0, 1), (5, 5, 1)), ((0, 1, 2), 5):
        want = scipy.ndimage.uniform_filter(photo.astype("f8"), size)
        np.testing.assert_allclose(fp.convolve(photo, "box:5", axes=axes, **on), want, rtol=1e-5)
    # A mask of three sizes says what it is for, and so do few planes of few rows, and masks of a file.
    want = scipy.ndimage.uniform_filter(photo.astype("f8"), (5, 5, 3))
    np.testing.assert_allclose(fp.convolve(photo, "box:5x5x3", **on), want, rtol=1e-5)
    for few in photo[:4], photo[:, :4], photo[..., :2]:
        fp.convolve(few, "box:3", **on)


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
