"""FITS HDUs as arguments: as images, masks, weights and labels; which of a file's is meant, and what is said of names."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from astropy.io import fits
from click.testing import CliRunner

import footprint as fp
from footprint.cli.main import main


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


@pytest.fixture
def chips(image, tmp_path):
    """A file of chips, and one of a single image."""
    hdus = [fits.PrimaryHDU(), *(fits.ImageHDU(np.roll(image, 7 * k, 1), name=f"CCD{k}") for k in (1, 2, 3))]
    fits.HDUList(hdus).writeto(tmp_path / "ccds.fits")
    fits.writeto(tmp_path / "one.fits", image)
    return tmp_path


def shell(*words):
    result = CliRunner().invoke(main, ["sources", *map(str, words), "--sigma", "8", "--device", "cpu"])
    return result, result.output + result.stderr


def test_which_extension_was_searched_is_said(chips):
    """Of four chips one was searched, and neither the screen nor the catalogue said which."""
    with pytest.warns(UserWarning, match=r"only CCD1 of 3 extensions with an image is read; '.*ccds\.fits\[CCD2\]' is the next"):
        shell(chips / "ccds.fits", "-o", chips / "a.ecsv")
    assert fp.read_catalog(chips / "a.ecsv").meta["extension"] == "CCD1"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ("ccds.fits[CCD2]", "one.fits"):
            result, _ = shell(chips / name, "-o", chips / "b.ecsv", "--overwrite")
            assert result.exit_code == 0 and "extension" not in fp.read_catalog(chips / "b.ecsv").meta


@pytest.mark.parametrize("words", ["convolve IMAGE box:3", "filter median IMAGE --size 3"])
def test_a_filtered_image_is_told_of_others_beside_it(chips, words):
    """They were dropped without a word."""
    line = words.replace("IMAGE", str(chips / "ccds.fits")).split()
    with pytest.warns(UserWarning, match="only CCD1 of 3 extensions with an image is read"):
        result = CliRunner().invoke(main, [*line, "-o", str(chips / "new.fits"), "--device", "cpu"])
    assert result.exit_code == 0, result.output
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        line = words.replace("IMAGE", str(chips / "ccds.fits[CCD2]")).split()
        assert CliRunner().invoke(main, [*line, "-o", str(chips / "b.fits"), "--device", "cpu"]).exit_code == 0


def test_extensions_of_one_file_have_outputs_of_their_own(chips):
    """They were refused for equal names."""
    names = [f"{chips / 'ccds.fits'}[{word}]" for word in ("CCD1", "CCD2", "3")]
    result, said = shell(*names, chips / "one.fits", "-o", f"{chips}/d/", "--segmentation", f"{chips}/d/")
    assert result.exit_code == 0, said
    stems = ("ccds_CCD1", "ccds_CCD2", "ccds_3", "one")
    assert sorted(path.name for path in (chips / "d").iterdir()) == sorted(
        f"{stem}{end}" for stem in stems for end in (".ecsv", ".fits")
    )
    tables = [fp.read_catalog(chips / "d" / f"{stem}.ecsv") for stem in stems]
    assert [round(float(table["x"][0])) for table in tables] == [38, 45, 52, 31]


def test_discs_are_summed_at_places_where_no_shape_is_known(image, tmp_path):
    """Optical images have no beam, and it was an error to give none."""
    at = [(31.2, 21.0), (61.0, 41.4), (np.nan, 3.0), (5.0, 5.0)]
    found = fp.measure_at(image, at, apertures=[3, 5], device="cpu")
    level, noise = (found.meta[name] for name in ("background", "noise"))
    want = fp.apertures(image, at, [3, 5], background=level, noise=noise, device="cpu")
    assert same(found, want) and found["aper1_flux"][0] > 400
    with pytest.raises(fp.ArgumentError, match="give a, b and theta, or apertures to sum over alone"):
        fp.measure_at(image, at, device="cpu")
    plan = fp.plan_measure_at(image.shape, len(at), apertures=[3, 5], device="cpu")
    seen = []
    fp.measure_at(image, at, apertures=[3, 5], device="cpu", on_plan=seen.append)
    assert seen[0].nbytes == plan.nbytes


def test_the_shell_sums_discs_at_places_and_holds_shapes_of_numbers(image, tmp_path):
    fits.writeto(tmp_path / "a.fits", image)
    (tmp_path / "c.csv").write_text("x,y\n31,21\n61,41\n")
    run = lambda *words: CliRunner().invoke(main, ["sources", str(tmp_path / "a.fits"), "--at", str(tmp_path / "c.csv"), *words])
    out = tmp_path / "b.ecsv"
    assert run("--apertures", "3", "-o", str(out)).exit_code == 0
    want = fp.measure_at(image, [(31, 21), (61, 41)], apertures=3)
    assert np.array_equal(fp.read_catalog(out)["aper1_flux"], want["aper1_flux"])
    assert "aper1_flux_err" in run("--apertures", "3").output
    assert run("--shapes", "1.6,1.2,30", "-o", str(out), "--overwrite").exit_code == 0
    want = fp.measure_at(image, [(31, 21), (61, 41)], shapes=(1.6, 1.2, 30))
    assert np.array_equal(fp.read_catalog(out)["fit_flux"], want["fit_flux"])
    for word in ("1.6,1.6", "1,0,3", "beam", "nan,1,0"):
        assert "A,B,THETA: standard deviations" in str(run("--shapes", word).exception)
    planned = ["plan", "sources", str(tmp_path / "a.fits"), "--at", str(tmp_path / "c.csv"), "--apertures", "3"]
    assert CliRunner().invoke(main, planned).exit_code == 0
