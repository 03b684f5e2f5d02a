"""Cubes whose channels have a beam each, as CASA writes them: a plane has its own."""

from __future__ import annotations

import gzip
import math

import numpy as np
import pytest
from astropy.io import fits
from astropy.table import Table

import footprint as fp
from tests.unit.cli_files import shell

SHAPE = (2, 3, 48, 50)
CARDS = {"CTYPE1": "RA---SIN", "CTYPE2": "DEC--SIN", "CTYPE3": "FREQ", "CTYPE4": "STOKES", "CRPIX1": 25, "CRPIX2": 24}
CARDS |= {"CDELT1": -1 / 1800, "CDELT2": 1 / 1800, "CRVAL1": 180.0, "CRVAL2": 45.0, "BUNIT": "Jy/beam"}
CARDS |= {"BMAJ": 20 / 3600, "BMIN": 20 / 3600, "BPA": 0.0}


def width(channel, polarisation=0):
    """Of a plane's round beam, in arcseconds."""
    return 12.0 - channel + 0.5 * polarisation


def write(path, shape=SHAPE, unit="arcsec", rows=None):
    """A cube of a source of 40 Jy/beam, in noise of 1, and the table of its planes' beams in an order of its own."""
    cube = np.random.default_rng(3).standard_normal(shape).astype("f4")
    cube[..., 20, 30] += 40
    header = fits.Header(CARDS | {"CASAMBM": True})
    places = [(c, p) for c in range(shape[-3]) for p in range(shape[0] if len(shape) > 3 else 1)][::-1]
    places = places if rows is None else places[:rows]
    wide, chan, pol = [width(*at) for at in places], [at[0] for at in places], [at[1] for at in places]
    sizes = [fits.Column(name, "E", unit, array=wide) for name in ("BMAJ", "BMIN")]
    others = [fits.Column("BPA", "E", "deg", array=np.full(len(wide), 30.0))]
    others += [fits.Column(name, "J", array=array) for name, array in (("CHAN", chan), ("POL", pol))]
    table = fits.BinTableHDU.from_columns([*sizes, *others], name="BEAMS")
    fits.HDUList([fits.PrimaryHDU(cube, header), table]).writeto(path)


@pytest.mark.parametrize("packed", [False, True])
def test_a_plane_has_the_beam_of_its_channel_and_polarisation(tmp_path, packed):
    path = tmp_path / "cube.fits"
    write(path)
    if packed:
        path = tmp_path / "cube.fits.gz"
        path.write_bytes(gzip.compress((tmp_path / "cube.fits").read_bytes()))
    for polarisation, channel in np.ndindex(2, 3):
        with fp.open_image(path, (polarisation, channel)) as image:
            assert image.beam.major == pytest.approx(width(channel, polarisation) / 3600) and image.beam.angle == 30
            assert "CASAMBM" not in image.header and image.file_header["CASAMBM"] is True
    with fp.open_image(path, (0, 2)) as image:
        # Over 10 arcseconds: of the header's 20 it could not be made.
        matched, _ = fp.match_beam(image.array(), image.header, "15arcsec")
    assert np.isfinite(matched).all()


def test_catalogues_of_planes_have_fluxes_by_their_own_beams(tmp_path):
    path, out = tmp_path / "cube.fits", tmp_path / "c.ecsv"
    write(path, SHAPE[1:])
    shell(f"sources {path} --plane 2 --sigma 10 -o {out}")
    table = Table.read(out)
    area = math.pi * (10 / 2) ** 2 / (4 * math.log(2))
    assert table.meta["beam_area"] == pytest.approx(area) and len(table) == 1
    assert float(table["flux"][0]) == pytest.approx(float(table["peak"][0]) / area)
    shell(f"sources {path} --plane all --sigma 10 -o {out} --overwrite")
    table = Table.read(out)
    assert np.allclose(table["beam_major"] * 3600, [width(c) for c in table["plane"]]) and "beam_major" not in table.meta
    assert table["plane"].tolist() == [0, 1, 2]


@pytest.mark.parametrize(("unit", "rows"), [("furlong", None), ("arcsec", 0)])
def test_a_beam_that_is_not_known_to_be_the_planes_is_warned_of(tmp_path, unit, rows):
    path = tmp_path / "cube.fits"
    write(path, SHAPE[1:], unit, rows)
    with fp.open_image(path, 1) as image, pytest.warns(UserWarning, match="every channel has a beam of its own"):
        fp.find_sources(image, 10)
    with pytest.warns(UserWarning, match="every channel has a beam of its own"):
        fp.find_sources(fits.getdata(path)[1], 10, header=fits.Header(CARDS | {"CASAMBM": True}))


def test_a_channel_without_data_has_no_beam(tmp_path):
    path = tmp_path / "cube.fits"
    write(path, SHAPE[1:])
    with fits.open(path, mode="update") as file:
        file["BEAMS"].data["BMAJ"][file["BEAMS"].data["CHAN"] == 1] = 0
    with fp.open_image(path, 1) as image:
        assert image.beam is None
    with fp.open_image(path, 0) as image:
        assert image.beam.major == pytest.approx(width(0) / 3600)
