"""What comes with the pixels of an image: units, beams, coordinates, blanks. An array with its header is its file."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor

import astropy.units as u
import numpy as np
import pytest
from astropy.io import fits
from astropy.nddata import CCDData
from astropy.utils.masked import Masked
from astropy.wcs import WCS

import footprint as fp
from footprint.api._onsky import Told
from footprint.api._sky import sky_of

SKY = {"CTYPE1": "RA---SIN", "CTYPE2": "DEC--SIN", "CRPIX1": 65, "CRPIX2": 60, "CRVAL1": 10.0, "CRVAL2": -30.0}
SKY |= {"CDELT1": -0.002, "CDELT2": 0.002, "CUNIT1": "deg", "CUNIT2": "deg"}
BEAM = {"BMAJ": 0.01, "BMIN": 0.008, "BPA": 20.0}
AREA = np.pi * 0.01 * 0.008 / (4 * np.log(2)) / 0.002**2


@pytest.fixture
def image(rng):
    data = rng.standard_normal((120, 130)).astype(np.float32)
    data[30:34, 40:43] += 60
    data[100:102, 10:15] += 40
    return data


def found(image, header=None, **options):
    """The catalogue and what was warned of."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        table = fp.find_sources(image, 8.0, header=header, device="cpu", **options)
    return table, [str(w.message) for w in told if w.category is UserWarning]


def same(a, b):
    return a.colnames == b.colnames and all(np.array_equal(a[n], b[n], equal_nan=a[n].dtype.kind == "f") for n in a.colnames)


@pytest.mark.parametrize("kind", ["header", "dict", "list"])
def test_an_array_with_its_header_is_its_file_whoever_wrote_the_beam(tmp_path, image, kind):
    header = fits.Header(SKY | {"BUNIT": "JY/BEAM"})
    header.add_history("AIPS   IMNAME=OLD BMAJ=  1.0000E-01 BMIN=  1.0000E-01 BPA=   0.00")
    header.add_history("AIPS   CLEAN BMAJ=  1.0000E-02 BMIN=  8.0000E-03 BPA=  20.00")
    fits.writeto(tmp_path / "a.fits", image, header)
    with fp.open_image(tmp_path / "a.fits") as file:
        ours, told = found(file)
    given = {"header": header, "dict": dict(header), "list": SKY | {"BUNIT": "JY/BEAM", "HISTORY": list(header["HISTORY"])}}[kind]
    array, _ = found(image, given)
    assert same(ours, array) and ours["flux"].unit == array["flux"].unit == u.Jy and told == []
    assert np.isclose(ours.meta["beam_area"], AREA) and ours.meta == array.meta and ours.meta["beam_major"] == 0.01
    plain, _ = found(image)
    assert np.allclose(ours["flux"] * AREA, plain["flux"], rtol=1e-12)


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("JY/BEAM", "Jy"), ("beam-1 Jy", "Jy"), ("Jansky/beam", "Jy"), ("Jy/bm", "Jy"), ("Jy beam^-1", "Jy"), ("mJy/beam", "mJy"),
        ("MJY/BEAM", "mJy"), ("\u00b5Jy/beam", "uJy"), ("uJy beam-1", "uJy"), ("Jy/beam.km/s", "Jy km / s"),
        ("Jy/beam km/s", "Jy km / s"),
    ],
)  # fmt: skip
def test_a_brightness_by_the_beam_becomes_a_flux_however_it_is_spelt(image, text, unit):
    table, told = found(image, SKY | BEAM | {"BUNIT": text})
    assert table["flux"].unit == u.Unit(unit) and told == []
    assert np.allclose(table["flux"] * AREA, found(image)[0]["flux"], rtol=1e-12)


@pytest.mark.parametrize(
    ("text", "unit", "factor"),
    [
        ("Jy/pixel", u.Jy, 1.0),
        ("mJy/pix", u.mJy, 1.0),
        ("MJy/sr", u.Jy, 1e6 * np.radians(0.002) ** 2),
        ("Jy/arcsec**2", u.Jy, (0.002 * 3600) ** 2),
        ("ADU", u.adu, 1.0),
        ("counts", u.ct, 1.0),
    ],
)
def test_sums_of_other_units(image, text, unit, factor):
    table, told = found(image, SKY | {"BUNIT": text})
    assert table["flux"].unit == unit and told == []
    assert np.allclose(table["flux"], factor * found(image)[0]["flux"], rtol=1e-9)


@pytest.mark.parametrize(
    ("cards", "word"),
    [
        (SKY | {"BUNIT": "Jy/beam"}, "no beam"),
        (BEAM | {"BUNIT": "Jy/beam"}, "no pixel size"),
        ({"BUNIT": "MJy/sr"}, "no pixel size"),
        (SKY | BEAM, "no unit"),
        (SKY | BEAM | {"BUNIT": "frobs"}, "frobs"),
        (SKY | {"BUNIT": "K"}, "in K"),
    ],
)
def test_what_is_no_flux_is_called_a_sum(image, cards, word):
    table, told = found(image, cards)
    assert len(told) == 1 and word in told[0] and "not in Jy" in told[0] and told[0] in table.meta["warnings"]
    assert word in table["flux"].description and table["flux"].unit != u.Jy
    assert np.array_equal(table["flux"], found(image)[0]["flux"])


@pytest.mark.parametrize(
    "cards",
    [
        {"CTYPE1": "RA---TAN"},
        SKY | {"CTYPE1": "HPLN-TAN", "CTYPE2": "HPLT-TAN"},
        SKY | {"CDELT1": 0.0},
        SKY | {"CUNIT1": "bananas"},
        SKY | {"CTYPE2": "FREQ"},
    ],
)
def test_coordinates_that_break_cost_no_more_than_their_columns(tmp_path, image, cards):
    table, told = found(image, cards)
    assert len(table) == 2 and "ra" not in table.colnames
    fits.writeto(tmp_path / "a.fits", image, fits.Header(cards))
    with fp.open_image(tmp_path / "a.fits") as file:
        other, said = found(file)
    assert same(table, other) and told == said
    assert all("ra and dec" in sentence for sentence in told) and (told or cards["CTYPE1"].startswith("RA---"))


def test_declination_may_come_first(image):
    turned = SKY | {"CTYPE1": "DEC--SIN", "CTYPE2": "RA---SIN", "CRVAL1": -30.0, "CRVAL2": 10.0, "CDELT1": 0.002, "CDELT2": -0.002}
    table, _ = found(image, turned)
    sky = WCS(fits.Header(turned)).pixel_to_world(table["x"], table["y"]).icrs
    assert np.allclose(table["ra"], sky.ra.deg) and np.allclose(table["dec"], sky.dec.deg)
    assert np.all(np.abs(table["dec"] + 30) < 1)


def test_astropys_containers_bring_what_they_know(image):
    header = fits.Header(SKY | BEAM | {"BUNIT": "Jy/beam"})
    wanted, _ = found(image, header)
    hole = np.zeros(image.shape, bool)
    hole[:50] = True
    blanked, _ = found(np.where(hole, np.nan, image), header)
    assert same(found(fits.PrimaryHDU(image, header))[0], wanted)
    ccd = CCDData(image, unit="Jy/beam", wcs=WCS(header), meta=dict(BEAM))
    assert same(found(ccd)[0], wanted)
    ccd.mask = hole
    assert same(found(ccd)[0], blanked) and len(blanked) == 1
    table, _ = found(image * u.mJy / u.pix)
    assert table["flux"].unit == u.mJy and np.array_equal(table["flux"].value, found(image)[0]["flux"])
    assert same(found(np.ma.MaskedArray(image, hole), header)[0], blanked)
    assert same(found(Masked(image, mask=hole), header)[0], blanked)
    assert same(found(np.ma.MaskedArray(image), header)[0], wanted)
    with pytest.raises(fp.ArgumentError, match="mask"):
        fp.sigma_clip(ccd, device="cpu")


@pytest.mark.parametrize(
    ("left_out", "words"),
    [(("CDELT1",), "no CDELT1 (taken as 1)"), (("CRVAL1", "CRPIX2"), "no CRVAL1 or CRPIX2 (taken as 0)")],
)
def test_what_a_header_leaves_out_of_its_coordinates_is_told(image, left_out, words):
    header = fits.Header(SKY | BEAM)
    assert not any("may be wrong" in one for one in found(image, header)[1])
    for key in left_out:
        del header[key]
    told = found(image, header)[1]
    assert any("positions and sizes on the sky may be wrong" in one and words in one for one in told), told
    # A matrix says what a pixel's size is, too.
    turned = {key: value for key, value in SKY.items() if not key.startswith("CDELT")} | {"CD1_1": -0.002, "CD2_2": 0.002}
    assert not any("may be wrong" in one for one in found(image, turned)[1])


@pytest.mark.parametrize("moved", [0, 3])
def test_an_image_of_another_part_of_the_sky_is_told(image, moved):
    there = CCDData(image, unit="Jy", wcs=WCS(fits.Header(SKY | {"CRPIX1": 65 + moved})))
    told = found(image, fits.Header(SKY), measure_on={"red": there})[1]
    assert [one for one in told if "another part of the sky" in one] == (
        ["red shows another part of the sky, by up to 3 pixels by its header: pixels are compared by their numbers"] * (moved > 0)
    )


def test_a_header_is_known_again_by_all_it_says_and_in_its_thread_alone():
    """A WCS of astropy's that several threads ask at once may answer none of them."""
    header = fits.Header(SKY | BEAM)
    first, again = sky_of(None, header), sky_of(None, header.copy())
    assert again is first and sky_of(None, dict(SKY)) is sky_of(None, dict(SKY))
    with ThreadPoolExecutor(1) as other:
        assert other.submit(sky_of, None, header).result().wcs is not first.wcs
    assert sky_of(None, header, u.K).unit == u.K and sky_of(None, header).unit is None
    header["CRVAL1"], header["BUNIT"] = 11.0, "Jy/beam"
    changed = sky_of(None, header)
    assert changed.wcs.wcs.crval[0] == 11 and changed.unit == u.Jy / u.beam and first.wcs.wcs.crval[0] == 10


def test_one_number_is_a_map(image):
    """Of noise and of background, as in SEP and photutils."""
    full = found(image, background=np.zeros_like(image), noise=np.full_like(image, 2))[0]
    for noise in (2, np.float32(2), np.array(2.0)):
        assert same(found(image, background=0, noise=noise)[0], full)
    assert same(
        found(image * u.Jy, noise=2 * u.Jy, background=0)[0], found(image * u.Jy, background=np.zeros_like(image), noise=2)[0]
    )
    for bad in ({"noise": 0}, {"noise": np.nan}, {"background": np.inf}):
        with pytest.raises(fp.ArgumentError, match="number"):
            found(image, **bad)


def test_a_file_name_is_told_what_opens_it():
    with pytest.raises(fp.ArgumentError, match=r"got an HDUList, .* hdus\[0\]"):
        fp.find_sources(fits.HDUList([fits.PrimaryHDU(np.zeros((4, 4)))]))
    for verb in (fp.find_sources, fp.sigma_clip):
        with pytest.raises(fp.ArgumentError, match=r"image: got the name 'x\.fits'.*open_image"):
            verb("x.fits")


@pytest.mark.parametrize("dtype", ["f4", "f8", ">f4"])
def test_zeros_round_a_mosaic_are_no_pixels(device, image, dtype):
    padded, holes = image.astype(dtype), image.astype(dtype)
    padded[:, 91:] = 0
    holes[:, 91:] = np.nan
    wanted, _ = found(holes)
    for blank in ("auto", "zero"):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            table = fp.find_sources(padded, 8.0, blank=blank, device=device)
        assert len(table) == len(wanted) == 2 and np.array_equal(table["npix"], wanted["npix"])
        assert np.isclose(table.meta["noise"], wanted.meta["noise"], rtol=1e-9) and abs(table.meta["noise"] - 1) < 0.05
        assert [("zeros" in str(w.message)) for w in told] == ([True] if blank == "auto" else [])
    for blank in ("nan", "none"):
        table, told = found(padded, blank=blank)
        assert table.meta["noise"] < 0.9 and told == []


def test_zeros_that_were_measured_stay(rng):
    photons = rng.poisson(0.4, (200, 200)).astype(np.float32)
    photons[50:60, 50:60] += 30
    noise = rng.standard_normal((200, 200)).astype(np.float32)
    noise.ravel()[rng.integers(0, noise.size, 2000)] = 0
    for image in (photons, noise, photons.astype(int)):
        table, told = found(image)
        clip = fp.sigma_clip(image, device="cpu")
        assert table.meta["noise"] == clip.std and told == []


def test_masks_and_weights(tmp_path, image):
    hole = np.zeros(image.shape, np.uint8)
    hole[:50] = 1
    weight = 2.0 - 3 * hole
    weight[0, 0] = np.nan
    wanted, _ = found(np.where(hole, np.nan, image))
    fits.writeto(tmp_path / "w.fits", weight.astype(">f4"))
    with fp.open_image(tmp_path / "w.fits") as file:
        for given in ({"mask": hole}, {"mask": hole.astype(bool)}, {"weight": weight}, {"weight": file}):
            assert same(found(image, **given)[0], wanted)
            assert same(found((image * 1).astype(">f8"), **given)[0], found(np.where(hole, np.nan, image).astype("f8"))[0])
    labels = np.empty(image.shape, np.int32)
    found(image, mask=hole, labels=labels)
    assert labels.max() == 1 and not labels[:50].any()
    with pytest.raises(fp.ShapeError, match="mask"):
        found(image, mask=hole[:4])
    with pytest.raises(fp.ArgumentError, match="blank"):
        found(image, blank="white")


def test_blanked_rows_are_planned(rng):
    image = rng.standard_normal((600, 300)).astype(np.float32)
    image[:200] = 0
    plans = []
    whole, _ = found(image, blank="zero", on_plan=plans.append)
    part, _ = found(image, blank="zero", memory=plans[0].footprint.total // 3, on_plan=plans.append)
    assert same(whole, part) and plans[1].n_parts > 2 and plans[1].footprint.total <= plans[0].footprint.total // 3


def test_a_noise_of_0_is_no_threshold():
    image = np.zeros((50, 50), np.int16)
    image[10:20, 10:20] = np.arange(100).reshape(10, 10)
    with pytest.raises(fp.ArgumentError, match=r"image: got a measured noise of 0, .*blank='zero'"):
        found(image)
    with pytest.raises(fp.ArgumentError, match="image that has noise"):
        found(image + 7)
    table, _ = found(image, blank="zero")
    assert table.meta["noise"] > 0


def test_where_nothing_can_be_found_is_told():
    image = np.full((60, 60), 7.0, np.float32)
    image[30, 30] = 9
    for options in ({"background": "mesh", "box": 16}, {"min_area": 2}, {"noise": np.full_like(image, np.nan)}):
        table, told = found(image, **options)
        assert len(table) == 0 and len(told) == 1 and "the noise is not above 0" in told[0] == table.meta["warnings"]


def test_squares_that_overflow_are_told(rng):
    table, told = found(rng.standard_normal((60, 60)) * 1e200)
    assert len(table) == 0 and len(told) == 1 and "squares of the image's values are too large" in told[0]


@pytest.mark.parametrize("degrees", [5.0, 1e-6])
def test_a_beam_that_no_image_has_is_told(image, degrees):
    _, told = found(image, SKY | {"BUNIT": "Jy/beam", "BMAJ": degrees, "BMIN": degrees})
    assert len(told) == 1 and "of the image's 15600 pixels: BMAJ and BMIN are taken for degrees" in told[0]


@pytest.mark.parametrize("sigma", [0.5, 1.0, 2.0, 4.0])
def test_the_budget_that_is_asked_for_is_enough(rng, sigma):
    """A budget named by one error leads to a catalogue, or to the budget that this image's number of components needs."""
    image, memory = rng.standard_normal((256, 256)).astype(">f4"), 1
    table = None
    for _ in range(3):
        try:
            table = fp.find_sources(image, sigma, memory=memory, device="cpu")
            break
        except fp.BudgetError as error:
            assert error.smallest > memory
            memory = error.smallest
    assert table is not None and same(table, fp.find_sources(image, sigma, device="cpu"))


@pytest.mark.parametrize(
    "axes",
    [
        {"CDELT2": 0.004},
        {"CTYPE1": "DEC--SIN", "CTYPE2": "RA---SIN", "CRVAL1": -30.0, "CRVAL2": 10.0},
        {"CD1_1": 0.0, "CD1_2": 0.002, "CD2_1": 0.002, "CD2_2": 0.0},
        {"CTYPE1": "GLON-TAN", "CTYPE2": "GLAT-TAN"},
        {"CRVAL2": 89.9},
        {"CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN", "LONPOLE": 100.0},
    ],
    ids=["tall", "swapped", "turned", "galactic", "pole", "gnomonic"],
)
def test_errors_on_the_sky_point_east_and_north_wherever_the_axes_do(image, axes):
    """An error along x was called one of RA, and all were scaled by the geometric mean of the pixel's sides."""
    header = SKY | axes
    yy, xx = np.mgrid[:120, :130]
    image += (90 * np.exp(-((xx - 80) ** 2 / 8 + (yy - 60) ** 2 / 60))).astype(np.float32)
    table, _ = found(image, header, fit="gaussian")
    row = table[np.argmax(table["npix"])]
    wcs = WCS(fits.Header(header))
    for name, x, y in (("", "x", "y"), ("fit_", "fit_x", "fit_y")):
        here = wcs.pixel_to_world(row[x], row[y]).icrs
        steps = ((row[f"{x}_err"], 0), (0, row[f"{y}_err"]))
        moved = [here.spherical_offsets_to(wcs.pixel_to_world(row[x] + dx, row[y] + dy).icrs) for dx, dy in steps]
        first, second = (np.array([offset.deg for offset in one]) for one in moved)
        # Fits tell errors of either axis alone; those of a sum lie along the light, with the width of a pixel.
        turn = np.radians(row["theta"])
        axes = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        shape = axes @ np.diag([row["a"] ** 2, row["b"] ** 2]) @ axes.T + np.eye(2) / 12
        tie = 0 if name else shape[0, 1] / np.sqrt(shape[0, 0] * shape[1, 1])
        want = np.sqrt(first**2 + second**2 + 2 * tie * first * second)
        assert np.allclose((row[f"{name}ra_err"], row[f"{name}dec_err"]), want, rtol=1e-5)
    assert row["fit_y_err"] > 1.5 * row["fit_x_err"]


def test_a_reader_of_another_number_of_axes_is_refused_as_an_array_is():
    class Line:
        shape, dtype = (20,), np.dtype("f4")

        def read(self, rows, out):
            out[:] = 0

    with pytest.raises(fp.ShapeError, match=r"image: got shape \(20,\), wanted \(n_y, n_x\)"):
        fp.find_sources(Line())


@pytest.mark.parametrize(
    "cards",
    [
        {},
        {"RADESYS": "ICRS", "CRVAL1": -0.01},
        {"CRVAL1": 359.9999, "CRVAL2": 89.9},
        {"RADESYS": "FK5", "EQUINOX": 2000.0},
        {"EQUINOX": 1975.5, "CRVAL1": -0.3},
        {"EQUINOX": 1950.0},
        {"CTYPE1": "GLON-SIN", "CTYPE2": "GLAT-SIN"},
        {"CTYPE1": "GLON-SIN", "CTYPE2": "GLAT-SIN", "CRVAL1": 96.3372, "CRVAL2": -60.1888},
        {"CTYPE1": "ELON-TAN", "CTYPE2": "ELAT-TAN"},
        {"CTYPE1": "DEC--SIN", "CTYPE2": "RA---SIN"},
    ],
    ids=["plain", "west of 0", "pole", "FK5", "turned", "B1950", "galactic", "from 360 to 0", "ecliptic", "declination first"],
)
def test_places_are_astropys_to_the_last_bit(rng, cards):
    header = fits.Header(SKY | cards)
    x, y = rng.uniform(-200, 400, (2, 500))
    x[0] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ra, dec = Told.of(WCS(header), None).places(np.stack([x, y], 1))
        wanted = WCS(header).pixel_to_world(x, y).icrs
    assert np.array_equal(ra, wanted.ra.deg, equal_nan=True) and np.array_equal(dec, wanted.dec.deg, equal_nan=True)
