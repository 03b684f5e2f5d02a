"""The mask of ``footprint convolve``: planned before it is read, read a block at a time, refused in one sentence."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from astropy.io import fits
from astropy.wcs import WCS
from PIL import Image as Pillow

import footprint as fp
from footprint.__main__ import entry
from footprint.io.image import Image

RNG = np.random.default_rng(5)


@pytest.fixture
def shell(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["footprint", *map(str, words)])
        with pytest.raises(SystemExit) as exit_:
            entry()
        said = capsys.readouterr()
        return exit_.value.code or 0, said.out, said.err

    return run


def sparse(path, shape, dtype="f4"):
    """A file of so many zeros that takes no room."""
    np.lib.format.open_memmap(path, "w+", dtype, shape).flush()


@pytest.mark.parametrize("shape", [(64, 60), (3, 64, 60)])
def test_a_mask_too_large_for_the_budget_is_not_read(shape, shell, tmp_path, monkeypatch):
    np.save("image.npy", np.zeros(shape, "f4"))
    sparse("mask.npy", (20_000, 20_000))
    read = Image.read
    monkeypatch.setattr(Image, "read", lambda self, *a: pytest.fail("read") if "mask" in self.path else read(self, *a))
    code, _, err = shell("convolve", "image.npy", "mask.npy", "-o", "out.npy", "--memory", "20MB", "--device", "cpu", "-q")
    assert code == 2 and "1.49 GiB" in err and not (tmp_path / "out.npy").exists(), err
    code, _, err = shell("plan", "convolve", "image.npy", "mask.npy", "--memory", "20MB", "--device", "cpu")
    assert code == 2 and "1.49 GiB" in err, err


@pytest.mark.parametrize("more", [[], ["--correlate"]])
@pytest.mark.parametrize("kind", [">f8", "i2", "f4"])
@pytest.mark.parametrize("shape", [(5, 4), (1, 7), (90, 101)])
def test_masks_of_files_do_as_arrays_do(shape, kind, more, shell):
    image, mask = RNG.standard_normal((71, 66)).astype("f4"), (50 * RNG.standard_normal(shape)).astype(kind)
    np.save("image.npy", image)
    np.save("mask.npy", mask)
    want = (fp.correlate if more else fp.convolve)(image, mask, boundary="wrap", device="cpu")
    plan_words = ["image.npy", "mask.npy", "-o", "out.npy", "--boundary", "wrap", "--device", "cpu", "--overwrite", "-q", *more]
    # Transforms of tiles, as of the last, take more than direct sums.
    for memory in ("10MB", "250KB" if shape != (90, 101) else "900KB"):
        code, _, err = shell("convolve", *plan_words, "--memory", memory)
        assert code == 0, err
        np.testing.assert_array_equal(np.load("out.npy"), want)


@pytest.mark.parametrize("shape", [(64, 600), (3, 64, 60)])
@pytest.mark.parametrize("mask", ["mask.npy", "gaussian:sigma=9"])
def test_the_plan_that_is_shown_is_the_one_that_is_run(mask, shape, shell):
    np.save("image.npy", RNG.standard_normal(shape).astype("f4"))
    np.save("mask.npy", RNG.standard_normal((300, 310)))
    words = ["image.npy", mask, "-o", "out.npy", "--device", "cpu", "--json"]
    planned, run = (json.loads(shell(*verb, *words)[1]) for verb in (("plan", "convolve"), ("convolve",)))
    assert planned["plan_total"] == run["plan_total"] > 0


def test_a_mask_in_the_images_place_and_other_programs_options(shell):
    np.save("image.npy", np.ones((5, 5), "f4"))
    for words in (["box:3", "image.npy"], ["beam:3arcsec", "image.npy"]):
        code, _, err = shell("plan", "convolve", *words)
        assert code == 2 and "wanted an image, as the mask comes after it" in err, err
    code, _, err = shell("convolve", "image.npy", "box:3", "-o", "out.npy", "--border", "wrap")
    assert code == 2 and "no such option '--border'; that is --boundary here; see" in err, err


def test_weights_that_are_no_numbers_are_refused(shell, tmp_path):
    mask = np.ones((5, 5))
    mask[3, 1] = np.nan
    np.save("mask.npy", mask)
    for shape in ((20, 20), (2, 20, 20)):
        np.save("image.npy", np.ones(shape, "f4"))
        code, _, err = shell("convolve", "image.npy", "mask.npy", "-o", "out.npy", "-q")
        assert code == 2 and "mask.npy: holds weights that are NaN" in err and not (tmp_path / "out.npy").exists(), err


@pytest.mark.parametrize("more", [[], ["--correlate"]])
@pytest.mark.parametrize("mode", ["same", "full", "valid"])
@pytest.mark.parametrize("shape", [(5, 7), (4, 6)])
def test_a_header_says_where_pixels_lie_and_what_was_done(shape, mode, more, shell):
    header = fits.Header()
    for axis, (kind, step) in enumerate((("RA---SIN", -0.01), ("DEC--SIN", 0.01)), 1):
        header[f"CTYPE{axis}"], header[f"CDELT{axis}"], header[f"CRPIX{axis}"] = kind, step, 10.0 + axis
    header["CRVAL2"], header["BUNIT"], header["OBJECT"] = 45.0, "Jy/beam", "M 31"
    header["BMAJ"], header["BMIN"], header["BPA"] = 0.03, 0.02, 10.0
    header.add_history("AIPS   CLEAN BMAJ=  1.2E-02 BMIN=  1.1E-02 BPA=   5.0")
    image = np.zeros((30, 40), "f4")
    image[12, 17] = 1
    fits.writeto("in.fits", image, header)
    np.save("mask.npy", np.pad([[1.0]], [((k - 1) // 2, k // 2) for k in shape]) if not more
            else np.pad([[1.0]], [(k // 2, (k - 1) // 2) for k in shape]))  # fmt: skip
    code, _, err = shell("convolve", "in.fits", "mask.npy", "-o", "out.fits", "--mode", mode, *more)
    assert code == 0 and "the beam (BMAJ, BMIN, BPA) is left out" in err, err
    values, made = fits.getdata("out.fits"), fits.getheader("out.fits")
    ((y, x),) = np.argwhere(values == 1)
    sky = WCS(header).pixel_to_world(17, 12)
    assert WCS(made).pixel_to_world(x, y).separation(sky).arcsec < 1e-6
    assert made["OBJECT"] == "M 31" and made["BUNIT"] == "Jy/beam"
    assert not {"BMAJ", "BMIN", "BPA"} & set(made)
    with fp.open_image("out.fits") as result:
        assert result.beam is None
    told = "".join(map(str, made["HISTORY"]))
    for word in (f"footprint {fp.__version__}", "mask.npy", f"{shape[0]} x {shape[1]}", f"mode {mode}", "BMAJ 0.03", "BUNIT"):
        assert word in told
    # A mask of one weight changes no beam.
    np.save("one.npy", np.ones((1, 1)))
    assert shell("convolve", "in.fits", "one.npy", "-o", "one.fits", "-q")[0] == 0
    assert fits.getheader("one.fits")["BMAJ"] == 0.03


def test_a_cube_filtered_frame_by_frame_keeps_its_header(shell):
    header = fits.Header(
        {"CTYPE1": "RA---SIN", "CRPIX1": 3.0, "CTYPE2": "DEC--SIN", "CTYPE3": "FREQ", "CRPIX3": 1.0, "OBJECT": "x"}
    )
    fits.writeto("in.fits", np.ones((3, 12, 14), "f4"), header)
    np.save("mask.npy", np.ones((3, 5)))
    assert shell("convolve", "in.fits", "mask.npy", "-o", "out.fits", "--mode", "full", "-q")[0] == 0
    made = fits.getheader("out.fits")
    assert (made["CRPIX1"], made["CRPIX2"], made["CRPIX3"], made["OBJECT"]) == (5.0, 1, 1.0, "x")


def test_holes_are_filled_from_what_is_known(shell, tmp_path):
    image, mask = RNG.standard_normal((71, 66)).astype("f4"), RNG.random((5, 4))
    image[RNG.random(image.shape) < 0.2] = np.nan
    fits.writeto("image.fits", image)
    np.save("stack.npy", np.stack([image, image[::-1]]))
    np.save("mask.npy", mask)
    np.save("slope.npy", [[-1.0, 0, 1]])
    for nan in ("interpolate", "ignore"):
        words = ["mask.npy", "--nan", nan, "--device", "cpu", "-q", "--overwrite"]
        code, _, err = shell("convolve", "image.fits", *words, "-o", "out.fits", "--memory", "600KB")
        assert code == 0, err
        want = fp.convolve(image, mask, nan=nan, device="cpu")
        np.testing.assert_array_equal(fits.getdata("out.fits"), want)
        assert f"nan {nan}" in "".join(map(str, fits.getheader("out.fits")["HISTORY"]))
        code, _, err = shell("convolve", "stack.npy", *words, "-o", "out.npy")
        assert code == 0, err
        np.testing.assert_array_equal(np.load("out.npy")[0], want)
    for image in ("image.fits", "stack.npy"):
        code, _, err = shell("convolve", image, "slope.npy", "--nan", "interpolate", "-o", "not.npy", "--device", "cpu", "-q")
        assert code == 2 and "slope.npy: holds weights whose sum is 0" in err and not (tmp_path / "not.npy").exists(), err


def test_a_beam_by_name_is_the_images_afterwards(shell):
    header = fits.Header({"CTYPE1": "RA---SIN", "CTYPE2": "DEC--SIN", "CDELT1": -1 / 3600, "CDELT2": 1 / 3600, "BUNIT": "Jy/beam"})
    header["BMAJ"], header["BMIN"], header["BPA"] = 6 / 3600, 4 / 3600, 30.0
    image = RNG.standard_normal((80, 90)).astype("f4")
    fits.writeto("in.fits", image, header)
    code, _, err = shell("convolve", "in.fits", "beam:12x8,pa=50", "-o", "out.fits", "--device", "cpu")
    assert code == 0, err
    want, _ = fp.match_beam(image, header, (12 / 3600, 8 / 3600, 50), device="cpu")
    np.testing.assert_array_equal(fits.getdata("out.fits"), want)
    for words in ("12x8,pa=50", "beam:12x8 arcsec, pa=50"):
        np.testing.assert_array_equal(fp.match_beam(image, header, words, device="cpu")[0], want)
    # What is per beam is by the old one after a Gaussian of the same width.
    code, _, err = shell("convolve", "in.fits", "gaussian:sigma=2", "-o", "mean.fits", "--device", "cpu", "-q")
    assert code == 0 and "a mask such as beam:12arcsec gives the image that beam" in err, err
    assert "BMAJ" not in fits.getheader("mean.fits")
    with fp.open_image("out.fits") as result:
        assert (result.beam.major, result.beam.minor, result.beam.angle) == pytest.approx((12 / 3600, 8 / 3600, 50))
    assert "convolved to the beam 12 x 8 arcsec at 50 degrees" in str(fits.getheader("out.fits")["HISTORY"]).replace("\n", "")
    np.save("plain.npy", image)
    for words, told in ((("in.fits", "beam:5"), "lies within"), (("in.fits", "beam:wide"), "beam:12arcsec"),
                        (("plain.npy", "beam:12"), "no header"), (("in.fits", "beam:12", "--mode", "full"), "same")):  # fmt: skip
        code, _, err = shell("convolve", *words, "-o", "no.fits", "-q", "--device", "cpu")
        assert code == 2 and told in err and len(err.strip().splitlines()) == 1, err


def test_methods_by_name(shell):
    image = RNG.standard_normal((300, 310)).astype("f4")
    np.save("image.npy", image)
    words = ["image.npy", "gaussian:sigma=6", "--device", "cpu", "--method", "separable", "--json"]
    code, said, err = shell("plan", "convolve", *words)
    assert code == 0 and "separable, 1 product of" in said, said
    made = {}
    for method in ("direct", "fft", "separable", "auto"):
        words = ["image.npy", "gaussian:sigma=6", "-o", f"{method}.npy", "--device", "cpu", "-q", "--method", method]
        code, _, err = shell("convolve", *words)
        assert code == 0, err
        made[method] = np.load(f"{method}.npy")
        np.testing.assert_allclose(made[method], made["direct"], rtol=0, atol=5e-6)
    assert not np.array_equal(made["fft"], made["direct"]) and not np.array_equal(made["separable"], made["direct"])
    np.testing.assert_array_equal(made["auto"], made["fft"])
    np.save("eye.npy", np.eye(30))
    for mask, method, word in (("eye.npy", "separable", "not a sum of"), ("eye.npy", "quick", "one of auto, direct")):
        code, _, err = shell("convolve", "image.npy", mask, "-o", "out.npy", "-q", "--method", method, "--device", "cpu")
        assert code == 2 and word in err and len(err.strip().splitlines()) == 1, err


def test_what_is_masked_and_weighs_lies_in_files(shell):
    image, bad = RNG.standard_normal((90, 66)).astype("f4"), RNG.random((90, 66)) < 0.2
    weight = RNG.uniform(0.5, 2, bad.shape).astype(">f4")
    np.save("stack.npy", np.stack([image, 2 * image]))
    fits.writeto("image.fits", image)
    fits.writeto("bad.fits", bad.astype("u1"))
    np.save("weight.npy", weight)
    Pillow.fromarray(bad).save("bad.png")
    mask = np.outer(*[np.exp(-0.5 * (np.arange(-4, 5) / 2) ** 2)] * 2)
    np.save("mask.npy", mask)
    how = {"weight": weight, "device": "cpu"}
    want = fp.convolve(image, mask, masked=bad, **how)
    words = ["mask.npy", "-o", "out.fits", "--device", "cpu", "--masked", "bad.fits", "--weight", "weight.npy"]
    for memory, parts in (("1MB", 1), ("80KB", 0)):
        given = ["image.fits", *words, "--memory", memory, "--json"]
        planned, run = json.loads(shell("plan", "convolve", *given)[1]), json.loads(shell("convolve", *given, "--overwrite")[1])
        assert planned["plan_total"] == run["plan_total"] > 0 and (run["runs"] == 1) is bool(parts), run
        np.testing.assert_array_equal(fits.getdata("out.fits"), want)
    assert "masked bad.fits, weight weight.npy" in "".join(map(str, fits.getheader("out.fits")["HISTORY"]))
    words[2], words[6] = "out.npy", "bad.png"
    code, _, err = shell("convolve", "stack.npy", *words, "-q")
    assert code == 0, err
    np.testing.assert_array_equal(np.load("out.npy"), [want, fp.convolve(2 * image, mask, masked=bad, **how)])
    np.save("weight.npy", weight[1:])
    for source in ("stack.npy", "image.fits"):
        code, _, err = shell("convolve", source, *words, "--overwrite")
        assert code == 2 and "weight.npy: has the shape (89, 66); weight is of the image's, (90, 66)." in err
    np.save("weight.npy", np.stack([weight, weight]))
    code, _, err = shell("convolve", "image.fits", *words, "--overwrite")
    assert code == 2 and "weight.npy: holds a cube of shape (2, 90, 66), not one image; --weight is one plane." in err


def test_what_is_no_mask_and_what_may_be_a_picture_is_told(shell):
    np.save("colours.npy", np.zeros((8, 9, 3), "f4"))
    Pillow.fromarray(np.ones((3, 3), "u1")).save("mask.png")
    for mask, told in (("gaussian", "masks by name are gaussian:sigma=2"), ("mask.png", "save the picture's weights as .npy")):
        code, _, err = shell("convolve", "colours.npy", mask, "-o", "out.npy")
        assert code == 2 and told in err
    code, _, err = shell("convolve", "colours.npy", "box:3", "-o", "out.npy", "--device", "cpu")
    assert code == 0 and "colours.npy: is filtered as 8 frames of 9 x 3 pixels; save a picture as PNG" in err
