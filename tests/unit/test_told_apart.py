"""Errors and hints about an image, its mask and its header name the one that is to be changed, and in the words that were typed."""

from __future__ import annotations

import numpy as np
import pytest
from astropy.io import fits
from astropy.wcs import WCS

import footprint as fp
from footprint.cli.main import entry

IMAGE = np.random.default_rng(1).standard_normal((24, 30)).astype("f4")
SKY = {"CTYPE1": "RA---SIN", "CTYPE2": "DEC--SIN", "CDELT1": -1 / 1800, "CDELT2": 1 / 1800, "BUNIT": "Jy/beam"}
SKY |= {"CRPIX1": 1, "CRPIX2": 1, "CRVAL1": 10, "CRVAL2": 0, "BMAJ": 12 / 3600, "BMIN": 8 / 3600, "BPA": 30.0}


@pytest.fixture
def shell(monkeypatch, capsys, tmp_path):
    """Run a command in a folder of its own; its exit code and what it says."""
    monkeypatch.chdir(tmp_path)

    def run(words):
        monkeypatch.setattr("sys.argv", ["footprint", *words.split()])
        with pytest.raises(SystemExit) as exit_:
            entry()
        return exit_.value.code, "".join(capsys.readouterr())

    return run


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"mask": IMAGE * 0 + 1}, r"^mask: got float32 \(24, 30\), 0 nowhere, which leaves out every pixel.*give mask == 0"),
        ({"weight": IMAGE * 0}, r"^weight: got float32 \(24, 30\), above 0 nowhere, which leaves out every pixel"),
        ({"mask": IMAGE < 0, "weight": IMAGE * 0 - 1}, "^weight: got"),
        ({"mask": IMAGE < 0, "weight": IMAGE < 0}, "^image: got .* without a finite pixel that mask and weight would leave"),
        ({"blank": "zero"}, "^image: got .* without a finite pixel other than 0, wanted"),
    ],
    ids=("mask", "weight", "negative", "together", "zero"),
)
@pytest.mark.parametrize("about", [{}, {"background": "mesh", "box": 8}], ids=("global", "mesh"))
def test_who_leaves_no_pixel_is_named(given, sentence, about):
    image = IMAGE * 0 if "blank" in given else IMAGE
    with pytest.raises(fp.ShapeError, match=sentence):
        fp.find_sources(image, device="cpu", **about, **given)


def test_a_masked_array_without_a_pixel_has_its_mask_named():
    image = np.ma.array(IMAGE, mask=True)
    for verb in (fp.find_sources, fp.sigma_clip, lambda image: fp.background(image, box=8)):
        with pytest.raises(fp.ArgumentError, match=r"mask: got bool \(24, 30\), 0 nowhere, which leaves out every pixel"):
            verb(image)
    with pytest.raises(fp.ShapeError, match=r"^image: got float32 \(24, 30\) without a finite pixel, wanted at least one"):
        fp.sigma_clip(IMAGE * np.nan)


def test_the_shell_names_the_mask(shell):
    fits.writeto("i.fits", IMAGE)
    fits.writeto("m.fits", np.ones((24, 30), "u1"))
    code, said = shell("sources i.fits --mask m.fits --device cpu")
    assert code == 2 and "mask" in said and "0 nowhere" in said and "i.fits: holds" not in said


def test_a_wcs_is_no_header_since_it_has_neither_beam_nor_unit():
    wcs = WCS(fits.Header(SKY))
    for call in (lambda: fp.find_sources(IMAGE, header=wcs), lambda: fp.match_beam(IMAGE, wcs, "20arcsec")):
        with pytest.raises(fp.ArgumentError, match="give the image's own header: a WCS has no beam and no unit"):
            call()
    for call in (lambda: fp.find_sources(IMAGE, wcs=wcs), lambda: fp.match_beam(IMAGE, wcs=wcs, target="20arcsec")):
        with pytest.raises(TypeError, match="that is header= here, the image's own: a WCS has no beam and no unit"):
            call()


@pytest.mark.parametrize("word", ["beam", "targetres", "major", "bmaj", "target_beam", "new_beam"])
def test_the_beam_that_is_wanted_is_the_target(word):
    with pytest.raises(TypeError, match="that is target= here"):
        fp.match_beam(IMAGE, SKY, **{word: "20arcsec"})
    if word == "beam":
        with pytest.raises(TypeError, match="that is header= here"):
            fp.find_sources(IMAGE, beam="20arcsec")


def test_an_hdu_is_two_things_to_match_beam():
    for pixels in (IMAGE, IMAGE[None, None]):
        hdu = fits.PrimaryHDU(pixels, fits.Header(SKY))
        with pytest.raises(TypeError, match=r"missing 1 .*'target'; give an HDU's array and its header apart, hdu\.data and"):
            fp.match_beam(hdu, "20arcsec")
        with pytest.raises(fp.ArgumentError, match=r"image: got a PrimaryHDU, wanted an array; give its \.data"):
            fp.match_beam(hdu, hdu.header, "20arcsec")


@pytest.mark.parametrize("word", ["beam:15x20", "beam:0", "beam:9999999"])
def test_a_beam_of_the_shell_is_answered_in_its_words(shell, word):
    fits.writeto("i.fits", IMAGE, fits.Header(SKY))
    code, said = shell(f"convolve i.fits {word} -o o.fits --device cpu")
    assert code == 2 and f"mask: got '{word}', wanted a beam such as beam:12arcsec" in said and "larger axis first" in said
    assert shell("convolve i.fits beam:20x15 -o o.fits --device cpu")[0] == 0


@pytest.mark.parametrize("unit", ["jy/b", "Jy/b", "mJy/B", "JY / B"])
def test_a_beam_that_is_spelt_by_its_first_letter(unit):
    image = IMAGE.copy()
    image[12:14, 10:12] += 40
    one, other = (fp.find_sources(image, 8, header=SKY | {"BUNIT": text}, device="cpu") for text in (unit, "Jy/beam"))
    assert np.array_equal(one["flux"], other["flux"]) and str(one["flux"].unit) == ("mJy" if unit[0] == "m" else "Jy")
    matched, plain = (fp.match_beam(image, SKY | {"BUNIT": text}, "20arcsec", device="cpu")[0] for text in (unit, "Jy/beam"))
    assert np.array_equal(matched, plain)
