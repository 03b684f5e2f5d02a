"""Real radio images: counts and noise that are known, positions of other finders, budgets a quarter of the whole."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import footprint as fp
from footprint.cli.sources import command
from footprint.io.image import open_image

SCORPIO = {"ScorpioS17Field": (1.7206e-4, 105), "ScorpioFaintSNRField": (1.0893e-4, 310)}


def run(*words):
    result = CliRunner().invoke(command, [str(w) for w in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


@pytest.mark.parametrize("name", SCORPIO)
def test_the_lessons_numbers(data, name):
    std, islands = SCORPIO[name]
    with open_image(data / "astronomy" / "scorpio" / f"{name}.fits") as image:
        table = fp.find_sources(image, lesson=True, device="cpu")
    assert len(table) == islands
    assert f"{table.meta['noise']:.4e}" == f"{std:.4e}"


AEGEAN = [f"1904-66_{name}.fits" for name in ("AIT", "SIN", "SIN_neg", "SIN_add100")] + ["small_4D.fits", "small_5D.fits"]
IMAGES = [
    *((f"scorpio/{name}.fits", None) for name in SCORPIO),
    *((f"aegean_1904/{name}", None) for name in AEGEAN),
    *(("aegean_1904/1904-66_SIN_3d.fits", plane) for plane in range(3)),
    *((f"vast_askap/{name}.fits", None) for name in ("epoch01", "epoch02")),
]


@pytest.mark.parametrize(("name", "plane"), IMAGES)
def test_a_quarter_of_the_memory_gives_the_same_bits(data, name, plane):
    with open_image(data / "astronomy" / name, plane=plane) as image:
        plans = []
        whole = fp.find_sources(image, memory="1GB", device="cpu", on_plan=plans.append)
        quarter = plans[0].footprint.total // 4
        part = fp.find_sources(image, memory=quarter, device="cpu", on_plan=plans.append)
        array = fp.find_sources(image.array(), header=image.header, device="cpu")
    assert all(plan.footprint.total <= quarter for plan in plans[1:])
    # Of tiny images the catalogue is the most, and the pixels are not worth cutting.
    assert plans[1].chunk.size <= image.shape[0] / 2 if plans[1].chunk else image.shape[0] < 100
    for other in (part, array):
        assert whole.colnames == other.colnames and whole.meta == other.meta
        assert all(np.array_equal(whole[c], other[c], equal_nan=whole[c].dtype.kind == "f") for c in whole.colnames)


@pytest.mark.parametrize("name", SCORPIO)
def test_positions_agree_with_pybdsf(data, name):
    """Every isolated source PyBDSF fits with one Gaussian at over seven of its own sigmas, within a pixel."""
    from astropy.coordinates import SkyCoord
    from astropy.table import Table

    folder = data / "astronomy" / "scorpio"
    theirs = Table.read(folder / f"{name}.pybdsf.srl.fits")
    with open_image(folder / f"{name}.fits") as image:
        ours = fp.find_sources(image, device="cpu")
        wcs = image.wcs
    x, y = wcs.world_to_pixel(SkyCoord(theirs["RA"], theirs["DEC"], unit="deg"))
    codes = np.array([str(c).strip() for c in theirs["S_Code"]])
    snr = np.asarray(theirs["Peak_flux"]) / np.asarray(theirs["Isl_rms"])
    apart = np.hypot(x[:, None] - x, y[:, None] - y) + 1e9 * np.eye(len(x))
    pixel = 1.5 / 3600
    small = np.asarray(theirs["Maj"]) < 10 * pixel
    isolated = (codes == "S") & (snr > 7) & (apart.min(1) > 25) & small
    found = 0
    for i in np.flatnonzero(isolated):
        inside = (ours["x_min"] <= x[i]) & (x[i] <= ours["x_max"]) & (ours["y_min"] <= y[i]) & (y[i] <= ours["y_max"])
        for row in ours[inside & (ours["npix"] < 400)]:
            found += 1
            assert np.hypot(row["x"] - x[i], row["y"] - y[i]) < 1, (i, row)
            sky = SkyCoord(row["ra"], row["dec"], unit="deg").separation(SkyCoord(theirs["RA"][i], theirs["DEC"][i], unit="deg"))
            assert sky.deg < pixel
    # The rest lie on emission that joins them to a larger island.
    assert found >= 0.75 * isolated.sum() >= 3, f"{found} of {isolated.sum()} isolated sources compared"


@pytest.mark.parametrize("name", AEGEAN)
def test_aegeans_images_run_from_the_shell(data, name, tmp_path):
    folder = data / "astronomy" / "aegean_1904"
    words = ("-o", tmp_path / "a.ecsv", "--png", tmp_path / "a.png", "--segmentation", tmp_path / "s.fits", "--json")
    report = json.loads(run(folder / name, *words).stdout)
    from astropy.table import Table

    table = Table.read(tmp_path / "a.ecsv")
    assert len(table) == report["sources"] > 0
    assert str(table["flux"].unit) == "Jy" and np.isfinite(table["ra"]).all()
    with open_image(tmp_path / "s.fits") as labels:
        assert labels.array().max() == len(table)
    assert (tmp_path / "a.png").stat().st_size > 1000


def test_an_offset_changes_only_the_background(data):
    folder = data / "astronomy" / "aegean_1904"
    with open_image(folder / "1904-66_SIN.fits") as plain, open_image(folder / "1904-66_SIN_add100.fits") as raised:
        a, b = fp.find_sources(plain, device="cpu"), fp.find_sources(raised, device="cpu")
    assert abs(len(a) - len(b)) <= 1 and abs(b.meta["background"] - a.meta["background"] - 100) < 1e-4


def test_a_cube_asks_for_its_plane(data, tmp_path):
    path = data / "astronomy" / "aegean_1904" / "1904-66_SIN_3d.fits"
    with pytest.raises(fp.FormatError, match="plane"):
        CliRunner().invoke(command, [str(path)], catch_exceptions=False)
    report = json.loads(run(path, "--plane", 2, "-o", tmp_path / "c.reg", "--json").stdout)
    assert report["sources"] > 10 and "circle(" in (tmp_path / "c.reg").read_text()


def test_askap_of_four_axes(data):
    with open_image(data / "astronomy" / "vast_askap" / "epoch01.fits") as image:
        table = fp.find_sources(image, device="cpu")
    assert image.shape == (256, 256) and len(table) >= 1 and str(table["flux"].unit) == "Jy"
